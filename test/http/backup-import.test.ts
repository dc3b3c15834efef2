/** An import stores what the API would take, and nothing else; one bad row keeps no other out. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { createVault, parseKey } from '../../src/security/credentials.ts';
import { openDatabase } from '../../src/store/database.ts';
import { upsertProfile } from '../../src/store/profiles.ts';
import { updateServer } from '../../src/store/servers.ts';
import { type Body, startApp } from '../support/app.ts';
import { createTestDatabase } from '../support/databases.ts';
import { stdioFeatureServer } from '../support/servers/feature-server.ts';

const path = '/api/v1/aggregator/backup';
const reseal = '/api/v1/aggregator/credentials/reseal';
const key = () => randomBytes(32).toString('base64');

async function setUp(env: Record<string, string> = {}) {
  const app = await startApp(env);
  await app.register('kept', { command: 'true' }, { auto_connect: false });
  await app.api('POST', '/api/v1/tokens', { name: 'somebody', role: 'caller' });
  await app.api('PUT', '/api/v1/profiles/work', { servers: ['kept'] });
  await app.api('PUT', '/api/v1/query/rules', { serverRules: [{ pattern: 'stars', servers: ['kept'] }] });
  const { body: backup } = await app.api('GET', path);
  return { app, backup };
}

test('what was exported is imported whole', async (t) => {
  const { app, backup } = await setUp();
  t.after(app.close);
  const { status, body } = await app.api('POST', path, backup);
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual(
    [body.servers, body.tokens, body.profiles, body.settings, body.conflicts, body.left_out],
    [1, 1, 1, 1, [], []],
  );
});

test('rows that the API would refuse are left out by name, the others are taken', async (t) => {
  const MCP_CREDENTIAL_KEY = key();
  const { app, backup } = await setUp({ MCP_CREDENTIAL_KEY });
  t.after(app.close);
  const [server] = backup.servers;
  const [token] = backup.tokens;
  const [profile] = backup.profiles;
  const [skill] = backup.skills;
  const vault = createVault({ current: parseKey(MCP_CREDENTIAL_KEY) });
  const sealed = (config: unknown, number: number) => {
    const id = `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
    return { ...server, id, connection_config: { sealed: vault.seal(config, id) } };
  };
  const good = sealed({ command: 'true' }, 1);
  const hex = (digits: number) => randomBytes(digits / 2).toString('hex');
  const bad: [kind: string, row: Body, name: string, reason: RegExp][] = [
    ['servers', { ...good, name: 'Bad Name' }, 'Bad Name', /^name: name must start with a lowercase letter/],
    [
      'servers',
      { ...sealed({ command: 'x', shell: 1 }, 2), name: 'b' },
      'b',
      /connection_config\.shell: unknown field/,
    ],
    ['servers', { ...sealed({ base_url: 'https://a.example' }, 3), name: 'c' }, 'c', /requires 'command'/],
    ['servers', { ...good, name: 'd', options: { sessions: 'none' } }, 'd', /^options\.sessions/],
    ['servers', { ...good, name: 'e', connection_config: { sealed: 'v1.x' } }, 'e', /it is not a sealed value/],
    ['servers', { ...good, name: 'f', connection_config: server.connection_config }, 'f', /changed or belongs to/],
    ['servers', 5, 'number 7', /expected object/],
    ['tokens', { ...token, id: hex(16), hash: 'short', name: 'h' }, 'h', /^hash: must be a SHA-256/],
    ['tokens', { ...token, id: 'admin', name: 'i' }, 'i', /^id: /],
    ['tokens', { ...token, id: hex(16), servers: [], name: 'j' }, 'j', /^servers: /],
    ['tokens', { ...token, id: hex(16), role: 'root', name: 'k' }, 'k', /^role: /],
    ['tokens', { ...token, id: hex(16), expires_at: 'soon', name: 'l' }, 'l', /^expires_at: /],
    ['profiles', { ...profile, name: 'Bad Name/../x', definition: { servers: 5 } }, 'Bad Name/../x', /^name: .*1 more/],
    ['profiles', { ...profile, name: 'm', definition: { servers: 5 } }, 'm', /^definition\.servers: /],
    ['profiles', { ...profile, name: 'n', definition: { description: 'a\0b' } }, 'n', /NUL/],
    ['skills', { ...skill, id: 'Bad Id', name: 'o' }, 'o', /^id: /],
    ['settings', { key: 'audit.head', value: {} }, 'audit.head', /is not a setting that a backup contains/],
    [
      'settings',
      { key: 'serverRules', value: [{ pattern: '(', servers: ['a'] }] },
      'serverRules',
      /^value\.0\.pattern/,
    ],
    [
      'oauth_clients',
      { server_id: server.id, issuer: 'https://i.example', redirect_uri: 'x', sealed: 'x', expires_at: null },
      'https://i.example',
      /not a sealed value/,
    ],
  ];
  const given: Body = structuredClone(backup);
  for (const kind of ['servers', 'tokens', 'profiles', 'skills', 'settings', 'oauth_clients']) {
    given[kind] = bad.filter(([of]) => of === kind).map(([, row]) => row);
  }
  given.servers.push({ ...good, name: 'good' });
  given.tokens.push({ ...token, id: hex(16), hash: hex(64), name: 'good' });
  given.profiles.push({ ...profile, name: 'good' });
  const { status, body } = await app.api('POST', path, given);
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual([body.servers, body.tokens, body.profiles, body.skills, body.settings], [1, 1, 1, 0, 0]);
  assert.deepEqual(
    body.left_out.map(({ kind, name }: Body) => [kind, name]),
    bad.map(([kind, , name]) => [kind, name]),
  );
  for (const [place, [, , name, reason]] of bad.entries()) assert.match(body.left_out[place].reason, reason, name);
  assert.equal((await app.api('GET', '/api/v1/profiles/good')).status, 200);
  assert.equal((await app.server('good')).name, 'good');
  assert.deepEqual((await app.api('GET', '/api/v1/query/rules')).body.serverRules, [
    { pattern: 'stars', servers: ['kept'] },
  ]);
});

test('SKL-004: built-in skills of another version are imported as they are now, own skills as they were', async (t) => {
  const { app, backup } = await setUp({ MCP_CREDENTIAL_KEY: key() });
  t.after(app.close);
  const present = backup.skills.find(({ id }: Body) => id === 'email');
  const given: Body = structuredClone(backup);
  given.skills = [
    { ...present, description: 'As it was' },
    { ...present, id: 'memory' },
    { ...present, id: 'gardening', origin: 'custom', description: 'Flowers' },
  ];
  const { body } = await app.api('POST', path, given);
  assert.equal(body.skills, 2);
  const [{ kind, name, reason }] = body.left_out;
  assert.deepEqual([kind, name], ['skills', 'Email']);
  assert.match(reason, /no longer a built-in skill/);
  const descriptionOf = async (id: string) => (await app.api('GET', `/api/v1/skills/${id}`)).body.description;
  assert.deepEqual([await descriptionOf('email'), await descriptionOf('gardening')], [present.description, 'Flowers']);
});

test('logins to a server that was left out keep nothing else out, and the limit of servers holds', async (t) => {
  const MCP_CREDENTIAL_KEY = key();
  const { app, backup } = await setUp({ MCP_CREDENTIAL_KEY, MCP_AGGREGATOR_MAX_SERVERS: '1' });
  t.after(app.close);
  const id = '00000000-0000-4000-8000-000000000001';
  const vault = createVault({ current: parseKey(MCP_CREDENTIAL_KEY) });
  const issuer = 'https://i.example';
  const client = { server_id: id, issuer, redirect_uri: 'x', expires_at: null };
  const { status, body } = await app.api('POST', path, {
    ...backup,
    servers: [
      { ...backup.servers[0], id, name: 'more', connection_config: { sealed: vault.seal({ command: 'x' }, id) } },
    ],
    oauth_clients: [{ ...client, sealed: vault.seal({}, `oauth-client:${id}:${issuer}`) }],
  });
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual([body.servers, body.profiles], [0, 1]);
  assert.deepEqual(body.left_out, [
    { kind: 'servers', name: 'more', reason: 'Server limit reached: 1 servers are registered' },
    { kind: 'oauth_clients', name: issuer, reason: 'its server is not registered here' },
  ]);
});

test('a stored profile that is none harms nobody and can be removed', async (t) => {
  const database = await createTestDatabase();
  const db = await openDatabase({ url: database.url, file: database.file });
  await upsertProfile(db, 'Bad Name/../x', { servers: 5 } as Body);
  await upsertProfile(db, 'odd', { servers: 5 } as Body);
  await db.close();
  const app = await startApp({}, { database });
  t.after(async () => {
    await app.close();
    await database.close();
  });
  const bound = await app.api('POST', '/api/v1/tokens', { name: 'n', role: 'viewer', profile: 'odd' });
  const seen = await app.api('GET', '/api/v1/aggregator/servers', undefined, { token: bound.body.token });
  assert.deepEqual([seen.status, seen.body.servers], [200, []]);
  assert.deepEqual((await app.api('GET', '/api/v1/profiles')).body.profiles, []);
  for (const name of ['Bad Name/../x', 'odd']) {
    assert.equal((await app.api('DELETE', `/api/v1/profiles/${encodeURIComponent(name)}`)).status, 204, name);
  }
  assert.equal((await app.api('DELETE', '/api/v1/profiles/odd')).status, 404);
});

test('a malformed seal is reported, and everything else is sealed with the new key', async (t) => {
  const [before, after] = [key(), key()];
  const database = await createTestDatabase();
  const first = await startApp({ MCP_CREDENTIAL_KEY: before }, { database });
  const broken = await first.register('broken', { command: 'true' }, { auto_connect: false });
  await first.register('whole', { command: 'true' }, { auto_connect: false });
  await first.close();
  const db = await openDatabase({ url: database.url, file: database.file });
  await updateServer(db, broken, { connection_config: { sealed: 'v1.garbage' } });
  await db.close();
  const app = await startApp({ MCP_CREDENTIAL_KEY: after, MCP_CREDENTIAL_KEY_PREVIOUS: before }, { database });
  t.after(async () => {
    await app.close();
    await database.close();
  });
  const { status, body } = await app.api('POST', reseal);
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual([body.current, body.unreadable], [1, [`server ${broken}`]]);
  assert.equal((await app.server('whole')).name, 'whole');
});

test('servers whose connection changed are replaced at the same time', async (t) => {
  const MCP_CREDENTIAL_KEY = key();
  const app = await startApp({ MCP_CREDENTIAL_KEY });
  t.after(app.close);
  const config = stdioFeatureServer('legacy');
  for (const name of ['first', 'second', 'third']) await app.add(name, config);
  const { body: backup } = await app.api('GET', path);
  const vault = createVault({ current: parseKey(MCP_CREDENTIAL_KEY) });
  for (const row of backup.servers) {
    row.connection_config = { sealed: vault.seal({ ...config, env: { CHANGED: 'yes' } }, row.id) };
  }
  const from = app.seen.all.length;
  const { status, body } = await app.api('POST', path, backup);
  assert.equal(status, 200, JSON.stringify(body));
  await app.seen.waitFor('server.status', (event) => event.status === 'CONNECTED', from);
  const statuses = app.seen.all.slice(from).filter(({ name }) => name === 'server.status');
  const [first, second, third] = statuses.map(({ payload }) => payload.status);
  assert.deepEqual([first, second, third], ['DISCONNECTING', 'DISCONNECTING', 'DISCONNECTING']);
});
