import { parseArgs } from 'node:util';
import { modernRequest } from '../test/support/modern-request.ts';
import { type RunningServer, startFeatureServer, stdioFeatureServer } from '../test/support/servers/feature-server.ts';
import { type Aggregator, type Connection, startAggregator } from './aggregator.ts';
import { percentile, printTable } from './table.ts';

/**
 * What routing costs in a full house: how long a name takes to resolve (our own figure in each answer), what a call
 * through REST adds to the same call made directly, and how much memory the aggregator holds.
 *
 * The servers (HTTP) and the client live in this process, the aggregator in its own; calls are made one at a time,
 * so nothing competes. With `--transport stdio` every server is a child of the aggregator, whose memory is not counted.
 */
const { values: flags } = parseArgs({
  options: {
    servers: { type: 'string', default: '20' },
    tools: { type: 'string', default: '50' },
    calls: { type: 'string', default: '2000' },
    transport: { type: 'string', default: 'http' },
  },
});
const serverCount = Number(flags.servers);
const toolsEach = Number(flags.tools);
const direct: RunningServer[] = [];
const aggregator = await startAggregator();
try {
  await run(aggregator);
} finally {
  await aggregator.close();
  for (const server of direct) await server.close();
}

async function run(aggregator: Aggregator): Promise<void> {
  const emptyMb = await aggregator.memoryMb();
  const registering = performance.now();
  for (let number = 0; number < serverCount; number++)
    await aggregator.register(`s${number}`, await connection(number));
  const registeredMs = performance.now() - registering;
  const fullMb = await aggregator.memoryMb();

  await callAll(aggregator, Math.min(500, Number(flags.calls))); // warm-up
  const { routingMs, throughMs, directMs } = await callAll(aggregator, Number(flags.calls));

  const row = (name: string, values: number[]) => [name, ...[50, 95, 99].map((p) => percentile(values, p))];
  printTable(
    `${serverCount} servers of ${toolsEach} tools each, ${flags.calls} calls, one at a time`,
    ['ms', 'p50', 'p95', 'p99'],
    [
      row('resolving and bookkeeping', routingMs),
      row('call through REST', throughMs),
      ...(directMs.length > 0 ? [row('same call directly', directMs)] : []),
    ],
  );
  if (directMs.length > 0) {
    const added = (p: number) => percentile(throughMs, p) - percentile(directMs, p);
    printTable('added by the aggregator', ['ms', 'p50', 'p95', 'p99'], [['', added(50), added(95), added(99)]]);
  }
  printTable(
    'memory and start',
    ['', 'value'],
    [
      ['MB, no servers', Math.round(emptyMb)],
      ['MB, all servers connected', Math.round(fullMb)],
      ['MB, after the calls', Math.round(await aggregator.memoryMb())],
      ['ms to register and connect one server', registeredMs / serverCount],
    ],
  );
}

async function connection(number: number): Promise<Connection> {
  const options = { label: `s${number}`, extraTools: toolsEach };
  if (flags.transport === 'stdio')
    return { transport_type: 'STDIO', connection_config: stdioFeatureServer('legacy', options) };
  const server = await startFeatureServer({ transport: 'streamable-modern', ...options });
  direct.push(server);
  return { transport_type: 'HTTP', connection_config: { base_url: server.url } };
}

async function callAll(aggregator: Aggregator, calls: number) {
  const routingMs: number[] = [];
  const throughMs: number[] = [];
  const directMs: number[] = [];
  for (let call = 0; call < calls; call++) {
    const number = call % serverCount;
    const name = `extra_${call % toolsEach}`;
    const args = { id: String(call) };
    const started = performance.now();
    const answer = (await aggregator.request('POST', '/api/v1/tools/call', {
      name: `s${number}.${name}`,
      arguments: args,
    })) as { metadata: { routing_time_ms: number } };
    throughMs.push(performance.now() - started);
    routingMs.push(answer.metadata.routing_time_ms);
    const server = direct[number];
    if (server) directMs.push(await timed(() => callDirectly(server.url, call, name, args)));
  }
  return { routingMs, throughMs, directMs };
}

async function timed(work: () => Promise<void>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

async function callDirectly(url: string, id: number, name: string, args: object): Promise<void> {
  const { message, headers } = modernRequest('tools/call', { name, arguments: args }, { id });
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: JSON.stringify(message),
  });
  if (!response.ok) throw new Error(`HTTP ${response.status}: ${await response.text()}`);
  await response.json();
}
