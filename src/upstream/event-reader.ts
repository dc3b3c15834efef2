/**
 * The events of an event stream, as bytes. eventsource-parser reads text: a large event would be decoded, joined and
 * encoded again on the event loop, and a result could not pass as it came.
 */

export interface ServerEvent {
  id?: string;
  /** Undefined for the usual one, `message`. */
  event?: string;
  /** In the parts in which it came. */
  data: readonly Buffer[];
  /** Of the whole event, with its field names and line ends. */
  bytes: number;
}

interface EventHandlers {
  onEvent(event: ServerEvent): void;
  /** How long the server wants a client to wait before it connects again. */
  onRetry?(ms: number): void;
}

export interface EventReader {
  read(chunk: Buffer): void;
  /** Of the event that is not complete yet. */
  readonly pendingBytes: number;
}

export function createEventReader({ onEvent, onRetry }: EventHandlers): EventReader {
  let line: Buffer[] = [];
  let event: { id?: string; event?: string; data: Buffer[] } = { data: [] };
  let pendingBytes = 0;
  let isFirstLine = true;
  let afterReturn = false;

  function read(chunk: Buffer): void {
    let start = 0;
    // The line feed that belongs to a carriage return at the end of the last chunk.
    if (afterReturn && chunk[0] === lineFeed) start = 1;
    afterReturn = false;
    let nextReturn = -1;
    let nextFeed = -1;
    while (start < chunk.length) {
      if (nextReturn < start) nextReturn = indexOrEnd(chunk, carriageReturn, start);
      if (nextFeed < start) nextFeed = indexOrEnd(chunk, lineFeed, start);
      const end = Math.min(nextFeed, nextReturn);
      if (end === chunk.length) break;
      line.push(chunk.subarray(start, end));
      pendingBytes += end - start + 1;
      endLine();
      start = end + 1;
      if (chunk[end] !== carriageReturn) continue;
      if (start === chunk.length) afterReturn = true;
      else if (chunk[start] === lineFeed) start += 1;
    }
    if (start >= chunk.length) return;
    line.push(chunk.subarray(start));
    pendingBytes += chunk.length - start;
  }

  function endLine(): void {
    const parts = line;
    line = [];
    const head = headOf(parts);
    const isMarked = isFirstLine && head.subarray(0, 3).equals(byteOrderMark);
    isFirstLine = false;
    if (isMarked) parts[0] = head.subarray(3);
    const text = (isMarked ? parts[0] : head) ?? noBytes;
    if (text.length === 0) return dispatch();
    if (text[0] === colon) return;
    if (isData(text)) {
      if (event.data.length > 0) event.data.push(lineBreak);
      const skipped = text.length === 4 ? 4 : text[5] === space ? 6 : 5;
      parts[0] = text.subarray(skipped);
      for (const part of parts) event.data.push(part);
      return;
    }
    readField(Buffer.concat(parts).toString('utf8'));
  }

  function readField(text: string): void {
    const at = text.indexOf(':');
    const name = at === -1 ? text : text.slice(0, at);
    const value = at === -1 ? '' : text.slice(text[at + 1] === ' ' ? at + 2 : at + 1);
    if (name === 'event') event.event = value === '' ? undefined : value;
    else if (name === 'id' && !value.includes('\0')) event.id = value;
    else if (name === 'retry' && /^\d{1,15}$/.test(value)) onRetry?.(Number(value));
  }

  function dispatch(): void {
    const complete = { ...event, bytes: pendingBytes };
    event = { data: [] };
    pendingBytes = 0;
    if (complete.data.length > 0) onEvent(complete);
  }

  return {
    read,
    get pendingBytes() {
      return pendingBytes;
    },
  };
}

/** Enough of the line in one part to tell which field it is; the first part is replaced by it. */
function headOf(parts: Buffer[]): Buffer {
  while (parts.length > 1 && (parts[0]?.length ?? 0) < longestHead)
    parts.splice(0, 2, Buffer.concat(parts.slice(0, 2)));
  return parts[0] ?? noBytes;
}

/** `data`, with a colon behind it or alone. */
const isData = (line: Buffer): boolean =>
  line[0] === 0x64 &&
  line[1] === 0x61 &&
  line[2] === 0x74 &&
  line[3] === 0x61 &&
  (line.length === 4 || line[4] === colon);

function indexOrEnd(chunk: Buffer, byte: number, from: number): number {
  const at = chunk.indexOf(byte, from);
  return at === -1 ? chunk.length : at;
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const space = 0x20;
const colon = 0x3a;
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);
/** A byte order mark and `data: `. */
const longestHead = 9;
const lineBreak = Buffer.from('\n');
const noBytes = Buffer.alloc(0);
