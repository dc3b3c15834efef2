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

/** In this order; those of one line run at the same time. The chaos tests mostly wait. */
export const stages = [['types', 'lint'], ['test:sqlite'], ['test:postgres', 'test:chaos']];
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

async function run(command: string, args: string[], { shell = false, isShown = true } = {}): Promise<number> {
  const child = spawn(command, args, { cwd: root, stdio: isShown ? 'inherit' : ['ignore', 'pipe', 'pipe'], shell });
  const pass = (signal: NodeJS.Signals) => child.kill(signal);
  process.on('SIGINT', pass).on('SIGTERM', pass);
  const output: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (part: Buffer) => output.push(part));
  const [code] = await once(child, 'close');
  process.off('SIGINT', pass).off('SIGTERM', pass);
  process.stdout.write(Buffer.concat(output));
  return code ?? 1;
}

async function runAll(): Promise<number> {
  // npm is a script on Windows, which only a shell can start.
  const shell = process.platform === 'win32';
  for (const together of stages) {
    // The output of the first is shown as it comes, that of the others in one piece.
    const codes = await Promise.all(
      together.map((stage, place) => run('npm', ['run', stage], { shell, isShown: place === 0 })),
    );
    const failed = codes.find((code) => code !== 0);
    if (failed !== undefined) return failed;
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
