/** Run with --expose-gc: prints how much more memory is in use after ten thousand sessions that nobody closed. */
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { startApp } from '../support/app.ts';

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
const ping = JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'ping' });

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
  let last = '';
  const open = async () => {
    while (left-- > 0) last = await send('POST', initialize, {});
  };
  await Promise.all(Array.from({ length: atOnce }, open));
  // Looking must not keep it alive, so only once in a while; every look at a living session starts its time anew.
  do {
    await once(AbortSignal.timeout(2_500), 'abort');
  } while ((await send('POST', ping, { 'mcp-session-id': last })) !== '404');
}

/** The id of the session that was opened, or the status. */
function send(method: string, body: string, more: Record<string, string>): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const sent = request({ hostname, port, path: '/mcp', method, agent, headers: { ...headers, ...more } }, (answer) => {
    const id = answer.headers['mcp-session-id'];
    answer.resume().on('end', () => resolve(typeof id === 'string' ? id : String(answer.statusCode)));
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
