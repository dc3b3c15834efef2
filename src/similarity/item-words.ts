import { type ScannedWords, scanWords } from './word-scanner.ts';

const scanned = new WeakMap<{ content: string }, ScannedWords>();

/** The words of an item's content, scanned once for finding duplicates and for ranking. */
export function wordsOfItem(item: { readonly content: string }): ScannedWords {
  const known = scanned.get(item);
  if (known !== undefined) return known;
  const words = scanWords(item.content);
  scanned.set(item, words);
  return words;
}
