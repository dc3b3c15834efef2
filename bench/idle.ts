/**
 * STDIO servers that are not used: `npm run bench idle -- [--servers 30] [--timeout 45]`. Prints how many of them run and
 * the memory of the whole tree of processes before and after they are parked, the time of `tools/list`, and the first call
 * of a parked server beside the bare start of that server. Fails if one still runs, or a list takes 50 ms. Linux only.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startAggregator } from './aggregator.ts';
import { median, percentile, printTable } from './table.ts';

const { values } = parseArgs({
  options: { servers: { type: 'string', default: '30' }, timeout: { type: 'string', default: '45' } },
});
const everything = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'));
const command = { command: process.execPath, args: [everything, 'stdio'] };
const maxListMs = 50;
const maxParkMs = 300_000;
const lists = 40;
const starts = 5;

const columns = ['', 'running', 'MB of the tree', 'tools listed', 'tools/list, ms', 'p95'];
const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

const aggregator = await startAggregator({
  MCP_AGGREGATOR_LOG_LEVEL: 'error',
  MCP_AGGREGATOR_EXPOSURE: 'all',
  MCP_AGGREGATOR_IDLE_TIMEOUT: values.timeout,
});
try {
  for (let number = 1; number <= Number(values.servers); number += 1)
    await aggregator.register(`server-${number}`, { transport_type: 'STDIO', connection_config: command });
  const before = await measure('all connected');
  const deadline = performance.now() + maxParkMs;
  while ((await tree(aggregator.pid)).servers > 0 && performance.now() < deadline) await sleep(500);
  const after = await measure(`unused for ${values.timeout} s`);
  printTable(`${values.servers} servers on STDIO`, columns, [before.row, after.row]);

  const [first, bare] = [await times(firstCall), await times(bareStart)];
  printTable(
    'until a parked server has answered its first call',
    ['', 'ms, median', 'ms, slowest'],
    [
      ['through the aggregator', ...first],
      ['the server alone: start, initialize, call', ...bare],
    ],
  );
  if (after.servers > 0 || after.listMs >= maxListMs) {
    console.error(`A server still runs, or tools/list took ${maxListMs} ms or more.`);
    process.exitCode = 1;
  }
} finally {
  await aggregator.close();
}

async function measure(when: string) {
  const { servers, bytes } = await tree(aggregator.pid);
  const took: number[] = [];
  let tools = 0;
  for (let round = 0; round < lists; round += 1) {
    const startedAt = performance.now();
    tools = (await ask('tools/list')).tools.length;
    took.push(performance.now() - startedAt);
  }
  const listMs = median(took);
  return { servers, listMs, row: [when, servers, Math.round(bytes / 1_048_576), tools, listMs, percentile(took, 95)] };
}

/** The processes below one: how many are servers, and their memory, in which what they share is counted once (PSS). */
async function tree(pid: number): Promise<{ servers: number; bytes: number }> {
  const [commandLine, memory, children] = await Promise.all(
    ['cmdline', 'smaps_rollup', `task/${pid}/children`].map(
      (name) => readFile(`/proc/${pid}/${name}`, 'utf8').catch(() => ''), // ended meanwhile
    ),
  );
  const below = await Promise.all(
    (children ?? '')
      .split(' ')
      .filter(Boolean)
      .map((child) => tree(Number(child))),
  );
  const own = Number(/^Pss: +(\d+) kB$/m.exec(memory ?? '')?.[1] ?? 0) * 1_024;
  const isServer = commandLine?.includes(`\0${everything}\0`) === true && !commandLine.includes('mcp-aggregator.js');
  return {
    servers: below.reduce((sum, { servers }) => sum + servers, isServer ? 1 : 0),
    bytes: below.reduce((sum, { bytes }) => sum + bytes, own),
  };
}

// biome-ignore lint/suspicious/noExplicitAny: results are read by their names
async function ask(method: string, params: Record<string, unknown> = {}): Promise<any> {
  const name = typeof params.name === 'string' ? { 'mcp-name': params.name } : {};
  const response = await fetch(aggregator.mcpUrl(), {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...name,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } }),
  });
  const { result, error } = (await response.json()) as { result?: unknown; error?: { message: string } };
  if (error !== undefined) throw new Error(`${method}: ${error.message}`);
  return result;
}

async function times(run: (round: number) => Promise<unknown>): Promise<[number, number]> {
  const took: number[] = [];
  for (let round = 1; round <= starts; round += 1) {
    const startedAt = performance.now();
    await run(round);
    took.push(performance.now() - startedAt);
  }
  return [Math.round(median(took)), Math.round(Math.max(...took))];
}

async function firstCall(round: number): Promise<void> {
  await ask('tools/call', { name: `server-${round}__echo`, arguments: { message: 'hello' } });
}

async function bareStart(): Promise<void> {
  const child = spawn(command.command, command.args, { stdio: ['pipe', 'pipe', 'ignore'] });
  const send = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  let said = '';
  const answered = (id: number) => said.includes(`"id":${id}`);
  child.stdout.setEncoding('utf8').on('data', (text) => {
    said += text;
  });
  const clientInfo = { name: 'bench', version: '1' };
  send({ id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo } });
  while (!answered(1)) await once(child.stdout, 'data');
  send({ method: 'notifications/initialized' });
  send({ id: 2, method: 'tools/call', params: { name: 'echo', arguments: { message: 'hello' } } });
  while (!answered(2)) await once(child.stdout, 'data');
  child.kill('SIGKILL');
  await once(child, 'exit');
}
