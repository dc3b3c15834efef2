import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { suite, test } from 'node:test';
import { Client as ClientV2, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import pg from 'pg';
import { startAggregator } from '../support/aggregator-process.ts';
import { createTestDatabase } from '../support/databases.ts';
import { modernRequest } from '../support/modern-request.ts';
import { startFeatureServer, stdioFeatureServer } from '../support/servers/feature-server.ts';
import { until } from '../support/until.ts';
import { needsPostgres } from './deployment.ts';
import { startRoundRobin } from './round-robin.ts';

const token = 'admin-token-of-the-replicas';

const api = (url: string, method: string, path: string, body?: unknown) =>
  fetch(`${url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
  });

const isCalling = async (url: string, calls: number) =>
  (await (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } })).text()).includes(
    `active_calls{server="one"} ${calls}`,
  );

const isRefusing = (url: string) =>
  fetch(`${url}/api/v1/aggregator/health`).then(
    () => false,
    () => true,
  );

const callTool = (url: string, name: string, args: Record<string, unknown>) =>
  api(url, 'POST', '/tools/call', { name, arguments: args });

suite('a replica that ends', () => {
  test('SIGTERM: what was asked is answered on REST and MCP, what comes after is refused, no child is left', async (t) => {
    const aggregator = await startAggregator({
      env: { MCP_AGGREGATOR_ADMIN_TOKEN: token, MCP_AGGREGATOR_SHUTDOWN_TIMEOUT: '8' },
    });
    t.after(() => aggregator.stop('SIGKILL'));
    const { url } = aggregator;
    await api(url, 'POST', '/aggregator/servers', {
      name: 'one',
      transport_type: 'STDIO',
      connection_config: stdioFeatureServer('legacy'),
    });
    await until(async () => (await callTool(url, 'one.echo', {})).status === 200);

    const overRest = callTool(url, 'one.slow', { ms: 1_000 });
    const { message, headers } = modernRequest('tools/call', { name: 'one__slow', arguments: { ms: 1_000 } });
    const overMcp = fetch(`${url}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
      body: JSON.stringify(message),
    });
    await until(() => isCalling(url, 2), 'both are under way');
    const ended = aggregator.stop();
    await until(() => isRefusing(url), 'new connections are refused');
    assert.equal((await overRest).status, 200);
    const answer = await overMcp;
    assert.equal(answer.status, 200);
    assert.match(await answer.text(), /waited 1000 ms/);
    assert.equal(await ended, 0);
  });

  test('SIGTERM ends within the timeout, whatever still runs', async (t) => {
    const aggregator = await startAggregator({
      env: { MCP_AGGREGATOR_ADMIN_TOKEN: token, MCP_AGGREGATOR_SHUTDOWN_TIMEOUT: '2' },
    });
    t.after(() => aggregator.stop('SIGKILL'));
    const { url } = aggregator;
    await api(url, 'POST', '/aggregator/servers', {
      name: 'one',
      transport_type: 'STDIO',
      connection_config: stdioFeatureServer('legacy'),
    });
    await until(async () => (await callTool(url, 'one.echo', {})).status === 200);
    const endless = callTool(url, 'one.slow', { ms: 600_000 }).then(
      ({ status }) => status,
      () => 'cut',
    );
    await until(() => isCalling(url, 1), 'it is under way');
    assert.equal(await aggregator.stop(), 0, 'closed by itself, not by the guard that ends a closing which hangs');
    assert.notEqual(await endless, 200, 'the call was not waited for');
  });

  test('kill -9 under load: clients of the other one notice nothing, its leases move', needsPostgres, async (t) => {
    const database = await createTestDatabase();
    const env = {
      MCP_AGGREGATOR_ADMIN_TOKEN: token,
      DATABASE_URL: database.url ?? '',
      MCP_CREDENTIAL_KEY: randomBytes(32).toString('base64'),
    };
    const first = await startAggregator({ env });
    t.after(() => first.stop('SIGKILL'));
    const second = await startAggregator({ env });
    t.after(() => second.stop('SIGKILL'));
    const upstream = await startFeatureServer({ transport: 'streamable-legacy', label: 'shared' });
    t.after(() => upstream.close());
    await api(first.url, 'POST', '/aggregator/servers', {
      name: 'shared',
      transport_type: 'HTTP',
      connection_config: { base_url: upstream.url },
    });
    const proxy = await startRoundRobin([first.url, second.url]);
    t.after(() => proxy.close());
    await until(async () => (await callTool(second.url, 'shared.echo', {})).status === 200);
    // Either of them may be the one that discovers, and the other one is told.
    await until(async () => (await callTool(first.url, 'shared.echo', {})).status === 200);

    const client = new pg.Client(database.url);
    await client.connect();
    t.after(async () => {
      await client.end();
      await database.close();
    });
    const holders = async () => {
      const { rows } = await client.query('select holder from mcp.leases where expires_at > clock_timestamp()');
      return rows.map(({ holder }: { holder: string }) => holder);
    };
    await until(async () => (await holders()).length === 1);
    const [leader] = await holders();
    const { rows } = await client.query('select id, address from mcp.replicas');
    const isLeader = ({ id }: { id: string }) => id === leader;
    const [dying, surviving] = rows.find(isLeader)?.address === first.url ? [first, second] : [second, first];

    const answers: number[] = [];
    const stopped = new AbortController();
    const load = (async () => {
      for (let call = 0; !stopped.signal.aborted; call += 1) {
        answers.push((await callTool(surviving.url, 'shared.echo', { text: `${call}` })).status);
        // Through the proxy too: what reached the dead one may fail, what comes after must not.
        await callTool(proxy.url, 'shared.echo', { text: `${call}` });
      }
    })();
    await until(() => answers.length > 10, 'there is load');
    await dying.stop('SIGKILL');
    await until(async () => {
      const now = await holders();
      return now.length === 1 && now[0] !== leader;
    });
    await until(() => answers.length > 100);
    stopped.abort();
    await load;
    assert.deepEqual(
      answers.flatMap((status, call) => (status === 200 ? [] : [{ call, status }])),
      [],
    );
    // The lease may move a moment before the survivor looks who is still there.
    await until(async () => {
      const detail = await (await api(surviving.url, 'GET', '/aggregator/servers/shared')).json();
      return (detail as { replicas: unknown[] }).replicas.length === 1;
    });
  });

  test(
    'MCP-028: kill -9: clients of both eras that were at the replica go on at the other one',
    needsPostgres,
    async (t) => {
      const database = await createTestDatabase();
      const env = {
        MCP_AGGREGATOR_ADMIN_TOKEN: token,
        DATABASE_URL: database.url ?? '',
        MCP_CREDENTIAL_KEY: randomBytes(32).toString('base64'),
      };
      const dying = await startAggregator({ env });
      const surviving = await startAggregator({ env });
      const upstream = await startFeatureServer({ transport: 'streamable-legacy', label: 'shared' });
      const proxy = await startRoundRobin([dying.url]);
      t.after(async () => {
        await proxy.close();
        await Promise.all([dying.stop('SIGKILL'), surviving.stop('SIGKILL')]);
        await upstream.close();
        await database.close();
      });
      await api(dying.url, 'POST', '/aggregator/servers', {
        name: 'shared',
        transport_type: 'HTTP',
        connection_config: { base_url: upstream.url },
      });
      for (const { url } of [dying, surviving])
        await until(async () => (await callTool(url, 'shared.echo', {})).status === 200, 'both know the server');

      const requestInit = { headers: { authorization: `Bearer ${token}` } };
      const address = new URL(`${proxy.url}/mcp`);
      const v1 = new ClientV1({ name: 'v1', version: '1' });
      const transport = new TransportV1(address, { requestInit });
      await v1.connect(transport as Parameters<typeof v1.connect>[0]);
      const [v2, modern] = (['legacy', { pin: '2026-07-28' }] as const).map(
        (mode) => new ClientV2({ name: 'v2', version: '1' }, { versionNegotiation: { mode } }),
      ) as [ClientV2, ClientV2];
      for (const client of [v2, modern])
        await client.connect(new StreamableHTTPClientTransport(address, { requestInit }));
      const clients = [v1, v2, modern] as const;
      t.after(() => Promise.all(clients.map((client) => client.close())));
      const callAll = () =>
        Promise.all(clients.map((client) => client.callTool({ name: 'shared__echo', arguments: { text: 'hello' } })));
      await callAll();
      const { sessionId } = transport;

      proxy.targets.push(surviving.url);
      await dying.stop('SIGKILL');
      for (let round = 0; round < 5; round += 1)
        for (const { isError, content } of await callAll())
          assert.deepEqual([isError, JSON.stringify(content).includes('hello')], [undefined, true]);
      assert.equal(transport.sessionId, sessionId, 'no new initialize');
    },
  );
});
