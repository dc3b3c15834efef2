import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { toUnit } from '../similarity/cosine.ts';
import type { Embedder } from './embedder.ts';
import { createTokenMatcher, type TokenMatcher } from './token-matcher.ts';
import { createWordPieces } from './word-pieces.ts';

/**
 * The built-in embedding: one int8 row per WordPiece token, a text is the sum of its tokens' rows. The rows' lengths are
 * the tokens' weights, learned with the table (scripts/embeddings). No network, no native code, no dependency.
 */
export interface StaticEmbedder extends Embedder {
  embedText(text: string): Float32Array;
  /** The tokens of a text, as numbers of rows; what they are is known only here. */
  tokensOf(text: string): number[];
  /** Compares tokens one by one, where a text's vector blurs them. */
  createTokenMatcher(): TokenMatcher;
  /** How rare a lower-case word is in English, 0 to 1. */
  rarity(word: string): number;
}

const headerBytes = 8;
/** The vocabulary lists whole words by falling frequency, from here on. */
const firstWholeWord = 1996;

export function loadStaticEmbedder(folder: URL = new URL('../../assets/', import.meta.url)): StaticEmbedder {
  const table = readFileSync(new URL('embedding-table.bin', folder));
  // Git may have checked it out with the line ends of Windows.
  const vocabulary = readFileSync(new URL('embedding-vocabulary.txt', folder), 'utf8').trimEnd().split(/\r?\n/);
  const view = new DataView(table.buffer, table.byteOffset, table.byteLength);
  const count = view.getUint32(0, true);
  const dimensions = view.getUint32(4, true);
  if (count !== vocabulary.length || table.byteLength !== headerBytes + count * (4 + dimensions)) {
    throw new Error(`embedding-table.bin does not fit its vocabulary: ${count} rows of ${dimensions}`);
  }
  const scales = new Float32Array(count);
  for (let row = 0; row < count; row++) scales[row] = view.getFloat32(headerBytes + row * 4, true);
  const rows = new Int8Array(table.buffer, table.byteOffset + headerBytes + count * 4, count * dimensions);
  const toPieces = createWordPieces(vocabulary);

  function embedText(text: string): Float32Array {
    const sum = new Float32Array(dimensions);
    for (const piece of toPieces(text)) {
      const scale = scales[piece] as number;
      const from = piece * dimensions;
      for (let d = 0; d < dimensions; d++) sum[d] = (sum[d] as number) + scale * (rows[from + d] as number);
    }
    return toUnit(sum);
  }

  function rarity(word: string): number {
    const [piece, ...others] = toPieces(word);
    if (piece === undefined || others.length > 0) return 1;
    const rank = piece - firstWholeWord + 1;
    return rank < 1 ? 1 : Math.log(rank) / Math.log(count - firstWholeWord);
  }

  return {
    identity: `static-tools-${dimensions}:${hashOf(table, vocabulary.join('\n'))}`,
    dimensions,
    embedText,
    rarity,
    tokensOf: toPieces,
    createTokenMatcher: () => createTokenMatcher({ rows, scales, dimensions }),
    embed: async (texts) => texts.map(embedText),
  };
}

/** Both make a vector what it is. */
function hashOf(table: Buffer, vocabulary: string): string {
  return createHash('sha256').update(table).update(vocabulary).digest('hex').slice(0, 16);
}
