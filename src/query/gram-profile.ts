import { createCompareKernel } from './compare-kernel.ts';

const twoBins = 1024;
const threeBins = 8192;
const rowBytes = twoBins + threeBins;

/**
 * How often each gram of two and three characters occurs, hashed into bins. Collisions and full bins can only hide
 * differences, never invent them.
 */
export interface GramProfiles {
  /** Puts a text's profile into a row, in place of what was there. */
  set(row: number, text: Uint16Array): void;
  /**
   * Proof that two texts are farther apart: one edit destroys at most two pairs or three triples of the longer one, so
   * more missing ones cannot be explained. The pairs are eight times cheaper to compare and already tell most apart.
   */
  areFarther(longer: number, shorter: number, limit: number): boolean;
}

export function gramProfiles(rows: number): GramProfiles {
  const { memory, misses } = createCompareKernel(rows * rowBytes);
  const bins = new Uint8Array(memory.buffer);

  return {
    set(row, text) {
      const twos = row * rowBytes;
      const threes = twos + twoBins;
      bins.fill(0, twos, twos + rowBytes);
      let last = text[0] ?? 0;
      let pair = 0;
      for (let i = 1; i < text.length; i++) {
        const code = text[i] ?? 0;
        const before = pair;
        pair = (last << 5) ^ code;
        last = code;
        const two = twos + (pair & (twoBins - 1));
        const twoCount = (bins[two] ?? 0) + 1;
        // 256 becomes 255 again: a full bin stays full.
        bins[two] = twoCount - (twoCount >> 8);
        if (i === 1) continue;
        const three = threes + (Math.imul((before << 5) ^ code, 0x9e3779b1) >>> 19);
        const threeCount = (bins[three] ?? 0) + 1;
        bins[three] = threeCount - (threeCount >> 8);
      }
    },
    areFarther(longer, shorter, limit) {
      const a = longer * rowBytes;
      const b = shorter * rowBytes;
      return misses(a, b, twoBins) > 2 * limit || misses(a + twoBins, b + twoBins, threeBins) > 3 * limit;
    },
  };
}
