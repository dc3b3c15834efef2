/** Whether processes that are not our children still run. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

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
export async function untilGone(pid: number, patienceMs = 30_000): Promise<void> {
  const latest = Date.now() + patienceMs;
  while (isAlive(pid)) {
    assert.ok(Date.now() < latest, `process ${pid} is still running`);
    await delay(20);
  }
}
