/**
 * The platform that test/platforms runs on: this machine, or Windows under Wine (`npm run test:windows`). Under Wine the
 * aggregator and its servers are Windows programs, and the test, which speaks HTTP with them, is not: Wine's sockets
 * cannot connect (libuv's ConnectEx fails with UNKNOWN).
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

const { MCP_AGGREGATOR_TEST_WINE_NODE: wineNode } = process.env;

export const isWine = wineNode !== undefined;
export const isWindows = isWine || process.platform === 'win32';

/** The command that starts Node there. */
export const nodeCommand: readonly [string, ...string[]] =
  wineNode === undefined ? [process.execPath] : ['wine', wineNode];

/** A file of this machine, as the platform names it. */
export function pathThere(path: string): string {
  return isWine ? `Z:${path.replaceAll('/', '\\')}` : path;
}

/** Node, as a server's `command` names it. */
export const nodeThere = wineNode === undefined ? process.execPath : pathThere(wineNode);

/** How many processes have this word in their command line. */
export function countRunning(word: string): number {
  return commandLines().filter((line) => line.includes(word)).length;
}

function commandLines(): string[] {
  if (process.platform === 'linux') {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
      .map(commandLineOf);
  }
  const list =
    process.platform === 'win32'
      ? ['powershell', '-NoProfile', '-Command', 'Get-CimInstance Win32_Process | ForEach-Object { $_.CommandLine }']
      : ['ps', '-axo', 'command'];
  const [command = '', ...args] = list;
  return execFileSync(command, args, { encoding: 'utf8' }).split('\n');
}

function commandLineOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return ''; // it has ended
  }
}
