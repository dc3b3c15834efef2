import { copyOf, jsonPrefix } from './json-prefix.ts';
import { isRecord, printable, recordsOf, toPiece } from './records.ts';
import { longestPieceChars, splitText, type TextPiece } from './text-blocks.ts';

/** One result of one server, the unit that is ranked, merged and returned. */
export interface Item {
  content: string;
  server: string;
  tool: string;
  title?: string;
  link?: string;
  /** When it was retrieved, ISO 8601. */
  timestamp: string;
  /** Place in the answer of its tool, from 0. */
  position: number;
}

export interface ItemSource {
  server: string;
  tool: string;
  timestamp: string;
}

export interface ItemLimits {
  maxChars: number;
  maxItems: number;
}

export interface ExtractedItems {
  items: Item[];
  /** True when the answer was larger than the limits and was cut after the last item that fits. */
  truncated: boolean;
  /** Characters of text the server sent, before anything was cut. */
  receivedChars: number;
}

/** What `tools/call` answers, as far as this room reads it; servers put anything there. */
export interface ToolAnswer {
  content?: unknown;
  structuredContent?: unknown;
  isError?: unknown;
}

export function toItems(answer: ToolAnswer, source: ItemSource, limits: ItemLimits): ExtractedItems {
  const blocks = Array.isArray(answer.content) ? answer.content.filter(isRecord) : [];
  const hasStructure = answer.structuredContent !== undefined && answer.structuredContent !== null;
  // The specification asks servers to repeat structured content as text for older clients: one of them is enough.
  const others = hasStructure ? blocks.filter((block) => block.type !== 'text') : blocks;

  const room = { ...limits, truncated: false };
  const pieces = [
    ...(hasStructure ? recordPieces(recordsOf(answer.structuredContent), room) : []),
    ...others.flatMap((block) => blockPieces(block, room)),
  ];
  const items = pieces.map(({ text, title, link }, position) => ({
    content: text,
    ...source,
    ...(title === undefined || title === '' ? {} : { title }),
    ...(link === undefined ? {} : { link }),
    position,
  }));
  return { items, truncated: room.truncated, receivedChars: receivedChars(blocks, pieces) };
}

/** What is left of the limits; shrinks as pieces are taken. */
interface Room extends ItemLimits {
  truncated: boolean;
}

function take(pieces: Iterable<TextPiece>, room: Room): TextPiece[] {
  const taken: TextPiece[] = [];
  for (const piece of pieces) {
    if (piece.text === '') continue;
    if (room.maxItems < 1 || piece.text.length > room.maxChars) {
      room.truncated = true;
      break;
    }
    room.maxItems--;
    room.maxChars -= piece.text.length;
    taken.push(piece);
  }
  return taken;
}

function* piecesOfRecords(records: readonly unknown[]): Iterable<TextPiece> {
  for (const record of records) {
    const piece = toPiece(record);
    if (piece.text.length <= longestPieceChars) yield piece;
    else yield* partsOf(piece);
  }
}

function recordPieces(records: readonly unknown[], room: Room): TextPiece[] {
  return take(piecesOfRecords(records), room);
}

function blockPieces(block: Record<string, unknown>, room: Room): TextPiece[] {
  switch (block.type) {
    case 'text':
      return textPieces(stringOr(block.text, ''), room);
    case 'resource_link':
      return take([linkPiece(block)], room);
    case 'resource':
      return resourcePieces(isRecord(block.resource) ? block.resource : {}, room);
    default:
      return take([binaryPiece(stringOr(block.type, 'unknown'), block.mimeType, block.data)], room);
  }
}

function textPieces(text: string, room: Room): TextPiece[] {
  if (looksBinary(text)) return take([{ text: `(${size(text.length)} of binary data, not shown)` }], room);
  const records = jsonRecords(text, room) ?? jsonLines(text, room);
  if (records !== undefined) return recordPieces(records, room);
  const short = text.length > room.maxChars ? cutText(text, room) : text;
  return take(piecesOfText(short), room);
}

function* piecesOfText(text: string): Iterable<TextPiece> {
  for (const piece of splitText(text)) yield* partsOf(piece);
}

function jsonRecords(text: string, room: Room): unknown[] | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  if (text.length <= room.maxChars) {
    const value = parseJson(text);
    return value === undefined ? undefined : recordsOf(value);
  }
  const prefix = jsonPrefix(text, room.maxChars);
  const value = prefix === undefined ? undefined : parseJson(prefix);
  if (value === undefined) return undefined;
  room.truncated = true;
  return recordsOf(value);
}

function jsonLines(text: string, room: Room): unknown[] | undefined {
  if (!/^\s*[[{"]/.test(text) || !text.includes('\n')) return undefined;
  const within = text.length > room.maxChars ? cutText(text, room) : text;
  const lines = within.split('\n').filter((line) => line.trim() !== '');
  const values = lines.map(parseJson);
  return lines.length > 1 && values.every((value) => value !== undefined) ? values : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not JSON after all: the caller reads it as prose.
    return undefined;
  }
}

/** The beginning that fits, up to the last line break in it: whole lines are the smallest boundary prose has. */
function cutText(text: string, room: Room): string {
  room.truncated = true;
  const end = text.lastIndexOf('\n', room.maxChars);
  return copyOf(text, end > room.maxChars / 2 ? end : room.maxChars);
}

/** Long pieces in parts at the best boundary there is: a paragraph, a line, a sentence, a word. */
function* partsOf(piece: TextPiece): Iterable<TextPiece> {
  let rest = piece.text;
  while (rest.length > longestPieceChars) {
    const window = rest.slice(0, longestPieceChars);
    const ends = ['\n\n', '\n', '. ', ' '].map((boundary) => window.lastIndexOf(boundary) + boundary.length);
    const end = ends.find((candidate) => candidate > longestPieceChars / 3) ?? longestPieceChars;
    yield { ...piece, text: rest.slice(0, end).trim() };
    rest = rest.slice(end);
  }
  yield { ...piece, text: rest.trim() };
}

function linkPiece(block: Record<string, unknown>): TextPiece {
  const link = stringOr(block.uri, '');
  const title = stringOr(block.title, stringOr(block.name, link));
  return { text: [title, stringOr(block.description, ''), link].filter((part) => part !== '').join('\n'), title, link };
}

function resourcePieces(resource: Record<string, unknown>, room: Room): TextPiece[] {
  const link = stringOr(resource.uri, '');
  if (typeof resource.text === 'string') {
    return textPieces(resource.text, room).map((piece) => ({ ...piece, link: piece.link ?? link }));
  }
  return take([{ ...binaryPiece(`resource ${link}`, resource.mimeType, resource.blob), link }], room);
}

function binaryPiece(kind: string, mimeType: unknown, data: unknown): TextPiece {
  const bytes = typeof data === 'string' ? `, ${size(Math.floor((data.length * 3) / 4))}` : '';
  return { text: `(${kind.trim()}${typeof mimeType === 'string' ? `, ${mimeType}` : ''}${bytes}, not shown)` };
}

function looksBinary(text: string): boolean {
  const head = text.slice(0, 2000);
  // Control characters other than tab, line feed, carriage return, and the mark of bytes that were no text.
  const odd = [...head].filter((character) => {
    const code = character.charCodeAt(0);
    return code === 0xfffd || (code < 32 && code !== 9 && code !== 10 && code !== 13);
  }).length;
  return odd > head.length / 20 || (head.length > 0 && printable(head) !== head);
}

function receivedChars(blocks: Record<string, unknown>[], pieces: TextPiece[]): number {
  const sent = blocks.reduce(
    (sum, block) =>
      sum + stringOr(block.text, isRecord(block.resource) ? stringOr(block.resource.text, '') : '').length,
    0,
  );
  return sent > 0 ? sent : pieces.reduce((sum, piece) => sum + piece.text.length, 0);
}

function size(bytes: number): string {
  return bytes < 1024 ? `${bytes} bytes` : `${Math.round(bytes / 1024).toLocaleString('en')} KB`;
}

function stringOr(value: unknown, otherwise: string): string {
  return typeof value === 'string' ? value : otherwise;
}
