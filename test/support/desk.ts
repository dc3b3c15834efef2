/** A user's desk: a home directory, the installed commands, and a shell in which the commands of a page are run. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { type AggregatorProcess, cleanEnvironment, program, startAggregator } from './aggregator-process.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const deskServer = fileURLToPath(new URL('../journeys/desk-server.js', import.meta.url));

export interface Desk {
  home: string;
  aggregator: AggregatorProcess;
  /** In one shell, one after the other: what each printed, and its exit code. */
  run(commands: readonly string[]): Promise<{ output: string; code: number }[]>;
  close(): Promise<void>;
}

/** Packages that `npx` finds here instead of in a registry. */
const packages = `case "$name" in
  mcp-aggregator) exec node '${program}' "$@" ;;
  @playwright/mcp) exec node '${root}/node_modules/@playwright/mcp/cli.js' "$@" ;;
  @modelcontextprotocol/*) exec node "${root}/node_modules/$name/dist/index.js" "$@" ;;
  *) exec node '${deskServer}' "$name" ;;
esac`;

/** Pages name the default port; the aggregator of a test has another one. */
const atPort = (text: string, from: string, to: string) => text.replaceAll(`127.0.0.1:${from}`, `127.0.0.1:${to}`);

const commands: Record<string, string> = {
  // There is no terminal to confirm in.
  'mcp-aggregator': `case "$1" in setup|connect-client|remove) set -- "$@" --yes ;; esac\nexec node '${program}' "$@"`,
  npx: `[ "$1" = -y ] && shift\nname=$1\nshift\n${packages}`,
};

export async function createDesk(): Promise<Desk> {
  const home = mkdtempSync(join(tmpdir(), 'desk-'));
  const programs = join(home, 'bin');
  for (const folder of [programs, join(home, 'notes'), join(home, '.cursor')]) mkdirSync(folder);
  for (const [name, script] of Object.entries(commands))
    writeFileSync(join(programs, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  // The folder of a clone, for `npm run`.
  const clone = join(home, 'clone');
  mkdirSync(clone);
  for (const name of ['package.json', 'bin', 'src', 'node_modules', 'dist-web'])
    symlinkSync(join(root, name), join(clone, name));
  const PATH = [programs, dirname(process.execPath), process.env.PATH].join(delimiter);
  const env = { ...cleanEnvironment(home), PATH, NODE_NO_WARNINGS: '1', NO_COLOR: '1' };
  const aggregator = await startAggregator({ dataDir: join(home, '.mcp-aggregator'), env: { HOME: home, PATH } });

  const { port } = new URL(aggregator.url);

  return {
    home,
    aggregator,
    async run(lines) {
      const mark = '\u001e';
      const script = lines.map((line) => `${line}\nprintf '${mark}%s${mark}' $?`).join('\n');
      const shell = spawn('bash', ['-c', `exec 2>&1\n${atPort(script, '8081', port)}`], { cwd: clone, env });
      shell.stdin.end();
      const [printed] = await Promise.all([text(shell.stdout), once(shell, 'close')]);
      const parts = atPort(printed, port, '8081').split(mark);
      return lines.map((_, at) => ({ output: (parts[2 * at] ?? '').trim(), code: Number(parts[2 * at + 1] ?? '-1') }));
    },
    async close() {
      await aggregator.stop();
      rmSync(home, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}
