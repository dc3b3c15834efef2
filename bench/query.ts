/**
 * The aggregator query: speed of merging and ranking, memory of a query, tokens saved, and how good the merged ranking
 * of five servers is beside one server that holds everything. `node bench/query.ts`
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { runQuery } from '../src/query/query.ts';
import { condense } from '../src/query/results/condense.ts';
import type { RelevantItem } from '../src/query/results/items.ts';
import { type Candidate, type Ranked, rank } from '../src/query/results/rank.ts';
import { dedupe } from '../src/similarity/dedupe.ts';
import { random } from '../test/query/random.ts';
import { makeCollection } from './query-collection.ts';
import { depsFor, embed, proseTexts } from './query-deps.ts';
import { type MemoryReport, memoryCases } from './query-memory.ts';
import { makeServer, splitOverServers } from './query-servers.ts';
import { measureTokens } from './query-tokens.ts';
import { mean, median } from './table.ts';

const live = new AbortController().signal;
const question = 'how do I configure the retry of failed requests';
const { documents, queries } = makeCollection();
const servers = splitOverServers(documents);

await speed();
memory();
await quality();
await measureTokens(servers, queries);

async function speed(): Promise<void> {
  const prose = proseTexts();
  const hundred = longItems(100, prose);
  const merging: { text: string; items: RelevantItem[]; goal: number | string }[] = [
    { text: 'prose', items: hundred, goal: 20 },
    { text: 'prose', items: longItems(1000, prose), goal: 1000 },
    { text: 'the same sentences shuffled', items: longItems(100), goal: 20 },
    { text: 'the same sentences shuffled', items: longItems(1000), goal: 1000 },
  ];
  const rows = [];
  for (const { text, items, goal } of merging) {
    const isSmall = items.length === 100;
    const { distinct } = mergeAndRank(items);
    const times = await timed(isSmall ? 60 : 6, isSmall ? 20 : 1, () => mergeAndRank(fresh(items)));
    rows.push({
      step: 'deduplicate and rank',
      'results of 5 KB': items.length,
      text,
      distinct,
      ...times,
      'goal ms': goal,
    });
  }
  const { ranked } = mergeAndRank(hundred);
  for (const count of [30, ranked.length]) {
    const results = ranked.slice(0, count);
    const times = await timed(20, 5, () => condense({ query: question, results, embed }));
    rows.push({ step: 'shorten', 'results of 5 KB': count, text: 'prose', distinct: count, ...times, 'goal ms': '–' });
  }
  console.log('Speed; a quarter of the results are edited copies of others');
  console.table(rows);
}

async function timed(count: number, warmUp: number, run: () => unknown) {
  const runs = [];
  for (let i = 0; i < count; i++) {
    // Of this thread alone: on a machine that is busy with other things, the wall clock tells of those.
    const cpu = process.threadCpuUsage();
    const started = performance.now();
    await run();
    const spent = process.threadCpuUsage(cpu);
    runs.push({ wall: performance.now() - started, cpu: (spent.user + spent.system) / 1000 });
  }
  const counted = runs.slice(warmUp);
  return {
    'median ms': round(median(counted.map(({ wall }) => wall))),
    'fastest ms': round(Math.min(...counted.map(({ wall }) => wall))),
    'median cpu ms': round(median(counted.map(({ cpu }) => cpu))),
  };
}

/** What is known of an item is kept with it; a query meets each for the first time. */
function fresh(items: readonly RelevantItem[]): RelevantItem[] {
  return items.map((item) => ({ ...item }));
}

function mergeAndRank(items: RelevantItem[]): { distinct: number; ranked: Ranked[] } {
  const { clusters } = dedupe(items);
  const candidates: Candidate[] = clusters.flatMap((members) => {
    const sources = members.flatMap((index) => items[index] ?? []);
    const [item] = sources;
    return item === undefined ? [] : [{ item, sources }];
  });
  return { distinct: candidates.length, ranked: rank({ query: question, candidates }) };
}

/**
 * Five kilobytes each. Every fourth repeats an earlier one: with a few words more, or with a passage replaced. Without
 * texts, from the collection's sentences.
 */
function longItems(count: number, originals: readonly string[] = []): RelevantItem[] {
  const next = random(count);
  const texts: string[] = [];
  for (let i = 0; i < count; i++) {
    const earlier = texts[Math.floor(next() * texts.length)];
    if (i % 4 === 3 && earlier !== undefined) {
      const at = earlier.indexOf(' ', Math.floor(next() * 4000));
      const rest = earlier.slice(at + (i % 8 === 3 ? 0 : Math.floor(next() * 600)));
      texts.push(`${earlier.slice(0, at)} an edit of a few words ${rest}`);
    } else {
      let text = originals[i % Math.max(1, originals.length)] ?? '';
      while (text.length < 5120) text += `${documents[Math.floor(next() * documents.length)]?.content}\n\n`;
      texts.push(text.slice(0, 5120));
    }
  }
  return texts.map((content, position) => ({
    content,
    server: `server-${(position % 5) + 1}`,
    tool: 'search',
    timestamp: '2026-01-01T00:00:00.000Z',
    position: Math.floor(position / 5),
    answer: 0,
    relevance: 0.7,
  }));
}

/** Each case in a process of its own: what one left behind must not count for the next. */
function memory(): void {
  const program = fileURLToPath(new URL('query-memory.ts', import.meta.url));
  const rows = memoryCases.map((name) => {
    const { status, stdout } = spawnSync(process.execPath, ['--expose-gc', program, name], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    if (status !== 0) throw new Error(`the memory of "${name}" could not be measured`);
    const { items, cut, asItems, comparing, returned }: MemoryReport = JSON.parse(stdout.toString());
    return {
      query: name,
      items,
      cut,
      'MB as items': round(asItems),
      'MB while comparing': round(comparing),
      'MB of the answer': round(returned),
      'MB at most': round(Math.max(asItems, comparing, returned)),
      'goal MB': 10,
    };
  });
  console.log(
    'Memory of one query: live bytes beyond those before it, garbage collected, what servers sent not counted',
  );
  console.table(rows);
}

async function quality(): Promise<void> {
  const central = makeServer('central', documents, { saturation: 1.2, lengthShare: 0.75, results: 30, format: 'json' });
  const scores: Record<string, number[]> = {};
  const add = (name: string, score: number): void => {
    scores[name] ??= [];
    scores[name].push(score);
  };
  const merged = depsFor(servers);
  const onlyCentral = depsFor([central]);
  for (const { text, grades } of queries) {
    const output = await runQuery(merged, { query: text }, live);
    add(
      'ours, five servers',
      ndcg(
        output.results.map((result) => idOf(result.link)),
        grades,
      ),
    );
    add(
      'one server with everything, its own order',
      ndcg(
        central.search(text).map((document) => document.id),
        grades,
      ),
    );
    const ranked = await runQuery(onlyCentral, { query: text }, live);
    add(
      'one server with everything, ranked by us',
      ndcg(
        ranked.results.map((result) => idOf(result.link)),
        grades,
      ),
    );
    for (const server of servers)
      add(
        `${server.name} alone`,
        ndcg(
          server.search(text).map((document) => document.id),
          grades,
        ),
      );
  }
  const centralScore = mean(scores['one server with everything, its own order'] ?? []);
  console.log(`NDCG@10: ${documents.length} documents, ${queries.length} queries, words and vectors`);
  console.table(
    Object.entries(scores).map(([ranking, values]) => ({
      ranking,
      'NDCG@10': round(mean(values), 4),
      'of central': round(mean(values) / centralScore, 4),
    })),
  );
}

function idOf(link: string | undefined): string {
  return link?.replace('https://docs.example/', '') ?? '';
}

/** A document that comes twice counts once; the ideal is taken over the whole collection. */
function ndcg(ids: readonly string[], grades: ReadonlyMap<string, number>): number {
  const gain = (grade: number, place: number): number => (2 ** grade - 1) / Math.log2(place + 2);
  const seen = new Set<string>();
  const reached = ids.slice(0, 10).reduce((sum, id, place) => {
    const grade = seen.has(id) ? 0 : (grades.get(id) ?? 0);
    seen.add(id);
    return sum + gain(grade, place);
  }, 0);
  const ideal = [...grades.values()]
    .toSorted((a, b) => b - a)
    .slice(0, 10)
    .reduce((sum, grade, place) => sum + gain(grade, place), 0);
  return ideal === 0 ? 0 : reached / ideal;
}

function round(value: number, digits = 2): number {
  return Number(value.toFixed(digits));
}
