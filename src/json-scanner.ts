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

/** Its methods move on from where it is and say whether that worked; false may also mean: ask the parser. */
export class JsonScanner {
  readonly bytes: Buffer;
  at = 0;
  /** A number that JavaScript may not be able to hold. */
  hasLongNumber = false;
  /** A member with the name `uri`, or perhaps with it. */
  hasUri = false;
  readonly #view: DataView;
  #hasEscape = false;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** After the value that ends here, nothing follows. */
  atEnd(): boolean {
    this.skipSpace();
    return this.at === this.bytes.length;
  }

  skipSpace(): void {
    const { bytes } = this;
    let { at } = this;
    for (let byte = bytes[at]; byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09; byte = bytes[at])
      at += 1;
    this.at = at;
  }

  /**
   * The members of the object that begins here. Undefined where two have the same name or one is written with escapes:
   * readers differ in what they make of that. `skip` moves on over a member's value.
   */
  members(skip: (name: string) => boolean): Member[] | undefined {
    const { bytes } = this;
    if (bytes[this.at] !== braceOpen) return undefined;
    this.at += 1;
    this.skipSpace();
    const members: Member[] = [];
    if (bytes[this.at] === braceClose) {
      this.at += 1;
      return members;
    }
    for (;;) {
      const start = this.at;
      this.#hasEscape = false;
      if (!this.#skipString() || this.#hasEscape || members.length === maxMembers) return undefined;
      const name = bytes.toString('utf8', start + 1, this.at - 1);
      for (const other of members) if (other.name === name) return undefined;
      this.skipSpace();
      if (bytes[this.at] !== colon) return undefined;
      this.at += 1;
      this.skipSpace();
      const value = this.at;
      if (!skip(name)) return undefined;
      members.push({ name, start, value, end: this.at });
      this.skipSpace();
      const next = bytes[this.at];
      this.at += 1;
      if (next === braceClose) return members;
      if (next !== comma) return undefined;
      this.skipSpace();
    }
  }

  /** Within `depth` levels already. */
  skipValue(depth: number): boolean {
    const { bytes } = this;
    const outside = depth;
    let level = depth;
    for (;;) {
      // A value begins here.
      this.skipSpace();
      const first = bytes[this.at];
      if (first === quote) {
        if (!this.#skipString()) return false;
      } else if (first === braceOpen || first === bracketOpen) {
        level += 1;
        if (level > maxBodyDepth) return false;
        const isObject = first === braceOpen;
        containers[level] = first;
        this.at += 1;
        this.skipSpace();
        if (bytes[this.at] === (isObject ? braceClose : bracketClose)) {
          this.at += 1;
          level -= 1;
        } else if (!isObject || this.#skipName()) continue;
        else return false;
      } else if (first === minus || isDigit(first)) {
        if (!this.#skipNumber()) return false;
      } else if (!this.#skipWord(first)) return false;
      // A value ended here: what it stands in goes on, or ends as well.
      for (;;) {
        if (level === outside) return true;
        this.skipSpace();
        const isObject = containers[level] === braceOpen;
        const next = bytes[this.at];
        this.at += 1;
        if (next === comma) {
          if (!isObject) break;
          this.skipSpace();
          if (this.#skipName()) break;
          return false;
        }
        if (next !== (isObject ? braceClose : bracketClose)) return false;
        level -= 1;
      }
    }
  }

  #skipName(): boolean {
    const { bytes } = this;
    const start = this.at;
    this.#hasEscape = false;
    if (!this.#skipString()) return false;
    if (this.#hasEscape) this.hasUri = true;
    else if (
      this.at - start === 5 &&
      bytes[start + 1] === 0x75 &&
      bytes[start + 2] === 0x72 &&
      bytes[start + 3] === 0x69
    )
      this.hasUri = true;
    this.skipSpace();
    if (bytes[this.at] !== colon) return false;
    this.at += 1;
    return true;
  }

  #skipString(): boolean {
    const { bytes } = this;
    const view = this.#view;
    const lastWord = bytes.length - 4;
    if (bytes[this.at] !== quote) return false;
    let at = this.at + 1;
    for (;;) {
      while (at <= lastWord && !hasSpecial(view.getInt32(at, true))) at += 4;
      const byte = bytes[at];
      if (byte === quote) {
        this.at = at + 1;
        return true;
      }
      if (byte === undefined || byte < 0x20) return false;
      if (byte !== backslash) at += 1;
      else {
        this.#hasEscape = true;
        const length = escapeLength(bytes, at);
        if (length === 0) return false;
        at += length;
      }
    }
  }

  #skipNumber(): boolean {
    const { bytes } = this;
    const start = this.at;
    let at = bytes[start] === minus ? start + 1 : start;
    let from = at;
    at = afterDigits(bytes, at);
    if (at === from || (bytes[from] === zero && at > from + 1)) return false;
    if (bytes[at] === dot) {
      from = at + 1;
      at = afterDigits(bytes, from);
      if (at === from) return false;
    }
    let byte = bytes[at];
    if (byte === 0x65 || byte === 0x45) {
      this.hasLongNumber = true;
      byte = bytes[at + 1];
      from = at + (byte === 0x2b || byte === minus ? 2 : 1);
      at = afterDigits(bytes, from);
      if (at === from) return false;
    }
    if (at - start > maxSafeDigits) this.hasLongNumber = true;
    this.at = at;
    return true;
  }

  #skipWord(first: number | undefined): boolean {
    const word = first === 0x74 ? 'true' : first === 0x66 ? 'false' : first === 0x6e ? 'null' : undefined;
    if (word === undefined) return false;
    for (let offset = 1; offset < word.length; offset += 1)
      if (this.bytes[this.at + offset] !== word.charCodeAt(offset)) return false;
    this.at += word.length;
    return true;
  }
}

/** Undefined where only the parser can tell what this is. */
export function scanDocument(bytes: Buffer): { hasLongNumber: boolean } | undefined {
  const scanner = new JsonScanner(bytes);
  return scanner.skipValue(0) && scanner.atEnd() ? scanner : undefined;
}

const quote = 0x22;
const comma = 0x2c;
const minus = 0x2d;
const dot = 0x2e;
const zero = 0x30;
const colon = 0x3a;
const bracketOpen = 0x5b;
const backslash = 0x5c;
const bracketClose = 0x5d;
const braceOpen = 0x7b;
const braceClose = 0x7d;

/** Objects with more members than this are the parser's: names are compared with one another. */
const maxMembers = 32;
const maxSafeDigits = 15;
/** What is open at each level; one for all, because no scan is interrupted. */
const containers = new Uint8Array(maxBodyDepth + 1);

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= zero && byte <= 0x39;

/** Whether one of four bytes ends a string, begins an escape or is a control character. */
function hasSpecial(word: number): boolean {
  const quotes = word ^ 0x22222222;
  const backslashes = word ^ 0x5c5c5c5c;
  const found =
    ((word - 0x20202020) & ~word) | ((quotes - 0x01010101) & ~quotes) | ((backslashes - 0x01010101) & ~backslashes);
  return (found & 0x80808080) !== 0;
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
