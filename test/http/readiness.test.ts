/** What orchestrators and load balancers ask, in every state of a process. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, get, request as sendRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { createReadiness } from '../../src/http/readiness.ts';
import { startAggregator } from '../support/aggregator-process.ts';
import { startApp } from '../support/app.ts';
import { startPostgres } from '../support/postgres.ts';
import { startFeatureServer } from '../support/servers/feature-server.ts';
import { until } from '../support/until.ts';

function ask(url: string, headers: Record<string, string> = {}) {
  return new Promise<{ status: number | undefined; body: Record<string, unknown> }>((resolve, reject) => {
    const asked = get(url, { headers, agent: false });
    asked.on('response', (answer) => {
      text(answer).then((body) => resolve({ status: answer.statusCode, body: JSON.parse(body) }), reject);
    });
    asked.on('error', reject);
  });
}

test('DEP-001, DEP-002: probes need no token and no known Host, and show counts only', async (t) => {
  const upstream = await startFeatureServer({ transport: 'streamable-legacy', label: 'alpha' });
  const app = await startApp({ MCP_AGGREGATOR_ALLOWED_HOSTS: 'mcp.example.com' });
  t.after(async () => {
    await app.close();
    await upstream.close();
  });
  await app.add('alpha', { base_url: upstream.url });
  const asks: Record<string, string>[] = [{}, { host: '10.1.2.3:8081' }, { host: 'evil.example' }];
  for (const headers of asks) {
    const live = await ask(`${app.url}/livez`, headers);
    assert.deepEqual([live.status, live.body.status], [200, 'alive']);
    assert.deepEqual(Object.keys(live.body), ['status', 'uptime_seconds']);
    const ready = await ask(`${app.url}/readyz?verbose`, headers);
    assert.deepEqual(ready, { status: 200, body: { status: 'ready', servers: { total: 1, connected: 1 } } });
  }
  for (const path of ['/livez', '/readyz']) {
    // The answers are checked against the OpenAPI document on the way.
    assert.equal((await app.api('GET', path, undefined, { token: null })).status, 200);
    assert.equal((await app.api('GET', path, undefined, { token: 'wrong' })).status, 200);
  }
  assert.ok(!app.log.some((line) => line.includes('"path":"/readyz"') && line.includes('"level":"info"')));
});

test('DEP-002: not ready before the servers have been tried once, but no longer than ten seconds', () => {
  let isSettled = false;
  let now = 0;
  const started = () => createReadiness({ isSettled: () => isSettled, now: () => now });
  const waiting = started();
  now = 60_000;
  assert.equal(waiting.phase, 'starting', 'nothing is open yet');
  waiting.handleStarted();
  assert.equal(waiting.phase, 'starting', 'a server is being connected');
  isSettled = true;
  assert.equal(waiting.phase, 'ready');
  isSettled = false;
  assert.equal(waiting.phase, 'ready', 'a server that is connected later does not take it out of service');

  const late = started();
  late.handleStarted();
  now += 9_999;
  assert.equal(late.phase, 'starting');
  now += 1;
  assert.equal(late.phase, 'ready');

  const stopped = started();
  stopped.handleStopping();
  stopped.handleStarted();
  isSettled = true;
  assert.equal(stopped.phase, 'draining');
});

test('DEP-002: a restart is not ready while a stored server is being connected', async (t) => {
  const upstream = await startFeatureServer({ transport: 'streamable-legacy', label: 'alpha' });
  const gate = Promise.withResolvers<void>();
  let isHeld = false;
  const front = createServer(async (request, response) => {
    if (isHeld) await gate.promise;
    const inner = sendRequest(upstream.url, { method: request.method, headers: request.headers });
    inner.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      response.flushHeaders();
      answer.pipe(response);
    });
    inner.on('error', () => response.destroy());
    response.on('close', () => inner.destroy());
    request.pipe(inner);
  });
  await once(front.listen(0, '127.0.0.1'), 'listening');
  const dataDir = await mkdtemp(join(tmpdir(), 'readiness-'));
  const first = await startAggregator({ dataDir });
  t.after(async () => {
    front.closeAllConnections();
    front.close();
    await upstream.close();
    await rm(dataDir, { recursive: true, force: true });
  });
  const { port } = front.address() as AddressInfo;
  const registered = await fetch(`${first.url}/api/v1/aggregator/servers`, {
    method: 'POST',
    headers: { authorization: `Bearer ${first.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      name: 'alpha',
      transport_type: 'HTTP',
      connection_config: { base_url: `http://127.0.0.1:${port}/mcp` },
    }),
  });
  assert.equal(registered.status, 201);
  await until(async () =>
    isDeepStrictEqual((await ask(`${first.url}/readyz`)).body.servers, { total: 1, connected: 1 }),
  );
  await first.stop();

  isHeld = true;
  const second = await startAggregator({ dataDir });
  t.after(() => second.stop());
  assert.deepEqual(await ask(`${second.url}/readyz`), {
    status: 503,
    body: { status: 'starting', servers: { total: 1, connected: 0 } },
  });
  gate.resolve();
  await until(async () => (await ask(`${second.url}/readyz`)).status === 200, 'it is ready');
});

test('DEP-002: stays ready while PostgreSQL is away and calls work', { timeout: 120_000 }, async (t) => {
  const postgres = await startPostgres();
  const upstream = await startFeatureServer({ transport: 'streamable-legacy', label: 'alpha' });
  const app = await startApp({
    DATABASE_URL: postgres.url,
    MCP_CREDENTIAL_KEY: randomBytes(32).toString('base64'),
  });
  t.after(async () => {
    await app.close();
    await upstream.close();
    await postgres.remove();
  });
  await app.add('alpha', { base_url: upstream.url });
  const probe = async () => [
    (await ask(`${app.url}/livez`)).status,
    (await ask(`${app.url}/readyz`)).status,
    (await app.call('alpha.echo', { text: 'without a database' })).status,
  ];
  assert.deepEqual(await probe(), [200, 200, 200]);
  await postgres.stop();
  await until(async () => {
    const { body } = await app.api('GET', '/api/v1/aggregator/health');
    return body.checks.database === 'failed';
  }, 'the loss of the database was noticed');
  assert.deepEqual(await probe(), [200, 200, 200]);
  await postgres.start();
  await until(async () => (await app.api('GET', '/api/v1/aggregator/health')).body.checks.database === 'ok');
  assert.deepEqual(await probe(), [200, 200, 200]);
});

test('DEP-003: after SIGTERM it is alive, not ready, and takes calls for MCP_AGGREGATOR_SHUTDOWN_DELAY', async (t) => {
  const aggregator = await startAggregator({ env: { MCP_AGGREGATOR_SHUTDOWN_DELAY: '600' } });
  const { url, token } = aggregator;
  t.after(() => aggregator.stop('SIGKILL'));
  await until(async () => (await ask(`${url}/readyz`)).status === 200);
  process.kill(aggregator.pid, 'SIGTERM');
  await until(async () => (await ask(`${url}/readyz`)).status === 503, 'it is not ready');
  assert.equal((await ask(`${url}/readyz`)).body.status, 'draining');
  assert.equal((await ask(`${url}/livez`)).status, 200);
  const call = await fetch(`${url}/api/v1/tools/call`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'search_tools', arguments: { query: 'anything' } }),
  });
  assert.equal(call.status, 200);
});

test('DEP-001: probes are answered when all connections are in use', async (t) => {
  const app = await startApp({ MCP_AGGREGATOR_MAX_CONNECTIONS: '20', MCP_AGGREGATOR_TRUSTED_PROXIES: 'loopback' });
  t.after(app.close);
  const streams = await Promise.all(Array.from({ length: 19 }, () => app.events()));
  assert.equal((await ask(`${app.url}/api/v1/aggregator/health`)).status, 503);
  assert.equal((await ask(`${app.url}/livez`)).status, 200);
  assert.equal((await ask(`${app.url}/readyz`)).status, 200);
  for (const stream of streams) stream.close();
});
