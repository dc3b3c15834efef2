/**
 * How well and how fast search finds tools.
 * node bench/search.ts [--data ../shared/toolret] [--scale] [--only mscbench] [--every 10] [--all]
 */
import { parseArgs } from 'node:util';
import { search } from '../src/search/search.ts';
import type { SearchIndex } from '../src/search/search-index.ts';
import type { SearchRequest } from '../src/search/search-result.ts';
import { createPlainBm25, plainField, textbook } from './plain-bm25.ts';
import { buildIndex } from './search-build.ts';
import { tuneFloor } from './search-floor.ts';
import { areaUnderCurve, type Measures, measure } from './search-measures.ts';
import { measureScale } from './search-scale.ts';
import { hasSets, type Request, type RequestSet, readSets, readSteps } from './search-sets.ts';

const { values } = parseArgs({
  options: {
    data: { type: 'string', default: '../shared/toolret' },
    scale: { type: 'boolean', default: false },
    only: { type: 'string' },
    every: { type: 'string', default: '1' },
    all: { type: 'boolean', default: false },
  },
});

/** What an answer must reach to be shown as fitting; the rate of "nothing fits" is measured at it. */
const fitThreshold = 0.5;

interface Ranking {
  ranked: number[];
  /** Of the first. */
  score: number;
}
type Ranker = (request: Pick<Request, 'id' | 'query'>) => Ranking | Promise<Ranking>;
interface Run extends Ranking {
  request: Request;
}

const plain = 'BM25 (plain)';
const tuned = 'BM25 (tuned)';
const fused = 'fused';
/** Of the product; the two floors stand above them. */
const strategies: Record<string, SearchRequest['strategy']> = {
  'lexical only': 'lexical',
  'vectors only': 'vector',
  [fused]: 'direct',
  hierarchical: 'hierarchical',
};

const columns = {
  hit1: 'hit@1',
  recall5: 'R@5',
  recall10: 'R@10',
  ndcg10: 'NDCG@10',
  mrr: 'MRR',
  all10: 'all@10',
} as const;
const measureNames = Object.keys(columns) as (keyof typeof columns)[];

if (!hasSets(values.data)) {
  console.log(`No request sets at ${values.data}: give their folder with --data.`);
} else if (values.scale) {
  await measureScale(values.data);
} else {
  const problems: string[] = [];
  for (const set of readSets(values.data)) {
    if (values.only === undefined || values.only === set.name) problems.push(...(await report(set)));
  }
  console.log(
    problems.length === 0
      ? `\n${fused} is nowhere below ${plain} or ${tuned}, on any measure of any group.`
      : `\n${fused} is below on ${problems.length} measures:\n${problems.map((problem) => `  ${problem}`).join('\n')}`,
  );
}

/** Prints the set's table; where fused is below one of the floors. The floor is tuned on one half, all rows are of the other. */
async function report(set: RequestSet): Promise<string[]> {
  const step = set.name === 'metatool' ? Number(values.every) : 1;
  const chosen = set.requests.filter((_, position) => position % step === 0);
  const isReported = (_: Request, position: number) => values.all || position % 2 === 1;
  const requests = chosen.filter(isReported);
  const { index } = await buildIndex(set.tools);
  const floor = tuneFloor(
    set.tools,
    chosen.filter((_, position) => position % 2 === 0),
  );
  console.log(`\n${set.name}: ${set.tools.length} tools, ${requests.length} requests; ${tuned}: ${floor.name}`);
  const heads = measureNames.map((name) => columns[name].padStart(7)).join(' ');
  console.log(`${'strategy'.padEnd(15)} ${'group'.padEnd(10)} ${heads}  requests`);
  const table = new Map<string, Map<string, Record<string, number>>>();
  const bm25 = createPlainBm25(set.tools, plainField);
  const rankers = new Map<string, Ranker>([
    [plain, ({ query }) => toRanking(bm25.search(query, 10, textbook))],
    [tuned, ({ query }) => toRanking(floor.search(query, 10))],
    ...Object.entries(strategies).map(([name, strategy]): [string, Ranker] => [
      name,
      async ({ query }) => toRanking(await find(index, { query, strategy })),
    ]),
  ]);
  for (const [name, rank] of rankers) {
    const runs = await run(rank, requests);
    const groups = new Map<string, Record<string, number>>();
    table.set(name, groups);
    for (const group of new Set(['', ...requests.map((request) => request.group)])) {
      const measures = measure(group === '' ? runs : runs.filter(({ request }) => request.group === group));
      groups.set(group || 'all', Object.fromEntries(measureNames.map((key) => [columns[key], measures[key]])));
      console.log(toRow(name, group || 'all', measures));
    }
    if (set.unanswerable.length === 0) continue;
    const { auroc, line } = await judgeUnanswerable(rank, set, runs, name in strategies);
    groups.set('nothing fits', { 'AUROC %': auroc * 100 });
    console.log(line);
  }
  if (set.name === 'mscbench') await reportSteps(index, set.requests);
  return [plain, tuned].flatMap((name) => compare(set.name, name, table));
}

/** The same requests in one piece and step by step. */
async function reportSteps(index: SearchIndex, requests: Request[]): Promise<void> {
  const steps = readSteps();
  const stepped = requests.filter(({ id }) => steps.has(id));
  const rankers: Record<string, Ranker> = {
    'in one piece': async ({ query }) => toRanking(await find(index, { query, strategy: 'direct' })),
    'by steps': async ({ id }) => toRanking(await find(index, { queries: steps.get(id), strategy: 'direct' })),
    'steps and whole': async ({ id, query }) =>
      toRanking(await find(index, { query, queries: steps.get(id), strategy: 'direct' })),
  };
  for (const [name, rank] of Object.entries(rankers)) {
    const runs = await run(rank, stepped);
    for (const group of new Set(stepped.map((request) => request.group))) {
      console.log(toRow(name, group, measure(runs.filter(({ request }) => request.group === group))));
    }
  }
}

async function find(index: SearchIndex, request: SearchRequest): Promise<{ id: number; score: number }[]> {
  const { tools } = await search(index, { limit: 10, ...request });
  return tools.map(({ tool, score }) => ({ id: tool.id, score }));
}

function toRanking(found: { id: number; score: number }[]): Ranking {
  return { ranked: found.map(({ id }) => id), score: found[0]?.score ?? 0 };
}

async function run(rank: Ranker, requests: Request[]): Promise<Run[]> {
  const runs: Run[] = [];
  for (const request of requests) runs.push({ request, ...(await rank(request)) });
  return runs;
}

/** Scores of BM25 have no scale, so a threshold says nothing about them. */
async function judgeUnanswerable(rank: Ranker, set: RequestSet, runs: Run[], hasScale: boolean) {
  const refused = await run(
    rank,
    set.unanswerable.map((query) => ({ id: '', query, group: '', slots: [] })),
  );
  const yes = runs.map(({ score }) => score);
  const no = refused.map(({ score }) => score);
  const auroc = areaUnderCurve(yes, no);
  const share = (scores: number[]) => (100 * scores.filter((score) => score < fitThreshold).length) / scores.length;
  const rates = `; below ${fitThreshold}: ${share(no).toFixed(1)} % of ${no.length} without an answer, ${share(yes).toFixed(1)} % of ${yes.length} with one`;
  return { auroc, line: `  nothing fits: AUROC ${auroc.toFixed(3)}${hasScale ? rates : ''}` };
}

function compare(set: string, floor: string, table: Map<string, Map<string, Record<string, number>>>): string[] {
  return [...(table.get(floor) ?? [])].flatMap(([group, measures]) =>
    Object.entries(measures).flatMap(([name, least]) => {
      const reached = table.get(fused)?.get(group)?.[name] ?? Number.NaN;
      if (reached >= least) return [];
      return [`${set}, ${group}, ${name}: ${reached.toFixed(2)} against ${least.toFixed(2)} of ${floor}`];
    }),
  );
}

function toRow(name: string, group: string, measures: Measures): string {
  const numbers = measureNames.map((key) => measures[key].toFixed(1).padStart(7));
  return `${name.padEnd(15)} ${group.padEnd(10)} ${numbers.join(' ')}  ${measures.count}`;
}
