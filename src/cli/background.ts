/** An aggregator in the background: started where none runs, found again, and stopped. */
import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, renameSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { settings } from '../config/settings.ts';
import { requestStop } from '../stop-file.ts';
import { CommandFailure } from './exit-code.ts';
import { identify } from './identity.ts';
import { keepProgram, nodeFlags, programFor } from './own-program.ts';
import { readIfThere } from './read-if-there.ts';
import { findService, startService } from './service.ts';
import { resolveTarget, type Target, type TargetFlags } from './target.ts';

const pollMs = 100;
const startTimeoutMs = 60_000;
const stopTimeoutMs = 45_000;
const maxLogBytes = 5_000_000;

/** The running aggregator of the data directory, or undefined. */
export async function findRunning(flags: TargetFlags, environment: NodeJS.ProcessEnv): Promise<Target | undefined> {
  const target = resolveTarget(flags, environment);
  return (await identify(target.url, target.dataDir)) === 'own' ? target : undefined;
}

/** Which version of us runs on the data directory. */
export function runningVersion(dataDir: string): string | undefined {
  const { version } = JSON.parse(readIfThere(join(dataDir, 'address.json')) ?? '{}') as { version?: string };
  return version;
}

/** The running aggregator, started where there is none. Several commands may do this at the same time. */
export async function ensureRunning(flags: TargetFlags, environment: NodeJS.ProcessEnv): Promise<Target> {
  const running = await findRunning(flags, environment);
  if (running !== undefined) return running;
  const { dataDir } = resolveTarget(flags, environment);
  const started = await start(dataDir, environment);
  if (started === undefined) return await foundOnSetPort(flags, environment);
  for (const deadline = Date.now() + startTimeoutMs; Date.now() < deadline; await delay(pollMs)) {
    const found = await findRunning(flags, environment);
    if (found !== undefined) return found;
    // One that found the data directory in use left it to another, which is about to listen.
    const exit = started.exitCode();
    if (exit !== null && exit !== dataDirectoryInUse) break;
  }
  throw new CommandFailure('unreachable', `The aggregator did not start.\n${started.lastLines()}`);
}

/** As the service where one is installed, so that its platform takes care of it; undefined if the set port is in use. */
async function start(dataDir: string, environment: NodeJS.ProcessEnv) {
  const service = findService(dataDir, environment);
  if (service !== undefined && startService(service, environment)) {
    return { exitCode: () => null, lastLines: () => `The ${service.title} did not start; see its log.` };
  }
  const port = await choosePort(dataDir, environment);
  return port === undefined ? undefined : startProcess(dataDir, environment, port);
}

/** Another command may have started it a moment ago. */
async function foundOnSetPort(flags: TargetFlags, environment: NodeJS.ProcessEnv): Promise<Target> {
  const found = await findRunning(flags, environment);
  if (found !== undefined) return found;
  const port = environment[settings.port.env];
  throw new CommandFailure(
    'conflict',
    `Port ${port} is in use by another program; choose another one with ${settings.port.env}`,
  );
}

/** The exit code `conflict`: another process was faster. */
const dataDirectoryInUse = 6;

function startProcess(dataDir: string, environment: NodeJS.ProcessEnv, port: number) {
  keepProgram(dataDir, environment);
  const file = openLog(dataDir);
  const log = openSync(file, 'a', 0o600);
  const begin = statSync(file).size;
  const [command, ...args] = programFor(dataDir, environment);
  const child = spawn(command, [...nodeFlags, ...args, 'serve', '--data-dir', dataDir, '--port', String(port)], {
    cwd: dataDir,
    detached: true,
    env: environment,
    stdio: ['ignore', log, log],
    windowsHide: true,
  });
  closeSync(log);
  child.on('error', () => undefined); // shows as a start that never happened
  child.unref();
  return {
    exitCode: () => child.exitCode,
    lastLines: () => `${readMessages(readFileSync(file, 'utf8').slice(begin))}\nThe log is ${file}`,
  };
}

/**
 * The port that is set, undefined where it is in use; else the one that it had before, because clients know the address,
 * the usual one, or any other.
 */
export async function choosePort(dataDir: string, environment: NodeJS.ProcessEnv): Promise<number | undefined> {
  const set = environment[settings.port.env];
  if (set !== undefined) return await findFree(Number(set), environment);
  const usual = settings.port.default;
  for (const port of [Number(readIfThere(join(dataDir, 'port')) ?? usual), usual, 0]) {
    const free = await findFree(port, environment);
    if (free !== undefined) return free;
  }
  return undefined;
}

/** Undefined where another program listens. */
function findFree(port: number, environment: NodeJS.ProcessEnv): Promise<number | undefined> {
  const { promise, resolve } = Promise.withResolvers<number | undefined>();
  const probe = createServer()
    // Whatever else is wrong is reported by the start itself.
    .on('error', ({ code }: NodeJS.ErrnoException) => resolve(code === 'EADDRINUSE' ? undefined : port))
    .listen(port, environment[settings.host.env] ?? settings.host.default, () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : port));
    });
  return promise;
}

function openLog(dataDir: string): string {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const file = join(dataDir, 'aggregator.log');
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > maxLogBytes) renameSync(file, `${file}.1`);
  return file;
}

/** What an aggregator that ended said last, without the form of log records. */
function readMessages(log: string): string {
  const lines = log.trim().split('\n').slice(-5);
  return lines
    .map((line) => (line.startsWith('{') ? String((JSON.parse(line) as { msg?: unknown }).msg) : line))
    .join('\n');
}

/** False where none runs. */
export async function stopRunning(flags: TargetFlags, environment: NodeJS.ProcessEnv): Promise<boolean> {
  const target = await findRunning(flags, environment);
  if (target === undefined) return false;
  const { pid } = JSON.parse(readIfThere(join(target.dataDir, 'owner.json')) ?? '{}') as { pid?: number };
  if (pid === undefined) return false;
  if (process.platform === 'win32') requestStop(target.dataDir);
  else process.kill(pid, 'SIGTERM');
  for (const deadline = Date.now() + stopTimeoutMs; Date.now() < deadline; await delay(pollMs)) {
    if (!isAlive(pid)) return true;
  }
  throw new CommandFailure('failed', `The aggregator (process ${pid}) did not end within ${stopTimeoutMs / 1_000} s.`);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false; // it has ended
  }
}
