/** Servers for queries in one process: their tools, and what they answer. */
import type { QueryDeps, QueryServer } from '../../src/query/query.ts';
import type { ToolAnswer } from '../../src/query/reading/answer.ts';
import { createKnowledge } from '../../src/query/reading/knowledge.ts';
import { type StrategyResource, type StrategyTool, workOutStrategy } from '../../src/query/strategy/strategy.ts';
import { loadStaticEmbedder } from '../../src/search/embed.ts';
import { createThesaurus } from '../../src/search/thesaurus.ts';

export const lexicon = { ...loadStaticEmbedder(), ...createThesaurus() };

export type Answering = (args: Record<string, unknown>, signal: AbortSignal) => Promise<ToolAnswer>;

export interface ServerOfTest {
  tools?: readonly (StrategyTool & { answer: Answering })[];
  resources?: readonly (StrategyResource & { text: string })[];
  unavailable?: string;
  queryTools?: QueryServer['queryTools'];
}

export const inputSchema = { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] };

/** A semantic search over documents: asked once, with the whole question. */
export function searching(answer: Answering): ServerOfTest {
  return { tools: [{ name: 'search_docs', description: 'Semantic search', inputSchema, answer }] };
}

export function saying(...texts: string[]): Answering {
  return async () => ({ structuredContent: { results: texts.map((content, i) => ({ title: `Hit ${i}`, content })) } });
}

export const text = (value: string): ToolAnswer => ({ content: [{ type: 'text', text: value }] });

export function toolSchema(properties: Record<string, unknown>, required: string[] = []): object {
  return { type: 'object', properties, required };
}

/** A query as the application makes it, with these servers in place of connected ones. */
export function depsFor(servers: Record<string, ServerOfTest>, extra: Partial<QueryDeps> = {}): QueryDeps {
  const knowledge = createKnowledge();
  const list = Object.entries(servers).map(([name, server]): QueryServer => {
    const { tools = [], resources = [], unavailable, queryTools } = server;
    return {
      name,
      tools,
      strategy: workOutStrategy({ tools, resources }),
      folders: [],
      isLocal: false,
      ...(unavailable === undefined ? {} : { unavailable }),
      ...(queryTools === undefined ? {} : { queryTools }),
    };
  });
  return {
    servers: () => list,
    findTools: (_query, names) =>
      list.flatMap(({ name, tools }) =>
        names.includes(name) ? tools.map(({ name: tool }) => ({ server: name, tool, score: 0 })) : [],
      ),
    gateway: (name) => ({
      async callTool(tool, args, signal) {
        const found = servers[name]?.tools?.find((candidate) => candidate.name === tool);
        if (found === undefined) throw new Error(`no such tool: ${tool}`);
        return await found.answer(args, signal);
      },
      async readResource(uri) {
        const found = servers[name]?.resources?.find((resource) => resource.uri === uri);
        if (found === undefined) throw new Error(`no such resource: ${uri}`);
        return { contents: [{ uri, text: found.text }] };
      },
      complete: async () => [],
    }),
    knowledge: (name) => knowledge.of('test', name),
    lexicon,
    embed: (texts) => texts.map((value) => lexicon.embedText(value)),
    rules: [],
    ...extra,
  };
}
