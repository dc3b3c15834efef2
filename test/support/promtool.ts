import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';

/** From Debian's package `prometheus`. */
const present = spawnSync('promtool', ['--version']).error === undefined;

/** Where it is missing the tests that need it are skipped, but on CI they fail. */
export const withoutPromtool = !present && process.env.CI !== 'true' ? 'promtool is not installed' : false;

/** Runs promtool; fails with what it printed. */
export async function promtool(args: string[], input = ''): Promise<string> {
  const running = promisify(execFile)('promtool', args);
  running.child.stdin?.end(input);
  const { stdout, stderr } = await running.catch((error: Error & { stdout: string; stderr: string }) => {
    throw new Error(`promtool ${args.join(' ')} failed:\n${error.stdout}${error.stderr}`, { cause: error });
  });
  return stdout + stderr;
}
