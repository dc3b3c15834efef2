/** Callers that wait for a connection: until it can be used, cannot come back, or took too long. */
import { type CancelSignal, toAbortSignal } from '../cancellation.ts';
import { interruptibleDelay } from '../interruptible-delay.ts';

interface ConnectionWait<T> {
  /** What is waited for, if it is there. */
  usable: () => T | undefined;
  mayReturn: () => boolean;
  /** Begins another attempt, unless one is in progress. */
  connect: () => void;
  timeoutMs: number;
  signal: CancelSignal | undefined;
}

interface ConnectionWaiters {
  /** Undefined where it cannot come back or took too long; throws the reason of the signal. */
  wait<T>(waiting: ConnectionWait<T>): Promise<T | undefined>;
  /** The connection changed. */
  wake(): void;
}

const pauseMs = 200;

export function createConnectionWaiters(): ConnectionWaiters {
  const waiting = new Set<() => void>();

  const changed = (ended: AbortSignal) =>
    new Promise<void>((resolve) => {
      waiting.add(resolve);
      ended.addEventListener('abort', () => resolve(), { once: true });
    });

  return {
    async wait({ usable, mayReturn, connect, timeoutMs, signal }) {
      const deadline = AbortSignal.timeout(timeoutMs);
      const ended = signal === undefined ? deadline : AbortSignal.any([toAbortSignal(signal), deadline]);
      while (usable() === undefined && !ended.aborted && mayReturn()) {
        connect();
        await changed(ended);
        if (usable() === undefined && !ended.aborted) await interruptibleDelay(pauseMs, ended);
      }
      if (signal?.aborted) throw signal.reason;
      return usable();
    },
    wake() {
      for (const resolve of waiting) resolve();
      waiting.clear();
    },
  };
}
