/**
 * A server's result as bytes. Most results are forwarded without parsing, so numbers keep their spelling. Members are
 * parsed only when something depends on them.
 */
import { isUtf8 } from 'node:buffer';
import { parseJson } from './exact-json.ts';
import { type JsonObject, type RpcFailure, rpcCodes } from './json-rpc.ts';
import {
  braceOpen,
  isText,
  JsonScanner,
  knownName,
  type Member,
  skipObject,
  skipSpace,
  skipValue,
} from './json-scanner.ts';
import { maxBodyDepth } from './json-size.ts';

export type Result = JsonObject | RawResult;

/** One character per byte, to be written as latin1. */
type ByteString = string;

/** Replaced members as JSON; undefined for removed ones. */
export type MemberChanges = Record<string, string | undefined>;

export class RawResult {
  /** Whether it may contain resource links. */
  readonly hasUri: boolean;
  readonly #bytes: Buffer;
  readonly #members: readonly Member[];
  readonly #start: number;
  readonly #end: number;
  readonly #hasLongNumber: boolean;
  readonly #changes: MemberChanges | undefined;
  #object: JsonObject | undefined;

  constructor(bytes: Buffer, scanned: LocatedResult, changes?: MemberChanges) {
    this.#bytes = bytes;
    this.#members = scanned.members;
    this.#start = scanned.start;
    this.#end = scanned.end;
    this.#hasLongNumber = scanned.hasLongNumber;
    this.hasUri = scanned.hasUri;
    this.#changes = changes;
  }

  has(name: string): boolean {
    return this.#isChanged(name) ? this.#changes?.[name] !== undefined : this.#find(name) !== undefined;
  }

  read(name: string): unknown {
    if (this.#object !== undefined) return this.#object[name];
    if (this.#isChanged(name)) {
      const changed = this.#changes?.[name];
      return changed === undefined ? undefined : parseJson(changed);
    }
    const member = this.#find(name);
    return member && this.#parse(member.value, member.end);
  }

  /** The value's JSON, as it came or as it was changed. */
  bytes(name: string): Buffer | undefined {
    const changed = this.#changes?.[name];
    if (this.#isChanged(name)) return changed === undefined ? undefined : Buffer.from(changed);
    const member = this.#find(name);
    return member && this.#bytes.subarray(member.value, member.end);
  }

  text(name: string): string | undefined {
    return this.bytes(name)?.toString('utf8');
  }

  get byteLength(): number {
    return this.#end - this.#start;
  }

  toObject(): JsonObject {
    this.#object ??= this.#toObject();
    return this.#object;
  }

  withChanges(changes: MemberChanges): RawResult {
    const scanned = {
      members: this.#members,
      start: this.#start,
      end: this.#end,
      hasLongNumber: this.#hasLongNumber,
      hasUri: this.hasUri,
    };
    return new RawResult(this.#bytes, scanned, { ...this.#changes, ...changes });
  }

  /** In the order in which they are written. */
  toParts(): (ByteString | Buffer)[] {
    const parts: (ByteString | Buffer)[] = [];
    for (const part of this.#plan())
      parts.push(typeof part === 'string' ? part : this.#bytes.subarray(part.from, part.to));
    return parts;
  }

  toBuffers(): Buffer[] {
    return this.toParts().map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : part));
  }

  /** All of it in one string, which for small results is cheaper than their parts. */
  toByteString(): ByteString {
    let text = '';
    for (const part of this.#plan())
      text += typeof part === 'string' ? part : this.#bytes.toString('latin1', part.from, part.to);
    return text;
  }

  /** What is written: ranges of the bytes that came, and texts between them. */
  #plan(): (ByteString | { from: number; to: number })[] {
    if (this.#changes === undefined) return [{ from: this.#start, to: this.#end }];
    const plan: (ByteString | { from: number; to: number })[] = [];
    let before = '{';
    let range: { from: number; to: number } | undefined;
    for (const { name, start, end } of this.#members) {
      if (this.#isChanged(name)) range = undefined;
      else if (range !== undefined) range.to = end;
      else {
        range = { from: start, to: end };
        plan.push(before, range);
        before = ',';
      }
    }
    for (const name in this.#changes) {
      const json = this.#changes[name];
      if (json === undefined) continue;
      plan.push(`${before}${toByteString(`${JSON.stringify(name)}:${json}`)}`);
      before = ',';
    }
    plan.push(before === '{' ? '{}' : '}');
    return plan;
  }

  /** On one line, as an event stream requires; line breaks in JSON are never part of a value. */
  toText(): string {
    return Buffer.concat(this.toBuffers())
      .toString('utf8')
      .replaceAll(/[\r\n]/g, ' ');
  }

  #isChanged(name: string): boolean {
    return this.#changes !== undefined && Object.hasOwn(this.#changes, name);
  }

  #find(name: string): Member | undefined {
    for (const member of this.#members) if (member.name === name) return member;
    return undefined;
  }

  #parse(start: number, end: number): unknown {
    const first = this.#bytes[start];
    if (first === 0x74) return true;
    if (first === 0x66) return false;
    const known = first === 0x22 ? knownName(this.#bytes, start + 1, end - 1) : undefined;
    if (known !== undefined) return known;
    const text = this.#bytes.toString('utf8', start, end);
    return this.#hasLongNumber ? parseJson(text) : JSON.parse(text);
  }

  #toObject(): JsonObject {
    // The scanner found an object here.
    const object = this.#parse(this.#start, this.#end) as JsonObject;
    for (const [name, json] of Object.entries(this.#changes ?? {})) {
      if (json === undefined) delete object[name];
      else object[name] = parseJson(json);
    }
    return object;
  }
}

interface LocatedResult {
  members: readonly Member[];
  start: number;
  end: number;
  hasLongNumber: boolean;
  hasUri: boolean;
}

/** Plain data, so that a worker thread can find it. */
export interface LocatedAnswer {
  id: number;
  /** Undefined where it is nested too deeply. */
  result?: LocatedResult;
}

interface RawAnswer {
  jsonrpc: '2.0';
  id: number;
  result: RawResult;
}

/** Members of results that may contain resource links. */
export const linkingMembers = ['content', 'contents', 'messages'];
const maxIdDigits = 15;

/** A response with a result to one of our requests, whose IDs are small numbers; undefined for all other messages. */
export function scanAnswer(bytes: Buffer): RawAnswer | RpcFailure | undefined {
  const scanned = locateAnswer(bytes);
  return scanned && toAnswer(bytes, scanned);
}

export function toAnswer(bytes: Buffer, { id, result }: LocatedAnswer): RawAnswer | RpcFailure {
  if (result !== undefined) return { jsonrpc: '2.0', id, result: new RawResult(bytes, result) };
  const message = `The server's answer is nested more than ${maxBodyDepth} levels deep`;
  return { jsonrpc: '2.0', id, error: { code: rpcCodes.internalError, message } };
}

export function locateAnswer(bytes: Buffer): LocatedAnswer | undefined {
  if (!isUtf8(bytes)) return undefined; // the parser replaces invalid UTF-8
  const scanner = new JsonScanner(bytes);
  let id: number | undefined;
  let hasVersion = false;
  let members: Member[] | undefined;
  let start = 0;
  let end = 0;
  let hasUri = false;

  function skipMember(name: string, from: number): number {
    scanner.hasUri = false;
    const after = skipValue(scanner, from, 2);
    if (linkingMembers.includes(name)) hasUri ||= scanner.hasUri;
    return after;
  }

  function skipEnvelope(name: string, from: number): number {
    if (name === 'method' || name === 'error') return -1;
    if (name === 'result') {
      members = [];
      start = from;
      end = skipObject(scanner, from, members, skipMember);
      // What is no object is the parser's, unless its depth rules that out as well.
      if (bytes[from] !== braceOpen) skipValue(scanner, from, 1);
      return end;
    }
    const after = skipValue(scanner, from, 1);
    if (name === 'jsonrpc') hasVersion = after - from === 5 && isText(bytes, from, '"2.0"');
    if (name === 'id') id = toId(bytes, from, after);
    return after;
  }

  const after = skipObject(scanner, skipSpace(scanner, 0), [], skipEnvelope);
  if (scanner.isTooDeep && id !== undefined && members !== undefined) return { id };
  if (after === -1 || skipSpace(scanner, after) !== bytes.length) return undefined;
  if (!hasVersion || id === undefined || members === undefined) return undefined;
  const { hasLongNumber } = scanner;
  return { id, result: { members, start, end, hasLongNumber, hasUri } };
}

/** The scanner has found a value here; what is no whole number is none of our IDs. */
function toId(bytes: Buffer, from: number, to: number): number | undefined {
  if (to - from > maxIdDigits || bytes[from] === 0x30) return undefined;
  let id = 0;
  for (let at = from; at < to; at += 1) {
    const digit = (bytes[at] ?? 0) - 0x30;
    if (digit < 0 || digit > 9) return undefined;
    id = id * 10 + digit;
  }
  return id;
}

export const toObject = (result: Result): JsonObject => (result instanceof RawResult ? result.toObject() : result);

export const memberOf = (result: Result, name: string): unknown =>
  result instanceof RawResult ? result.read(name) : result[name];

export function toByteString(text: string): ByteString {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII is meant
  return /^[\x00-\x7f]*$/.test(text) ? text : Buffer.from(text).toString('latin1');
}
