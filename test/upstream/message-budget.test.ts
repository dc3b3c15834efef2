import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { createMessageBudget } from '../../src/upstream/message-budget.ts';
import { startApp } from '../support/app.ts';
import { listenLocally, readJson, sendJson } from '../support/servers/http-wire.ts';

test('messages that are not complete are counted, one by one and together, and no longer when they are', () => {
  const budget = createMessageBudget({ maxMessageBytes: 1_000_000, maxMessagesBytes: 1_500_000 });
  const [one, other] = [budget.open(), budget.open()];
  one.set(1_000_000);
  assert.throws(() => one.set(1_000_001), /a message of more than 1000000 bytes \(MCP_AGGREGATOR_MAX_MESSAGE_BYTES\)/);
  assert.throws(() => other.set(600_000), /more than 1500000 bytes together .*MAX_MESSAGES_BYTES/);
  other.set(60_000);
  one.set(900_000);
  other.set(600_000);
  other.release();
  one.set(1_000_000);
  one.release();
  other.set(1_000_000);
});

test('LIM-009: a server that begins many long answers and ends none is refused, and others are answered', async (t) => {
  const results: Record<string, unknown> = {
    initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } },
    'tools/list': { tools: ['begin', 'answer'].map((name) => ({ name, inputSchema: { type: 'object' } })) },
    'tools/call': { content: [{ type: 'text', text: 'x'.repeat(200_000) }] },
  };
  const begun: ServerResponse[] = [];
  const server = await listenLocally('/mcp', 0, () => ({
    close: () => undefined,
    async handle(request, response) {
      if (request.method === 'GET') return void response.writeHead(405).end();
      const { id, method, params } = (await readJson(request)) as {
        id?: number;
        method: string;
        params?: { name: string };
      };
      if (id === undefined) return void response.writeHead(202).end();
      if (params?.name !== 'begin') {
        const result = results[method];
        if (result === undefined) return void response.writeHead(400).end();
        return sendJson(response, 200, { jsonrpc: '2.0', id, result });
      }
      begun.push(response);
      const type = begun.length % 2 === 0 ? 'application/json' : 'text/event-stream';
      response.writeHead(200, { 'content-type': type }).write(`data: ${'x'.repeat(700_000)}`);
    },
  }));
  const app = await startApp({
    MCP_AGGREGATOR_MAX_MESSAGE_BYTES: '1000000',
    MCP_AGGREGATOR_MAX_MESSAGES_BYTES: '2000000',
  });
  t.after(server.close);
  t.after(app.close);
  await app.add('slow', { base_url: server.url });
  await app.add('fine', { base_url: server.url });
  const calls = [1, 2, 3].map(() => app.call('slow.begin'));
  const refused = await Promise.race(calls);
  assert.equal(refused.status, 502);
  assert.match(refused.body.detail, /more than 2000000 bytes together with those of other servers/);
  assert.equal((await app.call('fine.answer')).status, 200);

  const [first] = begun.filter(({ writableEnded, destroyed }) => !writableEnded && !destroyed);
  const closed = first && once(first, 'close');
  first?.destroy();
  await closed;
  assert.equal((await app.call('fine.answer')).status, 200);
  for (const response of begun) response.destroy();
  await Promise.all(calls);
});
