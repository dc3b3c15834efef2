import type { Request } from './search-sets.ts';

export interface Measures {
  hit1: number;
  recall5: number;
  recall10: number;
  ndcg10: number;
  mrr: number;
  /** Every tool the request needs is among the first ten. */
  all10: number;
  count: number;
}

export function measure(runs: { request: Request; ranked: number[] }[]): Measures {
  const sums = { hit1: 0, recall5: 0, recall10: 0, ndcg10: 0, mrr: 0, all10: 0 };
  for (const { request, ranked } of runs) {
    const ranks = request.slots.map((slot) => {
      const rank = ranked.findIndex((id) => slot.has(id));
      return rank === -1 ? Number.POSITIVE_INFINITY : rank;
    });
    const within = (limit: number) => ranks.filter((rank) => rank < limit).length / ranks.length;
    const best = Math.min(...ranks);
    sums.hit1 += best === 0 ? 1 : 0;
    sums.recall5 += within(5);
    sums.recall10 += within(10);
    sums.all10 += within(10) === 1 ? 1 : 0;
    sums.mrr += best < 10 ? 1 / (best + 1) : 0;
    // One tool may stand for two needed ones; its place counts once.
    sums.ndcg10 += gain([...new Set(ranks)]) / gain(ranks.slice(0, 10).map((_, index) => index));
  }
  const count = Math.max(1, runs.length);
  const percent = (sum: number) => (100 * sum) / count;
  return {
    hit1: percent(sums.hit1),
    recall5: percent(sums.recall5),
    recall10: percent(sums.recall10),
    ndcg10: percent(sums.ndcg10),
    mrr: percent(sums.mrr),
    all10: percent(sums.all10),
    count: runs.length,
  };
}

function gain(ranks: number[]): number {
  return ranks.reduce((sum, rank) => sum + (rank < 10 ? 1 / Math.log2(rank + 2) : 0), 0);
}

/** How often an answerable request's best score is above an unanswerable one's. */
export function areaUnderCurve(answerable: number[], unanswerable: number[]): number {
  let above = 0;
  for (const yes of answerable) for (const no of unanswerable) above += yes > no ? 1 : yes === no ? 0.5 : 0;
  return above / (answerable.length * unanswerable.length);
}

export function percentile(values: number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
