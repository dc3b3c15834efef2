/** How near vectors are. */

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

/** The cosine of vectors of length one. */
export function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let index = 0; index < a.length; index++) sum += (a[index] as number) * (b[index] as number);
  return sum;
}

/** Cosine of each vector with the first; vectors need not be normalised. */
export function similarities([query, ...texts]: readonly Float32Array[]): number[] {
  if (query === undefined) return [];
  return texts.map((text) => cosine(query, text));
}

function cosine(a: Float32Array, b: Float32Array): number {
  let product = 0;
  let ofA = 0;
  let ofB = 0;
  for (let i = 0; i < a.length; i++) {
    const x = a[i] ?? 0;
    const y = b[i] ?? 0;
    product += x * y;
    ofA += x * x;
    ofB += y * y;
  }
  return ofA === 0 || ofB === 0 ? 0 : product / Math.sqrt(ofA * ofB);
}
