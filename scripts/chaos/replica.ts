/** One aggregator process that can be killed, started again, and asked about itself. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../test/support/ports.ts';

import { type Client, createClient } from './client.ts';

export const token = 'the-admin-token-of-the-chaos-run';
const program = fileURLToPath(new URL('../../bin/mcp-aggregator.js', import.meta.url));
const remoteControl = fileURLToPath(new URL('./remote-control.ts', import.meta.url));

export interface Memory {
  rss: number;
  heapUsed: number;
  external: number;
}

export interface Replica {
  readonly name: string;
  readonly url: string;
  readonly pid: number;
  readonly alive: boolean;
  /** When it was not there to answer: from, and until it was (again). */
  readonly outages: { from: number; until: number }[];
  start(): Promise<void>;
  kill(): Promise<void>;
  /** SIGTERM; the exit code. */
  stop(): Promise<number | null>;
  turnClock(offsetMs: number): Promise<void>;
  /** After a collection of the garbage. */
  measure(): Promise<Memory>;
  readonly send: Client;
  api(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<{ status: number; body: unknown }>;
}

export interface ReplicaOptions {
  name: string;
  directory: string;
  /** Instead of one in `directory`. */
  dataDir?: string;
  env: Record<string, string>;
}

export async function createReplica({ name, directory, dataDir, env }: ReplicaOptions): Promise<Replica> {
  const home = join(directory, name);
  mkdirSync(home, { recursive: true });
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const control = join(home, 'control.json');
  const log = createWriteStream(join(directory, `${name}.log`), { flags: 'a' });
  const outages: { from: number; until: number }[] = [];
  const send = createClient(url);
  let child: ChildProcess | undefined;

  async function start(): Promise<void> {
    const args = ['--disable-warning=ExperimentalWarning', '--expose-gc', '--import', remoteControl, program, 'serve'];
    const started = spawn(process.execPath, args, {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: {
        PATH: process.env.PATH ?? '',
        HOME: home,
        CHAOS_CONTROL: control,
        MCP_AGGREGATOR_PORT: String(port),
        MCP_AGGREGATOR_DATA_DIR: dataDir ?? join(home, 'data'),
        MCP_AGGREGATOR_ADMIN_TOKEN: token,
        // It is killed on purpose, and again soon after.
        MCP_AGGREGATOR_SAFE_MODE: 'off',
        ...env,
      },
    });
    child = started;
    createInterface({ input: started.stderr }).on('line', (line) => log.write(`${line}\n`));
    while (!(await listens())) {
      if (started.exitCode !== null)
        throw new Error(`${name} ended with ${started.exitCode}; see ${directory}/${name}.log`);
      await delay(50);
    }
    const outage = outages.at(-1);
    if (outage !== undefined && outage.until === Number.POSITIVE_INFINITY) outage.until = performance.now();
  }

  const listens = () =>
    send('/api/v1/aggregator/health', { method: 'GET', headers: {} }).then(
      () => true,
      () => false,
    );

  async function end(signal: NodeJS.Signals): Promise<number | null> {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return child?.exitCode ?? null;
    const ended = once(child, 'exit');
    outages.push({ from: performance.now(), until: Number.POSITIVE_INFINITY });
    child.kill(signal);
    await ended;
    return child.exitCode;
  }

  async function order(what: object): Promise<Memory> {
    const answer = `${control}.answer`;
    rmSync(answer, { force: true });
    writeFileSync(control, JSON.stringify(what));
    child?.kill('SIGUSR2');
    while (!existsSync(answer)) await delay(10);
    return JSON.parse(readFileSync(answer, 'utf8'));
  }

  return {
    name,
    url,
    outages,
    get pid() {
      return child?.pid ?? 0;
    },
    get alive() {
      return child !== undefined && child.exitCode === null && child.signalCode === null;
    },
    start,
    kill: async () => void (await end('SIGKILL')),
    stop: () => end('SIGTERM'),
    turnClock: async (offsetMs) => void (await order({ offsetMs })),
    measure: () => order({ measure: true }),
    send,
    async api(method, path, body, signal) {
      const { status, text } = await send(`/api/v1${path}`, {
        method,
        signal,
        headers: {
          authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        body: body === undefined ? undefined : JSON.stringify(body),
      });
      return { status, body: text === '' ? undefined : JSON.parse(text) };
    },
  };
}

/** The processes below one, however deep, and the memory guard's shell among them. */
export function descendants(pid: number): number[] {
  const children = readChildren(pid);
  return children.flatMap((child) => [child, ...descendants(child)]);
}

function readChildren(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').trim().split(/\s+/).filter(Boolean).map(Number),
    );
  } catch {
    return []; // it ended while we looked
  }
}

export function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return ''; // ended
  }
}
