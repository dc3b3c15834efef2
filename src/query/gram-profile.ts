/** Gram lengths in the order they are tried: the shortest profile is the cheapest and already rejects a third. */
export const profileSizes = [1, 2, 3] as const;

const bins = [256, 1024, 8192] as const;
const largestCount = 127;

/**
 * How often each gram of one, two and three characters occurs, hashed into bins of seven bits, four bins to a word.
 * Collisions and full bins can only hide differences, never invent them.
 */
export function gramProfiles(text: string): Int32Array[] {
  const ones = new Uint8Array(bins[0]);
  const twos = new Uint8Array(bins[1]);
  const threes = new Uint8Array(bins[2]);
  let before = 0;
  let last = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    count(ones, code & (bins[0] - 1));
    if (i > 0) count(twos, ((last << 5) ^ code) & (bins[1] - 1));
    if (i > 1) count(threes, (Math.imul((before << 10) ^ (last << 5) ^ code, 0x9e3779b1) >>> 19) & (bins[2] - 1));
    before = last;
    last = code;
  }
  return [ones, twos, threes].map((counts) => new Int32Array(counts.buffer));
}

function count(counts: Uint8Array, bin: number): void {
  const value = counts[bin] ?? 0;
  if (value < largestCount) counts[bin] = value + 1;
}

const high = 0x80808080 | 0;
const lanes = 0x00ff00ff;
const wordsPerSum = 128;

/**
 * Does `a` have more than `limit` grams that `b` lacks? Four bins at a time; nothing is borrowed between them because a
 * count has seven bits and the eighth is set.
 */
export function missesMoreThan(a: Int32Array, b: Int32Array, limit: number): boolean {
  let total = 0;
  for (let start = 0; start < a.length; start += wordsPerSum) {
    const end = Math.min(a.length, start + wordsPerSum);
    let sums = 0;
    for (let i = start; i < end; i++) {
      const difference = (((a[i] ?? 0) | high) - (b[i] ?? 0)) | 0;
      const larger = difference & high;
      const kept = difference & ((larger - (larger >>> 7)) | 0);
      sums = (sums + (kept & lanes) + ((kept >>> 8) & lanes)) | 0;
    }
    total += (sums & 0xffff) + (sums >>> 16);
    if (total > limit) return true;
  }
  return false;
}
