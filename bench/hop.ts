import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { freePort } from '../test/support/ports.ts';
import { type Connection, startAggregator } from './aggregator.ts';
import type { LoadOptions, LoadResult, LoadTarget } from './support/load.ts';
import { runScript, script, startOnPort, startScript } from './support/process.ts';
import { mean, median, printTable } from './table.ts';

/**
 * What one hop costs: calls of a trivial tool directly, through a bare relay, through us, through other gateways.
 *
 * Load generator, server and whatever stands between are a process each; nothing else runs while one is measured.
 * On two cores three busy processes share two cores, so all rates are lower than with a core each, and the ratios are
 * what counts. The machine's own speed may change by half within a minute, so targets take turns of a quarter second, and a
 * ratio is the median of those within one round each. CPU per call (of the process in between, where the system tells
 * it) does not depend on who shares the machine. Every target first works for half a minute: a gateway runs for days,
 * and what its first hundred thousand calls cost is the compiler's work. What it then costs differs by a fifth from one
 * process to the next, for the relay as for us, so there are several of each. The payload is the text that the server
 * returns; the call brings it, too, or only says how long it is.
 */
const { values: flags } = parseArgs({
  options: {
    turn: { type: 'string', default: '250' },
    rounds: { type: 'string', default: '60' },
    processes: { type: 'string', default: '2' },
    warmup: { type: 'string', default: '30' },
    clients: { type: 'string', default: '16' },
    payload: { type: 'string', default: '32,10k,1m' },
    'payload-in': { type: 'string', default: 'answer,both' },
    upstream: { type: 'string', default: 'http-modern,http-legacy,stdio-modern,stdio-legacy' },
    others: { type: 'boolean', default: true },
    aggregator: { type: 'boolean', default: true },
    /** The rows that decide, in two minutes: one process of each, small messages, HTTP. */
    quick: { type: 'boolean', default: false },
    /** Another checkout, or other flags of Node, measured in the same run. */
    against: { type: 'string' },
    'against-flags': { type: 'string' },
  },
  allowNegative: true,
});
if (flags.quick) Object.assign(flags, { processes: '1', warmup: '8', rounds: '60', others: false, ...quickDefaults() });

function quickDefaults() {
  const given = (name: string) => process.argv.some((word) => word.startsWith(`--${name}`));
  return {
    ...(given('payload=') || given('payload-in') ? {} : { payload: '32', 'payload-in': 'both' }),
    ...(given('upstream') ? {} : { upstream: 'http-modern,http-legacy' }),
  };
}

interface Target {
  /** Several processes of the same are one row. */
  name: string;
  load: LoadTarget;
}

type Era = 'legacy' | 'modern';

const stdioEcho = (era: Era) => ({
  command: process.execPath,
  args: [script('support/echo-server.ts'), 'stdio', era],
});
const serverName = 'up';

const legacyEcho = stdioEcho('legacy');
/** Gateways of others that put HTTP in front of a stdio server of the old era; they leave names as they are. */
const others = [
  {
    name: 'mcp-proxy 6.7',
    install: 'mcp-proxy@~6.7.0',
    file: 'mcp-proxy/dist/bin/mcp-proxy.mjs',
    args: (port: number) => ['--port', `${port}`, '--server', 'stream', '--', legacyEcho.command, ...legacyEcho.args],
  },
  {
    name: 'supergateway 4.0',
    install: 'supergateway@~4.0.0',
    file: 'supergateway/dist/index.js',
    args: (port: number) => [
      ...['--stdio', [legacyEcho.command, ...legacyEcho.args].join(' ')],
      ...['--outputTransport', 'streamableHttp', '--stateful', '--logLevel', 'none', '--port', `${port}`],
    ],
  },
];

for (const upstream of flags.upstream.split(',')) {
  const closers: (() => Promise<void>)[] = [];
  try {
    const targets = await startTargets(upstream, closers);
    const warmUp = { clients: 16, turnMs: Number(flags.warmup) * 1_000, coldRounds: 1, rounds: 0 };
    for (const target of targets) await load([target], { ...warmUp, payloadBytes: 32, payloadIn: 'both' });
    for (const { payload, payloadIn, clients } of courses()) {
      // The generator's own first turns are the compiler's.
      const turns = { turnMs: Number(flags.turn), coldRounds: 5, rounds: Number(flags.rounds) };
      const results = await load(targets, { clients, payloadBytes: toBytes(payload), payloadIn, ...turns });
      const where = payloadIn === 'both' ? 'in both directions' : 'in the answer';
      report(`${upstream} server, ${payload} ${where}, ${clients} client${clients === 1 ? '' : 's'}`, targets, results);
    }
  } finally {
    for (const close of closers.toReversed()) await close();
  }
}

type Closers = (() => Promise<void>)[];

function* courses() {
  for (const payload of flags.payload.split(','))
    for (const given of flags['payload-in'].split(','))
      for (const clients of flags.clients.split(',').map(Number))
        yield { payload, clients, payloadIn: given === 'both' ? ('both' as const) : ('answer' as const) };
}

function toBytes(size: string): number {
  const [, number, unit = ''] = /^(\d+)([km]?)$/.exec(size) ?? [];
  if (number === undefined) throw new Error(`--payload takes sizes such as 32, 10k and 1m, not "${size}"`);
  return Number(number) * (unit === 'k' ? 1_024 : unit === 'm' ? 1_048_576 : 1);
}

function startTargets(upstream: string, closers: Closers): Promise<Target[]> {
  switch (upstream) {
    case 'http-modern':
      return httpTargets('modern', closers);
    case 'http-legacy':
      return httpTargets('legacy', closers);
    case 'stdio-modern':
      return stdioTargets('modern', closers);
    case 'stdio-legacy':
      return stdioTargets('legacy', closers);
    default:
      throw new Error(`--upstream knows http-modern, http-legacy, stdio-modern and stdio-legacy, not "${upstream}"`);
  }
}

async function httpTargets(era: Era, closers: Closers): Promise<Target[]> {
  const server = await startScript('support/echo-server.ts', 'http', era);
  closers.push(server.close);
  const targets: Target[] = [{ name: 'direct', load: { target: { url: server.line }, era, tool: 'echo' } }];
  for (let started = 0; started < Number(flags.processes); started++) {
    const relay = await startScript('relay.ts', server.line);
    closers.push(relay.close);
    const load = { target: { url: relay.line }, era, tool: 'up__echo', pid: relay.pid };
    targets.push({ name: 'bare relay', load });
    if (!flags.aggregator) continue;
    const connection: Connection = { transport_type: 'HTTP', connection_config: { base_url: server.line } };
    targets.push(...(await aggregatorTargets(era, connection, closers)));
  }
  return targets;
}

async function stdioTargets(era: Era, closers: Closers): Promise<Target[]> {
  const echo = stdioEcho(era);
  const targets: Target[] = [{ name: 'direct', load: { target: echo, era, tool: 'echo' } }];
  if (flags.aggregator) {
    targets.push(...(await aggregatorTargets(era, { transport_type: 'STDIO', connection_config: echo }, closers)));
  }
  if (flags.others && era === 'legacy') targets.push(...(await otherTargets(closers)));
  return targets;
}

async function aggregatorTargets(era: Era, connection: Connection, closers: Closers): Promise<Target[]> {
  const { against, 'against-flags': given } = flags;
  const targets = [await aggregatorTarget('mcp-aggregator', era, connection, closers)];
  if (against === undefined && given === undefined) return targets;
  const name = ['against', ...(against ? [basename(resolve(against))] : []), ...(given ? [given] : [])].join(' ');
  const other = { checkout: against && resolve(against), nodeFlags: given?.split(' ') };
  return [...targets, await aggregatorTarget(name, era, connection, closers, other)];
}

async function aggregatorTarget(
  name: string,
  era: Era,
  connection: Connection,
  closers: Closers,
  other: { checkout?: string; nodeFlags?: string[] } = {},
): Promise<Target> {
  const aggregator = await startAggregator({ MCP_AGGREGATOR_LOG_LEVEL: 'warn' }, other.nodeFlags, other.checkout);
  closers.push(aggregator.close);
  await aggregator.register(serverName, connection);
  // As real clients send one; who calls is then looked up with every call.
  const { token } = (await aggregator.request('POST', '/api/v1/tokens', {
    name: 'load',
    role: 'caller',
  })) as { token: string };
  const { pid } = aggregator;
  const load = { target: { url: aggregator.mcpUrl() }, era, tool: `${serverName}__echo`, pid, token };
  return { name, load };
}

async function otherTargets(closers: Closers): Promise<Target[]> {
  const directory = await mkdtemp(join(tmpdir(), 'other-gateways-'));
  closers.push(() => rm(directory, { recursive: true }));
  const targets: Target[] = [];
  for (const { name, install, file, args } of others) {
    try {
      const npm = ['install', '--prefix', directory, '--no-audit', '--no-fund', '--ignore-scripts', install];
      await promisify(execFile)('npm', npm, { timeout: 120_000 });
      const port = await freePort();
      const running = await startOnPort(join(directory, 'node_modules', file), args(port), port);
      closers.push(running.close);
      const url = `http://127.0.0.1:${port}/mcp`;
      targets.push({ name, load: { target: { url }, era: 'legacy', tool: 'echo', pid: running.pid } });
    } catch (error) {
      // Somebody else's program that cannot be had here must not cost us our own numbers.
      console.log(`skipped ${name}: ${error instanceof Error ? error.message.split('\n')[0] : error}`);
    }
  }
  return targets;
}

async function load(targets: Target[], course: Omit<LoadOptions, 'targets'>): Promise<LoadResult[]> {
  const options: LoadOptions = { targets: targets.map((target) => target.load), ...course };
  return (await runScript('support/load.ts', JSON.stringify(options))) as LoadResult[];
}

function report(title: string, targets: Target[], results: LoadResult[]): void {
  const ofName = (name: string) => results.filter((_result, at) => targets[at]?.name === name);
  /** By round, the processes of a name together. */
  const each = (name: string, key: keyof LoadResult['turns'][number]) => {
    const own = ofName(name);
    return (own[0]?.turns ?? []).map((_turn, round) => mean(own.map(({ turns }) => turns[round]?.[key] ?? Number.NaN)));
  };
  const ratio = (name: string, base: string, key: keyof LoadResult['turns'][number] = 'callsPerSecond') => {
    const others = each(base, key);
    return median(each(name, key).map((own, round) => own / (others[round] ?? Number.NaN)));
  };
  const rows = [...new Set(targets.map((target) => target.name))].map((name) => {
    const typical = (key: 'p50Ms' | 'p95Ms' | 'p99Ms') => mean(ofName(name).map((result) => result[key]));
    return [
      name,
      Math.round(median(each(name, 'callsPerSecond'))),
      ratio(name, 'direct'),
      ratio(name, 'bare relay'),
      typical('p50Ms'),
      typical('p95Ms'),
      typical('p99Ms'),
      Math.round(median(each(name, 'cpuMicrosPerCall'))),
      ratio(name, 'bare relay', 'cpuMicrosPerCall'),
    ];
  });
  const columns = ['', 'calls/s', '× direct', '× relay', 'p50 ms', 'p95 ms', 'p99 ms', 'CPU µs/call', '× relay'];
  printTable(title, columns, rows);
}
