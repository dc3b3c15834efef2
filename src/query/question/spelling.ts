/**
 * Slips of the finger in the small words of a question: "Wher", "konw". They would be taken for names. Words that carry
 * the question stay as they are: "wifi" is no "wife".
 */
import type { Lexicon } from './question.ts';

const letters = 'abcdefghijklmnopqrstuvwxyz';
const minLength = 4;
const maxLength = 14;
const endings = /(?:s|es|ed|d|ing|er|ers|ly|al|ness|ment)$/;

/** Unknown words that are one letter away from one of `smallWords`, as that one; everything else as it is. */
export function correctSpelling(text: string, smallWords: ReadonlySet<string>, lexicon: Lexicon): string {
  return text.replace(/(?<![\p{L}\p{N}_./@#-])\p{L}+(?![\p{L}\p{N}_./@-]|['’]\p{L})/gu, (word, at: number) => {
    const isBeginning = at === 0;
    const lower = word.toLowerCase();
    if (lower.length < minLength || lower.length > maxLength || !/^[a-z]+$/.test(lower)) return word;
    // Names are capitalised, and are spelt as they are spelt.
    if (word !== lower && !(isBeginning && word.slice(1) === lower.slice(1))) return word;
    if (isKnown(lower, lexicon)) return word;
    const found = bestOf(variantsOf(lower), smallWords, lexicon);
    if (found === undefined) return word;
    return word === lower ? found : `${found[0]?.toUpperCase()}${found.slice(1)}`;
  });
}

/** Also where only an ending was added to a word that is known. */
function isKnown(word: string, lexicon: Lexicon): boolean {
  if (lexicon.rarity(word) < 1 || lexicon.knows(word)) return true;
  const stripped = word.replace(endings, '');
  return [stripped, `${stripped}e`, stripped.slice(0, -1)].some((base) => base.length > 2 && lexicon.rarity(base) < 1);
}

interface SpellingVariant {
  word: string;
  /** Letters are left out, doubled and exchanged more often than hit wrongly. */
  cost: number;
}

function bestOf(
  variants: Iterable<SpellingVariant>,
  smallWords: ReadonlySet<string>,
  lexicon: Lexicon,
): string | undefined {
  let best: SpellingVariant | undefined;
  for (const { word, cost } of variants) {
    if (!smallWords.has(word)) continue;
    const rarity = lexicon.rarity(word);
    if (rarity + cost < (best?.cost ?? Number.POSITIVE_INFINITY)) best = { word, cost: rarity + cost };
  }
  return best?.word;
}

const wrongLetter = 0.3;

/** The first letter is rarely wrong. */
function* variantsOf(word: string): Iterable<SpellingVariant> {
  for (let at = 1; at < word.length; at += 1) {
    const [before, after] = [word.slice(0, at), word.slice(at)];
    yield { word: before + after.slice(1), cost: 0 };
    if (after.length > 1) yield { word: before + after[1] + after[0] + after.slice(2), cost: 0 };
    for (const letter of letters) {
      yield { word: before + letter + after, cost: 0 };
      yield { word: before + letter + after.slice(1), cost: wrongLetter };
    }
  }
  for (const letter of letters) yield { word: word + letter, cost: 0 };
}
