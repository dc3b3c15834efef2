/**
 * What one query holds in memory, in a process of its own: `node --expose-gc bench/query-memory.ts <case>` prints one
 * line of JSON. Measured are live bytes (heap and array buffers, garbage collected first) beyond those before the query,
 * at the three moments at which most is held: all answers made into items, the last item being compared with the others,
 * the answer made. What a server sent is in memory before a query sees it and is not counted.
 */
import { defaultFanOutLimits, fanOut, type ServerOutcome } from '../src/query/fan-out.ts';
import { type QueryDeps, runQuery } from '../src/query/query.ts';
import { findCandidates, makePlan } from '../src/query/query-plan.ts';
import { analyseQuestion } from '../src/query/question/question.ts';
import { createRelevanceMeter } from '../src/query/question/relevance.ts';
import { parseQuery } from '../src/query/request.ts';
import type { RelevantItem } from '../src/query/results/items.ts';
import { dedupe } from '../src/similarity/dedupe.ts';
import { random } from '../test/query/random.ts';
import { makeCollection } from './query-collection.ts';
import { depsFor, pageChars, proseTexts } from './query-deps.ts';
import { splitOverServers } from './query-servers.ts';

export const memoryCases = [
  '100 results of 5 KB',
  '400 results of 5 KB',
  'collection, 5 servers',
  'one server answers 50 MB',
];

export interface MemoryReport {
  items: number;
  cut: boolean;
  /** Megabytes. */
  asItems: number;
  comparing: number;
  returned: number;
}

const query = 'retry failed requests';
const live = new AbortController().signal;

if (import.meta.main) {
  const [name = ''] = process.argv.slice(2);
  const deps = depsOf(name);
  for (let i = 0; i < 3; i++) await runQuery(deps, { query }, live);
  console.log(JSON.stringify(await measure(deps)));
}

function depsOf(name: string): QueryDeps {
  const servers = splitOverServers(makeCollection().documents);
  if (name === 'collection, 5 servers') return depsFor(servers);
  const texts = pages();
  if (name === 'one server answers 50 MB') {
    const records = Array.from({ length: 10_000 }, (_, i) => ({ title: `T${i}`, content: texts[i % texts.length] }));
    const text = JSON.stringify(records);
    return depsFor(servers, (server, asked) =>
      server.name === 'server-1' ? { content: [{ type: 'text', text }] } : server.answer(asked),
    );
  }
  const count = Number.parseInt(name, 10);
  const answers = servers.map((_, place) => {
    const own = texts.slice(0, count).filter((_, i) => i % servers.length === place);
    return JSON.stringify(own.map((content, i) => ({ title: `Page ${i}`, content })));
  });
  return depsFor(servers, (server) => ({
    content: [{ type: 'text', text: answers[servers.indexOf(server)] ?? '' }],
  }));
}

/** Four hundred, a quarter of them an earlier one with an edit. */
function pages(): string[] {
  const next = random(7);
  const prose = proseTexts();
  const texts: string[] = [];
  for (let i = 0; i < 400; i++) {
    const earlier = texts[Math.floor(next() * texts.length)];
    const at = Math.floor(next() * 4000);
    texts.push(
      i % 4 === 3 && earlier !== undefined
        ? `${earlier.slice(0, at)} an edit of a few words ${earlier.slice(at + 100)}`.slice(0, pageChars)
        : (prose[i % prose.length] ?? ''),
    );
  }
  // Pieces of a larger text would keep it alive.
  return JSON.parse(JSON.stringify(texts));
}

async function measure(deps: QueryDeps): Promise<MemoryReport> {
  const before = await settled();
  const outcomes = await readAll(deps);
  const contents = outcomes.flatMap(({ items }) => items);
  const asItems = (await settled()) - before;
  const comparing = heldWhileComparing(contents, outcomes) - before;
  const cut = outcomes.some(({ calls }) => calls.some(({ truncated }) => truncated));
  const items = contents.length;
  contents.length = 0;
  outcomes.length = 0;

  const again = await settled();
  const output = await runQuery(deps, { query, maxResults: 100 }, live);
  const returned = (await settled()) - again;
  if (output.metadata.totalResultsDedup === 0 && items > 0) throw new Error('the query saw other items');
  return { items, cut, asItems: asItems / 2 ** 20, comparing: comparing / 2 ** 20, returned: returned / 2 ** 20 };
}

async function readAll(deps: QueryDeps): Promise<ServerOutcome[]> {
  const question = analyseQuestion(query, deps.lexicon);
  const meter = createRelevanceMeter(question, deps.lexicon);
  const subject = { request: parseQuery({ query }), servers: await deps.servers(), question, meter };
  const { asks } = await makePlan(deps, subject, await findCandidates(deps, subject), []);
  return await fanOut(asks, defaultFanOutLimits, live);
}

/** Looks when the last text is asked for: every other one is prepared then, and nothing has been given back. */
function heldWhileComparing(items: RelevantItem[], holding: unknown): number {
  const last = items.at(-1);
  let held = 0;
  if (last === undefined) return held;
  const { content } = last;
  Object.defineProperty(last, 'content', {
    get() {
      held = collected();
      return content;
    },
  });
  dedupe(items);
  if (holding === undefined) throw new Error('the items must live until here');
  return held;
}

/** Array buffers are given back by another thread, a little after they were collected. */
async function settled(): Promise<number> {
  let used = collected();
  for (let unchanged = 0; unchanged < 3; ) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    const now = collected();
    unchanged = now < used ? 0 : unchanged + 1;
    used = Math.min(now, used);
  }
  return used;
}

/** `external` holds array buffers and the memory of compiled kernels. */
function collected(): number {
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
