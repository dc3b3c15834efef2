import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { startAggregator } from './support/aggregator-process.ts';
import { stdioFeatureServer } from './support/servers/feature-server.ts';
import { until } from './support/until.ts';

const api = '/api/v1/aggregator';

test('LIM-007: idle connections beyond the descriptors we have end nothing, and a lost server comes back', async (t) => {
  const aggregator = await startAggregator({ descriptors: 256, env: { MCP_AGGREGATOR_HEALTH_INTERVAL: '1' } });
  t.after(() => aggregator.stop('SIGKILL'));
  const { port } = new URL(aggregator.url);
  const ask = async (path: string, init: RequestInit = {}) =>
    await fetch(`${aggregator.url}${path}`, {
      ...init,
      headers: { authorization: `Bearer ${aggregator.token}`, 'content-type': 'application/json' },
    });
  const server = async () => (await (await ask(`${api}/servers/local`)).json()) as { status: string };
  const untilConnected = () => until(async () => (await server()).status === 'CONNECTED', 'the server is connected');
  const body = JSON.stringify({
    name: 'local',
    transport_type: 'STDIO',
    connection_config: stdioFeatureServer('legacy'),
  });
  assert.equal((await ask(`${api}/servers`, { method: 'POST', body })).status, 201);
  await untilConnected();

  const idle = await Promise.all(Array.from({ length: 300 }, () => openIdle(Number(port))));
  t.after(() => {
    for (const socket of idle) socket.destroy();
  });
  const call = async (name: string) =>
    await ask('/api/v1/tools/call', { method: 'POST', body: JSON.stringify({ name, arguments: {} }) });
  // Its process ends in the middle of the call, and is started again.
  await call('local.crash_mid_call').catch(() => undefined);
  await until(async () => (await call('local.echo')).status === 200, 'the new process answers');
  await untilConnected();
  assert.equal((await call('local.echo')).status, 200);
});

async function openIdle(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.on('error', () => undefined); // refused: that is what is tested
  await Promise.race([once(socket, 'connect'), once(socket, 'close')]);
  return socket;
}
