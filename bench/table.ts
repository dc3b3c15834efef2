/** Prints rows as a table: words to the left, numbers to the right. */
export function printTable(title: string, columns: string[], rows: (string | number)[][]): void {
  const cells = rows.map((row) => row.map((value) => (typeof value === 'number' ? formatNumber(value) : value)));
  const widths = columns.map((column, at) => Math.max(column.length, ...cells.map((row) => row[at]?.length ?? 0)));
  const line = (values: string[]) =>
    values
      .map((value, at) =>
        typeof rows[0]?.[at] === 'number' ? value.padStart(widths[at] ?? 0) : value.padEnd(widths[at] ?? 0),
      )
      .join('  ')
      .trimEnd();
  console.log(`\n${title}`);
  console.log(line(columns));
  for (const row of cells) console.log(line(row));
}

export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return '–';
  if (Number.isInteger(value)) return value.toLocaleString('en-US');
  return Math.abs(value) >= 100
    ? Math.round(value).toLocaleString('en-US')
    : value.toFixed(Math.abs(value) >= 10 ? 1 : 3);
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

/** The p-th percentile (0–100) of values, by the nearest rank. */
export function percentile(values: ArrayLike<number>, p: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil((p / 100) * sorted.length) - 1))] ?? Number.NaN;
}
