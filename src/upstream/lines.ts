/** The lines of a byte stream, read in slices of time so that a server that never stops writing does not delay other work. */
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { createTimeShare, isSliceOver, largeBytes, nextTurn } from '../time-slice.ts';

interface LineHandlers {
  /** In bytes; a longer line is left out. */
  limit: number;
  /** Without what ends it. */
  onLine(line: Buffer): void;
  /** A large line, in the parts in which it came. Nothing more is read until this is settled. */
  onLargeLine(parts: readonly Buffer[]): Promise<void>;
  onOverflow(): void;
}

/** Returns what ends the reading, at once and for good. */
export function readLines(stream: Readable, { limit, onLine, onLargeLine, onOverflow }: LineHandlers): () => void {
  const share = createTimeShare();
  let parts: Buffer[] = [];
  let length = 0;
  let isOver = false;
  let isEnded = false;

  stream.on('data', read);

  function read(chunk: Buffer): void {
    const began = performance.now();
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1 && !isEnded; end = chunk.indexOf(10, start)) {
      keep(chunk.subarray(start, end));
      start = end + 1;
      const line = takeLine();
      if (line.bytes > largeBytes) return pauseUntil(onLargeLine(line.parts), chunk.subarray(start));
      if (line.parts.length > 0) onLine(withoutReturn(joined(line.parts)));
      if (isSliceOver(began)) break;
    }
    if (isEnded) return;
    const rest = chunk.subarray(start);
    const hasLine = rest.includes(10);
    if (!hasLine && rest.length > 0) keep(rest);
    const restMs = share.rest(began);
    if (restMs > 0) pauseUntil(delay(restMs), hasLine ? rest : noBytes);
    else if (hasLine) pauseUntil(nextTurn(), rest);
  }

  /** Without copying a long line once per chunk. */
  function keep(part: Buffer): void {
    length += part.length;
    if (isOver) return;
    parts.push(part);
    if (length <= limit) return;
    isOver = true;
    parts = [];
    onOverflow();
  }

  /** Without parts where it was too long. */
  function takeLine(): { parts: Buffer[]; bytes: number } {
    const line = { parts, bytes: isOver ? 0 : length };
    parts = [];
    length = 0;
    isOver = false;
    return line;
  }

  function pauseUntil(turn: Promise<void>, rest: Buffer): void {
    stream.pause();
    void turn.then(() => {
      if (isEnded) return;
      stream.resume();
      if (rest.length > 0) read(rest);
    });
  }

  return () => {
    isEnded = true;
    parts = [];
    stream.off('data', read);
    stream.destroy();
  };
}

const joined = (parts: Buffer[]): Buffer => (parts.length === 1 ? (parts[0] ?? noBytes) : Buffer.concat(parts));

const noBytes = Buffer.alloc(0);

const withoutReturn = (line: Buffer): Buffer => (line.at(-1) === 13 ? line.subarray(0, -1) : line);
