/** Which tokens have expired. A token stays expired if the clock is set back, until it gets another date. */
import type { KnownToken } from './known-token.ts';

interface TokenExpiry {
  /** The first time that a token turns out to be, it is reported. */
  isExpired(token: KnownToken): boolean;
  /** A token that had expired before it was known is not reported. */
  recordKnown(token: KnownToken): void;
  forget(id: string): void;
}

export function createTokenExpiry(onExpired: (id: string) => void): TokenExpiry {
  /** With their expiry dates. */
  const expired = new Map<string, string | null>();

  /** Written so that an unreadable date counts as over. */
  const isOver = ({ expiresAtMs }: KnownToken) => !(Date.now() < expiresAtMs);

  return {
    isExpired(token) {
      const { id, expires_at } = token.row;
      if (expires_at !== null && expired.get(id) === expires_at) return true;
      if (!isOver(token)) return false;
      expired.set(id, expires_at);
      onExpired(id);
      return true;
    },
    recordKnown(token) {
      if (isOver(token)) expired.set(token.row.id, token.row.expires_at);
    },
    forget: (id) => void expired.delete(id),
  };
}
