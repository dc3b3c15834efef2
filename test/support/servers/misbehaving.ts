import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { childProgram } from '../child-program.ts';
import { createFeatureProgram } from './feature-program.ts';
import type { RpcMessage } from './json-rpc.ts';
import { createLegacyPeer } from './legacy-peer.ts';
import { createProgram, structured, text } from './program.ts';
import { serveStdio, writeLine } from './stdio-wire.ts';

/** Ways in which stdio servers in the wild go wrong. Started as `node misbehaving.ts <mode> [argument]`. */
const modes = {
  /** Reads, and never answers. */
  sleep: () => process.stdin.resume(),

  /** Banner lines, half lines of JSON and noise around correct answers. */
  garbage() {
    process.stdout.write('Starting server…\n{"jsonrpc": "2.0", "id":\n\n[1, 2]\n"text"\n');
    serveStdio(createFeatureProgram({ label: 'garbage' }), 'legacy');
    process.stdin.on('data', () => process.stdout.write('debug: got something\n'));
  },

  /** Endless output: one line without an end, or with the argument `lines`, line after line. */
  flood(kind = 'unbroken') {
    const chunk = kind === 'lines' ? `${'x'.repeat(1023)}\n`.repeat(64) : 'x'.repeat(65_536);
    const pour = () => {
      while (process.stdout.write(chunk));
    };
    process.stdout.on('drain', pour);
    pour();
  },

  /** Gone at once, with the reason on stderr. */
  exit() {
    process.stderr.write('fatal: cannot read /etc/fixture.conf\n');
    process.exitCode = 3;
  },

  /** Leaves a grandchild that outlives a plain kill of the child; its pid goes to stderr. */
  tree() {
    const grandchild = spawn('sleep', ['1000'], { stdio: 'ignore' });
    process.stderr.write(`grandchild ${grandchild.pid}\n`);
    serveStdio(createFeatureProgram({ label: 'tree' }), 'legacy');
  },

  /** Takes its time before it reads anything. */
  async 'slow-start'(ms = '2000') {
    await sleep(Number(ms));
    serveStdio(createFeatureProgram({ label: 'slow-start' }), 'legacy');
  },

  /** Exits upon any request before `initialize`, as servers built on rmcp do. */
  rmcp: () => serveAfterInitialize('rmcp', () => process.exit(1)),

  /** Ignores what it doesn't know before `initialize`: no answer, no error. */
  'silent-discover': () => serveAfterInitialize('silent-discover', () => undefined),

  /** Shows the environment it was given. */
  env() {
    const definition = { name: 'env', description: 'Its environment', inputSchema: { type: 'object' } };
    const call = () => structured({ ...process.env });
    serveStdio(createProgram({ info: { name: 'env', version: '1.0.0' }, tools: [{ definition, call }] }), 'legacy');
  },

  /** Prints the value of a variable, as servers that log their configuration do. */
  'stderr-secret'(variable = 'SECRET') {
    process.stderr.write(`configured with ${variable}=${process.env[variable]}\n`);
    const definition = { name: 'leak', description: 'Repeats the secret', inputSchema: { type: 'object' } };
    const call = () => text(`${process.env[variable]}`);
    serveStdio(createProgram({ info: { name: 'leaky', version: '1.0.0' }, tools: [{ definition, call }] }), 'legacy');
  },
} satisfies Record<string, (argument?: string) => unknown>;

export type Misbehaviour = keyof typeof modes;

/** The command and arguments that start a misbehaving server. */
export function misbehavingServer(mode: Misbehaviour, argument?: string) {
  return childProgram(import.meta.url, mode, ...(argument === undefined ? [] : [argument]));
}

function serveAfterInitialize(label: string, onEarlyRequest: () => void): void {
  const wire = { send: writeLine, hangUp: () => process.exit(1), shutDown: () => process.exit(0) };
  const peer = createLegacyPeer(createFeatureProgram({ label }), wire);
  let initialized = false;
  const lines = createInterface({ input: process.stdin });
  lines.on('line', (line) => {
    const message: RpcMessage = JSON.parse(line);
    initialized ||= message.method === 'initialize';
    if (initialized) peer.receive(message);
    else onEarlyRequest();
  });
  lines.on('close', () => process.exit(0));
}

if (import.meta.main) {
  const [mode = '', argument] = process.argv.slice(2);
  const run = (modes as Record<string, (argument?: string) => unknown>)[mode];
  if (!run) throw new Error(`Unknown mode "${mode}"; one of: ${Object.keys(modes).join(', ')}`);
  await run(argument);
}
