/** What events, patches and other replicas make of a server's record, by table. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../../src/errors.ts';
import { fillIn } from '../../src/registry/resolve-connection.ts';
import {
  needsOtherSession,
  overallStatus,
  statusPatch,
  toRowPatch,
  toServer,
  withRowPatch,
  withStored,
} from '../../src/registry/server-record.ts';
import type { ServerRow } from '../../src/store/schema.ts';

const row = (more: Partial<ServerRow> = {}) =>
  ({
    id: '1',
    name: 'any',
    description: null,
    transport_type: 'HTTP',
    connection_config: { sealed: 'old' },
    health_check_url: null,
    auto_connect: true,
    desired: 'connected',
    options: {},
    origin: 'api',
    era: 'legacy',
    era_checked_at: 'then',
    session_evidence: { asked: ['roots/list'] },
    discovered_at: 'then',
    tool_count: 3,
    error_message: null,
    updated_at: 'before',
    ...more,
  }) as ServerRow;
const server = { ...toServer(row()), lifecycle: { status: 'CONNECTED', failures: 1 } as const };
const learned = {
  era: 'legacy',
  era_checked_at: 'then',
  session_evidence: { asked: ['roots/list'] },
  discovered_at: 'then',
};
const nothingLearned = { era: null, era_checked_at: null, session_evidence: {}, discovered_at: null };

const at = 'now';
const statuses: [...Parameters<typeof statusPatch>, unknown][] = [
  ['CONNECTING', 'connect', { at }, { status: 'CONNECTING' }],
  ['CONNECTED', 'connect_succeeded', { at }, { status: 'CONNECTED', connected_at: 'now' }],
  ['CONNECTED', 'health_passed', { at }, { status: 'CONNECTED', error_message: null }],
  ['DEGRADED', 'health_failed', { at, error: 'no' }, { status: 'DEGRADED', error_message: 'no' }],
  [
    'ERROR',
    'connect_failed',
    { at, error: 'no', stderr: ['a', 'b'] },
    { status: 'ERROR', error_message: 'no', stderr_tail: 'a\nb' },
  ],
  ['DISCONNECTED', 'disconnected', { at }, { status: 'DISCONNECTED', error_message: null }],
];
for (const [status, event, note, expected] of statuses) {
  test(`ST-001: ${event} to ${status} changes ${Object.keys(expected as object).join(', ')}`, () => {
    assert.deepEqual(statusPatch(status, event, note), expected);
  });
}

const taken: { what: string; row: Partial<ServerRow>; moved: boolean; expected: [boolean, boolean, object] }[] = [
  { what: 'nothing new', row: {}, moved: false, expected: [false, false, learned] },
  {
    what: 'what another replica found out',
    row: { tool_count: 9, error_message: 'theirs', era: 'modern' },
    moved: false,
    expected: [false, false, { ...learned, tool_count: 3, error_message: null }],
  },
  {
    what: 'another description',
    row: { description: 'new' },
    moved: false,
    expected: [true, false, { ...learned, description: 'new' }],
  },
  { what: 'other options', row: { options: { request_timeout: 5 } }, moved: false, expected: [true, true, learned] },
  { what: 'another desire', row: { desired: 'disconnected' }, moved: false, expected: [true, false, learned] },
  {
    what: 'the same connection under another key',
    row: { connection_config: { sealed: 'new' } },
    moved: false,
    expected: [false, false, { ...learned, sealed: 'new' }],
  },
  {
    what: 'another connection',
    row: { connection_config: { sealed: 'new' } },
    moved: true,
    expected: [true, true, { ...nothingLearned, sealed: 'new' }],
  },
];
for (const { what, row: stored, moved, expected } of taken) {
  test(`taken from another replica: ${what}`, () => {
    const after = withStored(server, row({ updated_at: 'after', ...stored }), moved);
    const [isChanged, reconnect, members] = expected;
    assert.equal(after.isChanged, isChanged);
    assert.equal(after.reconnect, reconnect);
    assert.partialDeepStrictEqual(after.server, { ...members, updated_at: 'after', lifecycle: server.lifecycle });
  });
}

test('a patch changes what it names; another connection voids what was learned about the old one', () => {
  assert.deepEqual(toRowPatch({}, undefined), {});
  assert.deepEqual(toRowPatch({ description: null, auto_connect: false }, undefined), {
    description: null,
    auto_connect: false,
  });
  const moved = toRowPatch({ options: { request_timeout: 5 } }, { transport_type: 'SSE', sealed: 'new' });
  assert.deepEqual(moved, {
    options: { request_timeout: 5 },
    transport_type: 'SSE',
    connection_config: { sealed: 'new' },
    ...nothingLearned,
  });
  const after = withRowPatch(server, moved, 'after');
  const { sealed, options, transport_type, updated_at, tool_count } = after;
  assert.deepEqual(
    { sealed, options, transport_type, updated_at, tool_count },
    { sealed: 'new', options: { request_timeout: 5 }, transport_type: 'SSE', updated_at: 'after', tool_count: 3 },
  );
  assert.equal('connection_config' in after, false);
});

test('options of the aggregator query need no other session', () => {
  assert.equal(needsOtherSession({}, { query_readers: ['x'] }), false);
  assert.equal(needsOtherSession({ request_timeout: 5 }, { request_timeout: 5, query_readers: ['x'] }), false);
  assert.equal(needsOtherSession({}, { request_timeout: 5 }), true);
});

test('a server that is connected at any replica is connected', () => {
  const elsewhere = [{ id: 'other', status: 'CONNECTED' as const, error: null }];
  const failed = { ...server, lifecycle: { status: 'ERROR', failures: 0 } as const, error_message: 'no' };
  assert.deepEqual(overallStatus(failed), { id: '', status: 'ERROR', error: 'no' });
  assert.equal(overallStatus({ ...failed, elsewhere }).status, 'CONNECTED');
});

const connections: { url: string; environment: Record<string, string>; problem?: RegExp }[] = [
  { url: 'https://example.com/mcp', environment: {} },
  { url: 'https://${HOST}/mcp', environment: { HOST: 'example.com' } },
  { url: 'https://${HOST}/mcp', environment: {}, problem: /variables that are not set .*: \$\{HOST\}$/ },
  { url: '${URL}', environment: { URL: 'no address' }, problem: /the server's URL/ },
];
for (const { url, environment, problem } of connections) {
  test(`${url} with ${JSON.stringify(environment)}`, () => {
    const resolve = () =>
      fillIn(
        { transport_type: 'HTTP', connection_config: { base_url: url } } as never,
        ({ name }) => environment[name],
      );
    if (problem !== undefined) {
      assert.throws(resolve, (error) => error instanceof AppError && problem.test(error.message));
      return;
    }
    assert.deepEqual(resolve().connection.connection_config, { base_url: 'https://example.com/mcp' });
  });
}
