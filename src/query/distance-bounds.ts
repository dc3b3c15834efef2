/** For grams of each length, in which of 32 equal stretches of the text they begin: one bit each, by hash. */
export interface PhraseIndex {
  length: number;
  stretch: number;
  threes: Int32Array;
  fours: Int32Array;
  fives: Int32Array;
  sixes: Int32Array;
}

const shortest = 3;
const longest = 6;
const hashBits = 13;
const stretches = 32;

export function buildPhraseIndex(text: string): PhraseIndex {
  const stretch = Math.max(1, Math.ceil(text.length / stretches));
  const threes = new Int32Array(1 << hashBits);
  const fours = new Int32Array(1 << hashBits);
  const fives = new Int32Array(1 << hashBits);
  const sixes = new Int32Array(1 << hashBits);
  const end = text.length;
  for (let at = 0; at + shortest <= end; at++) {
    const bit = 1 << ((at / stretch) | 0);
    let hash = extended(hashOfTwo(text, at), text.charCodeAt(at + 2));
    mark(threes, hash, bit);
    if (at + 4 > end) continue;
    hash = extended(hash, text.charCodeAt(at + 3));
    mark(fours, hash, bit);
    if (at + 5 > end) continue;
    hash = extended(hash, text.charCodeAt(at + 4));
    mark(fives, hash, bit);
    if (at + 6 > end) continue;
    mark(sixes, extended(hash, text.charCodeAt(at + 5)), bit);
  }
  return { length: end, stretch, threes, fours, fives, sixes };
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
export function isFartherThan(a: string, index: PhraseIndex, limit: number): boolean {
  const { threes, fours, fives, sixes, stretch } = index;
  const shift = index.length - a.length;
  const slack = (limit - Math.abs(shift)) >> 1;
  const before = Math.max(0, -shift) + slack;
  const after = Math.max(0, shift) + slack;
  const end = a.length - longest;
  let edits = 0;
  let at = 0;
  while (at <= end) {
    const near = bitsBetween(at <= before ? 0 : ((at - before) / stretch) | 0, ((at + after) / stretch) | 0);
    let hash = extended(hashOfTwo(a, at), a.charCodeAt(at + 2));
    if (((threes[slotOf(hash)] ?? 0) & near) === 0) at += 3;
    else {
      hash = extended(hash, a.charCodeAt(at + 3));
      if (((fours[slotOf(hash)] ?? 0) & near) === 0) at += 4;
      else {
        hash = extended(hash, a.charCodeAt(at + 4));
        if (((fives[slotOf(hash)] ?? 0) & near) === 0) at += 5;
        else {
          hash = extended(hash, a.charCodeAt(at + 5));
          // Six in a row do occur: maybe more would not, but looking further costs more than it proves.
          if (((sixes[slotOf(hash)] ?? 0) & near) !== 0) edits--;
          at += 6;
        }
      }
    }
    edits++;
    if (edits > limit) return true;
    if (edits + (a.length - at) / shortest < limit) return false;
  }
  return false;
}

function hashOfTwo(text: string, at: number): number {
  return Math.imul(text.charCodeAt(at), 0x01000193) ^ text.charCodeAt(at + 1);
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
