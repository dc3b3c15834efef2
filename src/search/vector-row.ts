/** Vectors as the store keeps them: bytes, beside the hash of the text that they stand for. */
import { createHash } from 'node:crypto';
import type { ToolVectorRow } from '../store/schema.ts';
import type { Embedder } from './embedder.ts';
import { toEmbeddingTexts } from './search-index.ts';
import type { SearchableTool } from './tool.ts';

export function toVectorRows(
  embedder: Embedder,
  tools: readonly SearchableTool[],
  vectors: readonly Float32Array[],
): ToolVectorRow[] {
  return tools.flatMap((tool, place) => {
    const vector = vectors[place];
    if (vector === undefined) return [];
    const { buffer, byteOffset, byteLength } = vector;
    const bytes = new Uint8Array(buffer, byteOffset, byteLength);
    return [{ tool_id: tool.id, model: embedder.identity, content_hash: contentHash(tool), vector: bytes }];
  });
}

/** A tool's texts never change: another description makes another object. */
const hashes = new WeakMap<SearchableTool, string>();

export function contentHash(tool: SearchableTool): string {
  const known = hashes.get(tool);
  if (known !== undefined) return known;
  const texts = JSON.stringify(toEmbeddingTexts(tool));
  const hash = createHash('sha256').update(texts).digest('base64url').slice(0, 22);
  hashes.set(tool, hash);
  return hash;
}

/** Copied, because PostgreSQL's driver gives a window into a larger buffer, at any offset. */
export function toFloats(bytes: Uint8Array): Float32Array {
  return new Float32Array(new Uint8Array(bytes).buffer);
}
