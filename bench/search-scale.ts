import { search } from '../src/search/search.ts';
import { buildIndex } from './search-build.ts';
import { percentile } from './search-measures.ts';
import { readScaleTools, readSets, type SetTool } from './search-sets.ts';

const sizes = [1_000, 10_000, 100_000];
const strategies = ['lexical', 'direct', 'hierarchical'] as const;
const requestCount = 200;

/** Time and memory as the catalog grows; a search's time is the processor's. Beyond the corpus, tools are repeated under further servers' names. */
export async function measureScale(folder: string): Promise<void> {
  const corpus = readScaleTools(folder);
  const queries = [...readSets(folder)].flatMap((set) =>
    set.requests.filter((_, position) => position % Math.ceil((set.requests.length * 4) / requestCount) === 0),
  );
  console.log('   tools  load ms embed ms  classify index ms first ms index MB   strategy       p50 CPU p95 CPU ms');
  for (const size of sizes) {
    const tools = Array.from({ length: size }, (_, position) => copy(corpus, position));
    globalThis.gc?.();
    const before = process.memoryUsage();
    const { index, times } = await buildIndex(tools);
    const built = performance.now();
    await search(index, { query: 'send a message to a channel' });
    const answered = performance.now();
    globalThis.gc?.();
    const after = process.memoryUsage();
    const megabytes =
      (after.heapUsed + after.arrayBuffers + after.external - before.heapUsed - before.arrayBuffers - before.external) /
      1e6;
    const head = [size, times.loadMs, times.embedMs, times.classifyMs, times.indexMs, answered - built, megabytes];
    for (const strategy of strategies) {
      // The first requests compile the code and count the frequencies of their words.
      for (const { query } of queries) await search(index, { query, strategy });
      const times: number[] = [];
      for (const { query } of queries) {
        const start = process.cpuUsage();
        await search(index, { query, strategy });
        const { user, system } = process.cpuUsage(start);
        times.push((user + system) / 1_000);
      }
      console.log(
        `${head.map((value) => value.toFixed(0).padStart(8)).join(' ')}   ${strategy.padEnd(14)} ${percentile(times, 0.5).toFixed(1).padStart(6)}  ${percentile(times, 0.95).toFixed(1).padStart(6)}`,
      );
    }
  }
}

function copy(corpus: SetTool[], position: number): SetTool {
  const tool = corpus[position % corpus.length];
  if (tool === undefined) throw new RangeError('the corpus is empty');
  const round = Math.floor(position / corpus.length);
  const server = round === 0 ? tool.server : `${tool.server} ${round}`;
  return { ...tool, id: position + 1, server, name: `${server}.${tool.originalName}` };
}
