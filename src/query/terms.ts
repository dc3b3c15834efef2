import { toCodes } from './codes.ts';
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
  const beginnings = new Uint8Array(beginningSlots + 1);
  for (const term of stems) beginnings[beginningOf(toCodes(term), 0, term.length)] = 1;
  return { stems: new Map(stems.map((term, index) => [term, index])), beginnings };
}

export function countTerms(text: string, { stems, beginnings }: QueryTerms): TermUse {
  const codes = toCodes(text);
  const counts = new Uint32Array(stems.size);
  let words = 0;
  for (let start = nextWord(codes, 0); start < codes.length; ) {
    const end = wordEnd(codes, start);
    words++;
    if (beginnings[beginningOf(codes, start, end)] !== 0) {
      const term = stems.get(stem(text.slice(start, end).toLowerCase()));
      if (term !== undefined) counts[term] = (counts[term] ?? 0) + 1;
    }
    start = nextWord(codes, end);
  }
  return { counts, words };
}

export function wordsOf(text: string): string[] {
  const codes = toCodes(text);
  const words: string[] = [];
  for (let start = nextWord(codes, 0); start < codes.length; ) {
    const end = wordEnd(codes, start);
    words.push(text.slice(start, end).toLowerCase());
    start = nextWord(codes, end);
  }
  return words;
}

function nextWord(codes: Uint16Array, from: number): number {
  let at = from;
  while (at < codes.length && !isWordCharacter(codes[at] ?? 0)) at++;
  return at;
}

/** Words are runs of letters and digits; each character of scripts that write without spaces is one of its own. */
function wordEnd(codes: Uint16Array, start: number): number {
  if (standsAlone(codes[start] ?? 0)) return start + 1;
  let at = start + 1;
  while (at < codes.length) {
    const code = codes[at] ?? 0;
    if (!isWordCharacter(code) || standsAlone(code)) break;
    at++;
  }
  return at;
}

const asciiWords = Uint8Array.from({ length: 128 }, (_, code) =>
  /[A-Za-z0-9]/.test(String.fromCharCode(code)) ? 1 : 0,
);

function isWordCharacter(code: number): boolean {
  return code < 128 ? asciiWords[code] === 1 : isLetter(code);
}

/** Beyond ASCII: everything but the blocks of punctuation and symbols. Surrogates count as letters. */
function isLetter(code: number): boolean {
  return code >= 0xaa && !(code >= 0x2000 && code <= 0x2bff) && !(code >= 0x3000 && code <= 0x303f) && code !== 0xd7;
}

/** Kana and Han. */
function standsAlone(code: number): boolean {
  return (code >= 0x3040 && code <= 0x30ff) || (code >= 0x3400 && code <= 0x9fff);
}

/**
 * Stemming leaves the first three letters alone, so they decide whether a word can be a term. Letters beyond ASCII change
 * with case in ways that a bit does not tell, so words with one among the first three all share a slot.
 */
function beginningOf(codes: Uint16Array, start: number, end: number): number {
  const last = Math.min(end, start + beginningChars);
  let hash = 0;
  for (let i = start; i < last; i++) {
    const code = codes[i] ?? 0;
    if (code >= 128) return beginningSlots;
    hash = (hash << 5) ^ (code | 32);
  }
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
