import { setTimeout as delay } from 'node:timers/promises';

/** Asks until it holds: for what happens on the far side of a server, or in another process, and is not announced. */
export async function until(
  holds: () => Promise<boolean> | boolean,
  what: string,
  { patienceMs = 60_000, everyMs = 20 } = {},
): Promise<void> {
  const deadline = performance.now() + patienceMs;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`Gave up waiting until ${what}`);
    await delay(everyMs);
  }
}
