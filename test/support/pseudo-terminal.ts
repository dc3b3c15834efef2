/** Runs a command in a terminal, by util-linux's `script`, and answers what it asks. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cleanEnvironment, program } from './aggregator-process.ts';

export const hasTerminal = process.platform === 'linux' && spawnSync('script', ['--version']).status === 0;

export interface TerminalRun {
  code: number | null;
  /** Everything that was on the screen. */
  screen: string;
}

/** Each answer is typed when its question is on the screen. */
export async function runInTerminal(
  words: readonly string[],
  answers: readonly [question: RegExp, answer: string][],
  { env, cwd }: { env: Record<string, string>; cwd: string },
): Promise<TerminalRun> {
  const quoted = [process.execPath, program, ...words].map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
  const child = spawn('script', ['--quiet', '--return', '--flush', '--command', quoted, '/dev/null'], {
    cwd,
    env: { ...cleanEnvironment(cwd), TERM: 'xterm', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let screen = '';
  let seen = 0;
  const open = [...answers];
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    screen += part;
    const [question, answer] = open[0] ?? [];
    const match = question?.exec(screen.slice(seen));
    if (match == null) return;
    seen += match.index + match[0].length;
    open.shift();
    child.stdin.write(`${answer}\r`);
  });
  const [code] = await once(child, 'close');
  child.stdin.destroy();
  return { code, screen };
}
