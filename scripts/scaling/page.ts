/** The tables of docs/scaling.md. */
import { limits } from './assumptions.ts';
import type { Costs } from './costs.ts';
import type { Sizing } from './sizing.ts';

/** Without and with people who have processes of their own. */
export interface SizingPair {
  shared: Sizing;
  personal: Sizing;
}

export function tablesOf(sizings: readonly SizingPair[], costs: Costs): Record<string, string> {
  return {
    costs: costTable(costs),
    replica: replicaTable(costs),
    replicas: replicasTable(sizings),
    stores: storesTable(sizings),
  };
}

/** Between `<!-- table: name -->` and `<!-- /table -->`. */
export function replaceTables(page: string, tables: Record<string, string>): string {
  return Object.entries(tables).reduce((text, [name, table]) => {
    const [start, end] = [`<!-- table: ${name} -->\n`, '<!-- /table -->'];
    const from = text.indexOf(start);
    const to = text.indexOf(end, from);
    if (from < 0 || to < 0) throw new Error(`the page has no place for the table "${name}"`);
    return `${text.slice(0, from + start.length)}${table}${text.slice(to)}`;
  }, page);
}

const callNames = {
  'http-modern': 'a server over HTTP, 2026-07-28',
  'http-legacy': 'a server over HTTP, 2025-11-25',
  'stdio-legacy': 'a STDIO server',
};

function costTable({
  callCpuMs,
  callsPerSecond,
  searchCpuMs,
  sessionOpenCpuMs,
  memoryMb,
  database,
  redis,
}: Costs): string {
  return table(
    ['what', 'costs'],
    [
      ...Object.entries(callNames).map(([kind, name]) => [
        `a call of 1 KB to ${name}`,
        `${digits(callCpuMs[kind])} ms of CPU; ${count(callsPerSecond[kind] ?? Number.NaN)} calls/s with 16 clients, where clients and server share two cores with the aggregator`,
      ]),
      ['a search over 5,000 tools', `${digits(searchCpuMs)} ms of CPU`],
      [
        'a session of an older revision',
        `${digits(sessionOpenCpuMs)} ms of CPU to open, ${digits(memoryMb.perSession * 1_024)} KB`,
      ],
      ['the process under full load', `${digits(memoryMb.underLoad)} MB`],
      ['a server over HTTP', `${digits(memoryMb.perHttpServer)} MB`],
      [
        'a STDIO server',
        `${digits(memoryMb.perStdioServer)} MB, and its own process: ${digits(memoryMb.stdioProcess)} MB on Node`,
      ],
      ['a tool', `${digits(memoryMb.perTool * 1_024)} KB`],
      ['a replica, in PostgreSQL', `${digits(database.transactionsPerSecond)} transactions/s, with and without calls`],
      [
        'a call, in PostgreSQL',
        `${digits(database.bytesPerCall)} bytes stored (audit), ${digits(database.walBytesPerCall)} bytes of WAL`,
      ],
      ['a call, in Redis', `${digits(redis.commandsPerCall)} commands, only with a rate limit`],
    ],
  );
}

/** Each alone, with nothing of the others. */
function replicaTable({ callCpuMs, memoryMb }: Costs): string {
  const free = limits.ownMemoryMb - memoryMb.underLoad;
  const steady = Object.values(callCpuMs).map((cpuMs) => (limits.cpuShare * 1_000) / cpuMs);
  return table(
    ['one replica holds', 'limited by'],
    [
      [`${range(steady)} calls/s`, '60 % of one core'],
      [
        `${count(Math.min(limits.sessions, free / memoryMb.perSession))} sessions of older revisions`,
        free / memoryMb.perSession < limits.sessions ? 'memory' : '`MCP_AGGREGATOR_MAX_SESSIONS`',
      ],
      [`${count(free / memoryMb.perHttpServer)} servers over HTTP`, 'memory; `MCP_AGGREGATOR_MAX_SERVERS` is 50'],
      [`${count(free / memoryMb.perTool)} tools`, 'memory; `MCP_AGGREGATOR_MAX_TOOLS` is 10,000'],
    ],
  );
}

function replicasTable(sizings: readonly SizingPair[]): string {
  const rows = sizings.flatMap(({ shared, personal }) => [
    replicasRow(shared, 'none'),
    replicasRow(personal, count(personal.load.ownProcesses * personal.replicas)),
  ]);
  return table(
    [
      ...['people', 'processes of their own', 'replicas', 'memory of a pod', 'calls/s', 'sessions'],
      ...['busiest replica: CPU of a core', 'wait p99', 'memory', 'bottleneck'],
    ],
    rows,
  );
}

function replicasRow(sizing: Sizing, processes: string): string[] {
  const { population, replicas, callsPerSecond, sessions, load, bottleneck } = sizing;
  return [
    ...[count(population.people), processes, String(replicas), `${population.podMemoryGb} GB`],
    ...[count(callsPerSecond), count(sessions), percent(load.cpuShare), `${load.waitP99Ms.toFixed(1)} ms`],
    `${((load.ownMemoryMb + load.processMemoryMb) / 1_024).toFixed(1)} GB`,
    `${bottleneck.resource} (${percent(bottleneck.share)})`,
  ];
}

function storesTable(sizings: readonly SizingPair[]): string {
  const rows = sizings.map(({ personal: { population, database, redisCommandsPerSecond, checksPerSecond, load } }) => [
    count(population.people),
    `${count(database.connections)} connections, ${count(database.transactionsPerSecond)} transactions/s`,
    `${digits(database.walKbPerSecond)} KB/s, ${digits(database.gbPerYear)} GB`,
    `${count(redisCommandsPerSecond)} commands/s`,
    `${digits(checksPerSecond)} requests/s, a round takes ${digits(load.checkSeconds)} s`,
  ]);
  return table(['people', 'PostgreSQL', 'WAL, stored per year', 'Redis', 'identity provider'], rows);
}

function table(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |\n`;
  return line(columns) + line(columns.map(() => '---')).replaceAll(' ', '') + rows.map(line).join('');
}

const percent = (share: number) => `${Math.round(share * 100)} %`;

/** Two significant digits: the rest is noise of the machine. */
const count = (value: number) =>
  (value < 100 ? Math.round(value) : Number(value.toPrecision(2))).toLocaleString('en-US');

function digits(value = Number.NaN): string {
  return value >= 100 ? count(value) : String(Number(value.toPrecision(2)));
}

function range(values: readonly number[]): string {
  return `${count(Math.min(...values))} to ${count(Math.max(...values))}`;
}
