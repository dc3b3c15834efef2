/** Replicas that are replaced one after the other while clients call: no call fails. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { suite, test } from 'node:test';
import { type Client, Client as ClientV2, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import pg from 'pg';
import { openSession, post } from '../mcp/clients.ts';
import type { TestApp } from '../support/app.ts';
import { modernRequest } from '../support/modern-request.ts';
import { freePort } from '../support/ports.ts';
import { startFeatureServer } from '../support/servers/feature-server.ts';
import { until } from '../support/until.ts';
import { type Deployment, needsPostgres, startReplicas } from './deployment.ts';
import { type RoundRobin, startRoundRobin } from './round-robin.ts';

type Caller = Pick<ClientV1 | Client, 'callTool' | 'close'>;

suite('a rolling restart', needsPostgres, () => {
  test('MCP-029: calls of both eras and over REST succeed while every replica is replaced', async (t) => {
    const upstream = await startFeatureServer({ transport: 'streamable-legacy', label: 's' });
    const deployment = await startReplicas(2, { MCP_AGGREGATOR_SHUTDOWN_TIMEOUT: '10' });
    const [first] = deployment.replicas as [TestApp];
    const { adminToken } = first;
    const proxy = await startRoundRobin(deployment.replicas.map(({ url }) => url));
    t.after(async () => {
      await proxy.close();
      await deployment.close();
      await upstream.close();
    });
    await first.add('s', { base_url: upstream.url });
    for (const replica of deployment.replicas)
      await until(async () => (await replica.call('s.echo', {})).status === 200, 'both replicas know the server');

    const requestInit = { headers: { authorization: `Bearer ${adminToken}` } };
    const address = new URL(`${proxy.url}/mcp`);
    const v1 = new ClientV1({ name: 'v1', version: '1' });
    await v1.connect(new TransportV1(address, { requestInit }));
    const v2 = new ClientV2({ name: 'v2', version: '1' }, { versionNegotiation: { mode: 'legacy' } });
    await v2.connect(new StreamableHTTPClientTransport(address, { requestInit }));
    const modern = new ClientV2(
      { name: 'modern', version: '1' },
      { versionNegotiation: { mode: { pin: '2026-07-28' } } },
    );
    await modern.connect(new StreamableHTTPClientTransport(address, { requestInit }));
    t.after(() => Promise.all([v1, v2, modern].map((client) => client.close())));

    const failures: string[] = [];
    const calls = { v1: 0, v2: 0, modern: 0, rest: 0 };
    let isOver = false;
    const load = async (kind: keyof typeof calls, call: () => Promise<unknown>) => {
      for (let number = 1; !isOver; number += 1) {
        await call().catch((error: unknown) => failures.push(`${kind} ${number}: ${error}`));
        calls[kind] += 1;
      }
    };
    const callWith = (client: Caller) => () =>
      client.callTool({ name: 's__slow', arguments: { ms: Math.floor(Math.random() * 20) } });
    const callRest = async () => {
      const response = await fetch(`${proxy.url}/api/v1/tools/call`, {
        method: 'POST',
        headers: { ...requestInit.headers, 'content-type': 'application/json' },
        body: JSON.stringify({ name: 's.slow', arguments: { ms: 5 } }),
      });
      if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
    };
    const running = [
      load('v1', callWith(v1 as Caller)),
      load('v2', callWith(v2)),
      load('modern', callWith(modern)),
      load('rest', callRest),
    ];
    for (const replica of [...deployment.replicas]) await replace(deployment, replica, proxy);
    const after = { ...calls };
    await until(
      () =>
        Object.keys(calls).every((kind) => calls[kind as keyof typeof calls] > after[kind as keyof typeof calls] + 3),
      'calls go on',
    );
    isOver = true;
    await Promise.all(running);
    assert.deepEqual(failures, []);
    t.diagnostic(JSON.stringify(calls));
  });

  test('MCP-029: a replica that shuts down gives what is new to another one', async (t) => {
    const upstream = await startFeatureServer({ transport: 'streamable-legacy', label: 's' });
    const deployment = await startReplicas(2, { MCP_AGGREGATOR_SHUTDOWN_TIMEOUT: '10' });
    const [old, other] = deployment.replicas as [TestApp, TestApp];
    await old.add('s', { base_url: upstream.url });
    await until(async () => (await other.call('s.echo', {})).status === 200, 'both replicas know the server');
    const session = await openSession(old);
    // Over a connection that is open already: a replica that shuts down accepts no other.
    const agent = new Agent({ keepAlive: true, maxSockets: 3 });
    const send = (path: string, headers: Record<string, string>, body: unknown) =>
      new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
        const authorization = `Bearer ${old.adminToken}`;
        const common = {
          authorization,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
        };
        const sent = request(`${old.url}${path}`, { method: 'POST', agent, headers: { ...common, ...headers } });
        sent.on('response', async (answer) => {
          resolve({ status: answer.statusCode, text: (await answer.toArray()).map(String).join('') });
        });
        sent.on('error', reject).end(JSON.stringify(body));
      });
    t.after(async () => {
      agent.destroy();
      await deployment.close();
      await upstream.close();
    });
    const echo = { name: 's__echo', arguments: { text: 'handed over' } };
    const legacy = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: echo };
    const modern = modernRequest('tools/call', echo);
    const sendAll = () =>
      Promise.all([
        send('/mcp', session.headers, legacy),
        send('/mcp', modern.headers, modern.message),
        send('/api/v1/tools/call', {}, { name: 's.echo', arguments: echo.arguments }),
      ]);
    await sendAll();
    const slow = { ...legacy, id: 2, params: { name: 's__slow', arguments: { ms: 2_000 } } };
    const begun = post(old, slow, { headers: session.headers });
    await until(async () => (await old.server('s')).active_calls > 0, 'a call is in progress');
    const closing = old.close();
    deployment.replicas.splice(0, 1);
    for (const { status, text } of await sendAll()) {
      assert.equal(status, 200, text);
      assert.match(text, /handed over/);
    }
    assert.equal((await begun).body.result.content[0].text, 'waited 2000 ms');
    await closing;
  });

  test('DEP-003: a replica that shuts down accepts connections until its calls have ended, then refuses them', async (t) => {
    const upstream = await startFeatureServer({ transport: 'streamable-legacy', label: 's' });
    const deployment = await startReplicas(2, { MCP_AGGREGATOR_SHUTDOWN_TIMEOUT: '60' });
    const [old, other] = deployment.replicas as [TestApp, TestApp];
    const kept = new Agent({ keepAlive: true, maxSockets: 3 });
    t.after(async () => {
      kept.destroy();
      await deployment.close();
      await upstream.close();
    });
    await old.add('s', { base_url: upstream.url });
    await until(async () => (await other.call('s.echo', {})).status === 200, 'both replicas know the server');
    const call = (name: string, args: object, agent: Agent | false) =>
      new Promise<{ status: number | undefined; connection: string | undefined; text: string }>((resolve, reject) => {
        const headers = { authorization: `Bearer ${old.adminToken}`, 'content-type': 'application/json' };
        const sent = request(`${old.url}/api/v1/tools/call`, { method: 'POST', agent, headers });
        sent.on('response', async (answer) => {
          const { statusCode: status, headers: received } = answer;
          resolve({ status, connection: received.connection, text: (await answer.toArray()).map(String).join('') });
        });
        sent.on('error', reject).end(JSON.stringify({ name, arguments: args }));
      });

    const warm = await Promise.all([1, 2, 3].map(() => call('s.slow', { ms: 100 }, kept)));
    assert.deepEqual(
      warm.map(({ status }) => status),
      [200, 200, 200],
    );
    const begun = call('s.slow', { ms: 3_000 }, false);
    await until(async () => (await old.server('s')).active_calls > 0, 'a call is in progress');
    const closing = old.close();
    deployment.replicas.splice(0, 1);
    const given = await call('s.echo', { text: 'over a new connection' }, false);
    assert.deepEqual([given.status, /over a new connection/.test(given.text)], [200, true]);
    assert.equal((await begun).status, 200);
    const isRefused = () =>
      call('s.echo', {}, false).then(
        () => false,
        (error: NodeJS.ErrnoException) => error.code === 'ECONNREFUSED',
      );
    await until(isRefused, 'new connections are refused', { everyMs: 1 });
    // Over connections that were idle: each is closed after its answer, and no answer is cut off.
    const long = call('s.slow', { ms: 3_000 }, kept);
    const first = await call('s.slow', { ms: 1_500 }, kept);
    assert.deepEqual([first.status, first.connection], [200, 'close']);
    const last = await call('s.slow', { ms: 2_500 }, kept);
    assert.match(last.text, /waited 2500 ms/);
    assert.equal((await long).status, 200);
    await closing;
  });

  test('MCP-029: a request goes to another replica if the first one is dead, or closes the connection before it has read it', async (t) => {
    const upstream = await startFeatureServer({ transport: 'streamable-legacy', label: 's' });
    const deployment = await startReplicas(2, { MCP_AGGREGATOR_SHUTDOWN_TIMEOUT: '10' });
    const [old, other] = deployment.replicas as [TestApp, TestApp];
    const closing = createServer((socket) => socket.resetAndDestroy());
    await once(closing.listen(0, '127.0.0.1'), 'listening');
    t.after(async () => {
      closing.close();
      await deployment.close();
      await upstream.close();
    });
    const id = await old.add('s', { base_url: upstream.url });
    await until(async () => (await other.call('s.echo', {})).status === 200, 'both replicas know the server');
    const dead = '000000000000';
    const closer = '000000000001';
    // Their heartbeats will be missed only later, and they are the first by their ids.
    for (const [name, port] of [
      [dead, await freePort()],
      [closer, (closing.address() as AddressInfo).port],
    ]) {
      await old.database.execute(`
        insert into mcp.replicas (id, address, started_at, heartbeat_at)
          values ('${name}', 'http://127.0.0.1:${port}', now(), now() + interval '1 hour');
        insert into mcp.replica_servers (replica_id, server_id, status) values ('${name}', '${id}', 'CONNECTED');
      `);
    }
    await until(async () => {
      const known = JSON.stringify((await old.server('s')).replicas);
      return known.includes(dead) && known.includes(closer);
    }, 'they are known');

    for (const lost of [dead, closer]) {
      const session = await openSession(old);
      const headers = { ...session.headers, 'mcp-session-id': session.id.replace(/^\w+/, lost) };
      const call = {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 's__echo', arguments: { text: lost } },
      };
      const answer = await post(old, call, { headers });
      assert.equal(answer.status, 200, lost);
      assert.ok(JSON.stringify([answer.body, answer.events]).includes(lost));
    }

    const begun = old.call('s.slow', { ms: 2_000 });
    await until(async () => (await old.server('s')).active_calls > 0, 'a call is in progress');
    const ended = old.close();
    deployment.replicas.splice(0, 1);
    const headers = { authorization: `Bearer ${old.adminToken}`, 'content-type': 'application/json' };
    const send = (path: string, body: string | undefined) =>
      fetch(`${old.url}/api/v1${path}`, {
        method: 'POST',
        headers: body === undefined ? { authorization: headers.authorization } : headers,
        body,
      });
    const called = await send('/tools/call', JSON.stringify({ name: 's.echo', arguments: { text: 'handed over' } }));
    assert.equal(called.status, 200);
    assert.match(await called.text(), /handed over/);
    const connected = await send('/aggregator/servers/s/connect', undefined);
    assert.equal(connected.status, 200, 'a request without a body');
    assert.equal((await begun).status, 200);
    await ended;
  });

  test('MCP-028: a replica that starts answers nothing before it knows which sessions others have', async (t) => {
    const deployment = await startReplicas(1);
    const [first] = deployment.replicas as [TestApp];
    const locking = new pg.Client(first.database.url);
    await locking.connect();
    t.after(async () => {
      await locking.end();
      await deployment.close();
    });
    const session = await openSession(first);
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    await locking.query('begin; lock table mcp.replicas in access exclusive mode');
    const starting = deployment.start({ MCP_AGGREGATOR_PORT: String(port) });
    const probe = (path: string) =>
      fetch(`${url}${path}`).then(
        ({ status }) => status,
        () => 0,
      );
    await until(async () => (await probe('/livez')) === 200, 'it listens');
    assert.equal(await probe('/readyz'), 503);
    const early = fetch(`${url}/mcp`, {
      method: 'POST',
      headers: {
        ...session.headers,
        authorization: `Bearer ${first.adminToken}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    });
    // Answered by the same event loop after it: the request has arrived.
    assert.equal(await probe('/livez'), 200);
    await locking.query('commit');
    const second = await starting;
    assert.equal((await early).status, 200);
    const metrics = await fetch(`${second.url}/metrics`, { headers: { authorization: `Bearer ${first.adminToken}` } });
    const sessions = /^mcp_aggregator_sessions\{[^}]*era="legacy"[^}]*\} (\d+)$/m.exec(await metrics.text())?.[1];
    assert.equal(sessions, '0', 'the first replica still has the session');
    assert.equal((await session.request('tools/list')).status, 200);
  });
});

/** As orchestrators do: the new one comes first, and the old one is given nothing more before it ends. */
async function replace(deployment: Deployment, old: TestApp, proxy: RoundRobin): Promise<void> {
  const fresh = await deployment.start();
  await until(async () => (await fresh.call('s.echo', {})).status === 200, 'the new replica is ready');
  proxy.targets.push(fresh.url);
  await proxy.remove(old.url);
  await old.close();
  deployment.replicas.splice(deployment.replicas.indexOf(old), 1);
}
