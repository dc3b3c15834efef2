/**
 * `npm test` checks everything. `npm test -- <file or pattern>…` runs the matching test files only, with the flags that
 * they need. Words that begin with a dash are options of `node --test`, for example `--watch` or
 * `--test-name-pattern=reconnect`; `--postgres` runs the files on a PostgreSQL of their own.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { matchesGlob } from 'node:path';
import { fileURLToPath } from 'node:url';

/** One after the other; what stands together runs at the same time, since tests wait more than they compute. */
export const stages = [['types'], ['lint'], ['test:sqlite', 'test:postgres', 'test:chaos']];
const root = fileURLToPath(new URL('..', import.meta.url));

export interface Plan {
  /** Arguments of Node, one list for each run. */
  runs: string[][];
  /** Words that match no test file. */
  unmatched: string[];
}

/** Which runs the words of the command line ask for. Files are relative to the root, with forward slashes. */
export function planRuns(words: string[], files: string[]): Plan {
  const options = words.filter((word) => word.startsWith('-') && word !== '--postgres');
  const patterns = words.filter((word) => !word.startsWith('-')).map(toPattern);
  const found = files.filter((file) => patterns.length === 0 || patterns.some((pattern) => matches(file, pattern)));
  const isChaos = (file: string) => file.startsWith('test/chaos/');
  const groups = [
    { flags: ['--import', './test/support/ends.ts', '--test-timeout=300000'], files: found.filter((f) => !isChaos(f)) },
    { flags: ['--test-force-exit', '--test-timeout=240000'], files: found.filter(isChaos) },
  ].filter((group) => group.files.length > 0);
  const before = words.includes('--postgres') ? ['test/support/with-postgres.ts', 'node'] : [];
  return {
    runs: groups.map((group) => [
      ...before,
      '--test',
      '--test-concurrency=3',
      ...group.flags,
      ...options,
      ...group.files,
    ]),
    unmatched: patterns.filter((pattern) => !files.some((file) => matches(file, pattern))),
  };
}

/** A path as shells complete it, on Windows too. */
function toPattern(word: string): string {
  const path = word.replaceAll('\\', '/').replace(/^\.\//, '');
  const start = root.replaceAll('\\', '/');
  return path.startsWith(start) ? path.slice(start.length) : path;
}

/** A glob, or any part of the path. */
function matches(file: string, pattern: string): boolean {
  return file.includes(pattern) || matchesGlob(file, pattern);
}

interface RunOptions {
  shell?: boolean;
  /** Prints the output when the command has ended, under this title, instead of while it runs. */
  title?: string;
}

async function run(command: string, args: string[], { shell = false, title }: RunOptions = {}): Promise<number> {
  const child = spawn(command, args, { cwd: root, stdio: title === undefined ? 'inherit' : 'pipe', shell });
  const pass = (signal: NodeJS.Signals) => child.kill(signal);
  process.on('SIGINT', pass).on('SIGTERM', pass);
  const output: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => output.push(chunk));
  const [code] = await once(child, 'close');
  process.off('SIGINT', pass).off('SIGTERM', pass);
  if (title !== undefined) process.stdout.write(`\n=== ${title} ===\n${Buffer.concat(output)}`);
  return code ?? 1;
}

async function runAll(): Promise<number> {
  for (const group of stages) {
    // npm is a script on Windows, which only a shell can start.
    const shell = process.platform === 'win32';
    const runs = group.map((stage, place) =>
      run('npm', ['run', stage], { shell, title: place === 0 ? undefined : stage }),
    );
    const codes = await Promise.all(runs);
    const failed = group.filter((_, place) => codes[place] !== 0);
    if (failed.length > 0) {
      console.error(`Failed: ${failed.join(', ')}`);
      return Math.max(...codes);
    }
  }
  return 0;
}

async function runSome(words: string[]): Promise<number> {
  const files = globSync('test/**/*.test.ts', { cwd: root }).map((file) => file.replaceAll('\\', '/'));
  const { runs, unmatched } = planRuns(words, files.sort());
  if (unmatched.length > 0) {
    console.error(`No test file matches: ${unmatched.join(', ')}. Give a path, a part of one, or a glob.`);
    return 2;
  }
  let worst = 0;
  for (const args of runs) worst = Math.max(worst, await run(process.execPath, args));
  return worst;
}

if (import.meta.main) {
  const words = process.argv.slice(2);
  process.exitCode = words.length === 0 ? await runAll() : await runSome(words);
}
