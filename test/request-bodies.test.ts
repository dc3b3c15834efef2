import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { startApp, type TestApp } from './support/app.ts';
import { until } from './support/until.ts';

const megabyte = 1_048_576;

test('LIM-008: the body of a request without a valid token is not read', async (t) => {
  const app = await startApp();
  t.after(app.close);
  const routes = ['/api/v1/search', '/api/v1/tools/call', '/api/v1/tokens', '/no/such/route', '/mcp', '/mcp/servers/x'];
  for (const path of routes) {
    const socket = await openOne(t, app);
    // The rest of it never comes: only an answer that does not wait for it arrives.
    begin(socket, app, { path, length: 4 * megabyte, sent: 1_000_000 });
    assert.match(await headOf(socket), /^HTTP\/1.1 40[14] /, path);
  }
  assert.equal(await heldBytes(app), 0);
});

test('LIM-008: a route that needs no token takes small bodies only', async (t) => {
  const app = await startApp();
  t.after(app.close);
  for (const path of ['/api/v1/session', '/api/v1/aggregator/identity', '/oauth/sign-in', '/oauth/connect/x']) {
    const socket = await openOne(t, app);
    begin(socket, app, { path, length: 100_000, sent: 0 });
    assert.match(await headOf(socket), /^HTTP\/1.1 413 /, path);
  }
});

test('LIM-008: bodies that are too large together are answered 503, and small ones still pass', async (t) => {
  const app = await startApp({
    MCP_AGGREGATOR_MAX_BODY_BYTES: String(megabyte),
    MCP_AGGREGATOR_MAX_BODIES_BYTES: String(2 * megabyte),
  });
  t.after(app.close);
  const token = app.adminToken;
  const held = [await openOne(t, app), await openOne(t, app)];
  for (const [place, path] of ['/api/v1/search', '/mcp'].entries())
    begin(held[place] as Socket, app, { path, token, length: megabyte, sent: 900_000 });
  await until(async () => (await heldBytes(app)) > 1_700_000);

  for (const path of ['/api/v1/search', '/mcp']) {
    const socket = await openOne(t, app);
    begin(socket, app, { path, token, length: 900_000, sent: 900_000 });
    const head = await headOf(socket);
    assert.match(head, /^HTTP\/1.1 503 /, path);
    assert.match(head, /\r\nretry-after: \d+\r\n/i, path);
  }
  assert.equal((await app.api('POST', '/api/v1/search', { query: 'x'.repeat(1_000) })).status, 200);
  assert.match(await metricsOf(app), /mcp_aggregator_request_bodies_refused_total 2/);

  for (const socket of held) socket.destroy();
  await until(async () => (await heldBytes(app)) === 0);
  const large = { query: 'x', padding: 'x'.repeat(900_000) };
  assert.equal((await app.api('POST', '/api/v1/search', large)).status, 422);
});

interface Begun {
  path: string;
  token?: string;
  length: number;
  sent: number;
}

function begin(socket: Socket, app: TestApp, { path, token = 'wrong', length, sent }: Begun): void {
  const head = [
    `POST ${path} HTTP/1.1`,
    `host: ${new URL(app.url).host}`,
    `authorization: Bearer ${token}`,
    'content-type: application/json',
    `content-length: ${length}`,
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n${'x'.repeat(sent)}`);
}

async function openOne(t: TestContext, app: TestApp): Promise<Socket> {
  const socket = connect({ port: Number(new URL(app.url).port), host: '127.0.0.1' });
  socket.on('error', () => undefined); // it is closed while the body is sent
  t.after(() => socket.destroy());
  await once(socket, 'connect');
  return socket;
}

async function headOf(socket: Socket): Promise<string> {
  let text = '';
  for await (const chunk of socket) {
    text += String(chunk);
    if (text.includes('\r\n\r\n')) break;
  }
  return text;
}

async function metricsOf(app: TestApp): Promise<string> {
  return await (await fetch(`${app.url}/metrics`, { headers: { authorization: `Bearer ${app.adminToken}` } })).text();
}

async function heldBytes(app: TestApp): Promise<number> {
  return Number(/^mcp_aggregator_request_body_bytes (\d+)$/m.exec(await metricsOf(app))?.[1]);
}
