/** «Did you mean …?»: the known names that are nearest to one that is unknown. Pure. */

const maxSuggestions = 3;
/** Of long names, only the beginning is compared. */
const maxCompared = 64;
/** Cells and letters; of ten thousand names, enough are compared for a suggestion. */
const maxWork = 1_000_000;

export function suggest(given: string, known: Iterable<string>): string[] {
  const wanted = plain(given);
  // Something of it must be right.
  let limit = Math.min(Math.max(1, Math.floor(wanted.length / 3)), wanted.length - 1);
  const near: { name: string; far: number }[] = [];
  const work = { left: maxWork };
  for (const name of new Set(known)) {
    if (work.left <= 0) break;
    const other = plain(name);
    const far = isBeginning(wanted, other) ? other.length - wanted.length : distance(wanted, other, limit, work);
    if (far === undefined) continue;
    near.push({ name, far });
    near.sort((a, b) => a.far - b.far || (a.name < b.name ? -1 : 1));
    near.length = Math.min(near.length, maxSuggestions);
    // What is farther is not among the nearest.
    if (near.length === maxSuggestions) limit = Math.min(limit, near.at(-1)?.far ?? limit);
  }
  return near.map(({ name }) => name);
}

/** A sentence to put after an error, or nothing. */
export function didYouMean(given: string, known: Iterable<string>): string {
  const names = suggest(given, known);
  if (names.length === 0) return '';
  return `. Did you mean ${names.length === 1 ? names[0] : `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`}?`;
}

const plain = (name: string) => name.slice(0, maxCompared).toLowerCase().replaceAll('_', '-');

const isBeginning = (given: string, name: string) => given.length >= 3 && name.startsWith(given);

const counts = new Int16Array(128);

/** How many letters have to be added, removed, replaced or swapped with the next one; undefined beyond the limit. */
function distance(a: string, b: string, limit: number, work: { left: number }): number | undefined {
  work.left -= a.length + b.length + counts.length;
  if (lettersApart(a, b) > limit) return undefined;
  let before = new Uint8Array(b.length + 1);
  let last = new Uint8Array(b.length + 1).map((_, at) => at);
  let row = new Uint8Array(b.length + 1);
  for (let i = 1; i <= a.length; i += 1) {
    // Cells farther from the diagonal than the limit cannot be part of the way.
    const from = Math.max(1, i - limit);
    const to = Math.min(b.length, i + limit);
    work.left -= to - from + 1;
    row.fill(tooFar);
    if (i <= limit) row[0] = i;
    let least = row[0] ?? tooFar;
    for (let j = from; j <= to; j += 1) {
      const isSame = a[i - 1] === b[j - 1];
      let cell = Math.min(
        (last[j] ?? tooFar) + 1,
        (row[j - 1] ?? tooFar) + 1,
        (last[j - 1] ?? tooFar) + (isSame ? 0 : 1),
      );
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cell = Math.min(cell, (before[j - 2] ?? tooFar) + 1);
      row[j] = cell;
      least = Math.min(least, cell);
    }
    // A swap reaches two rows back, at the cost of one.
    if (least > limit + 1) return undefined;
    [before, last, row] = [last, row, before];
  }
  const far = last[b.length] ?? tooFar;
  return far <= limit ? far : undefined;
}

/** More than any distance between texts of the compared length, with room for additions. */
const tooFar = 200;

/** The letters that only one of the two has: at least so far are they apart, and it is faster to tell. */
function lettersApart(a: string, b: string): number {
  counts.fill(0);
  count(a, 1);
  count(b, -1);
  let more = 0;
  let fewer = 0;
  for (const left of counts) {
    if (left > 0) more += left;
    else fewer -= left;
  }
  return Math.max(more, fewer);
}

function count(text: string, by: 1 | -1): void {
  for (let at = 0; at < text.length; at += 1) {
    const place = text.charCodeAt(at) & 127;
    counts[place] = (counts[place] ?? 0) + by;
  }
}
