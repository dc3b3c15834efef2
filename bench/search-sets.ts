import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { SearchableTool } from '../src/search/tool.ts';

export interface SetTool extends SearchableTool {
  /** What the server says of itself. */
  serverText?: string | undefined;
}

/** One set of requests over one catalog, in the form search takes. */
export interface RequestSet {
  name: string;
  tools: SetTool[];
  requests: Request[];
  /** Requests that no tool of the catalog answers. */
  unanswerable: string[];
}

export interface Request {
  id: string;
  query: string;
  group: string;
  /** One entry for each tool the request needs: the ids that count as it. */
  slots: Set<number>[];
}

interface ToolLine {
  id: string;
  server: string;
  name: string;
  title?: string;
  description?: string;
  server_description?: string;
  input_schema?: unknown;
}

interface QueryLine {
  id: string;
  query: string;
  gold: string[];
  alternatives?: Record<string, string[]>;
  split?: string;
  set?: string;
}

const sources = [
  {
    name: 'mscbench',
    tools: 'mscbench/tools.jsonl',
    queries: 'mscbench/queries.jsonl',
    none: 'mscbench/noanswer.jsonl',
  },
  { name: 'azuremcp', tools: 'azuremcp/tools.jsonl', queries: 'azuremcp/queries.jsonl', none: '' },
  { name: 'metatool', tools: 'metatool/tools.jsonl', queries: 'metatool/queries.jsonl', none: '' },
  { name: 'restbench', tools: 'restbench/tools.jsonl', queries: 'restbench/queries.jsonl', none: '' },
  { name: 'toolalpaca', tools: 'toolalpaca/tools.jsonl', queries: 'toolalpaca/queries.jsonl', none: '' },
  { name: 'scale', tools: 'corpus_scale.jsonl.gz', queries: 'corpus_scale_queries.jsonl', none: '' },
];

export function hasSets(folder: string): boolean {
  return sources.every(({ tools, queries }) => existsSync(join(folder, tools)) && existsSync(join(folder, queries)));
}

export function* readSets(folder: string): Generator<RequestSet> {
  for (const source of sources) {
    const lines = readLines<ToolLine>(join(folder, source.tools));
    const ids = new Map(lines.map((line, index) => [line.id, index + 1]));
    yield {
      name: source.name,
      tools: lines.map((line, index) => toTool(line, index + 1)),
      requests: readLines<QueryLine>(join(folder, source.queries)).map((line) => ({
        id: line.id,
        query: line.query,
        group: line.split !== undefined && source.name === 'mscbench' ? line.split : (line.set ?? ''),
        slots: line.gold.map(
          (gold) => new Set([gold, ...(line.alternatives?.[gold] ?? [])].map((id) => ids.get(id) ?? 0)),
        ),
      })),
      unanswerable: source.none === '' ? [] : readLines<QueryLine>(join(folder, source.none)).map(({ query }) => query),
    };
  }
}

/** What a model would ask for the steps of requests, by the id of the request: written from the request alone. */
export function readSteps(): Map<string, string[]> {
  const lines = readFileSync(new URL('search-steps.txt', import.meta.url), 'utf8')
    .trimEnd()
    .split('\n');
  return new Map(
    lines.map((line) => {
      const [id = '', steps = ''] = line.split('\t');
      return [id, steps.split(' | ')];
    }),
  );
}

export function readScaleTools(folder: string): SetTool[] {
  return readLines<ToolLine>(join(folder, 'corpus_scale.jsonl.gz')).map((line, index) => toTool(line, index + 1));
}

function toTool(line: ToolLine, id: number): SetTool {
  return {
    id,
    name: `${line.server}.${line.name}`,
    originalName: line.name,
    server: line.server,
    title: line.title,
    serverText: line.server_description,
    description: line.description ?? '',
    inputSchema: line.input_schema,
    skillIds: [],
    primarySkillId: null,
    isExternal: true,
  };
}

function readLines<Line>(path: string): Line[] {
  const bytes = readFileSync(path);
  return (path.endsWith('.gz') ? gunzipSync(bytes) : bytes)
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);
}
