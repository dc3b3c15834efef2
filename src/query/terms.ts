import { stopWords } from './template.ts';

/** The words of a query that say something, reduced to stems, each with its number. */
export interface QueryTerms {
  stems: ReadonlyMap<string, number>;
  /** Words that begin like one of the stems: most words of a text need not be looked at any further. */
  pattern: RegExp;
}

const mostTerms = 64;
/** ASCII's letters and digits; beyond, everything but the blocks of punctuation and symbols. Surrogates are letters. */
const letter = '[0-9A-Za-z\\u00aa-\\u00d6\\u00d8-\\u1fff\\u2c00-\\u2fff\\u3100-\\u33ff\\ua000-\\uffff]';
/** Kana and Han are written without spaces: each character is a word. */
const wordOfOne = '[\\u3040-\\u30ff\\u3400-\\u9fff]';
const anyWord = new RegExp(`${wordOfOne}|${letter}+`, 'g');
const isWordOfOne = new RegExp(`^${wordOfOne}$`);

export function queryTerms(query: string): QueryTerms {
  const all = wordsOf(query);
  const carrying = all.filter((word) => !stopWords.has(word));
  const stems = [...new Set((carrying.length > 0 ? carrying : all).map(stem))].slice(0, mostTerms);
  return { stems: new Map(stems.map((term, index) => [term, index])), pattern: patternOf(stems) };
}

/** A word begins with its stem, but for the last letter of those in -y: "query" and "queries". */
function patternOf(stems: readonly string[]): RegExp {
  const alone = stems.filter((term) => isWordOfOne.test(term));
  const beginnings = stems
    .filter((term) => !isWordOfOne.test(term))
    // The only letter that is two in lower case.
    .map((term) => term.replace(/(?<=...)y$/, '').replaceAll('i\u0307', '(?:i\u0307|\u0130)'));
  const words = beginnings.length === 0 ? [] : [`(?<!${letter})(?:${beginnings.join('|')})${letter}*`];
  return new RegExp([...alone, ...words].join('|') || '(?!)', 'gi');
}

/** How often a text uses each term. */
export function countTerms(text: string, { stems, pattern }: QueryTerms): Uint32Array {
  const counts = new Uint32Array(stems.size);
  for (const word of text.match(pattern) ?? []) {
    const term = stems.get(stem(word.toLowerCase()));
    if (term !== undefined) counts[term] = (counts[term] ?? 0) + 1;
  }
  return counts;
}

export function wordsOf(text: string): string[] {
  return (text.match(anyWord) ?? []).map((word) => word.toLowerCase());
}

/** English endings only, and only where a stem of three letters is left: "hooks" and "hook", "caching" and "cache". */
export function stem(word: string): string {
  if (word.length < 4) return word;
  for (const [ending, replacement] of endings) {
    if (word.endsWith(ending) && word.length - ending.length >= 3) return word.slice(0, -ending.length) + replacement;
  }
  return word;
}

const endings = [
  ['ies', 'y'],
  ['sses', 'ss'],
  ['ing', ''],
  ['ed', ''],
  ['es', ''],
  ['ss', 'ss'],
  ['s', ''],
  ['e', ''],
] as const;
