import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { Pool } from 'undici';
import { modernMeta } from '../../test/support/modern-request.ts';
import { percentile } from '../table.ts';
import { fillerOf } from './filler.ts';

/**
 * A load generator in a process of its own: `node load.ts '<LoadOptions as JSON>'` prints a LoadResult per target as
 * JSON. It holds connections to all targets and calls one at a time, in short turns: the speed of a machine may change
 * from one second to the next, and between neighbouring turns it changes least.
 */
export interface LoadOptions {
  targets: LoadTarget[];
  clients: number;
  /** Of the text that the server returns. */
  payloadBytes: number;
  /** Whether the call brings the text as well, or only says how long it is. */
  payloadIn: 'both' | 'answer';
  turnMs: number;
  /** Before the others, and not counted. */
  coldRounds: number;
  rounds: number;
}

export interface LoadTarget {
  target: { url: string } | { command: string; args: string[] };
  era: 'legacy' | 'modern';
  tool: string;
  token?: string;
  /** The process in between, whose CPU time is told. */
  pid?: number;
}

export interface LoadResult {
  /** In the order of the rounds. */
  turns: { callsPerSecond: number; cpuMicrosPerCall: number }[];
  p50Ms: number;
  p95Ms: number;
  p99Ms: number;
}

interface Caller {
  call(id: number, method: string, params: object): Promise<{ result?: { content?: { text?: string }[] } }>;
  notify(method: string): Promise<void>;
}

const _meta = modernMeta({}, { name: 'load', version: '1.0.0' });

async function measure({
  targets,
  clients,
  payloadBytes,
  payloadIn,
  turnMs,
  coldRounds,
  rounds,
}: LoadOptions): Promise<LoadResult[]> {
  const payload = { filler: fillerOf(payloadBytes), isSent: payloadIn === 'both' };
  const courses = await Promise.all(
    targets.map(
      async (target) => ({ target, callers: await connect(target, clients), turns: [], times: [] }) as Course,
    ),
  );
  for (let round = -coldRounds; round < rounds; round++) {
    if (round === 0) for (const { turns, times } of courses) turns.length = times.length = 0;
    // Each begins as often as any other: one that has two turns in a row finds its caches warm in the second.
    const first = (round + coldRounds) % courses.length;
    for (const course of [...courses.slice(first), ...courses.slice(0, first)]) await takeTurn(course, payload, turnMs);
  }
  return courses.map(({ turns, times }) => ({
    turns,
    p50Ms: percentile(times, 50),
    p95Ms: percentile(times, 95),
    p99Ms: percentile(times, 99),
  }));
}

interface Payload {
  filler: string;
  isSent: boolean;
}

interface Course {
  target: LoadTarget;
  callers: Caller[];
  turns: LoadResult['turns'];
  times: number[];
}

async function connect({ target, era, token }: LoadTarget, clients: number): Promise<Caller[]> {
  const callerFor =
    'url' in target ? httpCallers(target.url, { era, token, clients }) : stdioCallers(target.command, target.args);
  const callers = Array.from({ length: clients }, callerFor);
  if (era === 'legacy') {
    // All callers of one stdio process share its connection, and with it the handshake.
    for (const caller of 'url' in target ? callers : callers.slice(0, 1)) await handshake(caller);
  }
  return callers;
}

async function takeTurn({ target, callers, turns, times }: Course, payload: Payload, turnMs: number): Promise<void> {
  const cpuBefore = await cpuMicros(target.pid);
  const started = performance.now();
  const perCaller = await Promise.all(callers.map((caller, at) => loop(caller, target, payload, started + turnMs, at)));
  const elapsedMs = performance.now() - started;
  const cpu = (await cpuMicros(target.pid)) - cpuBefore;
  const own = perCaller.flat();
  for (const time of own) times.push(time);
  turns.push({ callsPerSecond: (own.length / elapsedMs) * 1_000, cpuMicrosPerCall: cpu / own.length });
}

/** User and system time of a process; NaN where there is no /proc to read it from. */
async function cpuMicros(pid: number | undefined): Promise<number> {
  const stat = pid === undefined ? '' : await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticksPerSecond = 100;
  return ((Number(fields[11] ?? Number.NaN) + Number(fields[12] ?? Number.NaN)) / ticksPerSecond) * 1e6;
}

async function handshake(caller: Caller): Promise<void> {
  const clientInfo = { name: 'load', version: '1.0.0' };
  await caller.call(0, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
  await caller.notify('notifications/initialized');
}

let lastId = 0;

/** Calls one after the other until the deadline and checks every answer: a fast wrong answer is no result. */
async function loop(
  caller: Caller,
  { tool, era }: LoadTarget,
  { filler, isSent }: Payload,
  deadline: number,
  client: number,
): Promise<number[]> {
  const times: number[] = [];
  for (let started = performance.now(); started < deadline; ) {
    const id = ++lastId;
    const text = `call ${id} of client ${client} `;
    const params = {
      name: tool,
      arguments: isSent ? { text: text + filler } : { text, fill: filler.length },
      ...(era === 'modern' ? { _meta } : {}),
    };
    const answer = await caller.call(id, 'tools/call', params);
    if (answer.result?.content?.[0]?.text !== text + filler)
      throw new Error(`Wrong answer: ${JSON.stringify(answer).slice(0, 500)}`);
    const ended = performance.now();
    times.push(ended - started);
    started = ended;
  }
  return times;
}

function httpCallers(
  address: string,
  { era, token, clients }: Pick<LoadTarget, 'era' | 'token'> & { clients: number },
): () => Caller {
  const url = new URL(address);
  const pool = new Pool(url.origin, { connections: clients, pipelining: 1, keepAliveTimeout: 60_000 });
  return () => {
    let sessionId: string | undefined;

    async function post(message: { method: string; params?: object }): Promise<string> {
      const headers: Record<string, string> = {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': era === 'modern' ? '2026-07-28' : '2025-11-25',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(sessionId === undefined ? {} : { 'mcp-session-id': sessionId }),
      };
      if (era === 'modern') {
        headers['mcp-method'] = message.method;
        if (message.params && 'name' in message.params) headers['mcp-name'] = String(message.params.name);
      }
      const body = JSON.stringify({ jsonrpc: '2.0', ...message });
      const response = await pool.request({ method: 'POST', path: url.pathname, headers, body });
      const text = await response.body.text();
      if (response.statusCode >= 300) throw new Error(`HTTP ${response.statusCode}: ${text}`);
      const assigned = response.headers['mcp-session-id'];
      if (typeof assigned === 'string') sessionId = assigned;
      return text;
    }

    return {
      async call(id, method, params) {
        const text = await post({ id, method, params } as { method: string; params: object });
        return JSON.parse(text.startsWith('{') ? text : lastData(text));
      },
      async notify(method) {
        await post({ method });
      },
    };
  };
}

function lastData(events: string): string {
  const line = events.split('\n').findLast((line) => line.startsWith('data:') && line.length > 'data: '.length);
  return line?.slice('data:'.length) ?? 'null';
}

function stdioCallers(command: string, args: string[]): () => Caller {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const waiting = new Map<number, (answer: { result?: { content?: { text?: string }[] } }) => void>();
  createInterface({ input: child.stdout }).on('line', (line) => {
    const answer = JSON.parse(line);
    waiting.get(answer.id)?.(answer);
    waiting.delete(answer.id);
  });
  const write = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  return () => ({
    call: (id, method, params) =>
      new Promise((resolve) => {
        waiting.set(id, resolve);
        write({ id, method, params });
      }),
    notify: async (method) => void write({ method }),
  });
}

if (import.meta.main) {
  console.log(JSON.stringify(await measure(JSON.parse(process.argv[2] ?? ''))));
  process.exit(0);
}
