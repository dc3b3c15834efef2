/**
 * A server's result as bytes. Most results are forwarded without parsing, so numbers keep their spelling. Members are
 * parsed only when something depends on them.
 */
import { isUtf8 } from 'node:buffer';
import { parseJson } from './exact-json.ts';
import { type JsonObject, type RpcFailure, rpcCodes } from './json-rpc.ts';
import { braceOpen, JsonScanner, type Member, skipObject, skipSpace, skipValue } from './json-scanner.ts';
import { maxBodyDepth } from './json-size.ts';

export type Result = JsonObject | RawResult;

/** One character per byte, to be written as latin1. */
type ByteString = string;

/** Replaced members as JSON; undefined for removed ones. */
export type Changes = Record<string, string | undefined>;

export class RawResult {
  /** Whether it may contain resource links. */
  readonly hasUri: boolean;
  readonly #bytes: Buffer;
  readonly #members: readonly Member[];
  readonly #start: number;
  readonly #end: number;
  readonly #hasLongNumber: boolean;
  readonly #changes: Changes | undefined;
  #object: JsonObject | undefined;

  constructor(bytes: Buffer, scanned: LocatedResult, changes?: Changes) {
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

  /** The value's JSON, as it came. */
  bytes(name: string): Buffer | undefined {
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

  withChanges(changes: Changes): RawResult {
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
    if (this.#changes === undefined) return [this.#bytes.subarray(this.#start, this.#end)];
    const parts: (ByteString | Buffer)[] = ['{'];
    const follow = (part: ByteString | Buffer) => {
      if (parts.length > 1) parts.push(',');
      parts.push(part);
    };
    let from: Member | undefined;
    let to: Member | undefined;
    const pass = () => {
      if (from !== undefined && to !== undefined) follow(this.#bytes.subarray(from.start, to.end));
      from = undefined;
    };
    for (const member of this.#members) {
      if (this.#isChanged(member.name)) pass();
      else {
        from ??= member;
        to = member;
      }
    }
    pass();
    for (const [name, json] of Object.entries(this.#changes))
      if (json !== undefined) follow(toByteString(`${JSON.stringify(name)}:${json}`));
    parts.push('}');
    return parts;
  }

  /** On one line, as an event stream requires; line breaks in JSON are never part of a value. */
  toText(): string {
    const parts = this.toParts().map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : part));
    return Buffer.concat(parts)
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
    if (name === 'jsonrpc') hasVersion = bytes.toString('latin1', from, after) === '"2.0"';
    if (name === 'id') id = toId(bytes.toString('latin1', from, after));
    return after;
  }

  const after = skipObject(scanner, skipSpace(scanner, 0), [], skipEnvelope);
  if (scanner.isTooDeep && id !== undefined && members !== undefined) return { id };
  if (after === -1 || skipSpace(scanner, after) !== bytes.length) return undefined;
  if (!hasVersion || id === undefined || members === undefined) return undefined;
  const { hasLongNumber } = scanner;
  return { id, result: { members, start, end, hasLongNumber, hasUri } };
}

function toId(text: string): number | undefined {
  return text.length <= maxIdDigits && /^[1-9]\d*$/.test(text) ? Number(text) : undefined;
}

export const toObject = (result: Result): JsonObject => (result instanceof RawResult ? result.toObject() : result);

export const memberOf = (result: Result, name: string): unknown =>
  result instanceof RawResult ? result.read(name) : result[name];

export function toByteString(text: string): ByteString {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII is meant
  return /^[\x00-\x7f]*$/.test(text) ? text : Buffer.from(text).toString('latin1');
}
