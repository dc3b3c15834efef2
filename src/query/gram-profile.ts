const twoBins = 1024;
const threeBins = 8192;

/** The shorter grams are eight times cheaper to compare and already tell most texts apart. */
export interface GramProfiles {
  twos: Int32Array;
  threes: Int32Array;
}

/**
 * How often each gram of two and three characters occurs, hashed into bins of seven bits, four bins to a word.
 * Collisions and full bins can only hide differences, never invent them.
 */
export function gramProfiles(text: Uint16Array): GramProfiles {
  const twos = new Uint8Array(twoBins);
  const threes = new Uint8Array(threeBins);
  let last = text[0] ?? 0;
  let pair = 0;
  for (let i = 1; i < text.length; i++) {
    const code = text[i] ?? 0;
    const before = pair;
    pair = (last << 5) ^ code;
    last = code;
    const two = pair & (twoBins - 1);
    const twoCount = (twos[two] ?? 0) + 1;
    // 128 becomes 127 again: a full bin stays full.
    twos[two] = twoCount - (twoCount >> 7);
    if (i === 1) continue;
    const three = Math.imul((before << 5) ^ code, 0x9e3779b1) >>> 19;
    const threeCount = (threes[three] ?? 0) + 1;
    threes[three] = threeCount - (threeCount >> 7);
  }
  return { twos: new Int32Array(twos.buffer), threes: new Int32Array(threes.buffer) };
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
