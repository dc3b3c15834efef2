/** Run with --expose-gc: prints how much more memory is in use after ten thousand sessions that nobody closed. */
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { startApp } from '../support/app.ts';
import { until } from '../support/until.ts';

const warmUp = 1_000;
const sessions = 10_000;
const atOnce = 8;

const app = await startApp({ MCP_AGGREGATOR_SESSION_IDLE: '1', MCP_AGGREGATOR_LOG_LEVEL: 'silent' });
const agent = new Agent({ keepAlive: true, maxSockets: atOnce });
const { hostname, port } = new URL(app.url);
const headers = {
  authorization: `Bearer ${app.adminToken}`,
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
};
const params = { protocolVersion: '2025-11-25', capabilities: { roots: {} }, clientInfo: { name: 'x', version: '1' } };
const initialize = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params });

await abandon(warmUp);
const before = await usedBytes();
await abandon(sessions);
const after = await usedBytes();
console.log(JSON.stringify({ sessions, grownBytes: after - before }));
agent.destroy();
await app.close();

/** Opens them, and waits until the last one has expired. */
async function abandon(count: number): Promise<void> {
  let left = count;
  const open = async () => {
    while (left-- > 0) await send(initialize);
  };
  await Promise.all(Array.from({ length: atOnce }, open));
  await until(async () => (await openSessions()) === 0, 'the last session has expired', { everyMs: 100 });
}

/** As the metrics count them, which keeps none alive. */
async function openSessions(): Promise<number> {
  const metrics = await (await fetch(`${app.url}/metrics`, { headers })).text();
  return Number(/^mcp_aggregator_sessions\{.*era="legacy".*\} (\d+)$/m.exec(metrics)?.[1]);
}

function send(body: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const sent = request({ hostname, port, path: '/mcp', method: 'POST', agent, headers }, (answer) => {
    const isOpen = answer.statusCode === 200 && answer.headers['mcp-session-id'] !== undefined;
    answer.resume().on('end', () => (isOpen ? resolve() : reject(new Error(`HTTP ${answer.statusCode}`))));
  });
  sent.on('error', reject);
  sent.end(body);
  return promise;
}

async function usedBytes(): Promise<number> {
  if (globalThis.gc === undefined) throw new Error('run with --expose-gc');
  for (let round = 0; round < 4; round += 1) {
    globalThis.gc();
    await once(AbortSignal.timeout(50), 'abort');
  }
  return process.memoryUsage().heapUsed;
}
