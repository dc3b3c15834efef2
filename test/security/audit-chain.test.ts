import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { sql } from 'kysely';
import { type AuditOptions, createAudit } from '../../src/security/audit.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { findSetting, upsertSetting } from '../../src/store/settings.ts';
import { createTestDatabase } from '../support/databases.ts';

const keys = { current: Buffer.alloc(32, 7) };
const otherKeys = { current: Buffer.alloc(32, 8) };

async function openTestDatabase(t: TestContext, replicas = 1): Promise<Database[]> {
  const { url, file, close } = await createTestDatabase();
  const all = await Promise.all(Array.from({ length: replicas }, () => openDatabase({ url, file })));
  t.after(async () => {
    for (const db of all) await db.close();
    await close();
  });
  return all;
}

async function filled(t: TestContext, options: Partial<AuditOptions> = {}) {
  const [db] = await openTestDatabase(t);
  assert.ok(db !== undefined);
  const audit = createAudit(db, { keys, flushEveryMs: 60_000, ...options });
  t.after(() => audit.close());
  for (let n = 1; n <= 20; n++) {
    audit.record({
      event: 'tool.called',
      actor: `a${n}`,
      server_name: 's',
      details: { n, z: [1.5, null], a: 'ü\0\ud800' },
    });
  }
  await audit.flush();
  return { db, audit, execute: (text: string) => sql.raw(text).execute(db.kysely) };
}

test('untouched records verify, whatever they hold, and the chain goes on after a restart', async (t) => {
  const { db, audit } = await filled(t);
  const nasty = { 'a\0b': '\ud800', é: -0, '10': 1, '9': 2, nested: { b: undefined, a: Number.NaN, at: new Date(0) } };
  await audit.recordNow({ event: 'odd\0', actor: 'half \ud83d', ip_address: '::1', details: nasty });
  await audit.recordNow({ event: 'told', actor: 'a', timestamp: '2025-01-08T10:00:00Z', details: {} });
  const again = createAudit(db, { keys });
  t.after(() => again.close());
  await again.recordNow({ event: 'later', actor: 'b' });
  const verdict = await again.verify();
  assert.deepEqual(
    { ...verdict, head: verdict.head?.seq },
    {
      intact: true,
      records: 23,
      unsealed: 0,
      anchor: { seq: 0, hash: '' },
      head: 23,
    },
  );
});

const tampering: Record<string, { statements: string[]; kind: string; seq: number | null }> = {
  'a changed actor': { statements: [`update mcp_audit set actor = 'mallory' where seq = 7`], kind: 'changed', seq: 7 },
  'changed details': {
    statements: [`update mcp_audit set details = '{"n":8}' where seq = 7`],
    kind: 'changed',
    seq: 7,
  },
  'a changed time': {
    statements: [`update mcp_audit set timestamp = '2020-01-01T00:00:00.000Z' where seq = 1`],
    kind: 'changed',
    seq: 1,
  },
  'a removed record': { statements: ['delete from mcp_audit where seq = 7'], kind: 'removed', seq: 7 },
  'a removed beginning': { statements: ['delete from mcp_audit where seq < 4'], kind: 'removed', seq: 1 },
  'a removed record whose place was closed': {
    statements: ['delete from mcp_audit where seq = 7', 'update mcp_audit set seq = seq - 1 where seq > 7'],
    kind: 'changed',
    seq: 7,
  },
  'a removed tail': { statements: ['delete from mcp_audit where seq > 15'], kind: 'truncated', seq: 16 },
  'everything removed': { statements: ['delete from mcp_audit'], kind: 'truncated', seq: 1 },
  'a record added at the end without a seal': {
    statements: [`insert into mcp_audit (timestamp, event, actor) values ('2025-01-01T00:00:00.000Z', 'e', 'm')`],
    kind: 'inserted',
    seq: null,
  },
  'a copy of a record': {
    statements: [
      `insert into mcp_audit (timestamp, event, actor, seq, hash) select timestamp, event, actor, seq, hash from mcp_audit where seq = 3`,
    ],
    kind: 'inserted',
    seq: 3,
  },
  'a head that was moved back': {
    statements: [
      'delete from mcp_audit where seq > 15',
      `update mcp_settings set value = replace(cast(value as text), '"seq":20', '"seq":15') where key = 'audit.head'`,
    ],
    kind: 'head_forged',
    seq: 15,
  },
  'a head that was taken away': {
    statements: ['delete from mcp_audit where seq > 15', `delete from mcp_settings where key = 'audit.head'`],
    kind: 'head_lost',
    seq: 15,
  },
};

for (const [what, { statements, kind, seq }] of Object.entries(tampering)) {
  test(`SEC-006: verifying finds ${what}`, async (t) => {
    const { db, audit, execute } = await filled(t);
    const prefix = db.engine === 'postgres' ? 'mcp.' : '';
    const cast = (text: string) =>
      db.engine === 'postgres' ? text.replace(/replace\((.*)\) where/, 'replace($1)::json where') : text;
    for (const statement of statements) await execute(cast(statement.replaceAll('mcp_', prefix)));
    const { intact, problem } = await audit.verify();
    assert.equal(intact, false);
    assert.deepEqual({ kind: problem?.kind, seq: problem?.seq }, { kind, seq }, problem?.explanation);
  });
}

test('a lost head does not stop the recording, and stays visible when more was written', async (t) => {
  const { db, audit } = await filled(t);
  await upsertSetting(db, 'audit.head', { seq: 20, hash: 'x', signature: '00' });
  await audit.recordNow({ event: 'later', actor: 'a' });
  const { problem } = await audit.verify();
  assert.deepEqual([problem?.kind, problem?.seq], ['head_lost', 21]);
});

test('a chain that was written anew without the key is refused', async (t) => {
  const { db, audit } = await filled(t);
  await db.kysely.deleteFrom('audit').execute();
  await db.kysely.deleteFrom('settings').execute();
  const forger = createAudit(db, { keys: otherKeys });
  await forger.recordNow({ event: 'all.fine', actor: 'mallory' });
  await forger.close();
  assert.equal((await audit.verify()).problem?.kind, 'head_forged');
});

test('a change of the credential key keeps the chain verifiable, also when the old key is gone', async (t) => {
  const { db, audit } = await filled(t);
  await audit.flush();
  const during = createAudit(db, { keys: { current: otherKeys.current, previous: keys.current } });
  assert.equal((await during.verify()).intact, true);
  await during.close();
  const after = createAudit(db, { keys: otherKeys });
  t.after(() => after.close());
  assert.equal((await after.verify()).intact, true);
});

test('retention removes what is older, says so, and the rest verifies', async (t) => {
  const { db, audit, execute } = await filled(t, { retentionDays: 30 });
  const day = 86_400_000;
  const old = createAudit(db, { keys });
  // Time has no say in the order: an old record that arrived late stays until those before it may go.
  for (const age of [40, 35, 10, 50]) {
    await old.recordNow({ event: 'old', actor: 'a', timestamp: new Date(Date.now() - age * day).toISOString() });
  }
  await old.close();
  assert.equal(await audit.prune(), 0);

  const prefix = db.engine === 'postgres' ? 'mcp.' : '';
  await execute(`delete from ${prefix}audit`);
  await execute(`delete from ${prefix}settings`);
  const fresh = createAudit(db, { keys });
  for (const age of [40, 35, 10, 50, 1]) {
    await fresh.recordNow({ event: 'old', actor: 'a', timestamp: new Date(Date.now() - age * day).toISOString() });
  }
  await fresh.close();
  assert.equal(await audit.prune(), 2);
  assert.deepEqual(
    (await audit.find({ limit: 9 })).map((row) => [row.event, row.details?.removed]),
    [
      ['audit.pruned', 2],
      ['old', undefined],
      ['old', undefined],
      ['old', undefined],
    ],
  );
  const verdict = await audit.verify();
  assert.deepEqual([verdict.intact, verdict.records, verdict.anchor.seq], [true, 4, 2]);

  await upsertSetting(db, 'audit.anchor', { ...((await findSetting(db, 'audit.anchor')) as object), seq: 3 });
  assert.equal((await audit.verify()).problem?.kind, 'anchor_forged');
});

test('details that cannot be written are replaced and keep nobody waiting', async (t) => {
  const { audit } = await filled(t);
  const circle: Record<string, unknown> = {};
  circle.self = circle;
  audit.record({ event: 'circle', actor: 'a', details: circle });
  audit.record({ event: 'big', actor: 'a', details: { n: 1n } });
  await audit.recordNow({ event: 'fine', actor: 'a' });
  const rows = await audit.find({ limit: 3 });
  assert.deepEqual(
    rows.map((row) => row.event),
    ['fine', 'big', 'circle'],
  );
  assert.ok(rows[1]?.details?.unserialisable && rows[2]?.details?.unserialisable);
  assert.equal((await audit.verify()).intact, true);
});

test('replicas that write at the same time make one chain', async (t) => {
  // On SQLite one process owns the file, so two writers there are two audits on one connection.
  const replicas = process.env.TEST_DATABASE_URL === undefined ? 1 : 3;
  const databases = await openTestDatabase(t, replicas);
  const audits = Array.from({ length: 3 }, (_, n) => createAudit(databases[n % replicas] as Database, { keys }));
  await Promise.all(
    audits.map(async (audit, replica) => {
      for (let n = 0; n < 20; n++) await audit.recordNow({ event: 'e', actor: `replica ${replica}`, details: { n } });
    }),
  );
  const [first] = audits;
  assert.ok(first !== undefined);
  const verdict = await first.verify();
  assert.deepEqual([verdict.intact, verdict.records, verdict.head?.seq], [true, 60, 60]);
  for (const audit of audits) await audit.close();
});

test('a long chain is verified and exported page by page, in order', async (t) => {
  const [db] = await openTestDatabase(t);
  assert.ok(db !== undefined);
  const audit = createAudit(db, { keys, flushEveryMs: 60_000 });
  t.after(() => audit.close());
  for (let n = 1; n <= 2_500; n++) audit.record({ event: 'e', actor: 'a', details: { n } });
  const started = performance.now();
  assert.deepEqual((await audit.verify()).records, 2_500);
  t.diagnostic(`${db.engine}: written and verified in ${Math.round(performance.now() - started)} ms`);
  const numbers: unknown[] = [];
  for await (const row of audit.export()) numbers.push(row.details?.n);
  assert.deepEqual(
    numbers,
    Array.from({ length: 2_500 }, (_, n) => n + 1),
  );
});
