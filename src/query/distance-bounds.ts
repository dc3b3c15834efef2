/**
 * A lower bound of the Levenshtein distance between an indexed text and others: the other text is cut into short
 * phrases, and those that do not occur in the indexed one near their own place need an edit each. "Near" is how far a
 * path within the limit can drift and still come back.
 */
export interface PhraseBound {
  index(text: Uint16Array): void;
  isFarther(other: Uint16Array, limit: number): boolean;
}

const shortest = 3;
const longest = 5;
const hashBits = 13;
const stretches = 32;

export function phraseBound(): PhraseBound {
  // For grams of each length, by hash, in which of up to 32 equal stretches of the text they begin: one bit each.
  const threes = new Int32Array(1 << hashBits);
  const fours = new Int32Array(1 << hashBits);
  const fives = new Int32Array(1 << hashBits);
  let length = 0;
  let stretchBits = 0;

  return {
    index(text) {
      for (const table of [threes, fours, fives]) table.fill(0);
      length = text.length;
      stretchBits = Math.max(0, Math.ceil(Math.log2(Math.max(1, length / stretches))));
      markGrams(text, stretchBits, threes, fours, fives);
    },
    isFarther(other, limit) {
      const shift = length - other.length;
      const slack = (limit - Math.abs(shift)) >> 1;
      const before = Math.max(0, -shift) + slack;
      const after = Math.max(0, shift) + slack;
      const end = other.length - longest;
      let edits = 0;
      let at = 0;
      while (at <= end) {
        const near = bitsBetween(at <= before ? 0 : (at - before) >>> stretchBits, (at + after) >>> stretchBits);
        let hash = extended(hashOfTwo(other, at), other[at + 2] ?? 0);
        if (((threes[slotOf(hash)] ?? 0) & near) === 0) at += 3;
        else {
          hash = extended(hash, other[at + 3] ?? 0);
          if (((fours[slotOf(hash)] ?? 0) & near) === 0) at += 4;
          else {
            hash = extended(hash, other[at + 4] ?? 0);
            // Five in a row do occur: maybe more would not, but looking further costs more than it proves.
            if (((fives[slotOf(hash)] ?? 0) & near) !== 0) edits--;
            at += 5;
          }
        }
        edits++;
        if (edits > limit) return true;
        if ((limit - edits) * shortest > other.length - at) return false;
      }
      return false;
    },
  };
}

function markGrams(
  text: Uint16Array,
  stretchBits: number,
  threes: Int32Array,
  fours: Int32Array,
  fives: Int32Array,
): void {
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
}

function mark(table: Int32Array, hash: number, bit: number): void {
  const slot = slotOf(hash);
  table[slot] = (table[slot] ?? 0) | bit;
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
