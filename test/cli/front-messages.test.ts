/** `mcp-aggregator stdio` as decisions: the headers of a message, and what a session remembers. */
import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { suite, test } from 'node:test';
import { headersOf, linesOf, parseLine } from '../../src/cli/front-messages.ts';
import { beginSession, recordWish } from '../../src/cli/front-session.ts';
import { hopMeta, type RpcMessage, type RpcRequest } from '../../src/json-rpc.ts';

const always = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'mcp-aggregator-front': 'stdio',
  'mcp-aggregator-client': 'c1',
};
const session = { id: 's1', version: '2025-06-18' };
const inSession = { 'mcp-session-id': 's1', 'mcp-protocol-version': '2025-06-18' };
const request = (method: string, params?: RpcRequest['params']): RpcRequest => ({
  jsonrpc: '2.0',
  id: 1,
  method,
  params,
});
const _meta = { [hopMeta.protocolVersion]: '2026-07-28' };
const modern = { 'mcp-protocol-version': '2026-07-28' };

suite('the headers of a message', () => {
  const rows: [title: string, message: RpcMessage, session: typeof session | undefined, added: object][] = [
    ['before there is a session', request('tools/list'), undefined, {}],
    ['in a session', request('tools/list'), session, inSession],
    ['an answer in a session', { jsonrpc: '2.0', id: 1, result: {} }, session, inSession],
    ['initialize begins another session', request('initialize'), session, {}],
    [
      '2026-07-28 names the method, and not the session',
      request('tools/list', { _meta }),
      session,
      { ...modern, 'mcp-method': 'tools/list' },
    ],
    [
      '2026-07-28 names the tool',
      request('tools/call', { name: 'notes.add', _meta }),
      undefined,
      { ...modern, 'mcp-method': 'tools/call', 'mcp-name': 'notes.add' },
    ],
    [
      '2026-07-28 names the resource',
      request('resources/read', { uri: 'file:///a', _meta }),
      undefined,
      { ...modern, 'mcp-method': 'resources/read', 'mcp-name': 'file:///a' },
    ],
  ];
  for (const [title, message, given, added] of rows) {
    test(title, () => assert.deepEqual(headersOf(message, { client: 'c1', session: given }), { ...always, ...added }));
  }
});

suite('what a session remembers to be repeated', () => {
  const initialize = request('initialize');
  const answer = { jsonrpc: '2.0', id: 1, result: { protocolVersion: '2025-06-18' } } as const;
  const begun = beginSession(undefined, initialize, { answer, id: 's1' });
  assert.ok(begun);
  const level = request('logging/setLevel', { level: 'info' });
  const subscribe = (uri: string) => request('resources/subscribe', { uri });
  const unsubscribe = (uri: string) => request('resources/unsubscribe', { uri });

  const rows: [title: string, requests: RpcRequest[], expected: RpcRequest[]][] = [
    ['calls leave nothing behind', [request('tools/call', { name: 'a' })], []],
    ['the last log level', [request('logging/setLevel', { level: 'debug' }), level], [level]],
    ['each resource that is followed', [subscribe('a:1'), subscribe('a:2')], [subscribe('a:1'), subscribe('a:2')]],
    ['none that is followed no longer', [subscribe('a:1'), subscribe('a:2'), unsubscribe('a:1')], [subscribe('a:2')]],
  ];
  for (const [title, requests, expected] of rows) {
    test(title, () => assert.deepEqual([...requests.reduce(recordWish, begun).wishes.values()], expected));
  }

  test('a session that replaces it keeps them; one of another initialize does not', () => {
    const before = recordWish(begun, level);
    const replaced = beginSession(before, initialize, { answer, id: 's2' });
    assert.deepEqual([replaced?.id, replaced?.wishes.size], ['s2', 1]);
    assert.equal(beginSession(before, request('initialize'), { answer, id: 's3' })?.wishes.size, 0);
  });

  test('a refused initialize begins none', () => {
    const refused = { jsonrpc: '2.0', id: 1, error: { code: -32_600, message: 'no' } } as const;
    assert.equal(beginSession(begun, initialize, { answer: refused, id: 's2' }), undefined);
  });
});

test('lines end at line feeds only, in whatever parts they come', async () => {
  const input = Readable.from([Buffer.from('{"a":'), Buffer.from('1}\n[1,'), Buffer.from('2]\n"\u2028"\nlast')]);
  const lines: string[] = [];
  for await (const line of linesOf(input)) lines.push(line);
  assert.deepEqual(lines, ['{"a":1}', '[1,2]', '"\u2028"', 'last']);
  assert.deepEqual(lines.map(parseLine), [[{ a: 1 }], [1, 2], ['\u2028'], [undefined]]);
});
