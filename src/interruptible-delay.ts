import { setTimeout as delay } from 'node:timers/promises';

/** Resolves early, without an error, when the signal aborts, because callers check the signal anyway. */
export async function interruptibleDelay(ms: number, signal: AbortSignal, { ref = true } = {}): Promise<void> {
  await delay(ms, undefined, { signal, ref }).catch(() => undefined); // it rejects for no other reason
}
