import { createCompareKernel, growTo } from './compare-kernel.ts';

/**
 * A lower bound of the Levenshtein distance between an indexed text and others: separate threes of characters of the
 * other text that do not occur in the indexed one near their own place need an edit each. "Near" is how far a path within
 * the limit can drift and still come back.
 */
export interface PlaceBound {
  index(text: Uint16Array): void;
  isFarther(other: Uint16Array, limit: number): boolean;
}

/** One bit of a word each. */
const stretches = 32;
/** What is near is worked out for so many characters of the other text at once. */
const nearChars = 32;
/** The kernel's notes come first in its memory, then a text, then what is near. */
const textAt = 65_536;
/** The kernel reads so many characters more than a text has; they change nothing. */
const readBeyond = 4;

export function placeBound(): PlaceBound {
  const kernel = createCompareKernel(2 * textAt);
  let codes = new Uint16Array(0);
  let near = new Int32Array(0);
  let nearAt = textAt;
  let length = 0;
  let stretchBits = 0;

  /** Texts are read in the kernel's memory. */
  function put(text: Uint16Array): void {
    if (text.length > codes.length) {
      nearAt = textAt + 4 * Math.ceil((text.length + readBeyond) / 2);
      const nears = Math.floor(text.length / nearChars) + 1;
      growTo(kernel, nearAt + 4 * nears);
      codes = new Uint16Array(kernel.memory.buffer, textAt, text.length);
      near = new Int32Array(kernel.memory.buffer, nearAt, nears);
    }
    codes.set(text);
  }

  return {
    index(text) {
      length = text.length;
      stretchBits = Math.max(0, Math.ceil(Math.log2(Math.max(1, length / stretches))));
      put(text);
      kernel.note(textAt, length, stretchBits);
    },
    isFarther(other, limit) {
      const shift = length - other.length;
      const slack = (limit - Math.abs(shift)) >> 1;
      const before = Math.max(0, -shift) + slack;
      const after = Math.max(0, shift) + slack;
      put(other);
      for (let at = 0; at <= other.length; at += nearChars) {
        const first = Math.max(0, at - before) >> stretchBits;
        const last = Math.min(stretches - 1, (at + nearChars - 1 + after) >> stretchBits);
        near[at / nearChars] = (-1 << first) & (-1 >>> (stretches - 1 - last));
      }
      return kernel.lacks(textAt, other.length, nearAt, limit) === 1;
    },
  };
}
