/** Calls over time, as the aggregator measured them; the page computes none of the numbers. */
import { type AnswerOf, api } from './api.ts';
import { type Resource, useAnswer } from './resource.ts';

export type Statistics = AnswerOf<'getAggregatorStats'>;
export type StatisticsSeries = NonNullable<Statistics['series']>[number];

export const ranges = [
  { value: '15m', name: 'Last 15 minutes', seconds: 900, step: 10 },
  { value: '1h', name: 'Last hour', seconds: 3_600, step: 30 },
  { value: '6h', name: 'Last 6 hours', seconds: 21_600, step: 180 },
  { value: '24h', name: 'Last 24 hours', seconds: 86_400, step: 600 },
  { value: '7d', name: 'Last 7 days', seconds: 604_800, step: 3_600 },
  { value: '30d', name: 'Last 30 days', seconds: 2_592_000, step: 14_400 },
] as const;
export interface Range {
  seconds: number;
  step: number;
  /** Ends with the last whole step, for rates of now. */
  whole?: boolean;
}
export const toRange = (value: string) => ranges.find((range) => range.value === value) ?? ranges[0];

interface StatisticsQuery {
  by?: 'server' | 'tool' | 'client';
  server?: string;
  tool?: string;
  limit?: number;
}

/** Short ranges move while one looks at them. */
const freshMs = 2_500;
const longMs = 30_000;

/** A range of `null` asks nothing. */
export function useStatistics(range: Range | null, query: StatisticsQuery = {}): Resource<Statistics> {
  const { seconds, step, whole = false } = range ?? { seconds: 0, step: 0 };
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
  const parameters = new URLSearchParams(given);
  return useAnswer(
    range === null ? null : ['stats', String(seconds), parameters.toString()],
    (signal) => {
      const to = whole ? Math.floor(Date.now() / (step * 1_000)) * step * 1_000 : Date.now();
      parameters.set('from', new Date(to - seconds * 1_000).toISOString());
      parameters.set('to', new Date(to).toISOString());
      parameters.set('step', String(step));
      return api<Statistics>('GET', `/api/v1/aggregator/stats?${parameters}`, undefined, signal);
    },
    seconds <= 3_600 ? { everyMs: freshMs } : { everyMs: longMs, on: ['call.finished'], gather: 2 * freshMs },
  );
}

/** Where the points of an answer begin, in seconds since 1970. */
export function timesOf({ from, step, total }: Statistics): number[] {
  const first = Date.parse(from) / 1_000;
  return total.points.calls.map((_, place) => first + place * step);
}

export const perSecond = (rate: number) => `${rate >= 100 ? Math.round(rate) : rate.toFixed(rate >= 10 ? 1 : 2)}/s`;
export const percent = (part: number, whole: number) =>
  whole === 0 ? '–' : `${((part / whole) * 100).toFixed(part === 0 ? 0 : 1)} %`;
