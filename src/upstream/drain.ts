/** Ends what a link holds: when the calls in progress are answered, when that takes too long, or at once. */
import { interruptibleDelay } from '../interruptible-delay.ts';
import type { ConcurrencyLimit } from './concurrency-limit.ts';

interface DrainOptions {
  concurrency: ConcurrencyLimit;
  timeoutMs: number;
  /** Nothing new begins; resolves when what had begun is given up. */
  begin(): Promise<void>;
  closeSessions(): Promise<void>;
  onDrained(): void;
}

/** What it returns begins to drain, or hurries what is draining already; `pending` are the calls it waits for. */
export function createDrain({ concurrency, timeoutMs, begin, closeSessions, onDrained }: DrainOptions) {
  let draining: { done: Promise<void>; force: () => void } | undefined;

  async function run(isForced: boolean, forced: AbortSignal, begun: Promise<void>): Promise<void> {
    if (concurrency.active > 0 && !isForced) {
      await Promise.race([concurrency.idle(), interruptibleDelay(timeoutMs, forced, { ref: false })]);
    }
    await Promise.all([begun, closeSessions()]);
    draining = undefined;
    onDrained();
  }

  return (force: boolean): { pending: number; done: Promise<void> } => {
    if (draining === undefined) {
      const forced = new AbortController();
      draining = { done: run(force, forced.signal, begin()), force: () => forced.abort() };
    } else if (force) {
      draining.force();
    }
    return { pending: force ? 0 : concurrency.active, done: draining.done };
  };
}
