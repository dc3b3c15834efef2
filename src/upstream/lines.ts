/** The lines of a byte stream, read in slices of time so that a server that never stops writing does not delay other work. */
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { createTimeShare, largeBytes, nextTurn, sliceMs } from '../time-slice.ts';
import type { MessageHold } from './message-budget.ts';

interface LineHandlers {
  /** A line beyond it is left out. */
  hold: MessageHold;
  /** Without what ends it. True where it is an answer to us. */
  onLine(line: Buffer): boolean;
  /** A large line, in the parts in which it came. Nothing more is read until this is settled. */
  onLargeLine(parts: readonly Buffer[]): Promise<void>;
  onOverflow(error: unknown): void;
}

/** Returns what ends the reading, at once and for good. */
export function readLines(stream: Readable, { hold, onLine, onLargeLine, onOverflow }: LineHandlers): () => void {
  const share = createTimeShare();
  let parts: Buffer[] = [];
  let length = 0;
  let isOver = false;
  let isEnded = false;

  stream.on('data', read);

  function read(chunk: Buffer): void {
    const began = performance.now();
    let at = began;
    let unaskedMs = 0;
    let start = 0;
    let end = chunk.indexOf(10);
    while (end !== -1 && !isEnded && !(start > 0 && at - began >= sliceMs)) {
      keep(chunk.subarray(start, end));
      start = end + 1;
      const line = takeLine();
      if (line.bytes > largeBytes)
        return pauseUntil(onLargeLine(line.parts).finally(hold.release), chunk.subarray(start));
      hold.release();
      const isAnswer = line.parts.length > 0 && onLine(withoutReturn(joinParts(line.parts)));
      const before = at;
      at = performance.now();
      if (!isAnswer) unaskedMs += at - before;
      end = chunk.indexOf(10, start);
    }
    if (isEnded) return;
    const rest = chunk.subarray(start);
    const hasLine = end !== -1;
    if (!hasLine && rest.length > 0) keep(rest);
    const restMs = share.rest(began, unaskedMs);
    if (restMs > 0) pauseUntil(delay(restMs), hasLine ? rest : noBytes);
    else if (hasLine) pauseUntil(nextTurn(), rest);
  }

  /** Without copying a long line once per chunk. */
  function keep(part: Buffer): void {
    length += part.length;
    if (isOver) return;
    try {
      hold.set(length);
      parts.push(part);
    } catch (error) {
      isOver = true;
      parts = [];
      hold.release();
      onOverflow(error);
    }
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
    hold.release();
    stream.off('data', read);
    stream.destroy();
  };
}

/** Without a copy where there is only one. */
export const joinParts = (parts: readonly Buffer[]): Buffer =>
  parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts);

const noBytes = Buffer.alloc(0);

const withoutReturn = (line: Buffer): Buffer => (line.at(-1) === 13 ? line.subarray(0, -1) : line);
