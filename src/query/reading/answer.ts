/** What a tool answered, taken apart once: records, texts, links. Items, handles and pages are read from this. */
import { isObject } from '../../json-rpc.ts';
import { isDeeperThan, jsonSize } from '../../json-size.ts';
import { printable } from '../results/records.ts';
import { copyOf, jsonPrefix } from './json-prefix.ts';
import { parsePythonLiteral } from './literal.ts';
import { type Grouped, groupRecords } from './record-groups.ts';
import { tableOf } from './table.ts';

/** What `tools/call` answers; servers put anything there. */
export interface ToolAnswer {
  content?: unknown;
  structuredContent?: unknown;
  isError?: unknown;
  /** There was more of it. */
  isTruncated?: unknown;
}

/** Blocks or a structure; a server that answers neither does not answer. */
export const isToolResult = ({ content, structuredContent }: ToolAnswer): boolean =>
  Array.isArray(content) || (structuredContent !== undefined && structuredContent !== null);

export type AnswerPart =
  | ({ kind: 'records' } & Grouped)
  | { kind: 'text'; text: string; uri?: string }
  | { kind: 'link'; uri: string; name: string; description: string }
  | { kind: 'binary'; text: string; uri?: string };

export interface ParsedAnswer {
  parts: readonly AnswerPart[];
  /** It was longer than the limit and was cut after a whole record or line. */
  truncated: boolean;
  /** Characters of text the server sent, before anything was cut. */
  receivedChars: number;
}

export function parseAnswer(answer: ToolAnswer, maxChars: number): ParsedAnswer {
  const blocks = Array.isArray(answer.content) ? answer.content.filter(isObject) : [];
  const room = { chars: maxChars, truncated: answer.isTruncated === true };
  const { bytes, depth } = jsonSize(answer.structuredContent);
  if (depth > maxDepth) throw new Error(`the answer is nested more than ${maxDepth} levels deep`);
  const structured = structureOf(answer.structuredContent, blocks);
  const parts: AnswerPart[] = structured === undefined ? [] : [toRecords(structured)];
  // The specification asks servers to repeat structured content as text for older clients: one of them is enough.
  const others = structured === undefined ? blocks : blocks.filter((block) => block.type !== 'text');
  for (const block of others) parts.push(...blockParts(block, room));
  return {
    parts,
    truncated: room.truncated,
    receivedChars: charsIn(blocks) || (answer.structuredContent === undefined ? 0 : bytes),
  };
}

/** `resources/read` answers contents; they read like embedded resources. */
export function parseContents(contents: unknown, maxChars: number): ParsedAnswer {
  const resources = Array.isArray(contents) ? contents.filter(isObject) : [];
  return parseAnswer({ content: resources.map((resource) => ({ type: 'resource', resource })) }, maxChars);
}

interface Room {
  chars: number;
  truncated: boolean;
}

/** A server that only wraps its text (`{content: "…"}`, `{result: "…"}`) has structured nothing. */
function structureOf(structured: unknown, blocks: readonly Record<string, unknown>[]): unknown {
  if (structured === undefined || structured === null) return undefined;
  const values = isObject(structured) ? Object.values(structured) : [];
  const isWrapped = values.length === 1 && typeof values[0] === 'string' && blocks.some(({ type }) => type === 'text');
  return isWrapped ? undefined : structured;
}

function blockParts(block: Record<string, unknown>, room: Room): AnswerPart[] {
  switch (block.type) {
    case 'text':
      return textParts(stringOr(block.text, ''), room);
    case 'resource_link': {
      const uri = stringOr(block.uri, '');
      const name = stringOr(block.title, stringOr(block.name, uri));
      return [{ kind: 'link', uri, name, description: stringOr(block.description, '') }];
    }
    case 'resource':
      return resourceParts(isObject(block.resource) ? block.resource : {}, room);
    default:
      return [{ kind: 'binary', text: describeBinary(stringOr(block.type, 'unknown'), block.mimeType, block.data) }];
  }
}

function resourceParts(resource: Record<string, unknown>, room: Room): AnswerPart[] {
  const uri = stringOr(resource.uri, '');
  if (typeof resource.text !== 'string') {
    return [{ kind: 'binary', text: describeBinary(`resource ${uri}`, resource.mimeType, resource.blob), uri }];
  }
  return textParts(resource.text, room).map((part) => (part.kind === 'text' ? { ...part, uri } : part));
}

function textParts(whole: string, room: Room): AnswerPart[] {
  if (looksBinary(whole)) return [{ kind: 'binary', text: `(${size(whole.length)} of binary data, not shown)` }];
  const value = parseValue(whole, room);
  if (value !== undefined && !isDeeperThan(value, maxDepth)) return [toRecords(value)];
  const text = whole.length > room.chars ? cutText(whole, room) : whole;
  room.chars -= text.length;
  const table = tableOf(text);
  if (table === undefined) return text.trim() === '' ? [] : [{ kind: 'text', text }];
  const { before, records, after } = table;
  return [
    ...(before === '' ? [] : [{ kind: 'text' as const, text: before }]),
    { kind: 'records', groups: [{ noun: '', records }], envelope: {} },
    ...(after === '' ? [] : [{ kind: 'text' as const, text: after }]),
  ];
}

/** JSON, lines of JSON, or what Python prints; undefined for prose. */
function parseValue(text: string, room: Room): unknown {
  const first = text.trimStart()[0] ?? '';
  if (first !== '[' && first !== '{' && first !== '(' && first !== '"') return undefined;
  if (text.length > room.chars) {
    const prefix = jsonPrefix(text, room.chars);
    const value = prefix === undefined ? jsonLines(wholeLines(text, room.chars)) : parseJson(prefix);
    if (value === undefined) return undefined;
    room.truncated = true;
    room.chars = 0;
    return value;
  }
  const value = first === '"' ? undefined : (parseJson(text) ?? jsonLines(text) ?? parsePythonLiteral(text));
  if (typeof value === 'object' && value !== null) {
    room.chars -= text.length;
    return value;
  }
  return first === '"' ? jsonLines(text) : undefined;
}

function jsonLines(text: string): unknown[] | undefined {
  if (!text.includes('\n')) return undefined;
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const values: unknown[] = [];
  for (const line of lines) {
    const value = parseJson(line);
    if (value === undefined) return undefined;
    values.push(value);
  }
  return values.length > 1 ? values : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not JSON after all: the caller reads it as prose.
    return undefined;
  }
}

/** Whatever walks through values does so by calling itself, which has an end. */
const maxDepth = 500;

function toRecords(value: unknown): AnswerPart {
  return { kind: 'records', ...groupRecords(value) };
}

/** The beginning that fits, up to the last line break in it: whole lines are the smallest boundary prose has. */
function cutText(text: string, room: Room): string {
  room.truncated = true;
  return wholeLines(text, Math.max(0, room.chars));
}

function wholeLines(text: string, maxChars: number): string {
  const end = text.lastIndexOf('\n', maxChars);
  return copyOf(text, end > maxChars / 2 ? end : maxChars);
}

function describeBinary(kind: string, mimeType: unknown, data: unknown): string {
  const bytes = typeof data === 'string' ? `, ${size(Math.floor((data.length * 3) / 4))}` : '';
  return `(${kind.trim()}${typeof mimeType === 'string' ? `, ${mimeType}` : ''}${bytes}, not shown)`;
}

function looksBinary(text: string): boolean {
  const head = text.slice(0, 2_000);
  let odd = 0;
  for (let at = 0; at < head.length; at += 1) {
    const code = head.charCodeAt(at);
    // Control characters other than tab, line feed, carriage return, and the mark of bytes that were no text.
    if (code === 0xfffd || (code < 32 && code !== 9 && code !== 10 && code !== 13)) odd += 1;
  }
  return odd > head.length / 20 || (head.length > 0 && printable(head) !== head);
}

function charsIn(blocks: readonly Record<string, unknown>[]): number {
  return blocks.reduce((sum, block) => {
    const text = stringOr(block.text, isObject(block.resource) ? stringOr(block.resource.text, '') : '');
    return sum + text.length;
  }, 0);
}

function size(bytes: number): string {
  return bytes < 1024 ? `${bytes} bytes` : `${Math.round(bytes / 1024).toLocaleString('en')} KB`;
}

function stringOr(value: unknown, otherwise: string): string {
  return typeof value === 'string' ? value : otherwise;
}
