import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAudit } from '../../src/security/audit.ts';
import { findAuditAfter } from '../../src/store/audit.ts';
import { openTestDatabase } from '../store/store.ts';
import { until } from '../support/until.ts';

const keys = { current: Buffer.alloc(32, 7) };

test('SEC-006: an audit record has all of its fields', async (t) => {
  const audit = createAudit(await openTestDatabase(t), { keys });
  t.after(() => audit.close());
  const entry = {
    event: 'server.registered',
    server_id: 'uuid',
    server_name: 'github-mcp',
    actor: 'user@example.com',
    timestamp: '2025-01-08T10:00:00.000Z',
    ip_address: '192.168.1.1',
  };
  await audit.recordNow(entry);
  const [row] = await audit.find({ limit: 10 });
  assert.deepEqual(row, { id: row?.id, ...entry, details: null });
});

test('a time that is none is refused at once, and keeps no other record waiting', async (t) => {
  const audit = createAudit(await openTestDatabase(t), { keys, flushEveryMs: 60_000 });
  t.after(() => audit.close());
  assert.throws(() => audit.record({ event: 'tool.called', actor: 'a', timestamp: 'yesterday' }), /timestamp/);
  await assert.rejects(audit.recordNow({ event: 'server.removed', actor: 'a', timestamp: 'soon' }), /timestamp/);
  await audit.recordNow({ event: 'server.registered', actor: 'a' });
  assert.equal((await audit.find({ limit: 10 })).length, 1);
});

test('records keep their order, calls and admin acts alike, and closing writes the rest', async (t) => {
  const db = await openTestDatabase(t);
  const audit = createAudit(db, { keys, flushEveryMs: 60_000 });
  for (let n = 0; n < 300; n++) audit.record({ event: 'tool.called', actor: 'a', details: { n } });
  await audit.recordNow({ event: 'server.removed', actor: 'a' });
  audit.record({ event: 'last', actor: 'a' });
  await audit.close();
  const reader = createAudit(db, { keys });
  t.after(() => reader.close());
  const rows = await reader.find({ limit: 1_000 });
  assert.deepEqual(
    rows.slice(0, 2).map((row) => row.event),
    ['last', 'server.removed'],
  );
  assert.deepEqual(
    rows.slice(2).map((row) => row.details?.n),
    Array.from({ length: 300 }, (_, n) => 299 - n),
  );
});

test('records beyond the capacity are counted and the loss is itself recorded', async (t) => {
  const audit = createAudit(await openTestDatabase(t), { keys, capacity: 2, flushEveryMs: 60_000 });
  t.after(() => audit.close());
  for (let n = 0; n < 5; n++) audit.record({ event: 'tool.called', actor: 'a' });
  const rows = await audit.find({ limit: 10 });
  assert.deepEqual(
    rows.map((row) => [row.event, row.details]),
    [
      ['audit.overflow', { lost: 3 }],
      ['tool.called', null],
      ['tool.called', null],
    ],
  );
});

test('records are stored before their time when half of the room for them is taken', async (t) => {
  const db = await openTestDatabase(t);
  const audit = createAudit(db, { keys, capacity: 10, flushEveryMs: 60_000 });
  t.after(() => audit.close());
  for (let n = 0; n < 5; n++) audit.record({ event: 'tool.called', actor: 'a' });
  await until(() => audit.backlog.waiting === 0, 'they are stored');
  assert.equal((await findAuditAfter(db, 0, 10)).length, 5);
});

test('a database that fails is reported, recording goes on, and an admin act says so', async (t) => {
  const { promise: reported, resolve } = Promise.withResolvers<unknown>();
  const db = await openTestDatabase(t);
  const audit = createAudit(db, { keys, flushEveryMs: 5, onError: resolve });
  await db.kysely.schema.dropTable('audit').execute();
  audit.record({ event: 'tool.called', actor: 'a' });
  assert.ok((await reported) instanceof Error);
  await assert.rejects(audit.recordNow({ event: 'server.removed', actor: 'a' }));
  await assert.rejects(audit.close());
});
