import { normalize } from '../unicode.ts';

/**
 * Splits text into lower-case words the same way for documents, requests, the embedding and the training of its table.
 * `parts` holds the pieces of a compound (`createIssue` → create, issue): both forms matter, because people write
 * «github» for a product that spells itself «GitHub».
 */
interface Word {
  whole: string;
  parts: string[];
}

// Bounded, because the engine keeps a state for each repetition: a word of millions of letters would exhaust its stack.
const wordPattern = /[\p{L}\p{N}]{1,5000}/gu;
const camelPattern = /\p{Lu}+(?!\p{Ll})\p{N}*|\p{Lu}?[\p{Ll}\p{Lo}\p{Lm}]+\p{N}*|\p{N}+|\p{Lu}/gu;
const marksPattern = /\p{M}{1,5000}/gu;
const nonAsciiPattern = /[^\p{ASCII}]/u;
const mixedCasePattern = /[\p{Ll}\p{N}]\p{Lu}|\p{Lu}\p{Lu}\p{Ll}/u;
// Chinese, Japanese and Thai write no spaces: every character counts as a word.
const unspacedPattern = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;

export function toWords(text: string): Word[] {
  const plain = nonAsciiPattern.test(text) ? normalize(text, 'NFKD').replace(marksPattern, '') : text;
  const words: Word[] = [];
  for (const [run] of plain.matchAll(wordPattern)) {
    if (unspacedPattern.test(run)) {
      for (const character of run) words.push({ whole: character.toLowerCase(), parts: [] });
      continue;
    }
    const parts = mixedCasePattern.test(run) ? (run.match(camelPattern) ?? []).map((part) => part.toLowerCase()) : [];
    words.push({ whole: run.toLowerCase(), parts: parts.length > 1 ? parts : [] });
  }
  return words;
}
