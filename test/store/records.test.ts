import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAuditSeal } from '../../src/security/audit-chain.ts';
import { findAudit, insertAuditBatch } from '../../src/store/audit.ts';
import { findClassifications, upsertClassifications } from '../../src/store/classifications.ts';
import { deleteProfile, findProfiles, upsertProfile } from '../../src/store/profiles.ts';
import { findSetting, upsertSetting } from '../../src/store/settings.ts';
import { deleteSkill, findSkills, upsertSkill } from '../../src/store/skills.ts';
import { findTokens, insertToken, updateTokensUsed } from '../../src/store/tokens.ts';
import { openTestDatabase } from './store.ts';

test('audit records are found by filter and page, the newest first', async (t) => {
  const db = await openTestDatabase(t);
  const seal = createAuditSeal({ current: Buffer.alloc(32, 1) });
  const entry = (n: number) => ({
    timestamp: new Date(Date.UTC(2025, 0, 1, 0, n)).toISOString(),
    event: n % 2 === 0 ? 'tool.called' : 'server.registered',
    actor: 'ann',
    ip_address: '127.0.0.1',
    server_id: null,
    server_name: `s${n % 3}`,
    details: JSON.stringify({ n }),
  });
  const numbered = Array.from({ length: 250 }, (_, n) => n);
  await insertAuditBatch(db, numbered, entry, seal);
  await insertAuditBatch(db, [], entry, seal);

  const numbers = async (filter: Parameters<typeof findAudit>[1]) =>
    (await findAudit(db, filter)).map((row) => row.details?.n);
  assert.deepEqual(await numbers({ limit: 3 }), [249, 248, 247]);
  const [, last] = await findAudit(db, { limit: 2 });
  assert.deepEqual(await numbers({ limit: 2, before: last?.id }), [247, 246]);
  assert.deepEqual(await numbers({ limit: 2, event: 'tool.called', server_name: 's0' }), [246, 240]);
  assert.deepEqual(await numbers({ limit: 9, since: entry(3).timestamp, until: entry(5).timestamp }), [4, 3]);
  assert.deepEqual(await numbers({ limit: 9, actor: 'bob' }), []);
  const [oldest] = await findAudit(db, { limit: 1, until: entry(1).timestamp });
  assert.deepEqual(oldest, { id: oldest?.id, ...entry(0), details: { n: 0 } });
});

test('settings keep any JSON value', async (t) => {
  const db = await openTestDatabase(t);
  for (const value of ['text', 5, null, false, [1, { b: 1, a: 2 }], { rules: [] }]) {
    await upsertSetting(db, 'k', value);
    assert.deepEqual(await findSetting(db, 'k'), value);
  }
  assert.equal(await findSetting(db, 'other'), undefined);
});

test('profiles and skills are created, changed, listed and removed', async (t) => {
  const db = await openTestDatabase(t);
  const created = await upsertProfile(db, 'work', { servers: ['a'] });
  const changed = await upsertProfile(db, 'work', { servers: ['a', 'b'] });
  assert.equal(changed.created_at, created.created_at);
  assert.deepEqual(await findProfiles(db), [changed]);
  assert.equal(await deleteProfile(db, 'work'), true);
  assert.equal(await deleteProfile(db, 'work'), false);

  const skill = { id: 'web', name: 'Web', description: 'Pages', examples: ['open a page'], origin: 'custom' as const };
  await upsertSkill(db, skill);
  const renamed = await upsertSkill(db, { ...skill, name: 'The web' });
  assert.deepEqual(await findSkills(db), [renamed]);
  assert.equal(renamed.name, 'The web');
  assert.equal(await deleteSkill(db, 'web'), true);
});

test('classifications are kept by what was told, the most lately used ones up to a limit', async (t) => {
  const db = await openTestDatabase(t);
  const row = (n: number) => ({ content_hash: `hash-${n}`, skill_confidences: { zoo: n / 10, email: 0.5 } });
  const kept = async () => {
    const hashes = Array.from({ length: 250 }, (_, n) => `hash-${n}`);
    return (await findClassifications(db, hashes)).map(({ content_hash: hash }) => hash).toSorted();
  };
  const laterThanBefore = async () => {
    const last = new Date().toISOString();
    while (new Date().toISOString() === last) await new Promise(setImmediate);
  };
  for (const n of [1, 2, 3]) {
    await upsertClassifications(db, [row(n)], { most: 3 });
    await laterThanBefore();
  }
  assert.deepEqual(await findClassifications(db, ['hash-2', 'unknown']), [row(2)]);
  await upsertClassifications(db, [row(1)], { most: 3 });
  await laterThanBefore();
  await upsertClassifications(db, [row(4)], { most: 3 });
  assert.deepEqual(await kept(), ['hash-1', 'hash-3', 'hash-4'], 'hash-2 was not used for the longest time');
  await laterThanBefore();
  const many = Array.from({ length: 240 }, (_, n) => row(n + 5));
  await upsertClassifications(db, many, { most: 200 });
  assert.equal((await kept()).length, 200);
});

test('replicas that store the uses of the same tokens at the same time wait for each other', async (t) => {
  const db = await openTestDatabase(t);
  const ids = Array.from({ length: 40 }, (_, n) => `token-${String(n).padStart(2, '0')}`);
  const limits = { role: 'caller' as const, servers: null, profile: null, expires_at: null };
  const common = { ...limits, last_used_at: null, owner: null, origin: 'api' as const };
  for (const id of ids) {
    const created_at = new Date(0).toISOString();
    await insertToken(db, { ...common, id, name: id, hash: `hash of ${id}`, created_by: 'a test', created_at });
  }
  const usedAt = new Date(1_000).toISOString();
  const orders = [ids, ids.toReversed()].map((order) => new Map(order.map((id) => [id, usedAt])));
  for (let round = 0; round < 10; round += 1) await Promise.all(orders.map((order) => updateTokensUsed(db, order)));
  for (const { last_used_at } of await findTokens(db)) assert.equal(last_used_at, usedAt);
});
