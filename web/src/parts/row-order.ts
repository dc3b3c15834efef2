/** The order of rows. While the table is in use, known rows keep their places. Pure. */
export interface Order {
  /** What the rows are sorted by. */
  by: string;
  keys: readonly string[];
}

export interface Arranged<Row> {
  rows: Row[];
  order: Order;
  /** Rows that are new and wait until the table may move again. */
  waiting: number;
}

type Compare<Row> = (a: Row, b: Row) => number;

export function arrange<Row>(
  rows: readonly Row[],
  keyOf: (row: Row) => string,
  compare: Compare<Row> | undefined,
  { by, before, held, newRows }: { by: string; before: Order | undefined; held: boolean; newRows: 'append' | 'wait' },
): Arranged<Row> {
  if (!held || before === undefined || before.by !== by || before.keys.length === 0) {
    const sorted = compare === undefined ? [...rows] : [...rows].sort(compare);
    return { rows: sorted, order: { by, keys: sorted.map(keyOf) }, waiting: 0 };
  }
  const byKey = new Map(rows.map((row) => [keyOf(row), row]));
  const known = before.keys.flatMap((key) => byKey.get(key) ?? []);
  const places = new Set(before.keys);
  const fresh = rows.filter((row) => !places.has(keyOf(row)));
  if (newRows === 'wait') {
    // What follows the last known row, such as an earlier page, moves nothing.
    const after = rows.slice(rows.findLastIndex((row) => places.has(keyOf(row))) + 1);
    const keys = [...before.keys, ...after.map(keyOf)];
    return { rows: [...known, ...after], order: { by, keys }, waiting: fresh.length - after.length };
  }
  const kept = [...known, ...fresh];
  // A row that is gone for a moment returns to its place.
  return { rows: kept, order: { by, keys: [...before.keys, ...fresh.map(keyOf)] }, waiting: 0 };
}

export type SortValue = string | number | null;

/** Rows without a value come last, whichever the direction. */
export function compareBy<Row>(toValue: (row: Row) => SortValue, descending: boolean): Compare<Row> {
  return (a, b) => {
    const [x, y] = [toValue(a), toValue(b)];
    if (x === null || y === null) return x === y ? 0 : x === null ? 1 : -1;
    const order = typeof x === 'string' && typeof y === 'string' ? x.localeCompare(y) : x < y ? -1 : x > y ? 1 : 0;
    return descending ? -order : order;
  };
}
