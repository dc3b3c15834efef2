/** Rows per statement: few round trips, and far below the number of parameters that either engine takes. */
const batchSize = 100;

export function* batches<T>(rows: readonly T[]): Generator<T[]> {
  for (let start = 0; start < rows.length; start += batchSize) yield rows.slice(start, start + batchSize);
}
