/** How many calls one server handles at once, and how many may wait. */
import type { CancelSignal } from '../cancellation.ts';
import { AppError } from '../errors.ts';

export interface ConcurrencyLimit {
  readonly active: number;
  readonly queued: number;
  /** How many calls there were. */
  readonly entered: number;
  /** Undefined where there is room: most calls need not wait. */
  enter(signal?: CancelSignal): Promise<void> | undefined;
  leave(): void;
  /** Resolves when nothing is active any more. */
  idle(): Promise<void>;
}

interface Waiting {
  admit: () => void;
  refuse: (error: unknown) => void;
}

export function createConcurrencyLimit(name: string, limits: { concurrent: number; queued: number }): ConcurrencyLimit {
  const queue: Waiting[] = [];
  const idlers: (() => void)[] = [];
  let active = 0;
  let entered = 0;

  return {
    get active() {
      return active;
    },
    get queued() {
      return queue.length;
    },
    get entered() {
      return entered;
    },
    enter(signal) {
      entered += 1;
      if (active < limits.concurrent) {
        active += 1;
        return undefined;
      }
      if (queue.length >= limits.queued) {
        throw new AppError(
          'SERVER_OVERLOADED',
          `Server overloaded: ${name} has ${active} calls running and ${queue.length} waiting`,
          {
            retryAfterSeconds: 1,
            context: { active, queued: queue.length },
          },
        );
      }
      return new Promise<void>((admit, refuse) => {
        const waiting = { admit, refuse };
        queue.push(waiting);
        signal?.addEventListener(
          'abort',
          () => {
            const place = queue.indexOf(waiting);
            if (place === -1) return;
            queue.splice(place, 1);
            refuse(signal.reason);
          },
          { once: true },
        );
      });
    },
    leave() {
      const next = queue.shift();
      if (next !== undefined) return next.admit();
      active -= 1;
      if (active === 0) for (const resolve of idlers.splice(0)) resolve();
    },
    async idle() {
      if (active > 0) await new Promise<void>((resolve) => idlers.push(resolve));
    },
  };
}
