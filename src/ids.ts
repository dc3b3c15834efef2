/**
 * Random IDs for requests and calls, which come by the thousand per second. Node's `randomUUID` concatenates twenty
 * strings, which caused most of the garbage of a call.
 */
import { randomFillSync } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

const idBytes = 16;
const pool = Buffer.alloc(idBytes * 256);
let used = pool.length;

export function createId(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += idBytes;
  return pool.toString('hex', used - idBytes, used);
}

const requestIdPattern = /^[\w.:/+=-]{1,128}$/;

/** Accepts a client's request id only if it cannot be used to forge log lines. */
export function toRequestId({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && requestIdPattern.test(given) ? given : createId();
}
