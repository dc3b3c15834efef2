import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { isOpen, writeTo } from '../src/event-stream.ts';

const much = 'x'.repeat(16_777_216);

test('what comes after the end is not written, also while the client has not read the rest', async (t) => {
  const response = await serveToDeafClient(t);
  const errors: Error[] = [];
  response.on('error', (error) => errors.push(error));
  writeTo(response, much);
  response.end();
  assert.equal(response.destroyed, false, 'the rest is not read yet');
  assert.equal(isOpen(response), false);
  writeTo(response, 'too late');
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(errors, []);
});

test('a client that does not read is cut off', async (t) => {
  const response = await serveToDeafClient(t);
  writeTo(response, much);
  assert.equal(isOpen(response), true);
  writeTo(response, 'x', much.length / 2);
  assert.equal(response.destroyed, true);
  writeTo(response, 'too late');
});

/** The answer to a client that asks and then reads nothing. */
async function serveToDeafClient(t: TestContext): Promise<ServerResponse> {
  const asked = Promise.withResolvers<ServerResponse>();
  const server = createServer((_request, response) => asked.resolve(response.writeHead(200))).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1').pause();
  t.after(() => {
    client.destroy();
    server.close();
  });
  client.write('GET / HTTP/1.1\r\nhost: here\r\n\r\n');
  return await asked.promise;
}
