/** Attempts to open a session: one after the other, with growing pauses, until one succeeds or they are given up. */
import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '../errors.ts';
import type { Session } from './session.ts';

interface ConnectionAttempts {
  start(attempts: number): void;
  /** Resolves when the attempt in progress has ended. */
  giveUp(): Promise<void>;
}

interface AttemptOptions {
  open(signal: AbortSignal): Promise<Session>;
  onAttemptFailed(error: unknown, attempt: number): void;
  onConnected(session: Session): void;
  /** With the failure of the last attempt. */
  onFailed(failure: unknown): void;
}

const retryDelaysMs = [1_000, 2_000, 4_000];
export const defaultAttempts = retryDelaysMs.length;

export function createConnectionAttempts({
  open,
  onAttemptFailed,
  onConnected,
  onFailed,
}: AttemptOptions): ConnectionAttempts {
  let running: { controller: AbortController; done: Promise<void> } | undefined;

  async function run(attempts: number, signal: AbortSignal): Promise<void> {
    let failure: unknown;
    for (let number = 1; number <= attempts; number += 1) {
      try {
        if (number > 1) await delay(retryDelaysMs[number - 2] ?? 0, undefined, { signal });
        const session = await open(signal);
        // Given up in the very moment in which it succeeded.
        if (signal.aborted) return await session.close();
        running = undefined;
        return onConnected(session);
      } catch (error) {
        if (signal.aborted) return;
        failure = error;
        onAttemptFailed(error, number);
        if (error instanceof AppError) break; // nothing that another attempt would mend
      }
    }
    running = undefined;
    onFailed(failure);
  }

  return {
    start(attempts) {
      const controller = new AbortController();
      running = { controller, done: run(attempts, controller.signal) };
    },
    async giveUp() {
      const { controller, done } = running ?? {};
      controller?.abort();
      running = undefined;
      await done;
    },
  };
}
