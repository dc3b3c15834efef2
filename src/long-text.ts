/** Writes long texts in pieces, because encoding one at once would block the event loop. */
import { Readable } from 'node:stream';
import { largeBytes, nextTurn } from './time-slice.ts';

const pieceChars = 131_072;

export const isLong = (text: string): boolean => text.length >= largeBytes;

export function inPieces(text: string): Readable {
  return Readable.from(pieces(text), { objectMode: false });
}

async function* pieces(text: string): AsyncGenerator<Buffer> {
  for (let start = 0; start < text.length; ) {
    const end = start + pieceChars;
    // Do not split a surrogate pair, which would be replaced by a question mark.
    const last = text.charCodeAt(end - 1);
    const cut = last >= 0xd800 && last < 0xdc00 ? end - 1 : end;
    yield Buffer.from(text.slice(start, cut));
    start = cut;
    await nextTurn();
  }
}
