/** Streamable HTTP as decisions: the headers of a request, and what a status other than 200 means. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { RpcError } from '../../src/errors.ts';
import { HttpProblem, requestHeaders, toProblem } from '../../src/upstream/http-messages.ts';

const legacy = { era: 'legacy', protocolVersion: '2025-06-18' } as const;
const modern = { era: 'modern', protocolVersion: '2026-07-28' } as const;
const plain = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

suite('the headers of a request', () => {
  const rows: [title: string, given: Parameters<typeof requestHeaders>, added: object][] = [
    ['without a session', [legacy, undefined], { 'mcp-protocol-version': '2025-06-18' }],
    [
      'in a session, whose method is in the body alone',
      [legacy, 's1', 'tools/call', { name: 'add' }],
      { 'mcp-protocol-version': '2025-06-18', 'mcp-session-id': 's1' },
    ],
    [
      'of 2026-07-28: method and name',
      [modern, undefined, 'tools/call', { name: 'add' }],
      { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'add' },
    ],
    [
      'of 2026-07-28: a method without a name',
      [modern, undefined, 'tools/list', {}],
      { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' },
    ],
    [
      'of the caller: they never replace ours',
      [modern, undefined, 'tools/list', {}, { 'mcp-param-a': '1', 'mcp-method': 'tools/call' }],
      { 'mcp-param-a': '1', 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' },
    ],
  ];
  for (const [title, given, added] of rows) {
    test(title, () => assert.deepEqual(requestHeaders(...given), { ...plain, ...added }));
  }
});

suite('an answer that is not 200', () => {
  const rpc = (code: number) => JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message: 'no', data: 1 } });
  const rows: [title: string, status: number, type: string, body: string, expected: RpcError | HttpProblem][] = [
    ['an error of the server', 400, 'application/json', rpc(-32_602), new RpcError(-32_602, 'no', 1)],
    ['an unknown session', 404, 'application/json', rpc(-32_001), new HttpProblem(404, rpc(-32_001))],
    ['an unknown session of older servers', 404, 'application/json', rpc(-32_000), new HttpProblem(404, rpc(-32_000))],
    ['an unknown session without a body', 404, 'text/plain', '', new HttpProblem(404, '')],
    ['an unknown method', 404, 'application/json', rpc(-32_601), new RpcError(-32_601, 'no', 1)],
    ['JSON that is no JSON-RPC error', 500, 'application/json', '{"error":"x"}', new HttpProblem(500, '{"error":"x"}')],
    ['broken JSON', 502, 'application/json', '{', new HttpProblem(502, '{')],
    ['a page of a proxy', 503, 'text/html; charset=utf-8', '<h1>x</h1>', new HttpProblem(503, '<h1>x</h1>')],
  ];
  for (const [title, status, type, body, expected] of rows) {
    test(title, () => {
      const problem = toProblem({ status, headers: { 'content-type': type }, body: Buffer.from(body) });
      assert.deepEqual(problem, expected);
    });
  }
});
