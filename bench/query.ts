/**
 * The aggregator query: speed of merging and ranking, memory of a query, tokens saved, and how good the merged ranking
 * of five servers is beside one server that holds everything. `node bench/query.ts`
 */
import { readdirSync, readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { dedupe, normalise } from '../src/query/dedupe.ts';
import type { Item } from '../src/query/items.ts';
import { type QueryDeps, runQuery } from '../src/query/query.ts';
import { type Candidate, rank } from '../src/query/rank.ts';
import { random } from '../test/query/random.ts';
import { makeCollection } from './query-collection.ts';
import { makeServer, type SearchServer, splitOverServers } from './query-servers.ts';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');
const live = new AbortController().signal;
const embed = await findEmbed();
const { documents, queries } = makeCollection();
const servers = splitOverServers(documents);

speed();
await memory();
precision();
await quality();

/** The embedding table belongs to another room; without it the words decide alone. */
async function findEmbed(): Promise<QueryDeps['embed']> {
  const path = '../src/search/embed.ts';
  const module: unknown = await import(path).catch(() => undefined);
  if (typeof module !== 'object' || module === null || !('loadStaticEmbedder' in module)) return undefined;
  const { loadStaticEmbedder } = module;
  if (typeof loadStaticEmbedder !== 'function') return undefined;
  const embedder: { embedText(text: string): Float32Array } = loadStaticEmbedder();
  return (texts) => texts.map((text) => embedder.embedText(text));
}

function speed(): void {
  const prose = proseTexts();
  const cases: { text: string; items: Item[]; goal: number | string }[] = [
    { text: 'prose', items: longItems(100, prose), goal: 20 },
    { text: 'prose', items: longItems(1000, prose), goal: 1000 },
    { text: 'the same sentences shuffled', items: longItems(100), goal: '–' },
  ];
  const rows = cases.map(({ text, items, goal }) => {
    const query = 'how do I configure the retry of failed requests';
    const isSmall = items.length === 100 && text === 'prose';
    const runs = Array.from({ length: isSmall ? 60 : 6 }, () => {
      // Of this thread alone: on a machine that is busy with other things, the wall clock tells of those.
      const cpu = process.threadCpuUsage();
      const started = performance.now();
      mergeAndRank(query, items);
      const spent = process.threadCpuUsage(cpu);
      return { wall: performance.now() - started, cpu: (spent.user + spent.system) / 1000 };
    }).slice(isSmall ? 20 : 1);
    return {
      'results of 5 KB': items.length,
      text,
      distinct: mergeAndRank(query, items).candidates,
      'median ms': round(median(runs.map((run) => run.wall))),
      'fastest ms': round(Math.min(...runs.map((run) => run.wall))),
      'median cpu ms': round(median(runs.map((run) => run.cpu))),
      'goal ms': goal,
    };
  });
  console.log('Deduplicate and rank, a quarter of the results near-duplicates');
  console.table(rows);
}

/** Real documentation to work on: the Markdown files of the installed packages, in pieces. Change logs are no prose. */
function proseTexts(): string[] {
  const root = new URL('../node_modules/', import.meta.url);
  const paths = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
    (path) => /\.md$/i.test(path) && !/change|history|release/i.test(path),
  );
  const texts = paths.toSorted().flatMap((path) => {
    const text = readFileSync(new URL(path, root), 'utf8');
    return Array.from({ length: Math.floor(text.length / 5120) }, (_, i) => text.slice(i * 5120, (i + 1) * 5120));
  });
  const next = random(11);
  return texts
    .map((text) => ({ text, key: next() }))
    .toSorted((x, y) => x.key - y.key)
    .map(({ text }) => text);
}

function mergeAndRank(query: string, items: Item[]): { candidates: number } {
  const { clusters } = dedupe(items.map((item) => item.content));
  const candidates: Candidate[] = clusters.flatMap((members) => {
    const sources = members.flatMap((index) => items[index] ?? []);
    const [item] = sources;
    return item === undefined ? [] : [{ item, sources }];
  });
  rank({ query, candidates });
  return { candidates: candidates.length };
}

/** Five kilobytes each; every fourth repeats an earlier one with edits. Without texts, from the collection's sentences. */
function longItems(count: number, originals: readonly string[] = []): Item[] {
  const next = random(count);
  const texts: string[] = [];
  for (let i = 0; i < count; i++) {
    const earlier = texts[Math.floor(next() * texts.length)];
    if (i % 4 === 3 && earlier !== undefined) {
      const at = Math.floor(next() * 4000);
      const rest = earlier.slice(at + Math.floor(next() * 600));
      texts.push(`${earlier.slice(0, at)} an edit of a few words ${rest}`.slice(0, 5120));
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
  }));
}

async function memory(): Promise<void> {
  const texts = longItems(100).map((item) => item.content);
  const huge = JSON.stringify(Array.from({ length: 10_000 }, (_, i) => ({ title: `T${i}`, content: texts[i % 100] })));
  const cases: [string, QueryDeps][] = [
    [
      '100 results of 5 KB',
      depsFor(servers, (server) => ({
        content: [{ type: 'text', text: JSON.stringify(texts.filter((_, i) => i % 5 === servers.indexOf(server))) }],
      })),
    ],
    ['collection, 5 servers', depsFor(servers)],
    [
      'one server answers 50 MB',
      depsFor(servers, (server, query) =>
        server.name === 'server-1' ? { content: [{ type: 'text', text: huge }] } : server.answer(query),
      ),
    ],
  ];
  const rows = [];
  for (const [name, deps] of cases) {
    for (let i = 0; i < 3; i++) await runQuery(deps, { query: 'retry failed requests' }, live);
    collectGarbage();
    const before = process.memoryUsage();
    let peak = 0;
    // Answers are in memory before a query sees them: what is measured is what the query adds.
    const sample = (): void => {
      collectGarbage();
      peak = Math.max(peak, used(process.memoryUsage()) - used(before));
    };
    const output = await runQuery(
      { ...deps, embed: sampled(sample, deps.embed ?? noVectors) },
      { query: 'retry failed requests' },
      live,
    );
    sample();
    rows.push({
      query: name,
      'MB held at most': round(peak / 1024 / 1024),
      'goal MB': 10,
      items: output.metadata.totalResultsRaw,
      cut: output.metadata.truncated,
    });
  }
  rows.push(...[100, 400].map((count) => comparing(count)));
  console.log('Memory of one query (live bytes after collection, sampled after merging)');
  console.table(rows);
}

/** What comparing holds when its last text comes up: the texts prepared, and their profiles. */
function comparing(count: number): Record<string, unknown> {
  const contents = longItems(count).map((item) => item.content);
  const last = contents.at(-1) ?? '';
  collectGarbage();
  const before = used(process.memoryUsage());
  let held = 0;
  const get = (): string => {
    collectGarbage();
    held = used(process.memoryUsage()) - before;
    return last;
  };
  Object.defineProperty(contents, count - 1, { get });
  dedupe(contents);
  return {
    query: `comparing ${count} results of 5 KB`,
    'MB held at most': round(held / 1024 / 1024),
    'goal MB': 10,
    items: count,
  };
}

function sampled(sample: () => void, inner: NonNullable<QueryDeps['embed']>): QueryDeps['embed'] {
  return (texts) => {
    sample();
    return inner(texts);
  };
}

/** `external` holds array buffers and the memory of compiled kernels. */
function used({ heapUsed, external }: NodeJS.MemoryUsage): number {
  return heapUsed + external;
}

function noVectors(texts: readonly string[]): Float32Array[] {
  return texts.map(() => new Float32Array(1));
}

/** Pairs that the fast way puts together against pairs of the plain definition. */
function precision(): void {
  const contents = longItems(60).map((item, i) => (i % 3 === 0 ? item.content : item.content.slice(0, 400 + 20 * i)));
  const fast = pairsOf(dedupe(contents).clusters);
  const plain = pairsOf(plainClusters(contents, 0.8));
  const common = [...fast].filter((pair) => plain.has(pair)).length;
  console.log('Deduplication against the plain definition');
  console.table([
    { items: contents.length, 'pairs, plain': plain.size, precision: common / fast.size, recall: common / plain.size },
  ]);
}

function plainClusters(contents: readonly string[], threshold: number): number[][] {
  const clusters: number[][] = [];
  const texts = contents.map(normalise);
  texts.forEach((text, index) => {
    const home = clusters.find(([first = 0]) => {
      const other = texts[first] ?? '';
      return text === other || 1 - plainDistance(text, other) / Math.max(text.length, other.length) > threshold;
    });
    if (home === undefined) clusters.push([index]);
    else home.push(index);
  });
  return clusters;
}

function plainDistance(a: string, b: string): number {
  let previous = Uint32Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = new Uint32Array(b.length + 1);
    row[0] = i;
    for (let j = 1; j <= b.length; j++) {
      const kept = (previous[j - 1] ?? 0) + (a.charCodeAt(i - 1) === b.charCodeAt(j - 1) ? 0 : 1);
      row[j] = Math.min(kept, (previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1);
    }
    previous = row;
  }
  return previous[b.length] ?? 0;
}

function pairsOf(clusters: readonly number[][]): Set<string> {
  return new Set(
    clusters.flatMap((members) => members.flatMap((a, i) => members.slice(i + 1).map((b) => `${a},${b}`))),
  );
}

async function quality(): Promise<void> {
  const central = makeServer('central', documents, { saturation: 1.2, lengthShare: 0.75, results: 30, format: 'json' });
  const scores: Record<string, number[]> = {};
  const add = (name: string, score: number): void => {
    scores[name] ??= [];
    scores[name].push(score);
  };
  let tokensRaw = 0;
  let tokensReturned = 0;
  let rawDistinct = 0;
  let relevantRaw = 0;
  let relevantReturned = 0;
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

    const sent = new Set(servers.flatMap((server) => server.search(text).map((document) => document.id)));
    const returned = new Set(output.results.map((result) => idOf(result.link)));
    tokensRaw += output.metadata.tokensRaw ?? 0;
    tokensReturned += output.metadata.tokensReturned ?? 0;
    rawDistinct += sent.size;
    relevantRaw += [...sent].filter((id) => grades.has(id)).length;
    relevantReturned += [...returned].filter((id) => grades.has(id)).length;
  }
  const centralScore = mean(scores['one server with everything, its own order'] ?? []);
  console.log(
    `NDCG@10: ${documents.length} documents, ${queries.length} queries, ${embed === undefined ? 'words only' : 'words and vectors'}`,
  );
  console.table(
    Object.entries(scores).map(([ranking, values]) => ({
      ranking,
      'NDCG@10': round(mean(values), 4),
      'of central': round(mean(values) / centralScore, 4),
    })),
  );
  console.log('Tokens');
  console.table([
    {
      'sent by servers': tokensRaw,
      returned: tokensReturned,
      'saved %': round(100 * (1 - tokensReturned / tokensRaw)),
      'distinct items sent': rawDistinct,
      'relevant items sent': relevantRaw,
      'relevant items returned': relevantReturned,
      'recall of relevant': round(relevantReturned / relevantRaw, 4),
    },
  ]);
}

function depsFor(
  list: readonly SearchServer[],
  answer = (server: SearchServer, query: string) => server.answer(query),
): QueryDeps {
  const inputSchema = { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] };
  const byName = new Map(list.map((server) => [server.name, server]));
  return {
    servers: () => list.map(({ name }) => ({ name, tools: [{ name: 'search_docs', inputSchema }] })),
    findTools: (_query, names) => names.map((server) => ({ server, tool: 'search_docs', score: 1 })),
    callTool: async (name, _tool, args) => {
      const server = byName.get(name);
      return server === undefined ? {} : answer(server, String(args.query));
    },
    rules: [],
    embed,
  };
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

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

function round(value: number, digits = 2): number {
  return Number(value.toFixed(digits));
}
