import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mock, type TestContext, test } from 'node:test';
import { createReplies, type Replies, type Reply } from '../../src/mcp/reply.ts';

const answer = { jsonrpc: '2.0', id: 1, result: {} } as const;

test('an answer that takes long becomes a stream, and comments keep it open', async (t) => {
  const { reply, body } = await ask(t, { streams: 'if_needed' });
  mock.timers.tick(9_999);
  assert.equal(reply.isStreaming(), false);
  mock.timers.tick(5_001);
  assert.equal(reply.isStreaming(), true);
  mock.timers.tick(15_000);
  reply.finish(answer);
  mock.timers.tick(30_000);
  assert.equal(await body, `: open\n\n: still working\n\nevent: message\ndata: ${JSON.stringify(answer)}\n\n`);
});

test('what is said keeps it open as well', async (t) => {
  const { reply, body } = await ask(t, { streams: 'if_needed' });
  const progress = { jsonrpc: '2.0', method: 'notifications/progress' } as const;
  for (let said = 0; said < 3; said += 1) {
    reply.push(progress);
    mock.timers.tick(10_000);
  }
  reply.finish(answer);
  assert.doesNotMatch(await body, /still working/);
});

test('a client that takes no streams waits for its JSON', async (t) => {
  const { reply, body } = await ask(t, { streams: 'never' });
  mock.timers.tick(60_000);
  reply.finish(answer);
  assert.deepEqual(JSON.parse(await body), answer);
});

test('a client that left is forgotten', async (t) => {
  const { reply, response, leave } = await ask(t, { streams: 'if_needed' });
  leave();
  await once(response, 'close');
  mock.timers.tick(60_000);
  assert.equal(reply.isStreaming(), false);
  reply.finish(answer);
  assert.equal(response.headersSent, false);
});

/** One request to a server of `node:http`, and our side of its answer, on a clock of the test's own. */
async function ask(t: TestContext, accepts: Parameters<Replies['begin']>[1]) {
  mock.timers.enable({ apis: ['setInterval'] });
  t.after(() => mock.timers.reset());
  const replies = createReplies();
  const begun = Promise.withResolvers<{ reply: Reply; response: ServerResponse }>();
  const server = createServer((_request, response) =>
    begun.resolve({ reply: replies.begin(response, accepts), response }),
  ).listen(0, '127.0.0.1');
  t.after(() => {
    replies.close();
    server.closeAllConnections();
    server.close();
  });
  await once(server, 'listening');
  const client = new AbortController();
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const body = fetch(url, { signal: client.signal }).then((response) => response.text());
  body.catch(() => undefined); // only the test of a client that leaves ends so
  return { ...(await begun.promise), body, leave: () => client.abort() };
}
