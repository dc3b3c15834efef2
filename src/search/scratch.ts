/**
 * Arrays with a number for every tool, used again by the next search: allocating them for each part of each request makes
 * the garbage collector walk the whole heap every few searches. A search that holds one never waits meanwhile.
 */
export interface Scratch {
  /** All zero. */
  take(length: number): Float32Array;
  /** Everything that was taken is free again. */
  release(): void;
}

export function createScratch(): Scratch {
  const arrays: Float32Array[] = [];
  let taken = 0;
  return {
    take(length) {
      const known = arrays[taken];
      const array = known !== undefined && known.length >= length ? known.fill(0) : new Float32Array(length);
      arrays[taken++] = array;
      return array;
    },
    release() {
      taken = 0;
    },
  };
}
