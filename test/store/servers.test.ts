import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findHistory, insertHistory } from '../../src/store/history.ts';
import type { ServerRow } from '../../src/store/schema.ts';
import { findServerItems, replaceServerItems } from '../../src/store/server-items.ts';
import { deleteServer, findServer, findServers, insertServer, updateServer } from '../../src/store/servers.ts';
import { findTools, replaceServerTools } from '../../src/store/tools.ts';
import { addServer, newServer, newTools, openTestDatabase, roomyLimits } from './store.ts';

const limit = { maxServers: 50 };

test('BR-001: a new server starts DISCONNECTED, without tools', async (t) => {
  const db = await openTestDatabase(t);
  const server = await insertServer(db, newServer('github-mcp'), limit);
  assert.equal(server.status, 'DISCONNECTED');
  assert.equal(server.tool_count, 0);
  assert.equal(server.auto_connect, true);
  assert.deepEqual(server.session_evidence, {});
  assert.equal(server.discovered_at, null);
  assert.equal(server.connected_at, null);
  assert.deepEqual(server.options, {});
  assert.deepEqual(await findServer(db, server.id), server);
  assert.deepEqual((await findServers(db)).rows, [server]);
});

test('every column comes back as it was written, on both engines', async (t) => {
  const db = await openTestDatabase(t);
  const at = '2025-01-08T10:00:00.120Z';
  const row: ServerRow = {
    id: 'b7f3a2f0-0000-4000-8000-000000000000',
    name: 'all',
    description: 'Grüße, 世界 🙂',
    transport_type: 'HTTP',
    connection_config: { sealed: 'v1.k.i.c' },
    health_check_url: 'https://example.com/health',
    status: 'DEGRADED',
    last_health_check: at,
    tool_count: 3,
    error_message: 'none',
    registered_at: at,
    connected_at: at,
    updated_at: at,
    auto_connect: false,
    desired: 'disconnected',
    options: { zeta: 1, alpha: [true, null, { b: 1, a: 2 }] },
    tool_overrides: { drop: { enabled: false } },
    origin: 'import',
    imported_as: 'a mark',
    era: 'legacy',
    protocol_version: '2025-06-18',
    era_checked_at: at,
    session_evidence: { asked: ['roots/list'], stateful: 'a tool says so' },
    discovered_at: at,
    server_info: { name: 'x', version: '1' },
    capabilities: { tools: { listChanged: true } },
    instructions: 'Be kind.',
    stderr_tail: 'line 1\nline 2',
  };
  const saved = await insertServer(db, row, limit);
  assert.deepEqual(saved, row);
  const found = await findServer(db, row.id);
  assert.deepEqual(found, row);
  assert.equal(JSON.stringify(found?.options), JSON.stringify(row.options), 'JSON keeps the order of its keys');
});

test('EC-004: of many registrations of one name exactly one succeeds', async (t) => {
  const db = await openTestDatabase(t);
  const attempts = Array.from({ length: 8 }, () => insertServer(db, newServer('same'), limit));
  const results = await Promise.allSettled(attempts);
  const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
  assert.equal(failures.length, 7);
  for (const failure of failures) {
    assert.equal(failure.code, 'SERVER_ALREADY_EXISTS');
    assert.equal(failure.message, 'Server already exists: same');
  }
  assert.equal((await findServers(db)).total, 1);
});

test('the limit of servers holds against registrations at the same time', async (t) => {
  const db = await openTestDatabase(t);
  const attempts = Array.from({ length: 8 }, (_, index) => insertServer(db, newServer(`s${index}`), { maxServers: 3 }));
  const results = await Promise.allSettled(attempts);
  const codes = results.flatMap((result) => (result.status === 'rejected' ? [result.reason.code] : []));
  assert.deepEqual(codes, Array(5).fill('SERVER_LIMIT_REACHED'));
  assert.equal((await findServers(db)).total, 3);

  const [taken] = (await findServers(db)).rows;
  assert.ok(taken);
  await assert.rejects(insertServer(db, newServer(taken.name), { maxServers: 3 }), { code: 'SERVER_ALREADY_EXISTS' });
});

test('servers are listed in byte order of their names, by page and status', async (t) => {
  const db = await openTestDatabase(t);
  for (const name of ['a_b', 'ab', 'a-b', 'a', 'b1', 'b-1']) await insertServer(db, newServer(name), limit);
  const all = await findServers(db);
  assert.deepEqual(
    all.rows.map((row) => row.name),
    ['a', 'a-b', 'a_b', 'ab', 'b-1', 'b1'],
  );
  assert.equal(all.total, 6);

  const page = await findServers(db, { limit: 2, offset: 2 });
  assert.deepEqual(
    page.rows.map((row) => row.name),
    ['a_b', 'ab'],
  );
  assert.equal(page.total, 6);

  const first = all.rows[0];
  assert.ok(first);
  await updateServer(db, first.id, { status: 'CONNECTED' });
  const connected = await findServers(db, { status: 'CONNECTED', limit: 10, offset: 0 });
  assert.deepEqual(
    connected.rows.map((row) => row.name),
    ['a'],
  );
  assert.equal(connected.total, 1);
});

test('a patch changes what it names and the time of the change', async (t) => {
  const db = await openTestDatabase(t);
  const server = await insertServer(db, newServer('one', { updated_at: '2020-01-01T00:00:00.000Z' }), limit);
  const updated = await updateServer(db, server.id, { status: 'ERROR', error_message: 'nul\0byte', options: { a: 1 } });
  assert.ok(updated);
  assert.notEqual(updated.updated_at, server.updated_at);
  assert.deepEqual(updated, {
    ...server,
    status: 'ERROR',
    error_message: 'nulbyte',
    options: { a: 1 },
    updated_at: updated.updated_at,
  });
  assert.equal(await updateServer(db, 'not-a-uuid', { status: 'ERROR' }), undefined);
});

test('BR-008: removing a server removes its tools, items and history', async (t) => {
  const db = await openTestDatabase(t);
  const id = await addServer(db, 'gone');
  const other = await addServer(db, 'stays');
  await replaceServerTools(db, id, newTools('gone', 3), roomyLimits);
  await replaceServerTools(db, other, newTools('stays', 2), roomyLimits);
  await replaceServerItems(db, id, 'prompt', [{ key: 'p', definition: { name: 'p' } }]);
  await insertHistory(db, { server_id: id, event_type: 'CONNECTED' });

  assert.equal(await deleteServer(db, id), true);
  assert.equal(await deleteServer(db, id), false);
  assert.equal(await deleteServer(db, 'not-a-uuid'), false);
  assert.equal(await findServer(db, id), undefined);
  assert.deepEqual(
    (await findTools(db)).map((tool) => tool.source_server_id),
    [other, other],
  );
  assert.deepEqual(await findServerItems(db), []);
  assert.deepEqual(await findHistory(db, id, { limit: 10 }), []);
});

test('history is paged from the newest and keeps the newest 1,000 of a server', async (t) => {
  const db = await openTestDatabase(t);
  const id = await addServer(db, 'busy');
  const quiet = await addServer(db, 'quiet');
  await insertHistory(db, { server_id: quiet, event_type: 'CONNECTED', details: { attempt: 1 } });
  for (let n = 0; n < 1_005; n++) await insertHistory(db, { server_id: id, event_type: 'ERROR', details: { n } });

  const page = await findHistory(db, id, { limit: 2 });
  assert.deepEqual(
    page.map((row) => row.details),
    [{ n: 1_004 }, { n: 1_003 }],
  );
  const next = await findHistory(db, id, { limit: 2_000, before: page[1]?.id });
  assert.equal(next.length, 998);
  assert.deepEqual(next.at(-1)?.details, { n: 5 });
  assert.equal((await findHistory(db, quiet, { limit: 10 })).length, 1);

  await deleteServer(db, id);
  await insertHistory(db, { server_id: id, event_type: 'DISCONNECTED' });
});

test('prompts and resources are replaced by kind, and no change is told as such', async (t) => {
  const db = await openTestDatabase(t);
  const id = await addServer(db, 'items');
  const prompts = [
    { key: 'z', definition: { name: 'z', title: 'Z' } },
    { key: 'a', definition: { name: 'a' } },
  ];
  assert.equal(await replaceServerItems(db, id, 'prompt', prompts), true);
  assert.equal(await replaceServerItems(db, id, 'prompt', prompts), false);
  assert.equal(
    await replaceServerItems(db, id, 'resource', [{ key: 'file:///x', definition: { uri: 'file:///x' } }]),
    true,
  );
  assert.deepEqual(
    (await findServerItems(db)).map((row) => [row.kind, row.key]),
    [
      ['prompt', 'z'],
      ['prompt', 'a'],
      ['resource', 'file:///x'],
    ],
  );
  assert.equal(await replaceServerItems(db, id, 'prompt', prompts.toReversed()), true);
  assert.equal(await replaceServerItems(db, id, 'prompt', []), true);
  assert.deepEqual(
    (await findServerItems(db)).map((row) => row.kind),
    ['resource'],
  );
  await assert.rejects(replaceServerItems(db, 'nobody', 'prompt', prompts), { code: 'SERVER_NOT_FOUND' });
});
