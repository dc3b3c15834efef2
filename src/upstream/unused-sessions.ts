/** Ends the sessions of owners that leave silently: those that did nothing for a while. */
interface UnusedSessions {
  /** The owner uses its session. */
  touch(key: string): void;
  forget(key: string): void;
}

interface UnusedSessionsOptions {
  unusedMs: number;
  /** A call may take this long. */
  maxCallMs: number;
  /** Calls of any owner are in progress. */
  isInUse(): boolean;
  /** The owner follows something. */
  isFollowing(key: string): boolean;
  onUnused(key: string): void;
}

export function createUnusedSessions(options: UnusedSessionsOptions): UnusedSessions {
  const { unusedMs, maxCallMs, isInUse, isFollowing, onUnused } = options;
  const used = new Map<string, { timer: NodeJS.Timeout; at: number }>();

  function expire(key: string): void {
    const last = used.get(key);
    if (last === undefined) return;
    const mayBeUsed = isInUse() && performance.now() - last.at < maxCallMs;
    if (mayBeUsed || isFollowing(key)) last.timer.refresh();
    else onUnused(key);
  }

  return {
    touch(key) {
      const last = used.get(key);
      if (last === undefined) {
        const timer = setTimeout(() => expire(key), unusedMs).unref();
        return void used.set(key, { timer, at: performance.now() });
      }
      last.at = performance.now();
      last.timer.refresh();
    },
    forget(key) {
      clearTimeout(used.get(key)?.timer);
      used.delete(key);
    },
  };
}
