/** Runs the real command line as a child process. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { type AggregatorProcess, cleanEnvironment, program } from '../support/aggregator-process.ts';

export interface Ran {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  env?: Record<string, string>;
  input?: string;
  cwd?: string;
}

export async function runCommand(words: string[], options: RunOptions = {}): Promise<Ran> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', program, ...words], {
    cwd: options.cwd ?? tmpdir(),
    env: { ...cleanEnvironment(tmpdir()), ...options.env },
  });
  child.stdin.end(options.input ?? '');
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code, stdout, stderr };
}

/** Commands that find the aggregator as a user's would: by its data directory. */
export function commandsOf(aggregator: AggregatorProcess) {
  const env = { MCP_AGGREGATOR_DATA_DIR: aggregator.dataDir };
  const run = (words: string[], options: RunOptions = {}) =>
    runCommand(words, { ...options, env: { ...env, ...options.env } });
  return {
    run,
    /** The parsed output of a command with `--json` that must succeed. */
    async json<T>(...words: string[]): Promise<T> {
      const { code, stdout, stderr } = await run([words[0] ?? '', '--json', ...words.slice(1)]);
      if (code !== 0) throw new Error(`${words.join(' ')} ended with ${code}: ${stderr}`);
      return JSON.parse(stdout) as T;
    },
  };
}

export const everything = [
  process.execPath,
  fileURLToPath(new URL('../../node_modules/@modelcontextprotocol/server-everything/dist/index.js', import.meta.url)),
];
