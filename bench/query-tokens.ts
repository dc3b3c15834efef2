/** What a query saves, and what is lost by it: at the default settings, and where every distinct item must be there. */
import { runQuery } from '../src/query/query.ts';
import type { QueryOutput } from '../src/query/query-tool.ts';
import { estimateTokens } from '../src/query/results/tokens.ts';
import type { Document, JudgedQuery } from './query-collection.ts';
import { depsFor, proseTexts } from './query-deps.ts';
import { makeServer, type SearchServer } from './query-servers.ts';

const live = new AbortController().signal;
const settings = {
  'default: 30 results': {},
  'every distinct item (100 results)': { maxResults: 100 },
  'every distinct item, whole (full)': { maxResults: 100, full: true },
};

interface Sums {
  sent: number;
  content: number;
  answer: number;
  items: number;
  represented: number;
  relevant: number;
  relevantShown: number;
  said: number;
  saidInPlace: number;
  saidAnywhere: number;
  distinctSaid: number;
}

export async function measureTokens(servers: readonly SearchServer[], queries: readonly JudgedQuery[]): Promise<void> {
  const pages = pageServers();
  const workloads = { 'short notes': servers, 'short notes and pages of 5 KB': [...servers, ...pages] };
  const rows = [];
  for (const [workload, asked] of Object.entries(workloads)) {
    for (const [setting, input] of Object.entries(settings)) {
      const sums = await sumUp(asked, queries, input);
      rows.push({
        workload,
        setting,
        'saved %, content': percent(1 - sums.content / sums.sent),
        'saved %, whole answer': percent(1 - sums.answer / sums.sent),
        'items represented %': percent(sums.represented / sums.items),
        'relevant items %': percent(sums.relevantShown / sums.relevant),
        'what answers kept %, result by result': percent(sums.saidInPlace / sums.said),
        'in the answer': percent(sums.saidAnywhere / sums.distinctSaid),
      });
    }
  }
  console.log('Tokens saved, against everything that the servers sent; and what is lost');
  console.table(rows);
  console.log(
    'whole answer: the JSON with its metadata, as a client gets it. represented: items sent that are a source of a result.\n' +
      'what answers: sentences about what was asked, of the relevant items that hold them.',
  );
}

async function sumUp(servers: readonly SearchServer[], queries: readonly JudgedQuery[], input: object): Promise<Sums> {
  const deps = depsFor(servers);
  const sums: Sums = {
    ...{ sent: 0, content: 0, answer: 0, items: 0, represented: 0, relevant: 0, relevantShown: 0 },
    ...{ said: 0, saidInPlace: 0, saidAnywhere: 0, distinctSaid: 0 },
  };
  for (const { text: query, grades, sentences } of queries) {
    const whole = await runQuery(deps, { query, maxResults: 100, full: true }, live);
    const output = await runQuery(deps, { query, ...input }, live);
    sums.sent += output.metadata.tokensRaw ?? 0;
    sums.content += output.metadata.tokensReturned ?? 0;
    sums.answer += estimateTokens(JSON.stringify(output));
    sums.items += output.metadata.totalResultsRaw ?? 0;
    sums.represented += output.results.reduce((sum, { sources }) => sum + (sources?.length ?? 1), 0);
    const sent = new Set(servers.flatMap((server) => server.search(query).map(({ id }) => id)));
    const shown = new Set(output.results.map(({ link }) => link?.replace('https://docs.example/', '')));
    const relevant = [...sent].filter((id) => grades.has(id));
    sums.relevant += relevant.length;
    sums.relevantShown += relevant.filter((id) => shown.has(id)).length;

    const kept = new Map(output.results.map((result) => [keyOf(result), plain(result.content)]));
    const everything = [...kept.values()].join('\n');
    const known = new Set<string>();
    for (const result of whole.results) {
      if (!grades.has(result.link?.replace('https://docs.example/', '') ?? '')) continue;
      const content = plain(result.content);
      for (const sentence of sentences.filter((one) => content.includes(one))) {
        known.add(sentence);
        sums.said++;
        if (kept.get(keyOf(result))?.includes(sentence)) sums.saidInPlace++;
      }
    }
    sums.distinctSaid += known.size;
    sums.saidAnywhere += [...known].filter((sentence) => everything.includes(sentence)).length;
  }
  return sums;
}

const keyOf = ({ server, link }: QueryOutput['results'][number]) => `${server} ${link}`;

const plain = (text: string) => text.replace(/\s+/g, ' ');
const percent = (share: number) => Number((100 * share).toFixed(1));

/** Two servers with pages of documentation, a third of them on both. They answer anything with their five best. */
function pageServers(): SearchServer[] {
  const documents: Document[] = proseTexts()
    .slice(0, 600)
    .map((content, n) => ({ id: `page-${n}`, title: `Page ${n}`, content }));
  const third = Math.floor(documents.length / 3);
  return [documents.slice(0, 2 * third), documents.slice(third)].map((own, n) =>
    makeServer(`pages-${n + 1}`, own, {
      saturation: 1.2,
      lengthShare: 0.75,
      results: 5,
      format: n === 0 ? 'json' : 'structured',
    }),
  );
}
