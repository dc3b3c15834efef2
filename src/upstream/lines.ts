/** The lines of a byte stream, read in slices of time so that a server that never stops writing does not delay other work. */
import type { Readable } from 'node:stream';
import { isSliceOver, largeBytes } from '../time-slice.ts';

interface LineHandlers {
  /** In bytes; a longer line is left out. */
  limit: number;
  /** Without what ends it. */
  onLine(line: Buffer): void;
  onOverflow(): void;
}

/** Returns what ends the reading, at once and for good. */
export function readLines(stream: Readable, { limit, onLine, onOverflow }: LineHandlers): () => void {
  let parts: Buffer[] = [];
  let length = 0;
  let isOver = false;
  let isEnded = false;

  stream.on('data', read);

  function read(chunk: Buffer): void {
    const began = performance.now();
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1 && !isEnded; end = chunk.indexOf(10, start)) {
      const line = takeLine(chunk.subarray(start, end));
      start = end + 1;
      if (line === undefined) continue;
      const rest = chunk.subarray(start);
      if (line.length > largeBytes) return readLarge(line, rest);
      onLine(withoutReturn(line));
      if (isSliceOver(began)) return inAnotherTurn(() => read(rest));
    }
    if (start < chunk.length && !isEnded) keep(chunk.subarray(start));
  }

  function takeLine(tail: Buffer): Buffer | undefined {
    const line = parts.length === 0 ? tail : Buffer.concat([...parts, tail]);
    const wasOver = isOver;
    parts = [];
    length = 0;
    isOver = false;
    if (wasOver) return undefined;
    if (line.length <= limit) return line;
    onOverflow();
    return undefined;
  }

  /** Without copying a long line once per chunk. */
  function keep(rest: Buffer): void {
    if (isOver) return;
    parts.push(rest);
    length += rest.length;
    if (length <= limit) return;
    isOver = true;
    parts = [];
    onOverflow();
  }

  function readLarge(line: Buffer, rest: Buffer): void {
    inAnotherTurn(() => {
      onLine(withoutReturn(line));
      inAnotherTurn(() => read(rest));
    });
  }

  function inAnotherTurn(act: () => void): void {
    stream.pause();
    setImmediate(() => {
      if (isEnded) return;
      stream.resume();
      act();
    });
  }

  return () => {
    isEnded = true;
    parts = [];
    stream.off('data', read);
    stream.destroy();
  };
}

const withoutReturn = (line: Buffer): Buffer => (line.at(-1) === 13 ? line.subarray(0, -1) : line);
