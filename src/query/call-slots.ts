/**
 * How many calls a query has under way at the same time, over all servers: the most promising goes first. Programs of
 * this machine share its processors, so that a hundred calls at once would make all of them late.
 */
export interface CallSlots {
  /** Resolves with what gives the slot back; rejects when `signal` ends. */
  take(priority: number, signal: AbortSignal): Promise<() => void>;
}

/** A call that takes longer is waiting for something else than a processor. */
const maxHeldMs = 400;

export function createCallSlots(max: number): CallSlots {
  const waiting = new Set<{ priority: number; grant: () => void }>();
  let free = max;

  function grantNext(): void {
    while (free > 0 && waiting.size > 0) {
      const best = [...waiting].reduce((a, b) => (b.priority > a.priority ? b : a));
      waiting.delete(best);
      free -= 1;
      best.grant();
    }
  }

  function holdSlot(): () => void {
    let isHeld = true;
    const giveBack = (): void => {
      clearTimeout(timer);
      if (!isHeld) return;
      isHeld = false;
      free += 1;
      grantNext();
    };
    const timer = setTimeout(giveBack, maxHeldMs).unref();
    return giveBack;
  }

  return {
    take(priority, signal) {
      const granted = Promise.withResolvers<() => void>();
      const place = { priority, grant: () => granted.resolve(holdSlot()) };
      const leave = (): void => {
        if (waiting.delete(place)) granted.reject(signal.reason);
      };
      waiting.add(place);
      if (signal.aborted) leave();
      else signal.addEventListener('abort', leave, { once: true });
      grantNext();
      return granted.promise.finally(() => signal.removeEventListener('abort', leave));
    },
  };
}
