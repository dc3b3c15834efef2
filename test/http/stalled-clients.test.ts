import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { cutStalledClients } from '../../src/http/stalled-clients.ts';

const much = Buffer.alloc(16_777_216, 'x');

test('LIM-006: a client that reads nothing is cut off, whether its answer is whole or still comes', async (t) => {
  for (const path of ['/whole', '/stream']) {
    const { client, closed } = await ask(t, path);
    assert.equal(await closed, 'cut', path);
    client.destroy();
  }
});

test('one that reads slowly gets everything, and one that waits for its answer is left alone', async (t) => {
  const [slow, waiting] = [await ask(t, '/whole'), await ask(t, '/later')];
  let received = 0;
  for await (const chunk of slow.client) {
    received += chunk.length;
    if (received > much.length) break;
    await delay(2);
  }
  for await (const chunk of waiting.client) {
    assert.match(String(chunk), /after a while/);
    break;
  }
});

/** Asks and reads nothing; `closed` tells how the server's end of the connection ended. */
async function ask(t: TestContext, path: string) {
  const closed = Promise.withResolvers<'answered' | 'cut'>();
  const server = createServer(({ url }, response) => {
    response.on('close', () => closed.resolve(response.writableFinished ? 'answered' : 'cut'));
    if (url === '/later') return void setTimeout(() => response.end('after a while'), 800);
    if (url === '/stream') response.write(much);
    else response.end(much);
  });
  cutStalledClients(server, 250);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' });
  client.pause().on('error', () => undefined); // cut
  t.after(() => {
    client.destroy();
    server.closeAllConnections();
    server.close();
  });
  client.write(`GET ${path} HTTP/1.1\r\nhost: here\r\n\r\n`);
  return { client, closed: closed.promise };
}
