/** A hit of a search that was read is told by what was read. */
import { wordsOf } from '../question/question.ts';
import type { RelevantItem } from './items.ts';

const sharedWords = 0.75;

/** Without the items that are only the beginning of one of `read`. */
export function withoutPointers(found: readonly RelevantItem[], read: readonly RelevantItem[]): RelevantItem[] {
  const texts = read.map(({ title, content, relevance }) => ({
    words: new Set(wordsOf(`${title ?? ''} ${content}`)),
    relevance,
    length: content.length,
  }));
  return found.filter((item) => {
    const words = wordsOf(item.content).filter((word) => word.length > 2 || /\d/.test(word));
    if (words.length === 0) return true;
    return !texts.some(({ words: known, relevance, length }) => {
      if (relevance < item.relevance - 0.05 || length < item.content.length) return false;
      // Another number is another thing.
      if (words.some((word) => /\d\S|\S\d/.test(word) && !known.has(word))) return false;
      return words.filter((word) => known.has(word)).length >= sharedWords * words.length;
    });
  });
}
