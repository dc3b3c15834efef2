/** What an admin changed here must not be undone by what another replica changed, or is about to be told. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { suite, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { KyselyPlugin, QueryId } from 'kysely';
import { createProfiles } from '../../src/catalog/profiles.ts';
import { createChanges } from '../../src/changes.ts';
import { loadConfig } from '../../src/config/config.ts';
import { createLog } from '../../src/log.ts';
import { createRuleStore } from '../../src/query/rule-store.ts';
import { createRegistry } from '../../src/registry/registry.ts';
import { createAuthenticator } from '../../src/security/auth.ts';
import { createVault } from '../../src/security/credentials.ts';
import { createPageSessions } from '../../src/security/page-session.ts';
import { createSkillStore } from '../../src/skills/skill-store.ts';
import type { Database } from '../../src/store/database.ts';
import { findServer } from '../../src/store/servers.ts';
import { openTestDatabase } from '../store/store.ts';
import { until } from '../support/until.ts';

/** A database whose answers to questions arrive late and whose answers to changes don't. */
async function openSlowly(t: TestContext): Promise<Database> {
  const db = await openTestDatabase(t);
  return { ...db, kysely: db.kysely.withPlugin(slowReads()) };
}

let begunReads = 0;

function slowReads(): KyselyPlugin {
  const reads = new WeakSet<QueryId>();
  return {
    transformQuery({ node, queryId }) {
      if (node.kind === 'SelectQueryNode') {
        reads.add(queryId);
        begunReads += 1;
      }
      return node;
    },
    async transformResult({ result, queryId }) {
      if (reads.has(queryId)) await delay(30);
      return result;
    },
  };
}

/** Lets the reading begin first, so that it does not know of the change. */
async function during(read: () => Promise<unknown>, change: () => Promise<unknown>): Promise<void> {
  const before = begunReads;
  const reading = read();
  await until(() => begunReads > before, 'the reading has begun', { everyMs: 1 });
  await change();
  await reading;
}

suite('a change that is made while the store is read again stays', () => {
  test('tokens', async (t) => {
    const db = await openSlowly(t);
    const auth = await createAuthenticator({ db, changes: createChanges(), adminToken: 'the-admin-token' });
    t.after(() => auth.close());
    const { row } = await auth.createToken({ name: 'old', role: 'viewer' }, 'admin');
    await during(
      () => auth.reload(),
      () => auth.revokeToken(row.id),
    );
    assert.equal(auth.findPrincipal(row.id), undefined);
    await during(
      () => auth.reload(),
      () => auth.createToken({ name: 'new', role: 'viewer' }, 'admin'),
    );
    assert.deepEqual(
      auth.listTokens().map(({ name }) => name),
      ['new'],
    );
  });

  test('profiles', async (t) => {
    const profiles = await createProfiles({
      db: await openSlowly(t),
      changes: createChanges(),
      log: createLog('silent'),
    });
    await during(
      () => profiles.reload(),
      () => profiles.save('work', { servers: ['github'] }),
    );
    assert.deepEqual(profiles.find('work'), { name: 'work', servers: ['github'] });
    await during(
      () => profiles.reload(),
      () => profiles.remove('work'),
    );
    assert.deepEqual(profiles.list(), []);
  });

  test('skills', async (t) => {
    const skills = await createSkillStore({ db: await openSlowly(t), changes: createChanges() });
    const skill = { id: 'gardening', name: 'Gardening', description: 'Plants and their care', examples: [] };
    await during(
      () => skills.reload(),
      () => skills.save(skill),
    );
    assert.deepEqual(skills.find('gardening'), skill);
    await during(
      () => skills.reload(),
      () => skills.remove('gardening'),
    );
    assert.equal(skills.find('gardening'), undefined);
  });

  test('ended page sessions', async (t) => {
    const requestAuthenticator = await createAuthenticator({
      db: await openTestDatabase(t),
      changes: createChanges(),
      adminToken: 'the-admin-token',
    });
    t.after(() => requestAuthenticator.close());
    const sessions = await createPageSessions({
      db: await openSlowly(t),
      changes: createChanges(),
      vault: createVault({ current: randomBytes(32) }),
      requestAuthenticator: { ...requestAuthenticator, challenge: () => '' },
    });
    const host = '127.0.0.1:8080';
    const { cookie } = await sessions.begin('the-admin-token', { host });
    const headers = { host, cookie: cookie.split(';')[0] };
    assert.equal(sessions.tokenOf({ headers }), 'the-admin-token');
    await during(
      () => sessions.reload(),
      () => sessions.end(headers),
    );
    assert.equal(sessions.tokenOf({ headers }), undefined);
  });

  test('server rules', async (t) => {
    const db = await openSlowly(t);
    const rules = await createRuleStore({ db, changes: createChanges() });
    await during(
      () => rules.reload(),
      () => rules.replace([{ pattern: 'plants', servers: ['garden'] }]),
    );
    assert.deepEqual(rules.list(), [{ pattern: 'plants', servers: ['garden'] }]);
  });
});

test('of a disconnect at one replica and a connect at another that has not heard of it, the later one holds', async (t) => {
  const db = await openSlowly(t);
  const config = loadConfig({});
  const log = createLog('silent');
  const vault = createVault({ current: randomBytes(32) });
  const open = () => createRegistry({ db, vault, changes: createChanges(), log, config });
  const one = await open();
  const { id } = await one.register({ name: 'any', transport_type: 'STDIO', connection_config: { command: 'true' } });
  const other = await open();
  await one.setDesired(id, 'disconnected');
  await other.setDesired(id, 'connected');
  assert.equal((await findServer(db, id))?.desired, 'connected');
});
