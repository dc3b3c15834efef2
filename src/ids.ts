/**
 * Random ids for what comes by the thousand in a second: requests, calls. Node's own UUIDs are put together of twenty
 * pieces and stay so, which was most of what a call left for the collector to move about.
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
