/** Limits the calls per minute and principal: across all replicas with Redis, otherwise in this process. */
import { AppError } from '../errors.ts';
import type { Redis } from './redis.ts';

interface RateLimiter {
  /** Counts a call; throws if the limit is exceeded. */
  admit(principalId: string): Promise<void>;
}

interface RateLimiterOptions {
  perMinute: number;
  redis: Redis | undefined;
  now?: () => number;
}

const windowMs = 60_000;
const maxRemembered = 10_000;

/**
 * The last minute is this window and what is left of the one before, as if its calls had been spread evenly: no burst
 * of twice the limit where two windows meet, and only two numbers to keep.
 */
export function createRateLimiter({ perMinute, redis, now = Date.now }: RateLimiterOptions): RateLimiter {
  const counts = new Map<string, { window: number; current: number; previous: number }>();

  function countHere(principalId: string, window: number, weight: number) {
    const known = counts.get(principalId);
    const current = known?.window === window ? known.current : 0;
    const previous = known?.window === window ? known.previous : known?.window === window - 1 ? known.current : 0;
    const admitted = current + previous * weight + 1 <= perMinute;
    if (counts.size >= maxRemembered && known === undefined) counts.clear();
    counts.set(principalId, { window, current: current + (admitted ? 1 : 0), previous });
    return { admitted, current, previous };
  }

  return {
    async admit(principalId) {
      const time = now();
      const window = Math.floor(time / windowMs);
      const passed = time - window * windowMs;
      const weight = 1 - passed / windowMs;
      const key = (number: number) => `rate:${principalId}:${number}`;
      const keys = { current: key(window), previous: key(window - 1) };
      const shared = await redis?.countWithin(keys, { weight, limit: perMinute, forgetAfterMs: 2 * windowMs });
      const { admitted, current, previous } = shared ?? countHere(principalId, window, weight);
      if (admitted) return;
      const retryAfterSeconds = Math.ceil(waitMs({ current, previous, passed, limit: perMinute }) / 1_000);
      throw new AppError('RATE_LIMITED', `Rate limit exceeded: ${perMinute} calls per minute`, {
        retryAfterSeconds: Math.max(1, retryAfterSeconds),
        context: { limit: perMinute, per: 'minute' },
      });
    },
  };
}

/** Time until the next call is allowed. */
function waitMs(state: { current: number; previous: number; passed: number; limit: number }): number {
  const { current, previous, passed, limit } = state;
  // The previous window fades out first; if this window alone is full, it must fade out itself.
  const room = limit - 1;
  if (current <= room) return Math.max(0, windowMs * (1 - (room - current) / previous) - passed);
  return windowMs - passed + windowMs * (1 - room / current);
}
