/** Turns texts into vectors of length one. Vectors of different identities must never be compared. */
export interface Embedder {
  /** Model name and a hash of its content, stored beside every vector. */
  readonly identity: string;
  readonly dimensions: number;
  embed(texts: string[], signal?: AbortSignal): Promise<Float32Array[]>;
}
