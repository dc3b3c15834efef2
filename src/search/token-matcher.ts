import { createScanKernel } from '../similarity/scan-kernel.ts';

/** Similarities between the tokens of one request and those of many tools. */
export interface TokenMatcher {
  /** Every request token against every tool token, both without repetition. Valid until the next call. */
  compare(request: readonly number[], others: readonly number[]): TokenSimilarities;
}

interface TokenSimilarities {
  /** Learned weight of each request token. */
  weights: Float32Array;
  /** By place in `others`: the learned weight. */
  otherWeights: Float32Array;
  /** Cosine of request token `r` and other token `o` at `r * others.length + o`. */
  cosines: Float32Array;
}

interface TokenTable {
  rows: Int8Array;
  scales: Float32Array;
  dimensions: number;
}

const pageBytes = 65_536;

/** The rows are compared as they are stored, by the kernel that scans vectors. */
export function createTokenMatcher({ rows, scales, dimensions }: TokenTable): TokenMatcher {
  if (dimensions % 16 !== 0) throw new RangeError(`rows of ${dimensions} numbers are no multiple of 16`);
  const { memory, scan } = createScanKernel();
  const rowsAt = dimensions * 2;
  /** Lengths of the stored rows, 0 where not known yet. */
  const lengths = new Float32Array(scales.length);

  const rowOf = (token: number) => rows.subarray(token * dimensions, (token + 1) * dimensions);

  function lengthOf(token: number): number {
    const known = lengths[token] as number;
    if (known !== 0) return known;
    let squares = 0;
    for (const value of rowOf(token)) squares += value * value;
    lengths[token] = Math.max(1, Math.sqrt(squares));
    return lengths[token] as number;
  }

  return {
    compare(request, others) {
      const bytes = rowsAt + others.length * (dimensions + 4);
      const missing = Math.ceil((bytes - memory.buffer.byteLength) / pageBytes);
      if (missing > 0) memory.grow(missing);
      const stored = new Int8Array(memory.buffer, rowsAt, others.length * dimensions);
      for (const [place, token] of others.entries()) stored.set(rowOf(token), place * dimensions);
      const outAt = rowsAt + others.length * dimensions;
      const sums = new Int32Array(memory.buffer, outAt, others.length);
      const input = new Int16Array(memory.buffer, 0, dimensions);
      const otherLengths = Float32Array.from(others, lengthOf);
      const cosines = new Float32Array(request.length * others.length);
      for (const [place, token] of request.entries()) {
        input.set(rowOf(token));
        scan(0, rowsAt, others.length, dimensions, outAt);
        const length = lengthOf(token);
        for (let other = 0; other < others.length; other++)
          cosines[place * others.length + other] = (sums[other] as number) / (length * (otherLengths[other] as number));
      }
      const weigh = (token: number) => lengthOf(token) * (scales[token] as number);
      return { cosines, weights: Float32Array.from(request, weigh), otherWeights: Float32Array.from(others, weigh) };
    },
  };
}
