/**
 * How well and how fast search finds tools.
 * node bench/search.ts [--data ../shared/toolret] [--scale] [--only mscbench] [--every 10]
 */
import { parseArgs } from 'node:util';
import { type SearchRequest, search } from '../src/search/search.ts';
import type { SearchIndex } from '../src/search/search-index.ts';
import { buildIndex } from './search-build.ts';
import { areaUnderCurve, type Measures, measure } from './search-measures.ts';
import { measureScale } from './search-scale.ts';
import { hasSets, type Request, type RequestSet, readSets } from './search-sets.ts';

const { values } = parseArgs({
  options: {
    data: { type: 'string', default: '../shared/toolret' },
    scale: { type: 'boolean', default: false },
    only: { type: 'string' },
    every: { type: 'string', default: '1' },
    strategies: { type: 'string', default: 'lexical,vector,direct,hierarchical' },
  },
});

/** What an answer must reach to be shown as fitting; the rate of "nothing fits" is measured at it. */
const fitThreshold = 0.5;

if (!hasSets(values.data)) {
  console.log(`No request sets at ${values.data}: give their folder with --data.`);
} else if (values.scale) {
  await measureScale(values.data);
} else {
  for (const set of readSets(values.data)) if (values.only === undefined || values.only === set.name) await report(set);
}

async function report(set: RequestSet): Promise<void> {
  const { index } = await buildIndex(set.tools);
  const step = set.name === 'metatool' ? Number(values.every) : 1;
  const requests = set.requests.filter((_, position) => position % step === 0);
  console.log(`\n${set.name}: ${set.tools.length} tools, ${requests.length} requests`);
  console.log('strategy       group       hit@1   R@5  R@10  NDCG@10   MRR  all@10  requests');
  for (const strategy of values.strategies.split(',') as NonNullable<SearchRequest['strategy']>[]) {
    const runs = await run(index, requests, strategy);
    for (const group of new Set(['', ...requests.map((request) => request.group)])) {
      const chosen = group === '' ? runs : runs.filter(({ request }) => request.group === group);
      console.log(toRow(strategy, group, measure(chosen)));
    }
    if (set.unanswerable.length > 0) await reportUnanswerable(index, set, runs, strategy);
  }
}

interface Run {
  request: Request;
  ranked: number[];
  score: number;
}

async function run(index: SearchIndex, requests: Request[], strategy: SearchRequest['strategy']): Promise<Run[]> {
  const runs: Run[] = [];
  for (const request of requests) {
    const { tools } = await search(index, { query: request.query, strategy, limit: 10 });
    runs.push({ request, ranked: tools.map(({ tool }) => tool.id), score: tools[0]?.score ?? 0 });
  }
  return runs;
}

async function reportUnanswerable(
  index: SearchIndex,
  set: RequestSet,
  runs: Run[],
  strategy: SearchRequest['strategy'],
): Promise<void> {
  const refused = await run(
    index,
    set.unanswerable.map((query) => ({ query, group: '', slots: [] })),
    strategy,
  );
  const yes = runs.map(({ score }) => score);
  const no = refused.map(({ score }) => score);
  const share = (scores: number[]) => (100 * scores.filter((score) => score < fitThreshold).length) / scores.length;
  console.log(
    `  nothing fits: AUROC ${areaUnderCurve(yes, no).toFixed(3)}; below ${fitThreshold}: ${share(no).toFixed(1)} % of ${no.length} without an answer, ${share(yes).toFixed(1)} % of ${yes.length} with one`,
  );
}

function toRow(strategy: string | undefined, group: string, measures: Measures): string {
  const numbers = [measures.hit1, measures.recall5, measures.recall10, measures.ndcg10, measures.mrr, measures.all10];
  return `${(strategy ?? '').padEnd(14)} ${(group || 'all').padEnd(10)} ${numbers.map((value) => value.toFixed(1).padStart(6)).join(' ')}  ${measures.count}`;
}
