import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** A helper process of a benchmark, ended with it. */
export interface Running {
  pid: number;
  /** The first line it printed; the address, for those that listen. */
  line: string;
  close(): Promise<void>;
}

export const script = (name: string) => fileURLToPath(new URL(`../${name}`, import.meta.url));

/** Starts one of our scripts and waits for its first line of output. */
export async function startScript(name: string, ...args: string[]): Promise<Running> {
  const child = spawn(process.execPath, [script(name), ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  return { pid: child.pid ?? 0, line: String(line), close: () => end(child) };
}

/** Starts somebody else's program and waits until its port takes connections. */
export async function startOnPort(file: string, args: string[], port: number): Promise<Running> {
  const child = spawn(process.execPath, [file, ...args], { stdio: 'ignore' });
  const deadline = Date.now() + 15_000;
  while (!(await accepts(port))) {
    if (Date.now() > deadline || child.exitCode !== null) {
      await end(child);
      throw new Error(`${file} did not listen on port ${port}`);
    }
    await sleep(100);
  }
  return { pid: child.pid ?? 0, line: '', close: () => end(child) };
}

/** Runs one of our scripts to its end and parses what it printed. */
export async function runScript(name: string, ...args: string[]): Promise<unknown> {
  const child = spawn(process.execPath, [script(name), ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const output = await text(child.stdout);
  if (output === '') throw new Error(`${name} ended without a result`);
  return JSON.parse(output);
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  const reluctant = setTimeout(() => child.kill('SIGKILL'), 2_000);
  await exited;
  clearTimeout(reluctant);
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.end());
  });
}
