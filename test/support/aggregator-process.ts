/** The real aggregator as a child process, on a free port, in a data directory of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { isWine, nodeCommand, pathThere } from './platform.ts';

export const program = fileURLToPath(new URL('../../bin/mcp-aggregator.js', import.meta.url));

export interface AggregatorOptions {
  /** Of another checkout. */
  program?: string;
  env?: Record<string, string>;
  /** Flags after `serve`. */
  flags?: string[];
  /** Kept when the process stops; without it a temporary one is made and removed. */
  dataDir?: string;
  /** Of Node itself. */
  nodeFlags?: string[];
  /** How many file descriptors it may have. */
  descriptors?: number;
}

export interface AggregatorProcess {
  url: string;
  /** The admin token. */
  token: string;
  dataDir: string;
  pid: number;
  /** The exit code and signal once it has ended. */
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  /** Everything it logged so far. */
  output(): string;
  /** Resolves with the first record, logged already or later, that the predicate takes. */
  logged(predicate: (record: Record<string, unknown>) => boolean): Promise<Record<string, unknown>>;
  /** The exit code, null after a signal that it did not handle. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

const startTimeoutMs = isWine ? 180_000 : 20_000;
const logTimeoutMs = 20_000;

/** What a program needs, and nothing of the settings of whoever runs the tests. */
export function cleanEnvironment(home: string): Record<string, string> {
  const { PATH = '', WINEPREFIX, WINEDEBUG, WINEDLLOVERRIDES } = process.env;
  return {
    PATH,
    HOME: home,
    TMPDIR: tmpdir(),
    ...(isWine ? { WINEPREFIX, WINEDEBUG, WINEDLLOVERRIDES } : {}),
  } as Record<string, string>;
}

export async function startAggregator(options: AggregatorOptions = {}): Promise<AggregatorProcess> {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'aggregator-'));
  const { nodeFlags = [], descriptors } = options;
  const script = pathThere(options.program ?? program);
  const flags = ['--disable-warning=ExperimentalWarning', ...nodeFlags];
  const words = [...nodeCommand, ...flags, script, 'serve', ...(options.flags ?? [])];
  const [command = '', ...args] =
    descriptors === undefined ? words : ['/bin/sh', '-c', `ulimit -n ${descriptors} && exec "$@"`, 'sh', ...words];
  // Node for Windows cannot use the pipes of Unix that Wine hands to it.
  const logFile = isWine ? join(dataDir, 'stderr.log') : undefined;
  const stderr = logFile === undefined ? 'pipe' : openSync(logFile, 'w');
  const child = spawn(command, args, {
    stdio: ['ignore', 'ignore', stderr],
    env: {
      ...cleanEnvironment(dataDir),
      MCP_AGGREGATOR_PORT: '0',
      MCP_AGGREGATOR_DATA_DIR: pathThere(dataDir),
      ...options.env,
    },
  });
  if (typeof stderr === 'number') closeSync(stderr);
  const log = followLog(child, logFile);
  const listening = log.wait((record) => record.msg === 'mcp-aggregator is listening', startTimeoutMs);
  const ended = once(child, 'exit').then(() => undefined);
  const record = await Promise.race([listening, ended]);
  if (record === undefined) throw new Error(`the aggregator did not start:\n${log.lines.join('\n')}`);

  return {
    url: String(record.url),
    token: options.env?.MCP_AGGREGATOR_ADMIN_TOKEN ?? readFileSync(join(dataDir, 'admin-token'), 'utf8').trim(),
    dataDir,
    pid: child.pid ?? 0,
    ended: ended.then(() => ({ code: child.exitCode, signal: child.signalCode })),
    output: () => log.lines.join('\n'),
    logged: (predicate) => log.wait(predicate, logTimeoutMs),
    async stop(signal = 'SIGTERM') {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill(signal);
        await ended;
      }
      if (options.dataDir === undefined) rmSync(dataDir, { recursive: true, force: true });
      return child.exitCode;
    },
  };
}

function followLog(child: ChildProcess, file: string | undefined) {
  const lines: string[] = [];
  const waiting = new Set<(record: Record<string, unknown>) => void>();
  function add(line: string): void {
    lines.push(line);
    const record = toRecord(line);
    for (const look of waiting) look(record);
  }
  if (file !== undefined) followFile(child, file, lines, add);
  else if (child.stderr === null) throw new Error('the log is not piped');
  else createInterface({ input: child.stderr }).on('line', add);

  return {
    lines,
    wait(predicate: (record: Record<string, unknown>) => boolean, timeoutMs: number): Promise<Record<string, unknown>> {
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting.delete(look);
          reject(new Error(`not logged within ${timeoutMs} ms; the log:\n${lines.join('\n')}`));
        }, timeoutMs).unref();
        const look = (record: Record<string, unknown>) => {
          if (!predicate(record)) return;
          clearTimeout(timer);
          waiting.delete(look);
          resolve(record);
        };
        waiting.add(look);
        for (const line of lines) look(toRecord(line));
      });
    },
  };
}

function followFile(child: ChildProcess, file: string, lines: readonly string[], add: (line: string) => void): void {
  const timer = setInterval(() => {
    const complete = readFileSync(file, 'utf8').split('\n').slice(0, -1);
    for (const line of complete.slice(lines.length)) add(line);
  }, 50).unref();
  child.once('exit', () => clearInterval(timer));
}

/** A start that fails prints plain lines. */
function toRecord(line: string): Record<string, unknown> {
  return line.startsWith('{') ? JSON.parse(line) : { msg: line };
}
