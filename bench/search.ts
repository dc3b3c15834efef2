/**
 * How well and how fast search finds tools.
 * node bench/search.ts [--data ../shared/toolret] [--scale] [--only mscbench] [--every 10]
 */
import { parseArgs } from 'node:util';
import { type SearchRequest, search } from '../src/search/search.ts';
import { createPlainBm25, type Field, plainField, stemmedField } from './plain-bm25.ts';
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
  },
});

/** What an answer must reach to be shown as fitting; the rate of "nothing fits" is measured at it. */
const fitThreshold = 0.5;

interface Ranking {
  ranked: number[];
  /** Of the first. */
  score: number;
}
type Ranker = (query: string) => Ranking | Promise<Ranking>;
interface Run extends Ranking {
  request: Request;
}

const plain = 'BM25 (plain)';
const stemmed = 'BM25 (stemmed)';
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
      ? `\n${fused} is nowhere below ${plain} or ${stemmed}, on any measure of any group.`
      : `\n${fused} is below on ${problems.length} measures:\n${problems.map((problem) => `  ${problem}`).join('\n')}`,
  );
}

/** Prints the set's table; where fused is below one of the floors. */
async function report(set: RequestSet): Promise<string[]> {
  const rankers = await createRankers(set);
  const step = set.name === 'metatool' ? Number(values.every) : 1;
  const requests = set.requests.filter((_, position) => position % step === 0);
  console.log(`\n${set.name}: ${set.tools.length} tools, ${requests.length} requests`);
  const heads = measureNames.map((name) => columns[name].padStart(7)).join(' ');
  console.log(`${'strategy'.padEnd(15)} ${'group'.padEnd(10)} ${heads}  requests`);
  const table = new Map<string, Map<string, Record<string, number>>>();
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
  return [plain, stemmed].flatMap((floor) => compare(set.name, floor, table));
}

async function createRankers(set: RequestSet): Promise<Map<string, Ranker>> {
  const { index } = await buildIndex(set.tools);
  const floor = (field: Field): Ranker => {
    const bm25 = createPlainBm25(set.tools, field);
    return (query) => {
      const found = bm25.search(query, 10);
      return { ranked: found.map(({ id }) => id), score: found[0]?.score ?? 0 };
    };
  };
  const ours = Object.entries(strategies).map(([name, strategy]): [string, Ranker] => [
    name,
    async (query) => {
      const { tools } = await search(index, { query, strategy, limit: 10 });
      return { ranked: tools.map(({ tool }) => tool.id), score: tools[0]?.score ?? 0 };
    },
  ]);
  return new Map([[plain, floor(plainField)], [stemmed, floor(stemmedField)], ...ours]);
}

async function run(rank: Ranker, requests: Request[]): Promise<Run[]> {
  const runs: Run[] = [];
  for (const request of requests) runs.push({ request, ...(await rank(request.query)) });
  return runs;
}

/** Scores of BM25 have no scale, so a threshold says nothing about them. */
async function judgeUnanswerable(rank: Ranker, set: RequestSet, runs: Run[], hasScale: boolean) {
  const refused = await run(
    rank,
    set.unanswerable.map((query) => ({ query, group: '', slots: [] })),
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
