/** Which token an Authorization header presents. */
import { timingSafeEqual } from 'node:crypto';
import { AppError } from '../errors.ts';
import { digestOf, isSameDigest, type KnownToken, tokenId } from './known-token.ts';

/** Headers that are recognised without hashing; a client sends the same one with every request. */
const maxRecognised = 1_000;

/** `find` looks a token up by its id, as it is stored now. */
export function createTokenRecognition(adminToken: string, find: (id: string) => KnownToken | undefined) {
  const adminDigest = digestOf(adminToken);
  /** By the complete header. An entry counts only as long as its token is the stored one. */
  const recognised = new Map<string, KnownToken | 'admin'>();

  return function recognise(authorization: string): KnownToken | 'admin' {
    const before = recognised.get(authorization);
    if (before === 'admin' || (before !== undefined && find(before.row.id) === before)) return before;
    const token = /^Bearer +(\S+)$/i.exec(authorization)?.[1];
    if (token === undefined) throw unauthenticated('the Authorization header must be "Bearer <token>"');
    const presented = digestOf(token);
    const entry = timingSafeEqual(presented, adminDigest) ? 'admin' : find(tokenId(token));
    if (entry === undefined || (entry !== 'admin' && !isSameDigest(presented, entry.digest)))
      throw unauthenticated('the token is not valid');
    if (recognised.size >= maxRecognised) recognised.clear();
    recognised.set(authorization, entry);
    return entry;
  };
}

export function unauthenticated(reason: string): AppError {
  return new AppError('UNAUTHENTICATED', `Not authenticated: ${reason}`);
}
