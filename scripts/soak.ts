/** `npm run soak -- --minutes 10`: 100 calls/s over 20 servers; memory and handles must stay flat. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type RunningServer, startFeatureServer, stdioFeatureServer } from '../test/support/servers/feature-server.ts';
import { startLoad } from './chaos/load.ts';
import { createRandom } from './chaos/random.ts';
import { createReplica } from './chaos/replica.ts';
import { sparkline } from './chaos/sparkline.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    rate: { type: 'string', default: '100' },
    servers: { type: 'string', default: '20' },
    'data-dir': { type: 'string' },
  },
});
const count = Number(values.servers);
/** Each child is a process; the other servers live in this one. */
const children = Math.min(6, count);
const warmUpMs = 20_000;
/** What may be more in the last third than in the first: growth of a leak, not noise. */
const allowed = { memory: 1.1, handles: 1.1 };

interface Sample {
  used: number;
  rss: number;
  handles: number;
  callsPerSecond: number;
}

const directory = mkdtempSync(join(tmpdir(), 'soak-'));
const aggregator = await createReplica({
  name: 'aggregator',
  directory,
  dataDir: values['data-dir'],
  env: { MCP_AGGREGATOR_MAX_SERVERS: '1000', MCP_AGGREGATOR_LOG_LEVEL: 'warn' },
});
await aggregator.start();
const upstreams: RunningServer[] = [];
const names = Array.from({ length: count }, (_, number) => `server-${number + 1}`);
for (const [number, name] of names.entries()) {
  const isChild = number < children;
  const upstream = isChild
    ? undefined
    : await startFeatureServer({
        transport: number % 2 === 0 ? 'streamable-legacy' : 'streamable-modern',
        label: name,
      });
  if (upstream !== undefined) upstreams.push(upstream);
  const { status, body } = await aggregator.api('POST', '/aggregator/servers', {
    name,
    transport_type: isChild ? 'STDIO' : 'HTTP',
    connection_config: isChild ? stdioFeatureServer('legacy', { label: name }) : { base_url: upstream?.url },
  });
  if (status !== 201) throw new Error(`${name} was not registered: ${JSON.stringify(body)}`);
}
for (const name of names) {
  const call = { name: `${name}.echo`, arguments: {} };
  while ((await aggregator.api('POST', '/tools/call', call)).status !== 200) await delay(100);
}

const load = startLoad({
  replicas: [aggregator],
  servers: names,
  callsPerSecond: Number(values.rate),
  random: createRandom(1),
});
console.log(`${count} servers (${children} of them children), ${values.rate} calls/s, ${values.minutes} minutes`);
await delay(warmUpMs);
const samples: Sample[] = [];
const totalMs = Number(values.minutes) * 60_000 - warmUpMs;
const everyMs = Math.max(2_000, Math.min(10_000, totalMs / 60));
const until = performance.now() + totalMs;
let { before, at } = { before: load.tally.results, at: performance.now() };
while (performance.now() < until) {
  await delay(everyMs);
  const { rss, heapUsed, external } = await aggregator.measure();
  const now = performance.now();
  const callsPerSecond = ((load.tally.results - before) * 1_000) / (now - at);
  before = load.tally.results;
  at = now;
  samples.push({
    used: heapUsed + external,
    rss,
    handles: readdirSync(`/proc/${aggregator.pid}/fd`).length,
    callsPerSecond,
  });
  if (process.stdout.isTTY)
    process.stdout.write(
      `\r${Math.max(0, Math.round((until - now) / 1_000))} s left, ${Math.round(callsPerSecond)} calls/s `,
    );
}
await load.stop();
const code = await aggregator.stop();
for (const upstream of upstreams) await upstream.close();

const megabytes = (bytes: number) => bytes / 1_048_576;
console.log('');
chart(
  'memory used, MB',
  samples.map(({ used }) => megabytes(used)),
);
chart(
  'memory resident, MB',
  samples.map(({ rss }) => megabytes(rss)),
);
chart(
  'handles',
  samples.map(({ handles }) => handles),
);
chart(
  'calls/s',
  samples.map(({ callsPerSecond }) => callsPerSecond),
);

const { sent, results, errors, refused, lost, wrong } = load.tally;
console.log(
  `\n${sent} calls, ${results} results, ${[...errors.values()].reduce((a, b) => a + b, 0)} errors, ${wrong.length + lost.length + refused} wrong or lost`,
);
const problems = [
  ...(growth(({ used }) => used) > allowed.memory ? ['memory grows'] : []),
  ...(growth(({ handles }) => handles) > allowed.handles ? ['handles grow'] : []),
  ...(results === sent
    ? []
    : ['not every call had its result', ...lost.slice(0, 5), ...wrong.slice(0, 5), ...errors.keys()]),
  ...(code === 0 ? [] : [`the aggregator ended with ${code}`]),
];
console.log(problems.length === 0 ? 'Memory and handles are flat.' : problems.join('\n'));
if (problems.length === 0) rmSync(directory, { recursive: true, force: true });
process.exit(problems.length === 0 ? 0 : 1);

function chart(label: string, line: number[]): void {
  const [first = 0, last = 0] = [line[0], line.at(-1)];
  const range = `${Math.min(...line).toFixed(1)} … ${Math.max(...line).toFixed(1)}`;
  console.log(`${label.padEnd(20)} ${sparkline(line)}  ${first.toFixed(1)} → ${last.toFixed(1)}  (${range})`);
}

/** The last third against the first, each by its median: single peaks are not growth. */
function growth(of: (sample: Sample) => number): number {
  const third = Math.max(1, Math.floor(samples.length / 3));
  const median = (part: Sample[]) => part.map(of).sort((a, b) => a - b)[Math.floor(part.length / 2)] ?? 0;
  return median(samples.slice(-third)) / median(samples.slice(0, third));
}
