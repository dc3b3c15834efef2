import { stopWords } from './template.ts';

/** The words of a query that say something, reduced to stems, each with its number. */
export interface QueryTerms {
  stems: ReadonlyMap<string, number>;
  /** Which beginnings of words any stem has, by hash: most words of a text are dismissed by one look here. */
  beginnings: Uint8Array;
}

/** How a text uses the terms of a query: occurrences by term, and how many words there are in all. */
export interface TermUse {
  counts: Uint32Array;
  words: number;
}

const mostTerms = 64;
const beginningSlots = 4096;
const beginningChars = 3;

export function queryTerms(query: string): QueryTerms {
  const all = wordsOf(query);
  const carrying = all.filter((word) => !stopWords.has(word));
  const stems = [...new Set((carrying.length > 0 ? carrying : all).map(stem))].slice(0, mostTerms);
  const beginnings = new Uint8Array(beginningSlots);
  for (const term of stems) beginnings[beginningOf(term, 0, term.length)] = 1;
  return { stems: new Map(stems.map((term, index) => [term, index])), beginnings };
}

export function countTerms(text: string, { stems, beginnings }: QueryTerms): TermUse {
  const counts = new Uint32Array(stems.size);
  let words = 0;
  eachWord(text, (start, end, isAscii) => {
    words++;
    if (isAscii && beginnings[beginningOf(text, start, end)] === 0) return;
    const term = stems.get(stem(text.slice(start, end).toLowerCase()));
    if (term !== undefined) counts[term] = (counts[term] ?? 0) + 1;
  });
  return { counts, words };
}

export function wordsOf(text: string): string[] {
  const words: string[] = [];
  eachWord(text, (start, end) => words.push(text.slice(start, end).toLowerCase()));
  return words;
}

/** Runs of letters and digits; each character of scripts that write without spaces is a word of its own. */
function eachWord(text: string, visit: (start: number, end: number, isAscii: boolean) => void): void {
  let start = -1;
  let isAscii = true;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    const isLow = code < 128;
    const isWord = isLow
      ? (code >= 97 && code <= 122) || (code >= 48 && code <= 57) || (code >= 65 && code <= 90)
      : isLetter(code);
    if (isWord && (isLow || !standsAlone(code))) {
      if (start < 0) {
        start = i;
        isAscii = true;
      }
      if (!isLow) isAscii = false;
      continue;
    }
    if (start >= 0) visit(start, i, isAscii);
    start = -1;
    if (isWord) visit(i, i + 1, false);
  }
  if (start >= 0) visit(start, text.length, isAscii);
}

/** Beyond ASCII: everything but the blocks of punctuation and symbols. Surrogates count as letters. */
function isLetter(code: number): boolean {
  return code >= 0xaa && !(code >= 0x2000 && code <= 0x2bff) && !(code >= 0x3000 && code <= 0x303f) && code !== 0xd7;
}

/** Kana and Han. */
function standsAlone(code: number): boolean {
  return (code >= 0x3040 && code <= 0x30ff) || (code >= 0x3400 && code <= 0x9fff);
}

/** Stemming leaves the first three letters alone, so they decide whether a word can be a term. */
function beginningOf(text: string, start: number, end: number): number {
  const last = Math.min(end, start + beginningChars);
  let hash = 0;
  for (let i = start; i < last; i++) hash = (hash << 5) ^ (text.charCodeAt(i) | 32);
  return hash & (beginningSlots - 1);
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
