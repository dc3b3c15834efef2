/** Turns texts into vectors of length one. Vectors of different identities must never be compared. */
export interface Embedder {
  /** Model name and a hash of its content, stored beside every vector. */
  readonly identity: string;
  readonly dimensions: number;
  embed(texts: string[], signal?: AbortSignal): Promise<Float32Array[]>;
}

/** Scales to length one; the zero vector (a text without a known word) stays zero and is similar to nothing. */
export function toUnit(vector: Float32Array): Float32Array {
  let squares = 0;
  for (const value of vector) squares += value * value;
  if (squares > 0) {
    const factor = 1 / Math.sqrt(squares);
    for (let index = 0; index < vector.length; index++) vector[index] = (vector[index] as number) * factor;
  }
  return vector;
}

export function cosine(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let index = 0; index < a.length; index++) sum += (a[index] as number) * (b[index] as number);
  return sum;
}
