import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { createConversation, createFloodGuard } from '../../src/upstream/session.ts';
import { startApp } from '../support/app.ts';
import { listenLocally, openEventStream, readJson, sendJson, writeEvent } from '../support/servers/http-wire.ts';

const perSecond = 20_000;

test('as many messages as anybody could want in a second are no flood, one more is, and then it begins anew', (t) => {
  let now = 5_000;
  t.mock.method(performance, 'now', () => now);
  const isFlooding = createFloodGuard();
  for (let message = 0; message < perSecond; message += 1) assert.equal(isFlooding(), false);
  assert.equal(isFlooding(), true);
  now += 1_000;
  assert.equal(isFlooding(), false);
});

for (const [what, message] of [
  ['notifications', { jsonrpc: '2.0', method: 'notifications/message', params: {} }],
  ['questions', { jsonrpc: '2.0', id: 1, method: 'roots/list' }],
  ['answers to nothing', { jsonrpc: '2.0', id: 99, result: {} }],
] as const) {
  test(`a channel that pours ${what} is closed`, (t) => {
    t.mock.method(performance, 'now', () => 5_000);
    let pour = () => {};
    const closed: number[] = [];
    const lost: string[] = [];
    createConversation(
      ({ onMessage }) => {
        pour = () => onMessage(message);
        return { send() {}, close: async () => void closed.push(1) };
      },
      {
        onNotification() {},
        onRequest: async () => ({ roots: [] }),
        onClose: (error) => lost.push(error.message),
      },
    );
    for (let count = 0; count < perSecond; count += 1) pour();
    assert.deepEqual([closed, lost], [[], []]);
    pour();
    pour();
    assert.deepEqual([closed, lost], [[1], ['the server sent more than 20000 unsolicited messages per second']]);
  });
}

test('the stream of a server on Streamable HTTP that pours notifications is closed, and its calls go on', async (t) => {
  const opened = Promise.withResolvers<ServerResponse>();
  const results: Record<string, unknown> = {
    initialize: {
      protocolVersion: '2025-11-25',
      capabilities: { tools: {} },
      serverInfo: { name: 'pouring', version: '1' },
    },
    'tools/list': { tools: [{ name: 'calm', inputSchema: { type: 'object' } }] },
    'tools/call': { content: [{ type: 'text', text: 'calm' }] },
  };
  const server = await listenLocally('/mcp', 0, () => ({
    close: () => undefined,
    async handle(request, response) {
      if (request.method === 'GET') {
        openEventStream(response);
        return opened.resolve(response);
      }
      const { id, method } = (await readJson(request)) as { id?: number; method: string };
      if (id === undefined) return void response.writeHead(202).end();
      const result = results[method];
      if (result === undefined) return void response.writeHead(400).end();
      sendJson(response, 200, { jsonrpc: '2.0', id, result });
    },
  }));
  const app = await startApp();
  t.after(server.close);
  t.after(app.close);
  await app.add('pouring', { base_url: server.url });
  const stream = await opened.promise;
  const data = JSON.stringify({
    jsonrpc: '2.0',
    method: 'notifications/message',
    params: { level: 'info', data: 'x' },
  });
  // However slow the machine, it is all in one second.
  const frozen = t.mock.method(performance, 'now', () => 5_000_000);
  for (let count = 0; count <= perSecond; count += 1) writeEvent(stream, { data });
  await once(stream, 'close');
  frozen.mock.restore();
  assert.equal((await app.call('pouring.calm')).body.content[0].text, 'calm');
});
