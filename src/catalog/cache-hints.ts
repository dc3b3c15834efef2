/** How long a client may keep a list that several servers contribute to, as the spec merges it. Pure. */
export interface CacheHint {
  /** Of the clock that `now` is read from. */
  expires: number;
  public: boolean;
}

/** A server that gave no hint allows nothing. */
export function mergeHints(
  hints: Iterable<CacheHint | undefined>,
  now: number,
): { ttlMs: number; cacheScope: 'public' | 'private' } {
  let ttlMs = Number.POSITIVE_INFINITY;
  let isPublic = true;
  for (const hint of hints) {
    ttlMs = Math.min(ttlMs, Math.max(0, (hint?.expires ?? 0) - now));
    isPublic &&= hint?.public === true;
  }
  // The schemas of clients reject fractions, and the whole list with them.
  return { ttlMs: Number.isFinite(ttlMs) ? Math.floor(ttlMs) : 0, cacheScope: isPublic ? 'public' : 'private' };
}
