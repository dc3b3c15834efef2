/** Is the Levenshtein distance within the limit? A common beginning and end need no cells, the rest a band of them. */
export function distanceAtMost(
  a: string,
  b: string,
  limit: number,
  work: { left: number } = { left: Number.POSITIVE_INFINITY },
): boolean {
  const shorter = Math.min(a.length, b.length);
  let start = 0;
  while (start < shorter && a.charCodeAt(start) === b.charCodeAt(start)) start += 1;
  let end = 0;
  while (end < shorter - start && a.charCodeAt(a.length - 1 - end) === b.charCodeAt(b.length - 1 - end)) end += 1;
  const x = a.slice(start, a.length - end);
  const y = b.slice(start, b.length - end);
  // What differs can be replaced as a whole.
  if (Math.max(x.length, y.length) <= limit) return true;
  return bandDistance(x, y, limit, work) <= limit;
}

function bandDistance(x: string, y: string, limit: number, work: { left: number }): number {
  const far = limit + 1;
  let previous = new Int32Array(y.length + 1).fill(far);
  for (let j = 0; j <= Math.min(y.length, limit); j += 1) previous[j] = j;
  for (let i = 1; i <= x.length; i += 1) {
    const from = Math.max(1, i - limit);
    const to = Math.min(y.length, i + limit);
    work.left -= to - from + 1;
    if (from > to || work.left <= 0) return far;
    const row = new Int32Array(y.length + 1).fill(far);
    if (i <= limit) row[0] = i;
    const code = x.charCodeAt(i - 1);
    let least = far;
    for (let j = from; j <= to; j += 1) {
      const kept = (previous[j - 1] ?? far) + (code === y.charCodeAt(j - 1) ? 0 : 1);
      const value = Math.min(kept, (previous[j] ?? far) + 1, (row[j - 1] ?? far) + 1);
      row[j] = value;
      if (value < least) least = value;
    }
    if (least > limit) return far;
    previous = row;
  }
  return previous[y.length] ?? far;
}
