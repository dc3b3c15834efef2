/** Whether processes that are not our children still run. */
import { readFileSync } from 'node:fs';
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
