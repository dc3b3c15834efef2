/** Whether processes that are not our children still run. */
import { readdirSync, readFileSync } from 'node:fs';
import { until } from './until.ts';

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // Ended, and waiting for a parent that never asks: where there is /proc it can be told.
    return !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code !== 'ESRCH' && process.platform !== 'linux';
  }
}

/** Nothing tells when a process of somebody else has ended, so this looks until it has. */
export async function untilGone(pid: number, patienceMs = 60_000): Promise<void> {
  await until(() => !isAlive(pid), `process ${pid} has ended`, { patienceMs });
}

/** The MCP servers of the tests that this process started. */
export function childServers(): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && isServer(pid));
}

function isServer(pid: number): boolean {
  try {
    const [state, ppid] = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    const isServer = /support\/servers|server\.mjs/.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8'));
    return Number(ppid) === process.pid && state !== 'Z' && isServer;
  } catch {
    return false; // it has ended
  }
}
