/**
 * Finds its way through JSON without building values: where members begin and end, how deep it goes. One pass over the
 * bytes, no recursion. What it accepts is exactly what `JSON.parse` accepts, short of a few things that it leaves to it.
 */
import { maxBodyDepth } from './json-size.ts';

export interface Member {
  name: string;
  /** Where its name begins, where its value begins, and where that ends. */
  start: number;
  value: number;
  end: number;
}

export class JsonScanner {
  readonly bytes: Buffer;
  /** A number that JavaScript may not be able to hold. */
  hasLongNumber = false;
  /** A member with the name `uri`, or perhaps with it. */
  hasUri = false;
  readonly view: DataView;
  /** Of the string that was skipped last. */
  hasEscape = false;
  /** More levels than we read. */
  isTooDeep = false;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }
}

/** Each `skip…` begins at an index and returns the one behind; -1 where the text is wrong or the parser must be asked. */
export function skipSpace({ bytes }: JsonScanner, from: number): number {
  let at = from;
  while (at < bytes.length && isSpace(bytes[at])) at += 1;
  return at;
}

/**
 * The members of an object, into `members`. -1 also where two have the same name or one is written with escapes: readers
 * differ in what they make of that. `skip` moves on over a member's value.
 */
export function skipObject(
  scanner: JsonScanner,
  from: number,
  members: Member[],
  skip: (name: string, from: number) => number,
): number {
  const { bytes } = scanner;
  if (bytes[from] !== braceOpen) return -1;
  let at = skipSpace(scanner, from + 1);
  if (bytes[at] === braceClose) return at + 1;
  for (;;) {
    const start = at;
    scanner.hasEscape = false;
    const afterName = skipString(scanner, start);
    if (afterName === -1 || scanner.hasEscape || members.length === maxMembers) return -1;
    const name = bytes.toString('utf8', start + 1, afterName - 1);
    for (const other of members) if (other.name === name) return -1;
    at = skipSpace(scanner, afterName);
    if (bytes[at] !== colon) return -1;
    const value = skipSpace(scanner, at + 1);
    const end = skip(name, value);
    if (end === -1) return -1;
    members.push({ name, start, value, end });
    at = skipSpace(scanner, end);
    const next = bytes[at];
    if (next === braceClose) return at + 1;
    if (next !== comma) return -1;
    at = skipSpace(scanner, at + 1);
  }
}

/** Within `depth` levels already. */
export function skipValue(scanner: JsonScanner, from: number, depth: number): number {
  const { bytes } = scanner;
  let at = from;
  let level = depth;
  for (;;) {
    // A value begins here.
    let first = bytes[at];
    if (isSpace(first)) {
      at = skipSpace(scanner, at);
      first = bytes[at];
    }
    if (first === quote) at = skipString(scanner, at);
    else if (first === braceOpen || first === bracketOpen) {
      level += 1;
      if (level > maxBodyDepth) {
        scanner.isTooDeep = true;
        return -1;
      }
      containers[level] = first;
      at = skipSpace(scanner, at + 1);
      if (bytes[at] === first + 2) {
        at += 1;
        level -= 1;
      } else {
        if (first === braceOpen) at = skipName(scanner, at);
        if (at === -1) return -1;
        continue;
      }
    } else at = isDigit(first) || first === minus ? skipNumber(scanner, at) : skipWord(scanner, at);
    if (at === -1) return -1;
    // A value ended here: what it stands in goes on, or ends as well.
    for (;;) {
      if (level === depth) return at;
      const container = containers[level] ?? 0;
      let next = bytes[at];
      if (isSpace(next)) {
        at = skipSpace(scanner, at);
        next = bytes[at];
      }
      at += 1;
      if (next === comma) break;
      // What closes a container stands two places behind what opens it.
      if (next !== container + 2) return -1;
      level -= 1;
    }
    if (containers[level] !== braceOpen) continue;
    at = skipName(scanner, skipSpace(scanner, at));
    if (at === -1) return -1;
  }
}

function skipName(scanner: JsonScanner, from: number): number {
  const { bytes } = scanner;
  scanner.hasEscape = false;
  let at = skipString(scanner, from);
  if (at === -1) return -1;
  if (scanner.hasEscape || (at - from === 5 && isUri(bytes, from + 1))) scanner.hasUri = true;
  if (isSpace(bytes[at])) at = skipSpace(scanner, at);
  return bytes[at] === colon ? at + 1 : -1;
}

const isUri = (bytes: Buffer, at: number): boolean =>
  bytes[at] === 0x75 && bytes[at + 1] === 0x72 && bytes[at + 2] === 0x69;

function skipString(scanner: JsonScanner, from: number): number {
  const { bytes, view } = scanner;
  const lastWord = bytes.length - 4;
  const lastPair = bytes.length - 8;
  if (bytes[from] !== quote) return -1;
  let at = from + 1;
  for (;;) {
    while (at <= lastPair && (specialIn(view.getInt32(at, true)) | specialIn(view.getInt32(at + 4, true))) === 0)
      at += 8;
    if (at <= lastWord) {
      const special = specialIn(view.getInt32(at, true));
      at += special === 0 ? 4 : (31 - Math.clz32(special & -special)) >> 3;
    }
    if (at >= bytes.length) return -1;
    const byte = bytes[at] ?? 0;
    if (byte === quote) return at + 1;
    if (byte < 0x20) return -1;
    if (byte !== backslash) at += 1;
    else {
      scanner.hasEscape = true;
      const length = escapeLength(bytes, at);
      if (length === 0) return -1;
      at += length;
    }
  }
}

function skipNumber(scanner: JsonScanner, start: number): number {
  const { bytes } = scanner;
  let from = bytes[start] === minus ? start + 1 : start;
  let at = afterDigits(bytes, from);
  if (at === from || (bytes[from] === zero && at > from + 1)) return -1;
  if (bytes[at] === dot) {
    from = at + 1;
    at = afterDigits(bytes, from);
    if (at === from) return -1;
  }
  if (bytes[at] === 0x65 || bytes[at] === 0x45) {
    scanner.hasLongNumber = true;
    const sign = bytes[at + 1];
    from = at + (sign === 0x2b || sign === minus ? 2 : 1);
    at = afterDigits(bytes, from);
    if (at === from) return -1;
  }
  if (at - start > maxSafeDigits) scanner.hasLongNumber = true;
  return at;
}

function skipWord({ bytes }: JsonScanner, from: number): number {
  const first = bytes[from];
  const word = first === 0x74 ? 'true' : first === 0x66 ? 'false' : first === 0x6e ? 'null' : undefined;
  if (word === undefined) return -1;
  for (let offset = 1; offset < word.length; offset += 1)
    if (bytes[from + offset] !== word.charCodeAt(offset)) return -1;
  return from + word.length;
}

/** Undefined where only the parser can tell what this is. */
export function scanDocument(bytes: Buffer): { hasLongNumber: boolean } | undefined {
  const scanner = new JsonScanner(bytes);
  const at = skipValue(scanner, 0, 0);
  return at !== -1 && skipSpace(scanner, at) === bytes.length ? scanner : undefined;
}

const quote = 0x22;
const comma = 0x2c;
const minus = 0x2d;
const dot = 0x2e;
const zero = 0x30;
const colon = 0x3a;
const bracketOpen = 0x5b;
const backslash = 0x5c;
export const braceOpen = 0x7b;
const braceClose = 0x7d;

/** Objects with more members than this are the parser's: names are compared with one another. */
const maxMembers = 32;
const maxSafeDigits = 15;
/** What is open at each level; one for all, because no scan is interrupted. */
const containers = new Uint8Array(maxBodyDepth + 1);

const isSpace = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= zero && byte <= 0x39;

/**
 * Four bytes at once: the highest bit of those that end a string, begin an escape or are control characters. Above the
 * first of them there may be others that are none. To flip a bit makes the quotation mark the neighbour of the control
 * characters, so that one comparison finds both.
 */
function specialIn(word: number): number {
  const flipped = word ^ 0x02020202;
  const backslashes = word ^ 0x5c5c5c5c;
  return (((flipped - 0x21212121) & ~flipped) | ((backslashes - 0x01010101) & ~backslashes)) & 0x80808080;
}

function afterDigits(bytes: Buffer, from: number): number {
  let at = from;
  while (isDigit(bytes[at])) at += 1;
  return at;
}

/** 0 where it is none. */
function escapeLength(bytes: Buffer, at: number): number {
  const byte = bytes[at + 1] ?? 0;
  if (byte !== 0x75) return simpleEscapes[byte] === 1 ? 2 : 0;
  for (let digit = at + 2; digit < at + 6; digit += 1) if (hexDigits[bytes[digit] ?? 0] !== 1) return 0;
  return 6;
}

const simpleEscapes = among('"\\/bfnrt');
const hexDigits = among('0123456789abcdefABCDEF');

function among(characters: string): Uint8Array {
  const table = new Uint8Array(256);
  for (const character of characters) table[character.charCodeAt(0)] = 1;
  return table;
}
