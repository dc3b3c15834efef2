import { createScanKernel } from './scan-kernel.ts';

/**
 * Vectors by slot, compared exactly with every stored one. Rows are int8 with a scale each: a quarter of the memory, and
 * the error (below 0.01 in cosine) is far under what separates two tools.
 */
export interface VectorIndex {
  readonly dimensions: number;
  /** Above every slot in use. */
  readonly capacity: number;
  set(slot: number, vector: Float32Array): void;
  remove(slot: number): void;
  has(slot: number): boolean;
  get(slot: number): Float32Array;
  /** Cosine with every slot; 0 where there is no vector. `into` is used again where it is long enough. */
  scan(vector: Float32Array, into?: Float32Array): Float32Array;
  similarity(a: number, b: number): number;
}

const pageBytes = 65_536;
const finest = 8_191;

export function createVectorIndex(dimensions: number): VectorIndex {
  const kernel = createScanKernel();
  const width = Math.ceil(dimensions / 16) * 16;
  const rowsAt = width * 2;
  let capacity = 0;
  let scales = new Float32Array(0);
  let rows = new Int8Array(0);
  let highest = -1;
  grow(1023);

  /** Memory: the request as int16, the rows as int8, then one int32 result for each row. */
  function grow(slot: number): void {
    if (slot < capacity) return;
    capacity = Math.max(slot + 1, capacity * 2);
    const bytes = rowsAt + capacity * (width + 4);
    const missing = Math.ceil((bytes - kernel.memory.buffer.byteLength) / pageBytes);
    if (missing > 0) kernel.memory.grow(missing);
    rows = new Int8Array(kernel.memory.buffer, rowsAt, capacity * width);
    const wider = new Float32Array(capacity);
    wider.set(scales);
    scales = wider;
  }

  function set(slot: number, vector: Float32Array): void {
    if (vector.length !== dimensions) throw new RangeError(`vector of ${vector.length} in an index of ${dimensions}`);
    grow(slot);
    highest = Math.max(highest, slot);
    const scale = largestOf(vector) / 127;
    scales[slot] = scale;
    for (let d = 0; d < width; d++) {
      rows[slot * width + d] = scale === 0 || d >= dimensions ? 0 : Math.round((vector[d] as number) / scale);
    }
  }

  function scan(vector: Float32Array, into?: Float32Array): Float32Array {
    const scores = into !== undefined && into.length >= capacity ? into.fill(0) : new Float32Array(capacity);
    const scale = largestOf(vector) / finest;
    if (scale === 0 || highest < 0) return scores;
    const request = new Int16Array(kernel.memory.buffer, 0, width);
    for (let d = 0; d < width; d++) request[d] = d < dimensions ? Math.round((vector[d] as number) / scale) : 0;
    const outAt = rowsAt + capacity * width;
    kernel.scan(0, rowsAt, highest + 1, width, outAt);
    const sums = new Int32Array(kernel.memory.buffer, outAt, highest + 1);
    for (let slot = 0; slot <= highest; slot++)
      scores[slot] = (sums[slot] as number) * (scales[slot] as number) * scale;
    return scores;
  }

  function similarity(a: number, b: number): number {
    let sum = 0;
    for (let d = 0; d < width; d++) sum += (rows[a * width + d] as number) * (rows[b * width + d] as number);
    return sum * (scales[a] as number) * (scales[b] as number);
  }

  return {
    dimensions,
    get capacity() {
      return capacity;
    },
    set,
    scan,
    similarity,
    remove: (slot) => {
      if (slot < capacity) scales[slot] = 0;
    },
    has: (slot) => slot < capacity && scales[slot] !== 0,
    get: (slot) => {
      const scale = scales[slot] ?? 0;
      const vector = new Float32Array(dimensions);
      for (let d = 0; d < dimensions; d++) vector[d] = (rows[slot * width + d] as number) * scale;
      return vector;
    },
  };
}

function largestOf(vector: Float32Array): number {
  let largest = 0;
  for (const value of vector) largest = Math.max(largest, Math.abs(value));
  return largest;
}
