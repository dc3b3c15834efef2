/** Our own tools: finding, describing and calling the others without listing them all. */
import { z } from 'zod';
import { toAbortSignal } from '../cancellation.ts';
import type { CatalogTool } from '../catalog/catalog.ts';
import { AppError } from '../errors.ts';
import { isObject, type JsonObject, rpcCodes } from '../json-rpc.ts';
import { jsonSchemaOf } from '../query/query-tool.ts';
import type { Result } from '../raw-result.ts';
import type { SearchAttribution } from '../routing/search-attribution.ts';
import { hasQuery, missingQuery, searchInput, toSearchText } from '../search/search-input.ts';
import type { ToolSearch } from '../search/tool-search.ts';
import { ProtocolError } from './adapt-result.ts';
import type { McpCall } from './peer.ts';
import type { Scope } from './scope.ts';
import { joinInstructions } from './server-instructions.ts';

export interface GatewayTool {
  definition: JsonObject & { name: string };
  /** Listed only where it can do something. */
  listed(scope: Scope): boolean;
  call(call: McpCall, callTool: (call: McpCall) => Promise<Result>): Promise<Result>;
}

export interface GatewayTools {
  listed(scope: Scope): JsonObject[];
  find(name: string): GatewayTool | undefined;
  instructions(scope: Scope): string;
}

interface RankedTool {
  tool: CatalogTool;
  /** As the scope names it. */
  name: string;
  score: number;
  steps?: number[] | undefined;
}

interface ShownTool extends RankedTool {
  line: string;
}

export interface GatewayToolDependencies {
  toolSearch: Pick<ToolSearch, 'search'>;
  /** Remembers what a search returned, until one of its tools is called. */
  searchAttribution?: SearchAttribution;
  /** Tools of other modules (the aggregator query). */
  more?: GatewayTool[];
}

const charactersPerToken = 4;
const defaultBudget = 1_500;
const maxDescribed = 20;

export function createGatewayTools(deps: GatewayToolDependencies): GatewayTools {
  const own = [searchTools(deps), describeTools(), callToolTool(), ...(deps.more ?? [])];
  const byName = new Map(own.map((tool) => [tool.definition.name, tool]));

  return {
    listed: (scope) => (scope.single === undefined ? own.filter((tool) => tool.listed(scope)).map(toAlwaysLoaded) : []),
    find: (name) => byName.get(name),
    instructions(scope) {
      const servers = new Map(scope.listTools().map(({ tool: { server } }) => [server.name, server]));
      if (servers.size === 0) return 'No server is connected yet.';
      const known = `Tools of these servers are available: ${[...servers.keys()].join(', ')}.`;
      const how = scope.searchOnly()
        ? 'Find the right ones with search_tools, read their parameters with describe_tools, use them with call_tool.'
        : "A tool's name begins with its server's name.";
      return [`${known} ${how}`, ...joinInstructions([...servers.values()])].join('\n\n');
    },
  };
}

/** Clients with a tool search of their own would hide ours behind it, and with them all servers. */
const toAlwaysLoaded = ({ definition }: GatewayTool): JsonObject => ({
  ...definition,
  _meta: { 'anthropic/alwaysLoad': true },
});

/** Ours that exist on every aggregator. */
export const gatewayToolDefinitions = () => [searchToolsDefinition, describeToolsDefinition, callToolDefinition];

const argumentsOf = ({ params: { arguments: args } }: Pick<McpCall, 'params'>) => (isObject(args) ? args : {});

const whenSearching = (scope: Scope) => scope.searchOnly();

const searchToolsInput = z.object({
  ...searchInput,
  limit: z
    .int()
    .min(1)
    .max(50)
    .default(10)
    .describe('Maximum number of tools to return, of all steps together; every step gets at least one'),
  max_tokens: z.int().min(100).max(100_000).default(defaultBudget).describe('Approximate maximum length of the answer'),
});

const searchToolsDefinition = {
  name: 'search_tools',
  title: 'Find tools',
  description:
    'Finds the tools that fit a task, among all tools of all connected servers. Returns their names with compact signatures, best match first, or reports that no tool fits. If the task needs several tools, send one query for each step in `queries`, including steps that the user did not say (look up an id, get the current time, save a file): this finds far more of the tools than one query for everything. Pass a returned name to call_tool.',
  inputSchema: jsonSchemaOf(searchToolsInput),
  annotations: { readOnlyHint: true, openWorldHint: false },
};

/** Below this chance, search_tools would rather say that nothing fits. */
const nothingFitsBelow = 0.3;

function searchTools({ toolSearch, searchAttribution }: GatewayToolDependencies): GatewayTool {
  return {
    definition: searchToolsDefinition,
    listed: whenSearching,
    async call({ caller, params, signal, trace }) {
      const { query, queries, limit, max_tokens: budget } = parseSearch(argumentsOf({ params }));
      // Only what the scope offers.
      const offered = new Map(caller.scope.listTools().map(({ tool }) => [tool.row.name, tool]));
      const isVisible = ({ name }: { name: string }) => offered.has(name);
      const request = { query, queries, limit, toolThreshold: nothingFitsBelow, isVisible };
      const found = await toolSearch.search(request, toAbortSignal(signal), trace);
      const ranked = found.tools.flatMap(({ tool: { name }, score, steps }): RankedTool[] => {
        const tool = offered.get(name);
        return tool === undefined ? [] : [{ tool, name: caller.scope.nameOf(tool), score, steps }];
      });
      if (ranked.length === 0) return textResult('No tool fits this task.', { tools: [] });
      const shown = withinBudget(ranked, budget);
      searchAttribution?.searched(
        caller.searcher ?? caller.principal.id,
        toSearchText({ query, queries }),
        shown.map(({ tool }) => [tool.row.name]),
      );
      const lines =
        queries === undefined
          ? shown.map(({ line }) => line)
          : byStep(queries, found.steps?.map(({ tools }) => tools.map(({ name }) => name)) ?? [], shown);
      const rest = ranked.length - shown.length;
      if (rest > 0) lines.push(`(${rest} more; raise max_tokens to see them)`);
      return textResult(lines.join('\n'), { tools: shown.map(toStructured) });
    },
  };
}

function parseSearch(args: JsonObject): z.infer<typeof searchToolsInput> {
  const parsed = searchToolsInput.safeParse(args);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const [field = 'arguments', entry] = issue?.path ?? [];
    throw invalid(typeof entry === 'number' ? `${String(field)}[${entry}]` : String(field), issue?.message ?? '');
  }
  if (!hasQuery(parsed.data)) throw invalid('query', missingQuery.message);
  return parsed.data;
}

function withinBudget(ranked: RankedTool[], budget: number): ShownTool[] {
  const shown: ShownTool[] = [];
  let used = 0;
  for (const found of ranked) {
    const line = cut(signature(found.name, found.tool), budget * charactersPerToken);
    used += Math.ceil(line.length / charactersPerToken) + 1;
    if (used > budget && shown.length > 0) break;
    shown.push({ ...found, line });
  }
  return shown;
}

/** FIND-001: a heading for each step; a tool that serves a second one is only named there. `rankings` are canonical names. */
function byStep(queries: string[], rankings: string[][], shown: ShownTool[]): string[] {
  const open = new Map(shown.map((found) => [found.tool.row.name, found]));
  const known = new Map(open);
  const lines = queries.flatMap((query, step) => {
    const ranking = rankings[step] ?? [];
    const tools = ranking.flatMap((name) => known.get(name) ?? []);
    const entries = tools.map(({ tool, name, line }) => (open.delete(tool.row.name) ? line : `${name} (see above)`));
    const none = ranking.length === 0 ? 'No tool fits this step.' : 'Raise max_tokens to see the tools for this step.';
    return [`Step ${step + 1}: ${cut(query, 100)}`, ...(entries.length === 0 ? [none] : entries)];
  });
  const others = [...open.values()].map(({ line }) => line);
  return others.length === 0 ? lines : [...lines, 'For the task as a whole:', ...others];
}

function toStructured({ tool, name, score, steps }: RankedTool): JsonObject {
  const brief = { name, server: tool.server.name, score: Math.round(score * 1_000) / 1_000 };
  return steps === undefined ? brief : { ...brief, steps };
}

const describeToolsDefinition = {
  name: 'describe_tools',
  title: 'Describe tools',
  description: 'Returns the full definitions (description, input and output schema) of tools found by search_tools.',
  inputSchema: {
    type: 'object',
    properties: {
      names: {
        type: 'array',
        items: { type: 'string' },
        minItems: 1,
        maxItems: maxDescribed,
        description: 'Tool names',
      },
    },
    required: ['names'],
  },
  annotations: { readOnlyHint: true, openWorldHint: false },
};

function describeTools(): GatewayTool {
  return {
    definition: describeToolsDefinition,
    listed: whenSearching,
    async call(call) {
      const { scope } = call.caller;
      const { names } = argumentsOf(call);
      if (
        !Array.isArray(names) ||
        names.length === 0 ||
        names.length > maxDescribed ||
        !names.every((name) => typeof name === 'string')
      ) {
        throw invalid('names', `must be a list of 1 to ${maxDescribed} names`);
      }
      const tools = names.map((name: string) => {
        try {
          const tool = scope.findTool(name);
          return { ...tool.row.definition, name: scope.nameOf(tool), server: tool.server.name };
        } catch (error) {
          if (!(error instanceof AppError)) throw error;
          return { name, error: error.message };
        }
      });
      return textResult(JSON.stringify(tools), { tools });
    },
  };
}

const callToolDefinition = {
  name: 'call_tool',
  title: 'Call a tool',
  description: "Calls a tool found by search_tools and returns that tool's result.",
  inputSchema: {
    type: 'object',
    properties: {
      name: { type: 'string', description: "The tool's name" },
      arguments: {
        type: 'object',
        description: "The tool's arguments, as in its signature",
        additionalProperties: true,
      },
    },
    required: ['name'],
  },
};

function callToolTool(): GatewayTool {
  return {
    definition: callToolDefinition,
    listed: whenSearching,
    async call(call, callTool) {
      const args = argumentsOf(call);
      const name = text(args, 'name', 1_000);
      if (name === 'call_tool') throw invalid('name', 'must not be call_tool itself');
      if (args.arguments !== undefined && !isObject(args.arguments)) throw invalid('arguments', 'must be an object');
      // The headers mirror the parameters of the tool that the client named, which is this one.
      return await callTool({
        ...call,
        headers: undefined,
        params: { ...call.params, name, arguments: args.arguments ?? {} },
      });
    },
  };
}

/** `name(path: string, limit?: integer) — What it does.` */
function signature(name: string, { row }: CatalogTool): string {
  const properties = isObject(row.input_schema.properties) ? row.input_schema.properties : {};
  const required = new Set(Array.isArray(row.input_schema.required) ? row.input_schema.required : []);
  const parameters = Object.entries(properties)
    .sort(([a], [b]) => Number(required.has(b)) - Number(required.has(a)))
    .map(([parameter, schema]) => `${parameter}${required.has(parameter) ? '' : '?'}: ${typeName(schema)}`);
  return `${name}(${parameters.join(', ')}) — ${firstSentence(row.description ?? row.title ?? '')}`;
}

function typeName(schema: unknown): string {
  if (!isObject(schema)) return 'any';
  if (Array.isArray(schema.enum)) {
    const values = schema.enum.map((value) => JSON.stringify(value));
    return values.length > 6 ? `${values.slice(0, 6).join('|')}|…` : values.join('|');
  }
  if (schema.type === 'array') return `${typeName(schema.items)}[]`;
  return Array.isArray(schema.type) ? schema.type.join('|') : typeof schema.type === 'string' ? schema.type : 'any';
}

function firstSentence(description: string): string {
  const flat = description.replace(/\s+/g, ' ').trim();
  const end = flat.search(/[.!?](\s|$)/);
  const sentence = end === -1 ? flat : flat.slice(0, end + 1);
  return cut(sentence, 160);
}

const cut = (text: string, most: number) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

export function textResult(message: string, structuredContent: JsonObject): JsonObject {
  return { content: [{ type: 'text', text: message }], structuredContent };
}

function invalid(field: string, reason: string): ProtocolError {
  return new ProtocolError(rpcCodes.invalidParams, `Invalid arguments: ${field} ${reason}`, {
    data: { field, reason },
  });
}

function text(args: JsonObject, field: string, most: number): string {
  const value = args[field];
  if (typeof value !== 'string' || value.trim() === '' || value.length > most)
    throw invalid(field, `must be a string of 1 to ${most} characters`);
  return value;
}
