/**
 * What one replica holds and what each thing costs: `npm run bench capacity [-- --write scripts/scaling/costs.json]`.
 * The costs are what `npm run scaling` calculates with. CPU time is that of the aggregator's process; memory is resident.
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { Agent, request as httpRequest } from 'node:http';
import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Redis } from 'ioredis';
import pg from 'pg';
import type { Costs } from '../scripts/scaling/costs.ts';
import { startPostgres } from '../test/support/postgres.ts';
import { hasRedis, startRedis } from '../test/support/redis.ts';
import { type Aggregator, type Connection, startAggregator } from './aggregator.ts';
import type { LoadOptions, LoadResult } from './support/load.ts';
import { runScript, script, startScript } from './support/process.ts';
import { median, printTable } from './table.ts';

const { values } = parseArgs({
  options: {
    write: { type: 'string' },
    seconds: { type: 'string', default: '10' },
    sessions: { type: 'string', default: '2000' },
    servers: { type: 'string', default: '50' },
  },
});
const seconds = Number(values.seconds);
const limits = {
  MCP_AGGREGATOR_LOG_LEVEL: 'error',
  MCP_AGGREGATOR_MAX_SERVERS: '1000',
  MCP_AGGREGATOR_MAX_CONNECTIONS: '20000',
  MCP_AGGREGATOR_MAX_CONNECTIONS_PER_ADDRESS: '20000',
  MCP_AGGREGATOR_MAX_SESSIONS_PER_PRINCIPAL: '20000',
};
const stdio = (era: string): Connection => ({
  transport_type: 'STDIO',
  connection_config: { command: process.execPath, args: [script('support/echo-server.ts'), 'stdio', era] },
});
const http = (url: string): Connection => ({ transport_type: 'HTTP', connection_config: { base_url: url } });

const calls = {
  'http-modern': await measureCalls('modern', 'http'),
  'http-legacy': await measureCalls('legacy', 'http'),
  'stdio-legacy': await measureCalls('legacy', 'stdio'),
};
const holdings = await measureHoldings();
const costs: Costs = {
  machine: `${cpus()[0]?.model.trim()}, Node ${process.versions.node}`,
  callCpuMs: Object.fromEntries(Object.entries(calls).map(([name, { cpuMs }]) => [name, cpuMs])),
  callsPerSecond: Object.fromEntries(Object.entries(calls).map(([name, { rate }]) => [name, rate])),
  ...holdings,
  memoryMb: {
    ...holdings.memoryMb,
    underLoad: Math.max(...Object.values(calls).map(({ peakMb }) => peakMb)),
    stdioProcess: await measureStdioProcess(),
  },
  ...(await measureStores()),
};
print(costs);
if (values.write !== undefined) await writeFile(values.write, `${JSON.stringify(costs, rounded, 2)}\n`);

function rounded(_key: string, value: unknown): unknown {
  return typeof value === 'number' ? Number(value.toPrecision(3)) : value;
}

/** With 16 clients that call without a pause. */
async function measureCalls(era: 'legacy' | 'modern', transport: 'http' | 'stdio') {
  const upstream = transport === 'http' ? await startScript('support/echo-server.ts', 'http', era) : undefined;
  const aggregator = await startAggregator(limits);
  try {
    await aggregator.register('up', upstream === undefined ? stdio(era) : http(upstream.line));
    const [result] = await load(aggregator, era, { clients: 16, coldRounds: 10, rounds: seconds * 4 });
    const turns = result?.turns ?? [];
    return {
      cpuMs: median(turns.map(({ cpuMicrosPerCall }) => cpuMicrosPerCall)) / 1_000,
      rate: median(turns.map(({ callsPerSecond }) => callsPerSecond)),
      peakMb: await peakMemoryMb(aggregator.pid),
    };
  } finally {
    await aggregator.close();
    await upstream?.close();
  }
}

async function load(aggregator: Aggregator, era: 'legacy' | 'modern', course: Partial<LoadOptions>) {
  const { token } = (await aggregator.request('POST', '/api/v1/tokens', { name: 'load', role: 'caller' })) as {
    token: string;
  };
  const target = { target: { url: aggregator.mcpUrl() }, era, tool: 'up__echo', pid: aggregator.pid, token };
  const options = { targets: [target], clients: 16, payloadBytes: 1_024, payloadIn: 'answer', turnMs: 250, ...course };
  return (await runScript('support/load.ts', JSON.stringify(options))) as LoadResult[];
}

/** Memory and idle CPU time by what is held: servers, tools, sessions with their streams. */
async function measureHoldings() {
  const servers = Number(values.servers);
  const sessions = Number(values.sessions);
  const upstream = await startScript('support/echo-server.ts', 'http', 'legacy');
  const wide = await startScript('support/wide-server.ts', '1000');
  const aggregator = await startAggregator({ ...limits, MCP_AGGREGATOR_IDLE_TIMEOUT: '0' });
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
  try {
    const base = await settled(aggregator);
    for (let number = 0; number < servers; number++) await aggregator.register(`http-${number}`, http(upstream.line));
    const withHttp = await settled(aggregator);
    for (let number = 0; number < 10; number++) await aggregator.register(`stdio-${number}`, stdio('legacy'));
    const withStdio = await settled(aggregator);
    for (let number = 0; number < 5; number++) await aggregator.register(`wide-${number}`, http(wide.line));
    await aggregator.request('POST', '/api/v1/search', { query: 'list the invoices of a customer' });
    const withTools = await settled(aggregator);
    const searchCpuMs = await measureSearch(aggregator);
    const beforeSessions = await settled(aggregator);
    const cpuBefore = await aggregator.cpuMs();
    const streams = await openSessions(aggregator, agent, sessions);
    const sessionOpenCpuMs = ((await aggregator.cpuMs()) - cpuBefore) / sessions;
    const withSessions = await settled(aggregator);
    for (const stream of streams) stream.destroy();
    return {
      searchCpuMs,
      sessionOpenCpuMs,
      memoryMb: {
        base: base.memoryMb,
        perHttpServer: growth(base.memoryMb, withHttp.memoryMb) / servers,
        perStdioServer: growth(withHttp.memoryMb, withStdio.memoryMb) / 10,
        perTool: growth(withStdio.memoryMb, withTools.memoryMb) / 5_000,
        perSession: growth(beforeSessions.memoryMb, withSessions.memoryMb) / sessions,
      },
      idleCpuMsPerSecond: {
        base: base.cpuMsPerSecond,
        perServer: growth(base.cpuMsPerSecond, withHttp.cpuMsPerSecond) / servers,
        perSession: growth(beforeSessions.cpuMsPerSecond, withSessions.cpuMsPerSecond) / sessions,
      },
    };
  } finally {
    agent.destroy();
    await aggregator.close();
    await wide.close();
    await upstream.close();
  }
}

/** Memory that is given back in between must not look like a gain. */
const growth = (before: number, after: number) => Math.max(0, after - before);

/** Memory and CPU time once nothing happens any more. */
async function settled(aggregator: Aggregator) {
  await sleep(3_000);
  const cpuMs = await aggregator.cpuMs();
  await sleep(seconds * 1_000);
  return {
    memoryMb: await aggregator.memoryMb(),
    cpuMsPerSecond: ((await aggregator.cpuMs()) - cpuMs) / seconds,
  };
}

async function measureSearch(aggregator: Aggregator): Promise<number> {
  const rounds = 200;
  const search = (round: number) =>
    aggregator.request('POST', '/api/v1/search', { query: `delete record ${round} and notify its owner` });
  for (let round = 0; round < rounds; round++) await search(round);
  const before = await aggregator.cpuMs();
  for (let round = 0; round < rounds; round++) await search(rounds + round);
  return ((await aggregator.cpuMs()) - before) / rounds;
}

async function peakMemoryMb(pid: number): Promise<number> {
  return Number(/^VmHWM:\s*(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024;
}

/** Proportional, because processes of the same program share its pages; of the tenth process. */
async function measureStdioProcess(): Promise<number> {
  const everything = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'));
  const children = Array.from({ length: 10 }, () =>
    spawn(process.execPath, [everything, 'stdio'], { stdio: ['pipe', 'ignore', 'ignore'] }),
  );
  try {
    await sleep(5_000);
    const rollups = await Promise.all(children.map(({ pid }) => readFile(`/proc/${pid}/smaps_rollup`, 'utf8')));
    return median(rollups.map((text) => Number(/^Pss:\s*(\d+) kB$/m.exec(text)?.[1]) / 1_024));
  } finally {
    for (const child of children) child.kill('SIGKILL');
  }
}

/** Sessions of 2025-11-25, each with the stream that it listens on. */
async function openSessions(aggregator: Aggregator, agent: Agent, count: number) {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const clientInfo = { name: 'load', version: '1.0.0' };
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
  const streams: ReturnType<typeof httpRequest>[] = [];
  for (let opened = 0; opened < count; opened++) {
    const answer = await fetch(aggregator.mcpUrl(), {
      method: 'POST',
      headers,
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
    });
    await answer.text();
    const session = { ...headers, 'mcp-session-id': answer.headers.get('mcp-session-id') ?? '' };
    for (const message of [
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', id: 2, method: 'tools/list' },
    ]) {
      const body = JSON.stringify(message);
      await (await fetch(aggregator.mcpUrl(), { method: 'POST', headers: session, body })).text();
    }
    const stream = httpRequest(aggregator.mcpUrl(), { agent, headers: session });
    await new Promise<void>((resolve, reject) => {
      stream.once('response', (response) => resolve(void response.resume())).once('error', reject);
      stream.end();
    });
    stream.on('error', () => {}); // the end of the benchmark closes it
    streams.push(stream);
  }
  return streams;
}

/** What calls leave in PostgreSQL and Redis, and what a replica without calls does there. */
async function measureStores(): Promise<Pick<Costs, 'database' | 'redis'>> {
  const upstream = await startScript('support/echo-server.ts', 'http', 'modern');
  const postgres = await startPostgres();
  const redis = hasRedis ? await startRedis() : undefined;
  const aggregator = await startAggregator({
    ...limits,
    DATABASE_URL: postgres.url,
    MCP_CREDENTIAL_KEY: randomBytes(32).toString('base64'),
    MCP_AGGREGATOR_RATE_LIMIT: '1000000',
    ...(redis === undefined ? {} : { REDIS_URL: redis.url }),
  });
  const pool = new pg.Pool({ connectionString: postgres.url, max: 1 });
  const cache = redis === undefined ? undefined : new Redis(redis.url);
  const counts = async () => {
    const { rows } = await pool.query(
      `select xact_commit::float8 transactions, pg_database_size(current_database())::float8 bytes,
       pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 wal from pg_stat_database where datname = current_database()`,
    );
    const info = (await cache?.info('stats')) ?? '';
    return {
      transactions: Number(rows[0].transactions),
      bytes: Number(rows[0].bytes),
      wal: Number(rows[0].wal),
      commands: Number(/total_commands_processed:(\d+)/.exec(info)?.[1] ?? 0),
    };
  };
  try {
    await aggregator.register('up', http(upstream.line));
    await sleep(3_000);
    const idleFrom = await counts();
    await sleep(seconds * 1_000);
    const before = await counts();
    const started = performance.now();
    const [result] = await load(aggregator, 'modern', { clients: 1, coldRounds: 0, rounds: seconds * 4 });
    await sleep(12_000); // until the audit and the statistics are stored
    const elapsed = (performance.now() - started) / 1_000;
    const after = await counts();
    const made = (result?.turns ?? []).reduce((sum, { callsPerSecond }) => sum + callsPerSecond / 4, 0);
    const idle = (key: keyof typeof before) => (before[key] - idleFrom[key]) / seconds;
    const perCall = (key: keyof typeof before) => Math.max(0, after[key] - before[key] - idle(key) * elapsed) / made;
    return {
      database: {
        transactionsPerSecond: Math.max(idle('transactions'), (after.transactions - before.transactions) / elapsed),
        bytesPerCall: perCall('bytes'),
        walBytesPerCall: perCall('wal'),
      },
      redis: { idleCommandsPerSecond: idle('commands'), commandsPerCall: perCall('commands') },
    };
  } finally {
    await pool.end();
    cache?.disconnect();
    await aggregator.close();
    await redis?.stop();
    await postgres.remove();
    await upstream.close();
  }
}

function print({ machine, callCpuMs, callsPerSecond, searchCpuMs, sessionOpenCpuMs, memoryMb, ...rest }: Costs): void {
  printTable(
    `Calls of 1 KB, 16 clients (${machine})`,
    ['', 'calls/s', 'CPU ms/call'],
    Object.keys(callCpuMs).map((name) => [name, Math.round(callsPerSecond[name] ?? 0), callCpuMs[name] ?? 0]),
  );
  const { idleCpuMsPerSecond, database, redis } = rest;
  const rows = Object.entries({
    'search over 5,000 tools, CPU ms': searchCpuMs,
    'a session that is opened, CPU ms': sessionOpenCpuMs,
    'process without servers, MB': memoryMb.base,
    'process under full load, peak MB': memoryMb.underLoad,
    'process of a STDIO server, MB': memoryMb.stdioProcess,
    'each server over HTTP, MB': memoryMb.perHttpServer,
    'each server on STDIO (without its process), MB': memoryMb.perStdioServer,
    'each tool, KB': memoryMb.perTool * 1_024,
    'each session with an open stream, KB': memoryMb.perSession * 1_024,
    'idle, CPU ms/s': idleCpuMsPerSecond.base,
    'each server, CPU ms/s': idleCpuMsPerSecond.perServer,
    'each session, CPU ms/s': idleCpuMsPerSecond.perSession,
    'PostgreSQL transactions/s': database.transactionsPerSecond,
    'PostgreSQL bytes/call': database.bytesPerCall,
    'PostgreSQL WAL bytes/call': database.walBytesPerCall,
    'Redis commands/s, idle': redis.idleCommandsPerSecond,
    'Redis commands/call': redis.commandsPerCall,
  });
  printTable('What is held and stored', ['', 'cost'], rows);
}
