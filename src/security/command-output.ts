/** Runs a program without a shell and returns what it prints, for secrets that another program keeps. */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { endTree, toWindowsCommand } from '../windows-process.ts';
import { maxSecret } from './mask.ts';

const defaultTimeoutMs = 30_000;
const maxShown = 300;
const isWindows = process.platform === 'win32';

interface ErrorFacts {
  cause?: unknown;
  /** The program was not found. */
  isMissing?: boolean;
  /** It failed and said nothing. */
  isSilent?: boolean;
}

export class CommandError extends Error {
  readonly isMissing: boolean;
  readonly isSilent: boolean;

  constructor(message: string, { cause, isMissing = false, isSilent = false }: ErrorFacts = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'CommandError';
    this.isMissing = isMissing;
    this.isSilent = isSilent;
  }
}

interface RunOptions {
  environment: Readonly<NodeJS.ProcessEnv>;
  input?: string;
  timeoutMs?: number;
}

/** Without the line break at its end. The output of a command that fails is not shown: it may hold the secret. */
export async function runForOutput(
  [command, ...args]: readonly [string, ...string[]],
  { environment, input = '', timeoutMs = defaultTimeoutMs }: RunOptions,
): Promise<string> {
  const env = { ...environment };
  const { file, ...how } = isWindows ? toWindowsCommand(command, args, { env }) : { file: command, args };
  // A process group of its own, so that what it starts ends with it.
  const child = spawn(file, how.args, { ...how, env, stdio: 'pipe', detached: !isWindows, windowsHide: true });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.on('error', reject).on('close', resolve);
  });
  const overdue = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => overdue.reject(new CommandError(`${command} did not end within ${timeoutMs / 1_000} s`)),
    timeoutMs,
  );
  child.stdin.on('error', () => undefined).end(input); // it may end without reading
  try {
    const outcome = Promise.all([readText(child.stdout), readText(child.stderr), ended]);
    const [stdout, stderr, code] = await Promise.race([outcome, overdue.promise]);
    if (code === 0) return stdout.replace(/\r?\n$/, '');
    const said = stderr.trim().slice(0, maxShown);
    const how = code === null ? 'was terminated' : `failed with code ${code}`;
    throw new CommandError(`${command} ${how}${said === '' ? '' : `: ${said}`}`, { isSilent: said === '' });
  } catch (error) {
    end(child);
    if (error instanceof CommandError) throw error;
    if (error instanceof OutputTooLong) throw new CommandError(`${command} printed more than ${maxSecret} characters`);
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    throw new CommandError(isMissing ? `${command} was not found` : `${command} could not be started`, {
      cause: error,
      isMissing,
    });
  } finally {
    clearTimeout(timer);
  }
}

class OutputTooLong extends Error {}

/** A secret has a maximum length, so nothing longer is held. */
async function readText(stream: Readable): Promise<string> {
  let text = '';
  for await (const chunk of stream.setEncoding('utf8')) {
    text += chunk;
    if (text.length > maxSecret) throw new OutputTooLong();
  }
  return text;
}

/** With everything that it started and that still holds its output open. */
function end(child: ChildProcess): void {
  for (const stream of [child.stdout, child.stderr, child.stdin]) stream?.destroy();
  if (child.pid === undefined) return;
  if (isWindows) {
    if (child.exitCode === null && child.signalCode === null) void endTree(child.pid);
    return;
  }
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // It has ended, and so has everything that it started.
  }
}

/** The words of a command, as a shell would split them: quotes group, a backslash takes the next sign as it is. */
export function splitWords(line: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote = '';
  for (let at = 0; at < line.length; at += 1) {
    const sign = line[at] as string;
    if (sign === quote) quote = '';
    else if (quote === '' && (sign === '"' || sign === "'")) {
      quote = sign;
      word ??= '';
    } else if (quote === '' && /\s/.test(sign)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else if (sign === '\\' && quote !== "'" && /["'\\\s]/.test(line[at + 1] ?? '')) {
      at += 1;
      word = (word ?? '') + line[at];
    } else word = (word ?? '') + sign;
  }
  return word === undefined ? words : [...words, word];
}
