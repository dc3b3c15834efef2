import { createCompareKernel, growTo } from './compare-kernel.ts';

/**
 * Tells whether the Levenshtein distance of two texts is at most some limit: Myers' bit-parallel columns in blocks of 64
 * rows, only the blocks that a path of that cost can touch. One text is prepared and then compared with many; the
 * kernel's memory is reused, so a meter serves one deduplication.
 */
export interface DistanceMeter {
  /** False where the text is so long, with so many different characters, that its table would need too much memory. */
  prepare(text: Uint16Array): boolean;
  atMost(other: Uint16Array, limit: number): boolean;
  /** Block steps done so far: a measure of work that does not depend on the machine. */
  readonly steps: number;
}

const mostTableBytes = 67_108_864;
/** Duplicates are mostly far closer than the limit allows, and a narrow band costs little. */
const firstLimit = 96;
/** The kernel's memory begins with the row of the match table by character, 0 for those that the prepared text lacks. */
const characters = 1 << 16;
const stateAt = 2 * characters;

export function distanceMeter(): DistanceMeter {
  const kernel = createCompareKernel(stateAt);
  let rowOf = new Uint16Array(kernel.memory.buffer, 0, characters);
  let prepared: Uint16Array = new Uint16Array(0);
  let matchesAt = stateAt;
  let otherAt = stateAt;

  /** Growing detaches what was there before. */
  function reserve(bytes: number): void {
    growTo(kernel, bytes);
    if (rowOf.buffer !== kernel.memory.buffer) rowOf = new Uint16Array(kernel.memory.buffer, 0, characters);
  }

  function isWithin(columns: number, limit: number): boolean {
    return kernel.within(otherAt, columns, prepared.length, stateAt, matchesAt, limit) === 1;
  }

  return {
    get steps() {
      return kernel.steps.value;
    },
    prepare(text) {
      for (let i = 0; i < prepared.length; i++) rowOf[prepared[i] ?? 0] = 0;
      prepared = text;
      let rows = 1;
      for (let i = 0; i < text.length; i++) {
        const code = text[i] ?? 0;
        if (rowOf[code] === 0) rowOf[code] = rows++;
      }
      const blocks = Math.ceil(text.length / 64);
      matchesAt = stateAt + 16 * blocks;
      otherAt = matchesAt + 8 * blocks * rows;
      if (otherAt - stateAt > mostTableBytes) return false;
      reserve(otherAt);
      // A block is two words of 32 bits here.
      const matches = new Int32Array(kernel.memory.buffer, matchesAt, 2 * blocks * rows).fill(0);
      for (let i = 0; i < text.length; i++) {
        const at = (rowOf[text[i] ?? 0] ?? 0) * 2 * blocks + (i >>> 5);
        matches[at] = (matches[at] ?? 0) | (1 << (i & 31));
      }
      return true;
    },
    atMost(other, limit) {
      const difference = Math.abs(prepared.length - other.length);
      if (limit < difference) return false;
      if (limit >= Math.max(prepared.length, other.length)) return true;
      if (prepared.length === 0 || other.length === 0) return true;
      reserve(otherAt + 2 * other.length);
      new Uint16Array(kernel.memory.buffer, otherAt, other.length).set(other);
      const narrow = difference + firstLimit;
      return (narrow < limit && isWithin(other.length, narrow)) || isWithin(other.length, limit);
    },
  };
}
