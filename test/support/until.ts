import { setTimeout as delay } from 'node:timers/promises';

interface Waiting {
  patienceMs?: number;
  everyMs?: number;
}

/**
 * Asks until it holds: for what happens on the far side of a server, or in another process, and is not announced.
 * Without words of its own the error shows the condition.
 */
export async function until(
  holds: () => Promise<boolean> | boolean,
  what = String(holds),
  waiting?: Waiting,
): Promise<void> {
  await untilSeen(holds, (held) => held, what, waiting);
}

/** Looks until what is seen fits, and returns it. */
export async function untilSeen<T>(
  look: () => Promise<T> | T,
  fits: (seen: T) => boolean,
  what: string,
  { patienceMs = 60_000, everyMs = 20 }: Waiting = {},
): Promise<T> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    const seen = await look();
    if (fits(seen)) return seen;
    if (performance.now() > deadline) {
      throw new Error(`Gave up waiting until ${what}; last seen: ${JSON.stringify(seen)?.slice(0, 2_000)}`);
    }
    await delay(everyMs);
  }
}
