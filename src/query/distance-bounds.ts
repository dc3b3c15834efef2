/** For grams of each length, in which of up to 32 equal stretches of the text they begin: one bit each, by hash. */
export interface PhraseIndex {
  length: number;
  /** A stretch is two to this power long. */
  stretchBits: number;
  threes: Int32Array;
  fours: Int32Array;
  fives: Int32Array;
}

const shortest = 3;
const longest = 5;
const hashBits = 13;
const stretches = 32;

export function buildPhraseIndex(text: Uint16Array): PhraseIndex {
  const stretchBits = Math.max(0, Math.ceil(Math.log2(Math.max(1, text.length / stretches))));
  const threes = new Int32Array(1 << hashBits);
  const fours = new Int32Array(1 << hashBits);
  const fives = new Int32Array(1 << hashBits);
  const end = text.length;
  for (let at = 0; at + shortest <= end; at++) {
    const bit = 1 << (at >>> stretchBits);
    let hash = extended(hashOfTwo(text, at), text[at + 2] ?? 0);
    mark(threes, hash, bit);
    if (at + 4 > end) continue;
    hash = extended(hash, text[at + 3] ?? 0);
    mark(fours, hash, bit);
    if (at + 5 > end) continue;
    mark(fives, extended(hash, text[at + 4] ?? 0), bit);
  }
  return { length: end, stretchBits, threes, fours, fives };
}

function mark(table: Int32Array, hash: number, bit: number): void {
  const slot = slotOf(hash);
  table[slot] = (table[slot] ?? 0) | bit;
}

/**
 * A lower bound of the Levenshtein distance between `a` and the indexed text: `a` is cut into short phrases; those that
 * do not occur in the text near their own place need an edit each. "Near" is how far a path within the limit can drift
 * and still come back.
 */
export function isFartherThan(a: Uint16Array, index: PhraseIndex, limit: number): boolean {
  const { threes, fours, fives, stretchBits } = index;
  const shift = index.length - a.length;
  const slack = (limit - Math.abs(shift)) >> 1;
  const before = Math.max(0, -shift) + slack;
  const after = Math.max(0, shift) + slack;
  const end = a.length - longest;
  let edits = 0;
  let at = 0;
  while (at <= end) {
    const near = bitsBetween(at <= before ? 0 : (at - before) >>> stretchBits, (at + after) >>> stretchBits);
    let hash = extended(hashOfTwo(a, at), a[at + 2] ?? 0);
    if (((threes[slotOf(hash)] ?? 0) & near) === 0) at += 3;
    else {
      hash = extended(hash, a[at + 3] ?? 0);
      if (((fours[slotOf(hash)] ?? 0) & near) === 0) at += 4;
      else {
        hash = extended(hash, a[at + 4] ?? 0);
        // Five in a row do occur: maybe more would not, but looking further costs more than it proves.
        if (((fives[slotOf(hash)] ?? 0) & near) !== 0) edits--;
        at += 5;
      }
    }
    edits++;
    if (edits > limit) return true;
    if (edits + (a.length - at) / shortest < limit) return false;
  }
  return false;
}

function hashOfTwo(text: Uint16Array, at: number): number {
  return Math.imul(text[at] ?? 0, 0x01000193) ^ (text[at + 1] ?? 0);
}

function extended(hash: number, code: number): number {
  return Math.imul(hash, 0x01000193) ^ code;
}

function slotOf(hash: number): number {
  return Math.imul(hash, 0x9e3779b1) >>> (32 - hashBits);
}

function bitsBetween(first: number, last: number): number {
  return (-1 << first) & (-1 >>> Math.max(0, stretches - 1 - last));
}
