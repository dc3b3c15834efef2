/**
 * Scans JSON without building values: positions of members and depth, in one pass over the bytes, without recursion.
 * It accepts a subset of what `JSON.parse` accepts; the rest is left to the parser.
 */
import { maxBodyDepth } from './json-size.ts';

export interface Member {
  name: string;
  /** Start of the name, start of the value, end of the value. */
  start: number;
  value: number;
  end: number;
}

export class JsonScanner {
  readonly bytes: Buffer;
  /** A number that may lose precision in JavaScript. */
  hasLongNumber = false;
  /** A member that is, or may be, named `uri`. */
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

/** Each `skip…` returns the index after the value; -1 if the text is invalid or needs the parser. */
export function skipSpace({ bytes }: JsonScanner, from: number): number {
  let at = from;
  while (at < bytes.length && isSpace(bytes[at])) at += 1;
  return at;
}

/**
 * Collects the members of an object in `members`. Also returns -1 for duplicate names and names with escapes, which
 * parsers treat differently. `skip` advances over a value.
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
    const name = knownName(bytes, start + 1, afterName - 1) ?? bytes.toString('utf8', start + 1, afterName - 1);
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

/** Members that most answers have: to make a string costs more than to compare the bytes. */
const knownNames = [
  ...['jsonrpc', 'id', 'result', 'content', 'isError', 'structuredContent', '_meta', 'resultType'],
  ...['ttlMs', 'cacheScope', 'contents', 'messages', 'tools', 'complete'],
];
const namesByLength: string[][] = [];
for (const name of knownNames) namesByLength[name.length] = [...(namesByLength[name.length] ?? []), name];

/** The text of these bytes if it is one of the known ones. */
export function knownName(bytes: Buffer, start: number, end: number): string | undefined {
  const names = namesByLength[end - start];
  if (names === undefined) return undefined;
  for (const name of names) if (isText(bytes, start, name)) return name;
  return undefined;
}

export function isText(bytes: Buffer, start: number, text: string): boolean {
  for (let at = 0; at < text.length; at += 1) if (bytes[start + at] !== text.charCodeAt(at)) return false;
  return true;
}

/** `depth` is the number of enclosing levels. */
export function skipValue(scanner: JsonScanner, from: number, depth: number): number {
  const { bytes } = scanner;
  let at = from;
  let level = depth;
  for (;;) {
    // Start of a value.
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
    // End of a value: its container continues or ends as well.
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
      // In ASCII, the closing bracket is two code points after the opening one.
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

/** Undefined if it needs the parser. */
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

/** Objects with more members are left to the parser, because names are compared pairwise. */
const maxMembers = 32;
const maxSafeDigits = 15;
/** Open containers by level; shared, because scans are synchronous. */
const containers = new Uint8Array(maxBodyDepth + 1);

const isSpace = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= zero && byte <= 0x39;

/**
 * Tests four bytes at once: sets the highest bit of bytes that end a string, start an escape or are control characters.
 * Bits above the first match may be false positives. Flipping a bit moves the quotation mark next to the control
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

/** 0 if there is none. */
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
