/**
 * Random IDs for requests and calls, which come by the thousand per second. Node's `randomUUID` concatenates twenty
 * strings, which caused most of the garbage of a call.
 */
import { randomFillSync } from 'node:crypto';

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
