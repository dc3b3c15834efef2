/** What is counted of the calls of one server, tool or client within one slot of time. */
import { bucketCount, bucketOf } from './duration-histogram.ts';

export interface Cell {
  calls: number;
  /** The server did not answer, or the call never reached it. */
  failed: number;
  /** The tool answered that it failed. */
  toolErrors: number;
  cancelled: number;
  totalMs: number;
  maxMs: number;
  readonly buckets: Uint32Array;
}

/** A cell as it is stored: the numbers, then the buckets that are not empty as pairs of place and count. */
export type StoredCell = readonly [
  calls: number,
  failed: number,
  toolErrors: number,
  cancelled: number,
  totalMs: number,
  maxMs: number,
  buckets: readonly number[],
];
export type StoredCells = Record<string, StoredCell>;

export const createCell = (): Cell => ({
  calls: 0,
  failed: 0,
  toolErrors: 0,
  cancelled: 0,
  totalMs: 0,
  maxMs: 0,
  buckets: new Uint32Array(bucketCount),
});

export function countCall(cell: Cell, outcome: string, ms: number): void {
  cell.calls += 1;
  cell.totalMs += ms;
  if (ms > cell.maxMs) cell.maxMs = ms;
  const bucket = bucketOf(ms);
  cell.buckets[bucket] = (cell.buckets[bucket] ?? 0) + 1;
  if (outcome === 'ok') return;
  if (outcome === 'tool_error') cell.toolErrors += 1;
  else if (outcome === 'cancelled') cell.cancelled += 1;
  else cell.failed += 1;
}

export function addCell(to: Cell, from: Cell): void {
  to.calls += from.calls;
  to.failed += from.failed;
  to.toolErrors += from.toolErrors;
  to.cancelled += from.cancelled;
  to.totalMs += from.totalMs;
  to.maxMs = Math.max(to.maxMs, from.maxMs);
  for (let bucket = 0; bucket < bucketCount; bucket += 1)
    to.buckets[bucket] = (to.buckets[bucket] ?? 0) + (from.buckets[bucket] ?? 0);
}

export function addStored(to: Cell, [calls, failed, toolErrors, cancelled, totalMs, maxMs, buckets]: StoredCell): void {
  to.calls += calls;
  to.failed += failed;
  to.toolErrors += toolErrors;
  to.cancelled += cancelled;
  to.totalMs += totalMs;
  to.maxMs = Math.max(to.maxMs, maxMs);
  for (let at = 0; at + 1 < buckets.length; at += 2) {
    const bucket = Math.min(bucketCount - 1, buckets[at] ?? 0);
    to.buckets[bucket] = (to.buckets[bucket] ?? 0) + (buckets[at + 1] ?? 0);
  }
}

export function toStored({ calls, failed, toolErrors, cancelled, totalMs, maxMs, buckets }: Cell): StoredCell {
  const pairs: number[] = [];
  for (const [bucket, count] of buckets.entries()) if (count > 0) pairs.push(bucket, count);
  return [calls, failed, toolErrors, cancelled, rounded(totalMs), rounded(maxMs), pairs];
}

const rounded = (ms: number) => Math.round(ms * 1_000) / 1_000;
