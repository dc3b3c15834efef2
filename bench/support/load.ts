import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { Pool } from 'undici';
import { percentile } from '../table.ts';

/** A load generator in a process of its own: `node load.ts '<LoadOptions as JSON>'` prints a LoadResult as JSON. */
export interface LoadOptions {
  target: { url: string } | { command: string; args: string[] };
  era: 'legacy' | 'modern';
  tool: string;
  clients: number;
  warmupMs: number;
  measureMs: number;
}

export interface LoadResult {
  callsPerSecond: number;
  p50Ms: number;
  p95Ms: number;
  p99Ms: number;
}

interface Caller {
  call(id: number, method: string, params: object): Promise<{ result?: { content?: { text?: string }[] } }>;
  notify(method: string): Promise<void>;
}

const modernMeta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'load', version: '1.0.0' },
};

async function measure(options: LoadOptions): Promise<LoadResult> {
  const { target, era, clients, warmupMs, measureMs } = options;
  const callerFor = 'url' in target ? httpCallers(target.url, era, clients) : stdioCallers(target.command, target.args);
  const callers = Array.from({ length: clients }, callerFor);
  if (era === 'legacy') {
    // All callers of one stdio process share its connection, and with it the handshake.
    for (const caller of 'url' in target ? callers : callers.slice(0, 1)) await handshake(caller);
  }
  await Promise.all(callers.map((caller, at) => loop(caller, options, at, performance.now() + warmupMs)));
  const started = performance.now();
  const times = await Promise.all(callers.map((caller, at) => loop(caller, options, at, started + measureMs)));
  const elapsedMs = performance.now() - started;
  const all = times.flat();
  return {
    callsPerSecond: (all.length / elapsedMs) * 1000,
    p50Ms: percentile(all, 50),
    p95Ms: percentile(all, 95),
    p99Ms: percentile(all, 99),
  };
}

async function handshake(caller: Caller): Promise<void> {
  const clientInfo = { name: 'load', version: '1.0.0' };
  await caller.call(0, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
  await caller.notify('notifications/initialized');
}

let lastId = 0;

/** Calls one after the other until the deadline and checks every answer: a fast wrong answer is no result. */
async function loop(caller: Caller, options: LoadOptions, client: number, deadline: number): Promise<number[]> {
  const times: number[] = [];
  for (let started = performance.now(); started < deadline; ) {
    const id = ++lastId;
    const text = `call ${id} of client ${client}`;
    const params = {
      name: options.tool,
      arguments: { text },
      ...(options.era === 'modern' ? { _meta: modernMeta } : {}),
    };
    const answer = await caller.call(id, 'tools/call', params);
    if (!answer.result?.content?.[0]?.text?.includes(text)) throw new Error(`Wrong answer: ${JSON.stringify(answer)}`);
    const ended = performance.now();
    times.push(ended - started);
    started = ended;
  }
  return times;
}

function httpCallers(address: string, era: LoadOptions['era'], connections: number): () => Caller {
  const url = new URL(address);
  const pool = new Pool(url.origin, { connections, pipelining: 1, keepAliveTimeout: 60_000 });
  return () => {
    let sessionId: string | undefined;

    async function post(message: { method: string; params?: object }): Promise<string> {
      const headers: Record<string, string> = {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': era === 'modern' ? '2026-07-28' : '2025-11-25',
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
