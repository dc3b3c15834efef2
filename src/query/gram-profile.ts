import { createCompareKernel, growTo } from './compare-kernel.ts';

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
  const textAt = rows * rowBytes;
  const kernel = createCompareKernel(textAt);
  let codes = new Uint16Array(0);

  return {
    set(row, text) {
      if (text.length > codes.length) {
        growTo(kernel, textAt + 2 * text.length);
        codes = new Uint16Array(kernel.memory.buffer, textAt);
      }
      codes.set(text);
      kernel.profile(textAt, text.length, row * rowBytes);
    },
    areFarther(longer, shorter, limit) {
      const a = longer * rowBytes;
      const b = shorter * rowBytes;
      return kernel.misses(a, b, twoBins) > 2 * limit || kernel.misses(a + twoBins, b + twoBins, threeBins) > 3 * limit;
    },
  };
}
