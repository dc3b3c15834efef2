import { readdirSync, readFileSync } from 'node:fs';
import type { QueryDeps } from '../src/query/query.ts';
import type { ToolAnswer } from '../src/query/reading/answer.ts';
import { createKnowledge } from '../src/query/reading/knowledge.ts';
import { workOutStrategy } from '../src/query/strategy/strategy.ts';
import { loadStaticEmbedder } from '../src/search/embed.ts';
import { createThesaurus } from '../src/search/thesaurus.ts';
import { random } from '../test/query/random.ts';
import type { SearchServer } from './query-servers.ts';

const embedder = loadStaticEmbedder();
export const embed = (texts: readonly string[]): Float32Array[] => texts.map((text) => embedder.embedText(text));

/** A query as the application makes it, with these servers in place of connected ones. */
export function depsFor(
  list: readonly SearchServer[],
  answer = (server: SearchServer, query: string): ToolAnswer => server.answer(query),
): QueryDeps {
  const inputSchema = { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] };
  const tools = [{ name: 'search_docs', description: 'Semantic search', inputSchema }];
  const strategy = workOutStrategy({ tools });
  const byName = new Map(list.map((server) => [server.name, server]));
  const knowledge = createKnowledge();
  return {
    servers: () => list.map(({ name }) => ({ name, tools, strategy, folders: [], isLocal: false })),
    findTools: (_query, names) => names.map((server) => ({ server, tool: 'search_docs', score: 1 })),
    gateway: (name) => ({
      callTool: async (_tool, args) => {
        const server = byName.get(name);
        return server === undefined ? {} : answer(server, String(args.query));
      },
      readResource: async () => ({}),
      complete: async () => [],
    }),
    knowledge: (name) => knowledge.of('bench', name),
    lexicon: { ...embedder, ...createThesaurus() },
    rules: [],
    embed,
  };
}

export const pageChars = 5120;

/** Real documentation to work on: the Markdown files of the installed packages, in pieces. Change logs are no prose. */
export function proseTexts(): string[] {
  const root = new URL('../node_modules/', import.meta.url);
  const paths = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
    (path) => /\.md$/i.test(path) && !/change|history|release/i.test(path),
  );
  const texts = paths.toSorted().flatMap((path) => {
    const text = readFileSync(new URL(path, root), 'utf8');
    return Array.from({ length: Math.floor(text.length / pageChars) }, (_, i) =>
      text.slice(i * pageChars, (i + 1) * pageChars),
    );
  });
  const next = random(11);
  return texts
    .map((text) => ({ text, key: next() }))
    .toSorted((x, y) => x.key - y.key)
    .map(({ text }) => text);
}
