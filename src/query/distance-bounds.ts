import { createCompareKernel, growTo } from './compare-kernel.ts';

/**
 * A lower bound of the Levenshtein distance between an indexed text and others: the other text is cut into short
 * phrases, and those that do not occur in the indexed one near their own place need an edit each. "Near" is how far a
 * path within the limit can drift and still come back.
 */
export interface PhraseBound {
  index(text: Uint16Array): void;
  isFarther(other: Uint16Array, limit: number): boolean;
}

const stretches = 32;
/** The tables of the kernel come first in its memory: 8192 words for grams of three, of four and of five characters. */
const tableBytes = 3 * 8192 * 4;
/** The kernel may read so many characters more than a text has; they change nothing. */
const readBeyond = 5;

export function phraseBound(): PhraseBound {
  const kernel = createCompareKernel(tableBytes);
  let codes = new Uint16Array(0);
  let length = 0;
  let stretchBits = 0;

  /** Texts are read in the kernel's memory. */
  function put(text: Uint16Array): void {
    if (text.length + readBeyond > codes.length) {
      growTo(kernel, tableBytes + 2 * (text.length + readBeyond));
      codes = new Uint16Array(kernel.memory.buffer, tableBytes);
    }
    codes.set(text);
  }

  return {
    index(text) {
      length = text.length;
      stretchBits = Math.max(0, Math.ceil(Math.log2(Math.max(1, length / stretches))));
      put(text);
      kernel.mark(tableBytes, length, stretchBits);
    },
    isFarther(other, limit) {
      const shift = length - other.length;
      const slack = (limit - Math.abs(shift)) >> 1;
      const before = Math.max(0, -shift) + slack;
      const after = Math.max(0, shift) + slack;
      put(other);
      return kernel.lacks(tableBytes, other.length, before, after, stretchBits, limit) === 1;
    },
  };
}
