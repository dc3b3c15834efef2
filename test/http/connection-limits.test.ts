import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { connectionLimits } from '../../src/http/connection-limits.ts';
import { networkOf } from '../../src/security/client-address.ts';
import { startApp, type TestApp } from '../support/app.ts';

test('half of the descriptors are ours, and no address gets all of the others', () => {
  const wanted = { all: 10_000, perAddress: 2_000 };
  assert.deepEqual(connectionLimits(wanted, undefined), wanted);
  assert.deepEqual(connectionLimits(wanted, 1_048_576), wanted);
  assert.deepEqual(connectionLimits(wanted, 1_024), { all: 512, perAddress: 384 });
  assert.deepEqual(connectionLimits({ all: 1, perAddress: 1 }, 1_024), { all: 1, perAddress: 1 });
});

test('an address of IPv6 is one of its network', () => {
  assert.equal(networkOf('::ffff:10.0.0.1'), '10.0.0.1');
  assert.equal(networkOf('10.0.0.1'), '10.0.0.1');
  assert.equal(networkOf('2001:db8::1'), networkOf('2001:db8:0:0:ffff::9'));
  assert.notEqual(networkOf('2001:db8:0:1::1'), networkOf('2001:db8:0:2::1'));
  assert.equal(networkOf('::1'), '0:0:0:0');
});

test('LIM-006: the connection after the last of an address is answered 429, and after the last of all 503', async (t) => {
  for (const [env, status, code, reason] of [
    [{ MCP_AGGREGATOR_MAX_CONNECTIONS_PER_ADDRESS: '20' }, 429, 'RATE_LIMITED', 'address'],
    [{ MCP_AGGREGATOR_MAX_CONNECTIONS: '20', MCP_AGGREGATOR_TRUSTED_PROXIES: 'loopback' }, 503, 'OVERLOADED', 'all'],
  ] as const) {
    const app = await startApp(env);
    t.after(app.close);
    const idle = await openMany(t, app, 20);
    const { head, body } = await request(await openOne(t, app));
    assert.match(head, new RegExp(`^HTTP/1.1 ${status} `));
    assert.match(head, /\r\nretry-after: \d+\r\n/i);
    assert.equal(JSON.parse(body).error_code, code);
    for (const socket of idle) socket.destroy();
    const metrics = await fetchMetrics(app);
    assert.match(metrics, new RegExp(`mcp_aggregator_connections_refused_total\\{reason="${reason}"\\} [1-9]`));
    assert.match(metrics, /mcp_aggregator_connections_limit\{scope="all"\} \d+/);
    assert.match(metrics, /mcp_aggregator_connections \d+/);
    assert.match(metrics, /process_max_fds \d+/);
  }
});

test('LIM-006: a client that does not send its headers or its body in time is told 408 and closed', async (t) => {
  const app = await startApp({ MCP_AGGREGATOR_HEADER_TIMEOUT: '0.3', MCP_AGGREGATOR_BODY_TIMEOUT: '0.6' });
  t.after(app.close);
  for (const begin of [
    '',
    'GET /api/v1/aggregator/health HTTP/1.1\r\nhost: 127.0.0.1\r\n',
    'POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 100\r\ncontent-type: application/json\r\n\r\n{',
    'POST /api/v1/query HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 100\r\n\r\n{',
  ]) {
    const socket = await openOne(t, app);
    if (begin !== '') socket.write(begin);
    const answer = await readAll(socket);
    assert.match(answer, begin.startsWith('POST') ? /^HTTP\/1.1 4(01|08) / : /^HTTP\/1.1 408 /);
  }
  assert.match(await fetchMetrics(app), /mcp_aggregator_connections_refused_total\{reason="late"\} [2-9]/);
});

test('API-002: a body that is nested deeper than anything is a 422 that says so', async (t) => {
  const app = await startApp();
  t.after(app.close);
  const deep = (levels: number) => `{"name":"x","arguments":{"a":${'['.repeat(levels)}${']'.repeat(levels)}}}`;
  for (const levels of [1_500, 100_000]) {
    const answer = await app.api('POST', '/api/v1/tools/call', deep(levels));
    assert.equal(answer.status, 422);
    assert.match(answer.body.detail[0].msg, /nested more than 1000 levels/);
  }
  assert.equal((await app.api('POST', '/api/v1/tools/call', deep(990))).status, 404);
  for (const path of ['/api/v1/aggregator/servers', '/api/v1/query', '/api/v1/search', '/api/v1/profiles']) {
    assert.equal((await app.api('POST', path, deep(990))).status < 500, true, path);
  }
});

async function openMany(t: TestContext, app: TestApp, count: number): Promise<Socket[]> {
  return await Promise.all(Array.from({ length: count }, () => openOne(t, app)));
}

async function openOne(t: TestContext, app: TestApp): Promise<Socket> {
  const socket = connect({ port: Number(new URL(app.url).port), host: '127.0.0.1' });
  socket.on('error', () => undefined); // cut: that is what is tested
  t.after(() => socket.destroy());
  await once(socket, 'connect');
  return socket;
}

async function request(socket: Socket): Promise<{ head: string; body: string }> {
  socket.write('GET /api/v1/aggregator/health HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n');
  const [head = '', body = ''] = (await readAll(socket)).split('\r\n\r\n');
  const chunk = body.split('\r\n')[1];
  return { head, body: /transfer-encoding: chunked/i.test(head) ? (chunk ?? '') : body };
}

async function readAll(socket: Socket): Promise<string> {
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  return text;
}

async function fetchMetrics(app: TestApp): Promise<string> {
  // Until our end of the connections that were just closed is closed, too.
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const response = await fetch(`${app.url}/metrics`, { headers: { authorization: `Bearer ${app.adminToken}` } });
    if (response.status === 200) return await response.text();
    await response.text();
  }
  throw new Error('connections that were closed are still counted');
}
