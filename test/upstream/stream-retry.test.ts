/** A server that asks to be asked again at once is asked again soon, not all the time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Body, startApp } from '../support/app.ts';
import { listenLocally, openEventStream, readJson, sendJson, writeEvent } from '../support/servers/http-wire.ts';

const minMs = 250;
/** Timers may fire a little early. */
const toleranceMs = 5;

test('retry: 0 on the stream of a server, and on the stream of a call, does not make us ask without a pause', async (t) => {
  const listens: number[] = [];
  const resumes: number[] = [];
  const enough = Promise.withResolvers<void>();
  const results: Record<string, unknown> = {
    initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } },
    'tools/list': { tools: [{ name: 'late', inputSchema: { type: 'object' } }] },
  };
  let callId = 0;
  const server = await listenLocally('/mcp', 0, () => ({
    close: () => undefined,
    async handle(request, response) {
      if (request.method === 'GET') {
        const isResumed = request.headers['last-event-id'] === 'call';
        const times = isResumed ? resumes : listens;
        times.push(performance.now());
        openEventStream(response);
        if (isResumed && resumes.length === 3) {
          const answer = { jsonrpc: '2.0', id: callId, result: { content: [{ type: 'text', text: 'at last' }] } };
          writeEvent(response, { id: 'call', data: JSON.stringify(answer) });
        } else {
          writeEvent(response, { ...(isResumed ? { id: 'call' } : {}), retry: 0, data: '' });
        }
        if (listens.length === 4) enough.resolve();
        return void response.end();
      }
      const { id, method } = (await readJson(request)) as Body;
      if (id === undefined) return void response.writeHead(202).end();
      if (method === 'tools/call') {
        callId = id;
        openEventStream(response);
        writeEvent(response, { id: 'call', retry: 0, data: '' });
        return void response.end();
      }
      const result = results[method];
      if (result === undefined) return void response.writeHead(400).end();
      sendJson(response, 200, { jsonrpc: '2.0', id, result });
    },
  }));
  t.after(server.close);
  const app = await startApp();
  t.after(app.close);
  await app.add('hasty', { base_url: server.url });
  assert.equal((await app.call('hasty.late')).body.content[0].text, 'at last');
  await enough.promise;
  for (const times of [listens, resumes]) {
    for (const [at, time] of times.slice(1).entries()) {
      assert.ok(time - (times[at] ?? 0) >= minMs - toleranceMs, `${times}`);
    }
  }
});
