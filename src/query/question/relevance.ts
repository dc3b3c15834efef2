/** How well a text answers a question: which of the question's words it holds, near one another, in which form. */
import { stem } from '../../similarity/stem.ts';
import { createWordMemory, scanWords } from '../../similarity/word-scanner.ts';
import { daysIn, mentionsDay } from './dates.ts';
import { toInfinitive } from './irregular-verbs.ts';
import { type Lexicon, type Question, type Term, wordsOf } from './question.ts';

/** By term, how well it is said: 1 literally, less in other words, 0 not at all. */
export type Said = Float32Array;

interface Relevance {
  /** Share of the question's weight that the best stretch of the text covers, 0 to 1. */
  coverage: number;
  said: Said;
  /** Words from the beginning of the text to the best stretch. */
  place: number;
}

export interface RelevanceMeter {
  /** What is known of a text beside it (title, path, table): it counts for all of the text. */
  toContext(text: string): Said;
  measure(text: string, context?: Said): Relevance;
  /** How well a short text (a name, a title) fits the question, 0 to 1. */
  fit(label: string): number;
  /** The chance that a text with this relevance answers the question; below `answers`, it does not. */
  judge(relevance: Relevance): number;
}

/** What a question must weigh before its words alone decide. */
const enoughWeight = 1.1;

/** Texts with less are not results. */
export const answers = 0.5;

/** About a paragraph: words further apart hardly speak of the same thing. */
const stretchWords = 70;
const contextStrength = 0.9;
const maxMeasuredChars = 100_000;
/** Cosine of word vectors from which two words mean nearly the same; below, nothing. */
const nearSimilarity = 0.62;
const farSimilarity = 0.38;
const synonymStrength = 0.8;

export function createRelevanceMeter(question: Question, lexicon: Lexicon): RelevanceMeter {
  const { terms } = question;
  const literals = terms.flatMap((term, index) => (term.kind === 'literal' ? [{ text: term.text, index }] : []));
  const dateTerm = terms.findIndex((term) => term.kind === 'date');
  const ranges = question.dates.flat();
  const named = terms[dateTerm]?.text ?? 'date';
  const weekday = named === 'date' ? undefined : new RegExp(`\\b${named.slice(0, 3)}(?:${named.slice(3)}s?)?\\b`, 'i');
  const phrases = phrasesOf(question);
  const alternatives = new Set(phrases.flatMap((group) => (group.length > 1 ? group.flat() : [])));
  const matches = createMatches(terms, lexicon);
  const nothing: Said = new Float32Array(terms.length);
  const total = cover(new Float32Array(terms.length).fill(1)) || 1;

  function measure(text: string, context: Said = nothing): Relevance {
    const uses = findUses(text);
    const best = bestStretch(uses, context, terms);
    addLiterals(best.said, text);
    addShapes(best.said, text);
    return { said: best.said, coverage: cover(best.said) / total, place: best.place };
  }

  /** Of names that stand for one another, the best counts. */
  function cover(said: Said): number {
    const weigh = (index: number): number => (terms[index]?.weight ?? 0) * (said[index] ?? 0);
    const single = terms.reduce((sum, _, index) => sum + (alternatives.has(index) ? 0 : weigh(index)), 0);
    return phrases
      .filter((group) => group.length > 1)
      .reduce(
        (sum, group) => sum + Math.max(...group.map((phrase) => phrase.reduce((own, index) => own + weigh(index), 0))),
        single,
      );
  }

  function toContext(text: string): Said {
    const said = new Float32Array(terms.length);
    for (const { term, strength } of findUses(text)) said[term] = Math.max(said[term] ?? 0, strength * contextStrength);
    addLiterals(said, text);
    return said;
  }

  function addLiterals(said: Float32Array, text: string): void {
    if (literals.length > 0) {
      const lower = text.toLowerCase();
      for (const literal of literals) if (holdsLiteral(lower, literal.text)) said[literal.index] = 1;
    }
    if (dateTerm >= 0 && (weekday?.test(text) === true || mentionsDay(daysIn(text), ranges))) said[dateTerm] = 1;
  }

  /** "Which version?" is answered by "4.1.6". */
  function addShapes(said: Float32Array, text: string): void {
    const head = text.slice(0, shapedChars);
    for (const [index, { shapes = [] }] of terms.entries()) {
      if ((said[index] ?? 0) < shapeStrength && shapes.some((shape) => shape.test(head))) said[index] = shapeStrength;
    }
  }

  function findUses(text: string): Use[] {
    const uses: Use[] = [];
    const { count, keys, starts, ends } = scanWords(text.slice(0, maxMeasuredChars));
    for (let place = 0; place < count; place += 1) {
      const found = matches(keys[place] ?? 0, text, starts[place] ?? 0, ends[place] ?? 0);
      for (const { term, strength } of found) uses.push({ term, strength, place });
    }
    return uses;
  }

  return {
    toContext,
    measure,
    fit: (label) => measure(label).coverage,
    judge: (relevance) => judge(relevance, terms, phrases),
  };
}

const shapeStrength = 0.6;
/** In a long text a number of any kind is found by chance. */
const shapedChars = 800;

interface Match {
  term: number;
  strength: number;
}

interface Use extends Match {
  place: number;
}

/** A number inside a longer one is another number. */
function holdsLiteral(text: string, literal: string): boolean {
  for (let at = text.indexOf(literal); at >= 0; at = text.indexOf(literal, at + 1)) {
    const isWhole = !/[\p{L}\p{N}]/u.test(text[at - 1] ?? '') && !/[\p{L}\p{N}]/u.test(text[at + literal.length] ?? '');
    if (isWhole) return true;
  }
  return false;
}

const maxIdentifier = 100;

/** Which terms a word stands for. Words repeat, so each is worked out once. */
function createMatches(terms: readonly Term[], lexicon: Lexicon) {
  const words = terms.flatMap((term, index) => (term.kind === 'word' || term.kind === 'name' ? [{ term, index }] : []));
  const vectors = words.map(({ term }) => (term.kind === 'word' ? lexicon.embedText(term.text) : undefined));
  const synonyms = words.map(({ term }) => (term.kind === 'word' ? lexicon.synonymsOf(term.stem) : undefined));

  function find(word: string): readonly Match[] {
    const lower = word.toLowerCase();
    const stemmed = stem(toInfinitive(lower));
    const found: Match[] = [];
    let vector: Float32Array | undefined;
    for (const [position, { term, index }] of words.entries()) {
      let strength = spelt(term, lower, stemmed);
      if (strength < synonymStrength && synonyms[position]?.has(stemmed)) strength = synonymStrength;
      const own = vectors[position];
      if (strength === 0 && own !== undefined && lower.length > 2 && !/\d/.test(lower)) {
        vector ??= lexicon.embedText(lower);
        strength = meant(own, vector);
      }
      if (strength > 0) found.push({ term: index, strength });
    }
    return /\p{Ll}\p{Lu}/u.test(word) ? [...found, ...camelParts(word)] : found;
  }

  /** `getUserName` holds three words. */
  function camelParts(word: string): readonly Match[] {
    if (word.length > maxIdentifier) return [];
    const parts = word.match(/\p{Lu}?[\p{Ll}]+|\p{Lu}+(?!\p{Ll})|\p{N}+/gu) ?? [];
    return parts.length > 1 ? parts.flatMap((part) => find(part.toLowerCase())) : [];
  }

  return createWordMemory(find);
}

/** The word itself, another form of it, or a compound with it. */
function spelt(term: Term, lower: string, stemmed: string): number {
  if (stemmed === term.stem) return 1;
  if (term.kind === 'name') {
    const [shorter, longer] = lower.length < term.text.length ? [lower, term.text] : [term.text, lower];
    if (shorter.length < 4) return 0;
    // "Berger's" is Berger, Bergersen is not; "yarai" is the login of Yuki Arai.
    return longer.length - shorter.length <= 2 && (longer.startsWith(shorter) || longer.endsWith(shorter)) ? 0.9 : 0;
  }
  if (term.stem.length < 4 || stemmed.length < 4) return 0;
  const shared = sharedStart(term.stem, stemmed);
  const longer = Math.max(term.stem.length, stemmed.length);
  if (shared >= 5 && shared >= longer - 3) return 0.9;
  if (shared >= 4 && shared === Math.min(term.stem.length, stemmed.length) && longer - shared <= 2) return 0.8;
  return term.stem.length > 4 && (lower.endsWith(term.text) || lower.startsWith(term.text)) ? 0.8 : 0;
}

function sharedStart(a: string, b: string): number {
  let at = 0;
  while (at < a.length && at < b.length && a[at] === b[at]) at += 1;
  return at;
}

function meant(term: Float32Array, word: Float32Array): number {
  let product = 0;
  for (let at = 0; at < term.length; at += 1) product += (term[at] ?? 0) * (word[at] ?? 0);
  const share = (product - farSimilarity) / (nearSimilarity - farSimilarity);
  return share <= 0 ? 0 : synonymStrength * Math.min(1, share);
}

/** The stretch of the text in which most of the question is said. Two pointers over the uses; each is entered once. */
function bestStretch(uses: readonly Use[], context: Said, terms: readonly Term[]) {
  const weights = terms.map(({ weight }) => weight);
  let best = { said: Float32Array.from(context), place: 0, value: -1 };
  let from = 0;
  for (const [to, use] of uses.entries()) {
    while ((uses[from]?.place ?? 0) < use.place - stretchWords) from += 1;
    // The stretch that ends here can be better only if the next word is too far away to belong to it as well.
    const next = uses[to + 1];
    if (next !== undefined && next.place - stretchWords <= (uses[from]?.place ?? 0)) continue;
    const said = Float32Array.from(context);
    for (let at = from; at <= to; at += 1) {
      const { term, strength } = uses[at] ?? use;
      if (strength > (said[term] ?? 0)) said[term] = strength;
    }
    let value = 0;
    for (let index = 0; index < said.length; index += 1) value += (weights[index] ?? 0) * (said[index] ?? 0);
    if (value > best.value + 1e-6) best = { said, place: uses[from]?.place ?? 0, value };
  }
  return best;
}

/** The terms of each proper name of the question, by group of names. */
function phrasesOf({ nameGroups, terms }: Question): number[][][] {
  const indexOf = (word: string): number => terms.findIndex((term) => term.kind === 'name' && term.text === word);
  const toPhrase = (name: string) =>
    wordsOf(name)
      .map(indexOf)
      .filter((index) => index >= 0);
  return nameGroups
    .map((names) => names.map(toPhrase).filter((phrase) => phrase.length > 0))
    .filter((group) => group.length > 0);
}

const shares = {
  /** "Lovelace" may be Ada; "Glen Orrin" is not Glen Affric. */
  surnameOnly: 0.8,
  firstNameOnly: 0.6,
  nameMissing: 0.5,
  otherNameMissing: 0.95,
  nameImplied: 0.65,
  namesAlone: 0.75,
  focusMissing: 0.6,
  rareMissing: 0.8,
  /** No price where a price is asked for. */
  shapeMissing: 0.6,
};
const rareWeight = 0.98;

/**
 * From coverage to a chance. A text about another name than the one asked for is not an answer, nor one that holds the
 * name and nothing of what was asked of it.
 */
function judge({ said, coverage }: Relevance, terms: readonly Term[], phrases: readonly number[][][]): number {
  const is = (index: number): boolean => (said[index] ?? 0) > 0;
  const weigh = (belongs: (term: Term) => boolean, count: (index: number) => number): number =>
    terms.reduce((sum, term, index) => sum + (belongs(term) ? term.weight * count(index) : 0), 0);
  // A question of one common word is covered by anything.
  let chance =
    coverage *
    Math.min(
      1,
      weigh(
        () => true,
        () => 1,
      ) / enoughWeight,
    );

  chance *= shareOfNames(phrases, is);
  if (terms.some(({ isDemanded }, index) => isDemanded && !is(index))) chance *= shares.shapeMissing;
  const words = weigh(isOrdinary, () => 1);
  if (phrases.length > 0 && words > minWords && weigh(isOrdinary, (index) => (is(index) ? 1 : 0)) === 0)
    chance *= shares.namesAlone;
  chance *= shares.focusMissing + (1 - shares.focusMissing) * shareOfFocus(terms, said);
  if (terms.some((term, index) => term.kind === 'word' && term.weight >= rareWeight && !is(index)))
    chance *= shares.rareMissing;

  // An identifier is hardly ever another one's.
  const literals = terms.flatMap((term, index) => (term.kind === 'literal' ? [index] : []));
  if (literals.length > 0)
    chance = literals.every(is) ? Math.max(chance, 0.4 + 0.4 * coverage) : chance * shares.nameMissing;
  return Math.min(1, chance);
}

const headShare = 0.7;

/** Of "wifi password", the password is what is asked for. */
function shareOfFocus(terms: readonly Term[], said: Said): number {
  const shareOf = (belongs: (term: Term) => boolean | undefined): number | undefined => {
    const own = terms.flatMap((term, index) => (belongs(term) ? [said[index] ?? 0] : []));
    return own.length === 0 ? undefined : own.reduce((sum, strength) => sum + strength, 0) / own.length;
  };
  const head = shareOf(({ isHead }) => isHead) ?? 1;
  const rest = shareOf(({ isFocus, isHead }) => isFocus && !isHead) ?? head;
  return headShare * head + (1 - headShare) * rest;
}

/** Every name must be there; of those that stand for one another, one. */
function shareOfNames(groups: readonly number[][][], is: (index: number) => boolean): number {
  const held = groups.map((group) => {
    const own = group.map((phrase) => shareOfName(phrase, is));
    const best = Math.max(...own);
    return own.some((share) => share < best) ? best * shares.otherNameMissing : best;
  });
  // What is said of the one thing may go without saying of the other: the guest, not the event.
  const hasWhole = held.some((share) => share >= shares.otherNameMissing);
  return held.reduce((all, share) => all * (share === shares.nameMissing && hasWhole ? shares.nameImplied : share), 1);
}

/** Of a name, the surname says more than the rest. */
function shareOfName(phrase: readonly number[], is: (index: number) => boolean): number {
  const held = phrase.filter(is);
  if (held.length === phrase.length) return 1;
  if (held.length === 0) return shares.nameMissing;
  return held.includes(phrase.at(-1) ?? -1) ? shares.surnameOnly : shares.firstNameOnly;
}

const minWords = 0.4;
const isOrdinary = ({ kind, weight }: Term): boolean => kind === 'word' && weight > 0.2;
