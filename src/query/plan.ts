import { z } from 'zod';
import { fillArguments, type QueryFit } from './arguments.ts';
import { isReadOnly, type ToolTraits } from './read-only.ts';
import { type Recipe, recipes } from './recipes.ts';
import { isRecord } from './records.ts';
import { fillTemplate } from './template.ts';

export interface PlannableTool extends ToolTraits {
  inputSchema?: unknown;
  skills?: readonly string[];
}

const template = z.record(z.string().max(200), z.unknown());

/** `query_tools` of a server: what an administrator wrote down replaces what would be worked out. */
export const queryToolsSchema = z
  .array(
    z.strictObject({
      tool: z.string().min(1).max(255),
      arguments: template.default({}).describe('"{{query}}" and "{{keywords}}" are replaced inside strings'),
      follow_up: z
        .strictObject({
          tool: z.string().min(1).max(255),
          arguments: template.describe('also "{{id}}"'),
          ids: z.array(z.string().min(1)).min(1).max(10).default(['id']).describe('keys that hold the id'),
          take: z.int().min(1).max(5).default(1),
        })
        .optional(),
    }),
  )
  .max(10);

export type QueryTool = z.infer<typeof queryToolsSchema>[number];

/** The second step of a recipe: its arguments are known once the first has answered. */
export interface FollowUp {
  tool: string;
  arguments: Record<string, unknown>;
  ids: readonly string[];
  take: number;
  /** Whether the answer of the first step is worth showing too. */
  keepFirst: boolean;
}

export interface PlannedCall {
  tool: string;
  arguments: Record<string, unknown>;
  reason: string;
  followUp?: FollowUp;
}

export interface ServerPlan {
  server: string;
  calls: PlannedCall[];
  leftOut: { tool: string; reason: string }[];
}

export interface PlanInput {
  server: string;
  query: string;
  tools: readonly PlannableTool[];
  /** How well each tool fits the query by search; a tool without a score fits least. */
  scores?: ReadonlyMap<string, number>;
  queryTools?: readonly QueryTool[];
  maxTools?: number;
}

export const defaultMaxToolsPerServer = 3;

/** Which tools of one server to call, and with what. Pure: the same tools and query give the same plan. */
export function planServer(input: PlanInput): ServerPlan {
  if (input.queryTools !== undefined && input.queryTools.length > 0) return overriddenPlan(input, input.queryTools);
  const readable = input.tools.filter(isReadOnly);
  const writing = input.tools.filter((tool) => !isReadOnly(tool));
  const leftOut = writing.map((tool) => ({ tool: tool.name, reason: 'not known to be read-only' }));

  const recipe = recipes.find((candidate) => recipeTools(candidate, readable) !== undefined);
  const fromRecipe = recipe === undefined ? undefined : recipePlan(input, recipe, readable);
  if (fromRecipe !== undefined) {
    const used = [fromRecipe.tool, fromRecipe.followUp?.tool];
    const rest = readable.filter((tool) => !used.includes(tool.name));
    const others = rest.map((tool) => ({ tool: tool.name, reason: `the recipe ${recipe?.name} covers this server` }));
    return { server: input.server, calls: [fromRecipe], leftOut: [...leftOut, ...others] };
  }
  const worked = workedOutCalls(input, readable);
  return { server: input.server, calls: worked.calls, leftOut: [...leftOut, ...worked.leftOut] };
}

interface Candidate {
  call: PlannedCall;
  fit: QueryFit;
  score: number;
}

function workedOutCalls(
  { query, scores, maxTools = defaultMaxToolsPerServer }: PlanInput,
  tools: readonly PlannableTool[],
): Pick<ServerPlan, 'calls' | 'leftOut'> {
  const leftOut: ServerPlan['leftOut'] = [];
  const candidates: Candidate[] = [];
  for (const tool of tools) {
    const filling = fillArguments(query, tool.inputSchema);
    if (!filling.ok) leftOut.push({ tool: tool.name, reason: filling.reason });
    else {
      const reason = filling.fit === 0 ? 'lists what there is' : 'reads, and takes the query';
      const call = { tool: tool.name, arguments: filling.arguments, reason };
      candidates.push({ call, fit: filling.fit, score: scores?.get(tool.name) ?? 0 });
    }
  }
  candidates.sort(
    (a, b) =>
      b.fit - a.fit || b.score - a.score || (a.call.tool < b.call.tool ? -1 : a.call.tool > b.call.tool ? 1 : 0),
  );
  const takers = candidates.filter((candidate) => candidate.fit > 0);
  // A tool that lists everything is better than nothing, and worse than any tool that looks for the query.
  const chosen = takers.length > 0 ? takers.slice(0, maxTools) : candidates.slice(0, 1);
  for (const candidate of candidates) {
    if (chosen.includes(candidate)) continue;
    const reason = candidate.fit === 0 ? 'takes no query' : 'other tools of this server fit better';
    leftOut.push({ tool: candidate.call.tool, reason });
  }
  return { calls: chosen.map((candidate) => candidate.call), leftOut };
}

function overriddenPlan(input: PlanInput, queryTools: readonly QueryTool[]): ServerPlan {
  const known = new Set(input.tools.map((tool) => tool.name));
  const calls: PlannedCall[] = [];
  const leftOut: ServerPlan['leftOut'] = [];
  for (const entry of queryTools) {
    const missing = [entry.tool, entry.follow_up?.tool].find((tool) => tool !== undefined && !known.has(tool));
    if (missing !== undefined)
      leftOut.push({ tool: missing, reason: 'named by query_tools, but the server has no such tool' });
    else
      calls.push({
        tool: entry.tool,
        arguments: fillTemplate(entry.arguments, { query: input.query }),
        reason: 'named by query_tools',
        ...(entry.follow_up === undefined ? {} : { followUp: { ...entry.follow_up, keepFirst: true } }),
      });
  }
  return { server: input.server, calls, leftOut };
}

function recipeTools(
  recipe: Recipe,
  tools: readonly PlannableTool[],
): { first: PlannableTool; second: PlannableTool } | undefined {
  const first = tools.find((tool) => recipe.first.tools.includes(tool.name));
  const second = tools.find((tool) => recipe.second.tools.includes(tool.name));
  return first === undefined || second === undefined ? undefined : { first, second };
}

function recipePlan(input: PlanInput, recipe: Recipe, tools: readonly PlannableTool[]): PlannedCall | undefined {
  const pair = recipeTools(recipe, tools);
  if (pair === undefined) return undefined;
  const first = onlyKnown(recipe.first.arguments, pair.first);
  const second = onlyKnown(recipe.second.arguments, pair.second);
  // A server whose tools merely share the names asks for something that the recipe does not know.
  if (first === undefined || second === undefined) return undefined;
  return {
    tool: pair.first.name,
    arguments: fillTemplate(first, { query: input.query }),
    reason: `recipe ${recipe.name}`,
    followUp: {
      tool: pair.second.name,
      arguments: second,
      ids: recipe.ids,
      take: recipe.take,
      keepFirst: recipe.keepFirst,
    },
  };
}

/** A recipe names the parameters of every version of its server; only those that this one has are sent. */
function onlyKnown(wanted: Record<string, unknown>, tool: PlannableTool): Record<string, unknown> | undefined {
  const schema = isRecord(tool.inputSchema) ? tool.inputSchema : {};
  const properties = isRecord(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? schema.required : [];
  const sent = Object.fromEntries(Object.entries(wanted).filter(([name]) => name in properties));
  const isComplete = required.every((name) => typeof name === 'string' && name in sent);
  return isComplete && Object.keys(sent).length > 0 ? sent : undefined;
}
