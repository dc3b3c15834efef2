/** What a question says, taken apart once: words with their weight, names, identifiers, paths, dates. */
import { stem } from '../../similarity/stem.ts';
import { stopWords } from '../../similarity/stop-words.ts';
import { type DateRange, findDates, weekdayIn } from './dates.ts';
import { isIrregularForm, toInfinitive } from './irregular-verbs.ts';
import { correctSpelling } from './spelling.ts';

/** Knowledge of words. The built-in embedding has it. */
export interface Lexicon {
  /** How rare a lower-case word is, 0 to 1. */
  rarity(word: string): number;
  embedText(text: string): Float32Array;
  /** Stems of words that can stand for the one with this stem. */
  synonymsOf(stemmed: string): ReadonlySet<string>;
  /** Is it a word as it is spelt? */
  knows(word: string): boolean;
}

/**
 * `name`: a proper name, which only itself can stand for. `literal`: an identifier, path or address, found letter by
 * letter. `date`: found in any spelling, a weekday by its name as well. `word`: may be said in other words.
 */
type TermKind = 'word' | 'name' | 'literal' | 'date';

export interface Term {
  kind: TermKind;
  /** In lower case. */
  text: string;
  stem: string;
  /** What it contributes to the meaning of the question, above 0. */
  weight: number;
  /** Words of the question's object ("phone number" in "What is Ada's phone number?"). */
  isFocus: boolean;
  /** The last of them, which says what it is. */
  isHead?: boolean;
  /** What a text that answers it holds, though not the word: a version, a price, an address. One of them. */
  shapes?: readonly RegExp[];
  /** A text without the word and without its shape does not answer: no price where the price is asked for. */
  isDemanded?: boolean;
}

/** What kind of fact is asked for. */
export type Wanted = 'count' | 'sum' | 'average' | 'most' | 'least' | 'latest' | 'earliest' | 'when' | 'who' | 'where';

export interface Question {
  text: string;
  terms: readonly Term[];
  /** Proper names as they are written, words that belong together in one ("Ada Lovelace"). */
  names: readonly string[];
  /** Names that stand for one another: "Joan Marsh and John Marsh", each of which has an answer of its own. */
  nameGroups: readonly (readonly string[])[];
  /** What to hand to a tool that finds words literally, the most telling first. */
  keywords: readonly string[];
  /** Identifiers with a digit or a sign inside: "INV-1007", "4711", "v2.3". */
  identifiers: readonly Identifier[];
  paths: readonly string[];
  urls: readonly string[];
  repositories: readonly { owner: string; repo: string }[];
  /** Best reading first. */
  dates: readonly (readonly DateRange[])[];
  /** Lower-case words in their order, small ones included. */
  words: readonly string[];
  wants: ReadonlySet<Wanted>;
}

interface Identifier {
  text: string;
  /** The word before it: "order" in "order 4711". */
  noun?: string;
}

/** They ask for an answer where they open the question ("show me …"); elsewhere they are words as others ("packing list"). */
const requests: ReadonlySet<string> = new Set(
  'show list find tell give search grep lookup explain describe read summarize summarise print display'.split(' '),
);

/** Their presence in a question says little; their absence in an answer says nothing. */
const weakWords: ReadonlySet<string> = new Set(
  (
    'name names number many much long often kind type way thing things people person one ones use used using happen ' +
    'happened happens say says said does make made take takes took go goes going went come comes came new first last ' +
    'latest newest oldest most least total average more less only still already yet again next previous called work ' +
    'works information info detail details exist exists available belong belongs main usually actually reason cause ' +
    'purpose problem according while during around stand stands must may might shall allowed value values see mean means'
  ).split(' '),
);

const smallWords: ReadonlySet<string> = new Set([...stopWords, ...weakWords, 'instead', 'because']);

/** They say that the question is asked now, and nothing else. */
const asides =
  /\b(?:at the moment|right now|by the way|do you (?:happen to )?know|does anyone know|anyone know|any idea)\b/gi;

/** A parser reads them where a tool takes them; in a text they are spelt in too many ways to be looked for. */
const clockTime = /\b(?:[01]?\d|2[0-3])[:.][0-5]\d(?:\s?[ap]m)?\b|\b(?:1[0-2]|0?[1-9])\s?[ap]m\b/gi;

const readChars = 2_000;
const maxTerms = 24;
const maxKeywords = 6;

export function analyseQuestion(query: string, lexicon: Lexicon, today: Date = new Date()): Question {
  const text = correctSpelling(query.slice(0, readChars), smallWords, lexicon);
  const urls = findAll(text, /https?:\/\/[^\s<>"'`)\]]+/g).map((url) => url.replace(/[.,;:!?]+$/, ''));
  const withoutUrls = blank(text, [...urls, ...findAll(text, asides)]);
  const paths = findPaths(withoutUrls);
  const repositories = findRepositories(withoutUrls, urls, paths);
  const dates = findDates(withoutUrls, today);
  const withoutDates = dates.reduce(
    (rest, { start, end }) => rest.slice(0, start) + ' '.repeat(end - start) + rest.slice(end),
    withoutUrls.replace(clockTime, (time) => ' '.repeat(time.length)),
  );
  const identifiers = findIdentifiers(blank(withoutDates, paths));
  const names = findNames(
    blank(
      withoutDates,
      identifiers.map((found) => found.text),
    ),
    lexicon,
  );
  const literals = [...urls, ...paths, ...identifiers.map((found) => found.text)];
  const quoted = findAll(text, /["“”«»„]([^"“”«»„]{2,80})["“”«»„]/g).map((found) => found.slice(1, -1).trim());

  const words = wordsOf(text);
  const focus = findFocus(words, new Set(names.flatMap(wordsOf)));
  const rest = blank(withoutDates, literals);
  const hasOthers = dates.length > 0 || literals.length > 0;
  const terms = toTerms(rest, names, focus, lexicon, hasOthers);
  for (const literal of literals) terms.push(literalTerm(literal));
  const [date] = dates;
  if (date !== undefined) {
    const weekday = weekdayIn(withoutUrls.slice(date.start, date.end).toLowerCase());
    terms.push({ kind: 'date', text: weekday ?? 'date', stem: 'date', weight: dateWeight, isFocus: false });
  }
  return {
    text: text.length < query.length ? query : text,
    terms: terms.slice(0, maxTerms),
    names,
    nameGroups: groupNames(names, text),
    keywords: toKeywords(terms, [...quoted, ...names], literals),
    identifiers,
    paths,
    urls,
    repositories,
    dates: dates.map(({ ranges }) => ranges),
    words,
    wants: findWanted(text.toLowerCase()),
  };
}

/** Each character that may be given back takes a part of the stack, so a word has an end. */
const anyWord = /[\u3040-\u30ff\u3400-\u9fff]|[[\p{L}\p{N}]--[\u3040-\u30ff\u3400-\u9fff]]{1,5000}/gv;

/** "to-do", "e-mail": one word, however it is spelt. The scanner of long texts does the same. */
const shortPrefix = /(?<![\p{L}\p{N}-])(\p{L}{1,2})-(?=\p{L})/gu;

/** Lower-case words; of scripts without spaces, characters. */
export function wordsOf(text: string): string[] {
  return (text.replace(shortPrefix, '$1').match(anyWord) ?? []).map((word) => word.toLowerCase());
}

function findAll(text: string, pattern: RegExp): string[] {
  return [...new Set(text.match(pattern) ?? [])];
}

/** The text with these parts taken out; places stay what they were. */
function blank(text: string, parts: readonly string[]): string {
  return parts.reduce((rest, part) => rest.split(part).join(' '.repeat(part.length)), text);
}

function findPaths(text: string): string[] {
  const rooted = findAll(text, /(?<![\w/])(?:~|\.{1,2})?\/[\w.@+-]+(?:\/[\w.@+-]*)*|(?<!\w)[A-Za-z]:\\[\w.\\ -]+/g);
  const files = findAll(text, /(?<![\w/])(?:[\w@+-]+\/)*[\w@+-][\w.@+-]*\.[A-Za-z][A-Za-z0-9]{0,5}(?![\w/])/g);
  const isFile = (path: string) => /\.[a-z][a-z0-9]{0,5}$/i.test(path) && !/^(?:e\.g|i\.e|vs|etc)$/i.test(path);
  return [...new Set([...rooted, ...files.filter(isFile)].map((path) => path.replace(/[.,]$/, '')))].filter(
    (path) => path.length > 2,
  );
}

function findRepositories(text: string, urls: readonly string[], paths: readonly string[]) {
  const inUrls = urls.flatMap(
    (url) => /^https?:\/\/[^/]+\/([\w.-]+)\/([\w.-]+)/.exec(url)?.slice(1, 3).join('/') ?? [],
  );
  const named = findAll(text, /(?<![\w/.-])[A-Za-z\d][\w.-]*\/[\w.-]+(?![\w/])/g).filter(
    (found) => !paths.includes(found),
  );
  return [...new Set([...named, ...inUrls])].map((found) => {
    const [owner = '', repo = ''] = found.split('/');
    return { owner, repo: repo.replace(/\.git$/, '') };
  });
}

/** Numbers and codes that name one thing. Years and small amounts ("3 servers") are left to the words. */
function findIdentifiers(text: string): Identifier[] {
  const found: Identifier[] = [];
  const pattern =
    /(?:(?<noun>\p{L}+)\s+)?(?:#|no\.?\s|nr\.?\s|number\s)?(?<text>\p{L}{1,10}[-_]\d[\w-]*|\p{L}+\d[\w.-]*\d|\p{L}{2,}\d{2,}\p{L}{2,}|\d+(?:[-_.]\w+)+|[0-9a-f]{7,40}|\d{2,}|(?<=#)\d+|\p{Lu}+\d+)(?![\p{L}\p{N}])/giu;
  for (const host of findAll(text, /(?<![\w.@-])(?:[a-z0-9-]+\.)+[a-z]{2,12}(?![\w-])/g)) found.push({ text: host });
  for (const name of findAll(
    text,
    /(?<![\p{L}\p{N}_])(?:[\p{L}\p{N}]+(?:_[\p{L}\p{N}]+)+|\p{Ll}+(?:\p{Lu}\p{Ll}+)+)(?![\p{L}\p{N}_])/gu,
  ))
    found.push({ text: name });
  for (const { groups = {}, index, 0: whole } of blank(
    text,
    found.map((name) => name.text),
  ).matchAll(pattern)) {
    const { noun, text: value = '' } = groups;
    if (!/\d/.test(value) || /^(?:19|20)\d\d$/.test(value)) continue;
    const isNamed = noun !== undefined && !stopWords.has(noun.toLowerCase());
    // "40 mm", "12 people" are amounts.
    const isAmount =
      /^\d{1,2}$/.test(value) &&
      (!isNamed || /^\s*(?:[a-z]{1,3}\b|[a-z]+s\b|%)/i.test(text.slice(index + whole.length)));
    if (isAmount && !whole.includes('#')) continue;
    found.push({ text: value, ...(isNamed ? { noun: noun.toLowerCase() } : {}) });
  }
  return found;
}

/** Capitalised words that do not merely begin a sentence. A text that capitalises everything names nothing. */
function findNames(text: string, lexicon: Lexicon): string[] {
  const found = [...text.matchAll(/[\p{L}\p{N}][\p{L}\p{N}'’&-]{0,5000}/gu)];
  const tokens = found.map((match, at) => ({
    text: match[0].replace(/['’]s?$/, ''),
    isFirst: match.index === 0 || /[.!?:]\s+$/.test(text.slice(0, match.index)),
    // "Dr. Berg" is one name, "Berlin, Paris" are two.
    joins: /^\.? $/.test(text.slice(endOf(found[at - 1]), match.index)),
    possessive: /['’]s?$/.test(match[0]),
  }));
  const isCapital = (word: string) => /^\p{Lu}/u.test(word) && !stopWords.has(word.toLowerCase());
  const capitals = tokens.filter(({ text: word }) => isCapital(word)).length;
  const isShouted = !/\p{Ll}/u.test(text);
  if (tokens.length > 4 && (isShouted || capitals > 0.6 * tokens.length)) return [];
  const names: string[] = [];
  let open: string[] = [];
  const close = () => {
    if (open.length > 0) names.push(open.join(' '));
    open = [];
  };
  for (const [at, token] of tokens.entries()) {
    const next = tokens[at + 1];
    const beginsName =
      !token.isFirst ||
      (next?.joins === true && isCapital(next.text)) ||
      lexicon.rarity(token.text.toLowerCase()) === 1;
    if (isCapital(token.text) && beginsName) {
      if (!token.joins) close();
      open.push(token.text);
      if (token.possessive) close();
    } else close();
  }
  close();
  return [...new Set(names)];
}

const endOf = (match: RegExpExecArray | undefined): number => (match?.index ?? 0) + (match?.[0].length ?? 0);

/** Those that the question lists with "and", "or" or commas between them. */
function groupNames(names: readonly string[], text: string): string[][] {
  const groups: string[][] = [];
  let end = -1;
  for (const name of names) {
    const at = text.indexOf(name, Math.max(0, end));
    const between = end < 0 || at < 0 ? '' : text.slice(end, at);
    const open = groups.at(-1);
    if (open !== undefined && /^\s*(?:,|and|or|&|,\s*and)\s+(?:the\s+)?$/i.test(between)) open.push(name);
    else groups.push([name]);
    if (at >= 0) end = at + name.length;
  }
  return groups;
}

/** "what phone number does …", "what is the phone number of …", "Ada's phone number": the words of what is asked for. */
function findFocus(words: readonly string[], names: ReadonlySet<string>): ReadonlySet<string> {
  const start = words.findIndex(
    (word, at) =>
      word === 'what' || word === 'which' || word === 'whats' || (words[at - 1] === 'how' && amounts.has(word)),
  );
  if (start < 0) return new Set();
  const rest = words.slice(start + 1);
  // "What did support recommend?" asks for what they did.
  if (words[start] === 'what' && acts.has(rest[0] ?? '')) return new Set();
  // "What was changed?", too.
  const isPassive = passives.has(rest[0] ?? '') && (/ed$/.test(rest[1] ?? '') || isIrregularForm(rest[1] ?? ''));
  if (words[start] === 'what' && isPassive) return new Set();
  const skipped = rest.findIndex((word) => !beforeFocus.has(word));
  if (skipped < 0) return new Set();
  const phrase = rest.slice(skipped);
  // "how much does it cost": not the thing is asked for but its measure.
  if (words[start - 1] === 'how' && beforeFocus.has(rest[0] ?? '')) return new Set();
  const end = phrase.findIndex((word, at) => focusEnds.has(word) || (at > 0 && isPastForm(word)));
  const whole = phrase.slice(0, end < 0 ? phrase.length : end);
  const head = whole.slice(whole.lastIndexOf('s') + 1);
  // "the date of birth": what is measured says more than the measure.
  const measured =
    phrase[end] === 'of' && head.every((word) => weakWords.has(word) || shapes.has(stem(word)))
      ? phrase[end + 1]
      : undefined;
  const isNoun =
    measured !== undefined &&
    /\D/.test(measured) &&
    !focusEnds.has(measured) &&
    !stopWords.has(measured) &&
    !names.has(measured);
  return new Set((isNoun ? [measured] : head).filter((word) => !stopWords.has(word) && !weakWords.has(word)));
}

const isPastForm = (word: string): boolean => isIrregularForm(word) || (word.length > 5 && word.endsWith('ed'));
const acts = new Set('did do does will can should would has have had happened happens'.split(' '));
const passives = new Set(['was', 'were', 'is', 'are', 'be']);
const amounts = new Set('long much many old big large fast far often high deep heavy wide'.split(' '));
const beforeFocus = new Set('is are was were s the our a an my your of do does did will can'.split(' '));
const focusEnds = new Set(
  (
    'of for in on at from by with to about does do did is are was were has have had can could should would will the ' +
    'our we i you they that who when where if as'
  ).split(' '),
);

const openers = new Set('please can could you would i want to'.split(' '));

/** Small words count only where there is nothing else. */
function toTerms(
  text: string,
  names: readonly string[],
  focus: ReadonlySet<string>,
  lexicon: Lexicon,
  hasOthers: boolean,
): Term[] {
  const inNames = new Set(names.flatMap((name) => wordsOf(name)));
  const seen = new Set<string>();
  const terms: Term[] = [];
  const words = wordsOf(text);
  const opening = words.findIndex((word) => !openers.has(word));
  const head = [...focus].at(-1);
  const carrying = words.filter(
    (word, at) => (!stopWords.has(word) && !(at === opening && requests.has(word))) || inNames.has(word),
  );
  const used = carrying.length > 0 || hasOthers ? carrying : words;
  for (const [at, word] of used.entries()) {
    const stemmed = stem(toInfinitive(word));
    if (seen.has(stemmed)) continue;
    seen.add(stemmed);
    const isName = inNames.has(word);
    const rarity = lexicon.rarity(word);
    // What is done is said in more ways than what it is done to.
    const isVerbForm = !isName && ((word.length > 5 && /(?:ed|ing)$/.test(word)) || isIrregularForm(word));
    const full = Math.max(isName ? nameWeight : minWeight, rarity);
    const weight =
      weakWords.has(word) && !isName
        ? weakWeight
        : isVerbForm
          ? full * verbShare
          : /^\d+$/.test(word)
            ? numberWeight
            : full;
    const own = isName ? undefined : shapes.get(stemmed);
    terms.push({
      kind: isName ? 'name' : 'word',
      text: word,
      stem: stemmed,
      weight,
      isFocus: focus.has(word),
      ...(word === head ? { isHead: true } : {}),
      ...(own === undefined
        ? {}
        : { shapes: own, isDemanded: demanded.has(stemmed) && !isQualifier(used[at + 1], words, word) }),
    });
  }
  return terms;
}

/** The telephone of "telephone extension" only says what kind of extension; that of "phone number" is what is asked for. */
function isQualifier(next: string | undefined, words: readonly string[], word: string): boolean {
  if (next === undefined || /^(?:numbers?|address(?:es)?)$/.test(next)) return false;
  return words[words.indexOf(word) + 1] === next;
}

const money = /[$€£¥]\s?\d|\d\s?(?:€|\$|£|%|eur|euros?|usd|dollars?|gbp|pounds?|chf|sek|nok|dkk|cents?)(?![\p{L}])/iu;
const measure =
  /\d\s?(?:mm|cm|m|km|g|kg|t|l|ml|°|v|a|w|kw|kwh|hz|mhz|gb|mb|tb|kb|ms|s|min|h|%|bar|pa)(?![\p{L}])|\d\s(?:metres?|meters?|litres?|liters?|grams?|kilos?|tonnes?|degrees|volts?|watts?|hours?|minutes?|days?|weeks?|months?|years?|seconds?)\b/iu;
const shapeOf: readonly [string, RegExp][] = [
  ['version release', /\bv?\d+\.\d+(?:\.\d+)?/],
  ['price cost fee amount salary budget expensive charge pay rate allowance fare', money],
  ['email mail address', /[\w.+-]+@[\w-]+\.\w/],
  ['phone telephone mobile fax', /(?<![\w-])(?!\d{4}-\d\d-\d\d)\+?\d[\d ()/-]{6,}\d(?![\w-])/],
  [
    'gram kilogram kilo litre liter metre meter centimetre millimetre hour minute second degree volt watt percent tonne',
    measure,
  ],
  ['date day', /\b\d{4}-\d\d-\d\d\b|\b\d{1,2}\.? (?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)/i],
  ['time hour clock', /\b\d{1,2}[:.]\d\d\b/],
  ['url link website address', /https?:\/\/\S|\bwww\./],
  ['percentage percent share rate discount', /\d\s?(?:%|per ?cent)/],
  [
    'weight height length width size depth distance temperature voltage pressure speed duration fast long far high heavy deep',
    measure,
  ],
];
/** A word may have several: an address is one of mail or of the web. */
const shapes: ReadonlyMap<string, readonly RegExp[]> = new Map(
  [...new Set(shapeOf.flatMap(([words]) => words.split(' ')))].map((word) => [
    stem(word),
    shapeOf.filter(([words]) => words.split(' ').includes(word)).map(([, shape]) => shape),
  ]),
);

const demanded = new Set('price cost fee salary phone telephone email'.split(' ').map(stem));

const dateWeight = 0.8;
const weakWeight = 0.15;
const minWeight = 0.3;
const nameWeight = 1;
const verbShare = 0.7;
const numberWeight = 0.5;

function literalTerm(literal: string): Term {
  return { kind: 'literal', text: literal.toLowerCase(), stem: literal.toLowerCase(), weight: 1.2, isFocus: false };
}

function toKeywords(terms: readonly Term[], phrases: readonly string[], literals: readonly string[]): string[] {
  const inPhrases = new Set(phrases.flatMap(wordsOf));
  const words = terms
    .filter((term) => term.kind === 'word' && term.weight > weakWeight && !inPhrases.has(term.text))
    .toSorted((a, b) => b.weight - a.weight)
    .map((term) => term.text);
  const all = [...literals, ...phrases, ...words];
  return (all.length > 0 ? [...new Set(all)] : terms.map((term) => term.text)).slice(0, maxKeywords);
}

const wantedPatterns: readonly [Wanted, RegExp][] = [
  ['count', /\bhow many\b|(?:^|\b(?:the|is|total|what)\s)number of\b|\bcount\b/],
  ['sum', /\btotal\b|\bsum\b|\bin all\b|\baltogether\b|\bhow much\b/],
  ['average', /\baverage\b|\bmean\b/],
  [
    'most',
    /\bmost\b|\bhighest\b|\blargest\b|\bbiggest\b|\bmax(?:imum)?\b|\btop\b|\blongest\b|\bgreatest\b|\bpriciest\b|\bheaviest\b|\btallest\b/,
  ],
  ['least', /\bleast\b|\blowest\b|\bsmallest\b|\bmin(?:imum)?\b|\bcheapest\b|\bshortest\b|\bfewest\b|\blightest\b/],
  ['latest', /\blatest\b|\bnewest\b|\bmost recent(?:ly)?\b|\blast\b|\byoungest\b/],
  ['earliest', /\bearliest\b|\boldest\b|\bfirst\b/],
  ['when', /\bwhen\b|\bwhat (?:date|day|time)\b|\bwhich day\b|\bdeadline\b/],
  ['who', /\bwho(?:m|se)?\b/],
  ['where', /\bwhere\b/],
];

function findWanted(text: string): Set<Wanted> {
  return new Set(wantedPatterns.filter(([, pattern]) => pattern.test(text)).map(([wanted]) => wanted));
}
