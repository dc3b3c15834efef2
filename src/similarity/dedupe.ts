/**
 * Which results say the same, such that nothing a reader could need is lost. With `n(x)` the normalised text:
 * 1. Items are equal when `n(a) = n(b)`, or when both have the same title and one of them repeats it above the same text.
 *    Equal items of one answer are rows and stay; all others become one.
 * 2. What different servers say is also merged when `1 - levenshtein(n(a), n(b)) / max(|n(a)|, |n(b)|) > threshold` and
 *    the words of one are those of the other, in the same order, with at most ordinary words more: no number, date,
 *    name, identifier or negation.
 */

import { normalize } from '../unicode.ts';
import { wordsOfItem } from './item-words.ts';
import { distanceAtMost } from './levenshtein.ts';
import { stem } from './stem.ts';
import { stopWords } from './stop-words.ts';
import { createWordMemory, hashOf } from './word-scanner.ts';

export interface Comparable {
  content: string;
  title?: string;
  server: string;
  answer?: number;
}

interface Deduplication {
  /** Indexes into the input, in the order of their first members; the first of each is the one to show. */
  clusters: number[][];
  /** False when the limit of work was reached and the rest was only compared exactly. */
  complete: boolean;
}

interface DedupeOptions {
  threshold?: number;
  /** Bounds the time that hostile answers can take: word comparisons and cells of distances. */
  maxSteps?: number;
}

export const defaultThreshold = 0.8;
const defaultMaxSteps = 60_000_000;

export function dedupe(
  items: readonly Comparable[],
  { threshold = defaultThreshold, maxSteps = defaultMaxSteps }: DedupeOptions = {},
): Deduplication {
  const texts = items.map(prepare);
  const work = { left: maxSteps };
  const clusters: number[][] = [];
  for (const equal of groupEqual(items, texts)) {
    const text = texts[equal[0] ?? 0];
    const servers = new Set(equal.map((index) => items[index]?.server));
    const home = clusters.find(
      (members) =>
        members.every((member) => !servers.has(items[member]?.server)) &&
        isNear(text, texts[members[0] ?? 0], threshold, work),
    );
    if (home === undefined) clusters.push(equal);
    else home.push(...equal);
  }
  return { clusters: clusters.map((members) => maxFirst(members, texts)), complete: work.left > 0 };
}

/** In the order of their first members. */
function groupEqual(items: readonly Comparable[], texts: readonly PreparedText[]): number[][] {
  const groups: number[][] = [];
  const byHash = new Map<number, number[][]>();
  for (const [index, text] of texts.entries()) {
    const { server, answer } = items[index] ?? {};
    const alike = byHash.get(text.hash) ?? [];
    const home = alike.find(
      (members) =>
        members.every((member) => items[member]?.server !== server || items[member]?.answer !== answer) &&
        isEqual(text, texts[members[0] ?? 0]),
    );
    if (home !== undefined) {
      home.push(index);
      continue;
    }
    const group = [index];
    groups.push(group);
    byHash.set(text.hash, [...alike, group]);
  }
  return groups;
}

/** What has a few ordinary words more is shown, so that nothing is lost. */
function maxFirst(members: readonly number[], texts: readonly PreparedText[]): number[] {
  const longest = members.reduce(
    (best, member) => ((texts[member]?.words.length ?? 0) > (texts[best]?.words.length ?? 0) ? member : best),
    members[0] ?? 0,
  );
  return [longest, ...members.filter((member) => member !== longest)];
}

interface PreparedText {
  content: string;
  title: string;
  /** The content without its own title above it. */
  body: string;
  /** Of the words of the body: equal texts have equal ones. */
  hash: number;
  /** Hashes of the words that carry meaning, in their order. */
  words: Int32Array;
  /** By word: may it be missing on the other side? */
  isOrdinary: Uint8Array;
  /** By word: where it ends in the content. */
  ends: Int32Array;
  /** How many letters all words have together. */
  letters: number;
}

const negations = new Set('not no never none nothing without cannot neither nor except unless'.split(' '));

interface WordInfo {
  /** Of the stem; 0 for a word that carries no meaning. */
  hash: number;
  isOrdinary: boolean;
}

const wordInfo = createWordMemory((word): WordInfo => {
  const lower = word.toLowerCase();
  const isSmall = stopWords.has(lower) && !negations.has(lower);
  // A name is what has a capital; a number or an identifier has a digit.
  const isOrdinary = word === lower && !/\d/.test(word) && !negations.has(lower);
  return { hash: isSmall ? 0 : hashOf(stem(lower)), isOrdinary };
});

function prepare(item: Comparable): PreparedText {
  const { content, title = '' } = item;
  const scanned = wordsOfItem(item);
  const words = new Int32Array(scanned.count);
  const isOrdinary = new Uint8Array(scanned.count);
  const ends = new Int32Array(scanned.count);
  const body = title !== '' && content.startsWith(`${title}\n`) ? content.slice(title.length + 1) : content;
  const bodyStart = content.length - body.length;
  let count = 0;
  let all = 0;
  let letters = 0;
  for (let at = 0; at < scanned.count; at += 1) {
    const start = scanned.starts[at] ?? 0;
    const end = scanned.ends[at] ?? 0;
    const word = wordInfo(scanned.keys[at] ?? 0, content, start, end);
    letters += end - start;
    if (word.hash === 0) continue;
    if (start >= bodyStart) all = Math.imul(all ^ word.hash, 0x01000193);
    words[count] = word.hash;
    isOrdinary[count] = word.isOrdinary ? 1 : 0;
    ends[count] = end;
    count += 1;
  }
  return { content, title, body, hash: all, words: words.subarray(0, count), isOrdinary, ends, letters };
}

/** The text as it is compared: lower case, white space collapsed. */
export function normalise(text: string): string {
  const plain = /[\u0080-\uffff]/.test(text) ? normalize(text, 'NFKC') : text;
  return plain.toLowerCase().replace(/\s+/g, ' ').trim();
}

function isEqual(a: PreparedText, b: PreparedText | undefined): boolean {
  if (b === undefined) return false;
  const isSame = (x: string, y: string): boolean => x === y || normalise(x) === normalise(y);
  return isSame(a.content, b.content) || (a.title === b.title && isSame(a.body, b.body));
}

function isNear(
  a: PreparedText | undefined,
  b: PreparedText | undefined,
  threshold: number,
  work: { left: number },
): boolean {
  if (a === undefined || b === undefined || work.left <= 0) return false;
  const [short, long] = a.words.length <= b.words.length ? [a, b] : [b, a];
  // Every extra word costs at least a letter and a space.
  const maxExtra = maxDistance(Math.max(a.content.length, b.content.length), threshold) / 2;
  if (long.words.length - short.words.length > maxExtra || !isContained(short, long, work)) return false;
  // Without what is between its words a text is shorter than it is when normalised, and the limit lower.
  if (distanceByWords(short, long) <= maxDistance(Math.max(a.letters, b.letters), threshold)) return true;
  const [x, y] = [normalise(a.content), normalise(b.content)];
  return distanceAtMost(x, y, maxDistance(Math.max(x.length, y.length), threshold), work);
}

/** Are the words of `short` those of `long`, in order, but for ordinary ones? */
function isContained(short: PreparedText, long: PreparedText, work: { left: number }): boolean {
  let extraLeft = long.words.length - short.words.length;
  let at = 0;
  for (let index = 0; index < long.words.length; index += 1) {
    work.left -= 1;
    if (at < short.words.length && short.words[at] === long.words[index]) {
      at += 1;
      continue;
    }
    extraLeft -= 1;
    if (extraLeft < 0 || long.isOrdinary[index] === 0) return false;
  }
  return at === short.words.length;
}

/**
 * The distance of texts of which one contains the words of the other, if whatever lies between words that match were
 * replaced as a whole: never less than the real one.
 */
function distanceByWords(short: PreparedText, long: PreparedText): number {
  let distance = 0;
  let at = 0;
  let [shortFrom, longFrom] = [0, 0];
  const compareTo = (shortTo: number, longTo: number): void => {
    const [x, y] = [short.content.slice(shortFrom, shortTo), long.content.slice(longFrom, longTo)];
    if (x !== y) distance += Math.max(x.length, y.length);
    [shortFrom, longFrom] = [shortTo, longTo];
  };
  for (let index = 0; index < long.words.length && at < short.words.length; index += 1) {
    if (short.words[at] !== long.words[index]) continue;
    compareTo(short.ends[at] ?? 0, long.ends[index] ?? 0);
    at += 1;
  }
  compareTo(short.content.length, long.content.length);
  return distance;
}

/** The largest distance that still counts as similar, by the very expression of the definition. */
function maxDistance(length: number, threshold: number): number {
  if (length === 0) return 0;
  let distance = Math.ceil((1 - threshold) * length) + 1;
  while (distance >= 0 && !(1 - distance / length > threshold)) distance -= 1;
  return distance;
}
