/** A server that is our child: one line of JSON per message on its stdin and stdout. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { ChildUser } from '../config/parsers.ts';
import { describe } from '../errors.ts';
import { parseJson } from '../exact-json.ts';
import { isMessage, type RpcMessage, refuseAnswer, toLine } from '../json-rpc.ts';
import { braceOpen } from '../json-scanner.ts';
import { scanAnswer } from '../raw-result.ts';
import { endTree, toWindowsCommand } from '../windows-process.ts';
import { maxParsedBytes, readLarge } from './large-messages.ts';
import { readLines } from './lines.ts';
import { createMessageBudget, type MessageBudget } from './message-budget.ts';
import { explainMissing } from './missing-command.ts';
import type { OrphanReaper } from './orphan-reaper.ts';
import { type Channel, type ChannelHandlers, ConnectionLost, MessageTooLarge } from './session.ts';
import { markerVariable, termGraceMs } from './strays.ts';

interface ChildOptions {
  command: string;
  args: string[];
  env: NodeJS.ProcessEnv;
  cwd?: string;
  user?: ChildUser;
  messageBudget: MessageBudget;
  orphanReaper: OrphanReaper;
  /** A line of stderr, or of stdout that is no message; whole, because half a secret could not be masked. */
  onLine: (line: string) => void;
}

export interface Child extends Channel {
  readonly pid: number | undefined;
}

/** What it started may hold its output open. */
const lastOutputMs = 500;
const graceAfterStdinMs = 500;
const stderrLines = createMessageBudget({ maxMessageBytes: 65_536, maxMessagesBytes: 67_108_864 });
/** Since the last message: servers that log to stdout may do so for months. */
const strayOutputLimitBytes = 1_048_576;
const unreadInputLimitBytes = 67_108_864;

export function startChild(options: ChildOptions, handlers: ChannelHandlers): Child {
  const marker = options.orphanReaper.strays.mark();
  const child = spawnChild(options, marker);
  const { stdin, stdout, stderr } = child;
  const exited = once(child, 'exit').catch(() => undefined); // `error` instead of `exit`: it never started
  const closed = once(child, 'close').catch(() => undefined);
  let strayBytes = 0;
  let ending: Promise<void> | undefined;
  let strays: Promise<unknown> | undefined;
  let heard = false;

  if (child.pid !== undefined) options.orphanReaper.guard(child.pid);
  child.on('error', (error) => fail(startProblem(options, error)));
  child.on('exit', (code, signal) => {
    // `exit` may come before the last output was read: answers are in it, and what explains the exit.
    void within(closed, lastOutputMs).then(() => fail(new ConnectionLost(exitProblem(code, signal, heard), 'maybe')));
    void endGroup();
  });
  stdin?.on('error', () => undefined); // a closed pipe shows as an exit
  const endings = [
    stdout &&
      readLines(stdout, {
        hold: options.messageBudget.open(),
        onLine: receive,
        onLargeLine: receiveLarge,
        onOverflow: overflow,
      }),
    stderr &&
      readLines(stderr, {
        hold: stderrLines.open(),
        onLine(line) {
          options.onLine(line.toString('utf8'));
          return false;
        },
        onLargeLine: async () => undefined, // the limit is lower
        onOverflow: () => undefined,
      }),
  ];

  function receive(bytes: Buffer): boolean {
    const answer = bytes[0] === braceOpen ? scanAnswer(bytes) : undefined;
    if (answer === undefined) receiveText(bytes.toString('utf8'));
    else deliver(answer);
    return answer !== undefined;
  }

  async function receiveLarge(parts: readonly Buffer[]): Promise<void> {
    try {
      const { bytes, answer } = await readLarge(parts);
      if (answer !== undefined) deliver(answer);
      else if (bytes.length <= maxParsedBytes) receiveText(bytes.toString('utf8'));
      else stop(new MessageTooLarge(maxParsedBytes, 'that is not a result'));
    } catch (error) {
      stop(new ConnectionLost(`a message of the server could not be read: ${describe(error)}`, 'maybe', error));
    }
  }

  function deliver(message: RpcMessage): void {
    heard = true;
    strayBytes = 0;
    handlers.onMessage(message);
  }

  function receiveText(line: string): void {
    const message = /^\s*[{[]/.test(line) ? parse(line) : undefined;
    for (const given of Array.isArray(message) ? message : [message]) {
      const one = refuseAnswer(given) ?? given;
      if (!isMessage(one)) {
        if (line.trim() === '') return;
        options.onLine(`stdout: ${line}`);
        strayBytes += line.length;
        if (strayBytes > strayOutputLimitBytes)
          stop(new ConnectionLost('the server wrote too much output to stdout that is not MCP', 'maybe'));
        return;
      }
      deliver(one);
    }
  }

  function overflow(error: unknown): void {
    stop(error instanceof ConnectionLost ? error : new ConnectionLost(describe(error), 'maybe', error));
  }

  /** Nothing more of it is read: it may never stop talking. */
  function stop(reason: ConnectionLost): void {
    for (const end of endings) end?.();
    fail(reason);
    void close();
  }

  function fail(error: ConnectionLost): void {
    handlers.onClose(error);
  }

  async function endGroup(): Promise<void> {
    const { pid } = child;
    if (pid === undefined) return;
    if (await signalGroup(child, 'SIGTERM')) {
      await Promise.all([delay(termGraceMs), endStrays()]);
      await signalGroup(child, 'SIGKILL');
    }
    await endStrays();
    options.orphanReaper.release(pid);
  }

  function endStrays(): Promise<unknown> {
    strays ??= options.orphanReaper.strays.end(marker);
    return strays;
  }

  async function close(): Promise<void> {
    ending ??= (async () => {
      stdin?.end();
      if (!(await within(exited, graceAfterStdinMs)) && child.pid !== undefined) {
        await signalGroup(child, 'SIGTERM');
        if (!(await within(exited, termGraceMs))) await signalGroup(child, 'SIGKILL');
        await within(exited, termGraceMs);
      }
      if (child.pid !== undefined) {
        await signalGroup(child, 'SIGKILL');
        await endStrays();
        options.orphanReaper.release(child.pid);
      }
      destroyPipes(child);
    })();
    await ending;
  }

  return {
    pid: child.pid,
    send(message) {
      // It could not be started, and `error` is on its way.
      if (stdin === null || stdin === undefined) return;
      if (stdin.writableLength > unreadInputLimitBytes) {
        throw new ConnectionLost('the server is not reading its input', 'no');
      }
      const line = toLine(message);
      // What a closed pipe refuses was never read, so it may safely be sent again.
      return new Promise((resolve, reject) => {
        stdin.write(line, (error) => {
          if (!error) return resolve();
          void within(exited, graceAfterStdinMs).then((gone) => {
            const { exitCode, signalCode } = child;
            const reason = gone ? exitProblem(exitCode, signalCode, heard) : 'the server closed its input';
            reject(new ConnectionLost(reason, 'no'));
          });
        });
      });
    },
    close,
  };
}

const isWindows = process.platform === 'win32';

/** Its own process group, so that its whole tree can be ended with it. Out of descriptors, a child has no pipes. */
function spawnChild(options: ChildOptions, marker: string): ChildProcess {
  const { command, args, env, cwd } = options;
  try {
    const { file, ...how } = isWindows ? toWindowsCommand(command, args, { env, cwd }) : { file: command, args };
    return spawn(file, how.args, {
      ...how,
      env: { ...env, [markerVariable]: marker },
      cwd,
      uid: options.user?.uid,
      gid: options.user?.gid,
      detached: !isWindows,
      windowsHide: true,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
  } catch (error) {
    throw startProblem(options, error as NodeJS.ErrnoException); // out of memory, or too many arguments
  }
}

function startProblem({ command, cwd }: ChildOptions, error: NodeJS.ErrnoException): ConnectionLost {
  // The operating system names the command for a directory that is missing, too.
  if (cwd !== undefined && !existsSync(cwd)) {
    return new ConnectionLost(`the working directory "${cwd}" does not exist`, 'no');
  }
  if (error.code === 'ENOENT') return new ConnectionLost(explainMissing(command), 'no');
  const reasons: Record<string, string> = {
    EACCES: `the command "${command}" is not executable; check its permissions`,
    EMFILE: `the command "${command}" could not be started: the aggregator is out of file descriptors (ulimit -n)`,
    ENFILE: `the command "${command}" could not be started: the system is out of file descriptors`,
    EAGAIN: `the command "${command}" could not be started: the process limit is reached (ulimit -u)`,
    ENOMEM: `the command "${command}" could not be started: the system is out of memory`,
  };
  return new ConnectionLost(reasons[error.code ?? ''] ?? `the command "${command}" could not be started`, 'no', error);
}

function exitProblem(code: number | null, signal: NodeJS.Signals | null, heard: boolean): string {
  const how = signal === null ? `exited with code ${code}` : `was terminated by ${signal}`;
  return heard ? `the server's process ${how}` : `the server's process ${how} before it answered`;
}

/** False when the group has no processes left. Windows has no groups: there the whole tree ends at once. */
async function signalGroup(child: ChildProcess, signal: NodeJS.Signals): Promise<boolean> {
  const { pid = 0, exitCode, signalCode } = child;
  if (isWindows) {
    // The number of a process that has ended may be another one's.
    if (exitCode === null && signalCode === null) await endTree(pid);
    return false;
  }
  try {
    return process.kill(-pid, signal);
  } catch {
    return false; // ESRCH: the group is gone, which is what was wanted
  }
}

function destroyPipes(child: ChildProcess): void {
  child.stdin?.destroy();
  child.stdout?.destroy();
  child.stderr?.destroy();
}

async function within(promise: Promise<unknown>, ms: number): Promise<boolean> {
  const timer = new AbortController();
  const inTime = await Promise.race([
    promise.then(() => true),
    delay(ms, false, { signal: timer.signal }).catch(() => false), // aborted: the promise was first
  ]);
  timer.abort();
  return inTime;
}

function parse(line: string): unknown {
  try {
    return parseJson(line);
  } catch {
    return undefined; // not a message; the caller keeps it as stray output
  }
}
