/**
 * Words of long texts, without making a string of each: a text of five kilobytes has a thousand words, and nearly all of
 * them were met before. One pass over the code units.
 */

const other = 1;
const letter = 2;
/** Kana and Han are written without spaces: each character is a word. */
const alone = 3;

/** By code unit; 0 until it is met. */
const kinds = new Uint8Array(0x10000);

function findKind(code: number): number {
  const character = String.fromCharCode(code);
  // Halves of a pair are letters: most of what lies beyond is.
  const isSurrogate = code >= 0xd800 && code <= 0xdfff;
  const isLetter = isSurrogate || /[\p{L}\p{N}]/u.test(character);
  const kind = /[\u3040-\u30ff\u3400-\u9fff]/.test(character) ? alone : isLetter ? letter : other;
  kinds[code] = kind;
  return kind;
}

/** The words of a text, in their order. */
export interface ScannedWords {
  count: number;
  /**
   * The same for the same letters. Small integers, which are compared fastest; of twenty thousand words, two in a
   * million pairs share one.
   */
  keys: Int32Array;
  starts: Int32Array;
  ends: Int32Array;
}

export function scanWords(text: string): ScannedWords {
  const codes = toCodes(text);
  const { keys, starts, ends } = roomFor(codes.length);
  let count = 0;
  let start = -1;
  let hash = 0;
  for (let at = 0; at <= codes.length; at += 1) {
    const code = at < codes.length ? (codes[at] as number) : space;
    const kind = (kinds[code] as number) || findKind(code);
    if (kind === letter) {
      if (start < 0) {
        start = at;
        hash = 0x811c9dc5;
      }
      hash = Math.imul(hash ^ code, 0x01000193);
      continue;
    }
    if (code === hyphen && start >= 0 && joins(codes, start, at)) continue;
    if (start >= 0) {
      keys[count] = keyOf(hash, at - start);
      starts[count] = start;
      ends[count] = at;
      count += 1;
      start = -1;
    }
    if (kind === alone) {
      keys[count] = keyOf(code, 0);
      starts[count] = at;
      ends[count] = at + 1;
      count += 1;
    }
  }
  return { count, keys: keys.slice(0, count), starts: starts.slice(0, count), ends: ends.slice(0, count) };
}

const space = 0x20;

let scratch = makeRoom(8_192);

function makeRoom(words: number): Omit<ScannedWords, 'count'> {
  return { keys: new Int32Array(words), starts: new Int32Array(words), ends: new Int32Array(words) };
}

/** A text has at most as many words as letters. Room for very long ones is not kept. */
function roomFor(words: number): Omit<ScannedWords, 'count'> {
  if (words > scratch.keys.length && words <= keptRoom) scratch = makeRoom(words);
  return words <= scratch.keys.length ? scratch : makeRoom(words);
}

const keptRoom = 131_072;

const hyphen = 0x2d;

/** "e-mail" is one word: one or two letters before a hyphen belong to what follows. */
function joins(codes: Uint16Array, start: number, at: number): boolean {
  if (at - start > 2 || codes[start - 1] === hyphen || isLetter(codes[start - 1])) return false;
  return isLetter(codes[start]) && isLetter(codes[at - 1]) && isLetter(codes[at + 1]);
}

const isLetter = (code: number | undefined): boolean => code !== undefined && /\p{L}/u.test(String.fromCharCode(code));

const keyOf = (hash: number, length: number): number => (Math.imul(hash, 0x9e3779b1) + length) | 0;

/** Never 0. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash === 0 ? 1 : hash;
}

/** Loops over code units run several times faster than over the characters of a string. */
export function toCodes(text: string): Uint16Array {
  const bytes = Buffer.from(text, 'utf16le');
  return new Uint16Array(bytes.buffer, bytes.byteOffset, text.length);
}

/**
 * What is worked out for a word is kept until another word needs its place. Strangers write the texts, so there are only
 * so many places.
 */
export function createWordMemory<T extends object | number>(
  make: (word: string) => T,
): (key: number, text: string, start: number, end: number) => T {
  const keys = new Int32Array(2 ** placeBits);
  const made = new Array<T | undefined>(2 ** placeBits);
  return (key, text, start, end) => {
    const first = key >>> (32 - placeBits);
    const second = first ^ 1;
    const before = keys[first] === key ? made[first] : keys[second] === key ? made[second] : undefined;
    if (before !== undefined) return before;
    const place = made[first] === undefined ? first : second;
    const value = make(text.slice(start, end).replace('-', ''));
    keys[place] = key;
    made[place] = value;
    return value;
  };
}

const placeBits = 15;
