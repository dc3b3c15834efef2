/** The words of a query that say something, and how often a text uses them. */
import { stem } from '../../similarity/stem.ts';
import { stopWords } from '../../similarity/stop-words.ts';
import { createWordMemory, hashOf, type ScannedWords, scanWords } from '../../similarity/word-scanner.ts';
import { wordsOf } from './question.ts';

interface QueryTerms {
  readonly count: number;
  /** How often a text uses each term. */
  countIn(text: string, words?: ScannedWords): Uint32Array;
}

const maxTerms = 64;

/** Of all queries: nearly every word was met before. */
const stemHash = createWordMemory((word) => hashOf(stem(word.toLowerCase())));

export function queryTerms(query: string): QueryTerms {
  const all = wordsOf(query);
  const carrying = all.filter((word) => !stopWords.has(word));
  const stems = [...new Set((carrying.length > 0 ? carrying : all).map(stem))].slice(0, maxTerms);
  const terms = new Map(stems.map((text, index) => [hashOf(text), index]));
  return {
    count: stems.length,
    countIn(text, words = scanWords(text)) {
      const counts = new Uint32Array(stems.length);
      const { count, keys, starts, ends } = words;
      for (let at = 0; at < count; at += 1) {
        const term = terms.get(stemHash(keys[at] ?? 0, text, starts[at] ?? 0, ends[at] ?? 0));
        if (term !== undefined) counts[term] = (counts[term] ?? 0) + 1;
      }
      return counts;
    },
  };
}
