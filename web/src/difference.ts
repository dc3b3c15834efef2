/** What differs between two texts, part by part. Pure; its time is bounded, because servers write the texts. */
export interface Piece {
  sign: ' ' | '+' | '-';
  text: string;
}

/** Larger comparisons show the old and the new as a whole. */
const maxCells = 1_000_000;

export const differenceOfLines = (before: string, after: string) => compare(split(before, /\n/), split(after, /\n/));
export const differenceOfWords = (before: string, after: string) =>
  compare(split(before, /(\s+)/), split(after, /(\s+)/));

const split = (text: string, at: RegExp) => (text === '' ? [] : text.split(at));

/** By the longest common subsequence of what lies between the common beginning and the common end. */
function compare(before: readonly string[], after: readonly string[]): Piece[] {
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  const same = (texts: readonly string[]): Piece[] => texts.map((text) => ({ sign: ' ', text }));
  return [
    ...same(before.slice(0, head)),
    ...middle(before.slice(head, before.length - tail), after.slice(head, after.length - tail)),
    ...same(before.slice(before.length - tail)),
  ];
}

function middle(before: readonly string[], after: readonly string[]): Piece[] {
  const removed = (text: string): Piece => ({ sign: '-', text });
  const added = (text: string): Piece => ({ sign: '+', text });
  if (before.length * after.length > maxCells) return [...before.map(removed), ...after.map(added)];
  const lengths = commonLengths(before, after);
  const pieces: Piece[] = [];
  let [i, j] = [0, 0];
  while (i < before.length && j < after.length) {
    const [was, is] = [before[i] ?? '', after[j] ?? ''];
    if (was === is) {
      pieces.push({ sign: ' ', text: was });
      i += 1;
      j += 1;
    } else if ((lengths[i + 1]?.[j] ?? 0) >= (lengths[i]?.[j + 1] ?? 0)) {
      pieces.push(removed(was));
      i += 1;
    } else {
      pieces.push(added(is));
      j += 1;
    }
  }
  return [...pieces, ...before.slice(i).map(removed), ...after.slice(j).map(added)];
}

/** How much the rests from each pair of places on have in common. */
function commonLengths(before: readonly string[], after: readonly string[]): Uint32Array[] {
  const rows = Array.from({ length: before.length + 1 }, () => new Uint32Array(after.length + 1));
  for (let i = before.length - 1; i >= 0; i -= 1) {
    const [row, below] = [rows[i], rows[i + 1]];
    if (row === undefined || below === undefined) continue;
    for (let j = after.length - 1; j >= 0; j -= 1) {
      row[j] = before[i] === after[j] ? (below[j + 1] ?? 0) + 1 : Math.max(below[j] ?? 0, row[j + 1] ?? 0);
    }
  }
  return rows;
}
