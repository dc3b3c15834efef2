/** Cells over time as the numbers and curves that are shown. Pure. */
import { addCell, type Cell, createCell } from './cell.ts';
import { quantile } from './duration-histogram.ts';

export type Cells = readonly (Cell | undefined)[];

export interface SeriesTotals {
  calls: number;
  failed: number;
  tool_errors: number;
  cancelled: number;
  calls_per_second: number;
  mean_ms: number | null;
  p50_ms: number | null;
  p95_ms: number | null;
  max_ms: number | null;
}

export interface SeriesPoints {
  calls: number[];
  failed: number[];
  tool_errors: number[];
  p50_ms: (number | null)[];
  p95_ms: (number | null)[];
}

/** Step by step, and all of them together. */
export function sumCells(all: Iterable<Cells>, length: number): Cell[] {
  const sum = Array.from({ length }, createCell);
  for (const cells of all)
    for (const [place, cell] of cells.entries()) {
      const target = sum[place];
      if (cell !== undefined && target !== undefined) addCell(target, cell);
    }
  return sum;
}

/** `seconds`: how much of the range has passed. */
export function toTotals(cells: Cells, seconds: number): SeriesTotals {
  const sum = createCell();
  for (const cell of cells) if (cell !== undefined) addCell(sum, cell);
  const { calls, failed, toolErrors, cancelled, totalMs, maxMs, buckets } = sum;
  return {
    calls,
    failed,
    tool_errors: toolErrors,
    cancelled,
    calls_per_second: Math.round((calls / Math.max(1, seconds)) * 1_000) / 1_000,
    mean_ms: calls === 0 ? null : rounded(totalMs / calls),
    p50_ms: orNull(quantile(buckets, 0.5), maxMs),
    p95_ms: orNull(quantile(buckets, 0.95), maxMs),
    max_ms: calls === 0 ? null : rounded(maxMs),
  };
}

export function toPoints(cells: Cells): SeriesPoints {
  return {
    calls: cells.map((cell) => cell?.calls ?? 0),
    failed: cells.map((cell) => cell?.failed ?? 0),
    tool_errors: cells.map((cell) => cell?.toolErrors ?? 0),
    p50_ms: cells.map((cell) => (cell === undefined ? null : orNull(quantile(cell.buckets, 0.5), cell.maxMs))),
    p95_ms: cells.map((cell) => (cell === undefined ? null : orNull(quantile(cell.buckets, 0.95), cell.maxMs))),
  };
}

/** The middle of a bucket may be more than the longest call in it. */
const orNull = (ms: number | undefined, longest: number) => (ms === undefined ? null : rounded(Math.min(ms, longest)));
const rounded = (ms: number) => Math.round(ms * 100) / 100;
