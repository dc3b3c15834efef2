import type { CatalogTool } from '../catalog/catalog.ts';
import { fillArguments, type QueryFit } from './arguments.ts';
import { isReadOnly, type ToolTraits } from './read-only.ts';
import { type Recipe, recipes } from './recipes.ts';
import { isRecord } from './records.ts';
import { fillTemplateForEachWord } from './template.ts';

export interface PlannableTool extends ToolTraits {
  inputSchema?: unknown;
  skills?: readonly string[];
}

/** `query_tools` of a server: what an administrator wrote down replaces what would be worked out. */
export type QueryTool = NonNullable<CatalogTool['server']['options']['query_tools']>[number];

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

  for (const recipe of recipes) {
    const calls = recipeCalls(input, recipe, readable);
    if (calls === undefined) continue;
    const used = calls.flatMap((call) => [call.tool, call.followUp?.tool]);
    const others = readable
      .filter((tool) => !used.includes(tool.name))
      .map((tool) => ({ tool: tool.name, reason: `the recipe ${recipe.name} covers this server` }));
    return { server: input.server, calls, leftOut: [...leftOut, ...others] };
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
    // Whatever it would answer has nothing to do with the query; only an administrator can know that it helps.
    else if (filling.fit === 0) leftOut.push({ tool: tool.name, reason: 'takes no query' });
    else {
      const call = { tool: tool.name, arguments: filling.arguments, reason: 'reads, and takes the query' };
      candidates.push({ call, fit: filling.fit, score: scores?.get(tool.name) ?? 0 });
    }
  }
  candidates.sort(
    (a, b) =>
      b.fit - a.fit || b.score - a.score || (a.call.tool < b.call.tool ? -1 : a.call.tool > b.call.tool ? 1 : 0),
  );
  const chosen = candidates.slice(0, maxTools);
  for (const { call } of candidates.slice(maxTools))
    leftOut.push({ tool: call.tool, reason: 'other tools of this server fit better' });
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
      calls.push(
        ...fillTemplateForEachWord(entry.arguments, { query: input.query }).map((filled) => ({
          tool: entry.tool,
          arguments: filled,
          reason: 'named by query_tools',
          ...(entry.follow_up === undefined ? {} : { followUp: { ...entry.follow_up, keepFirst: true } }),
        })),
      );
  }
  return { server: input.server, calls, leftOut };
}

function recipeCalls(input: PlanInput, recipe: Recipe, tools: readonly PlannableTool[]): PlannedCall[] | undefined {
  const first = tools.find((tool) => recipe.first.tools.includes(tool.name));
  // Where the second is never called, it need not read.
  const second = (recipe.followUp === undefined ? input.tools : tools).find((tool) =>
    recipe.second.tools.includes(tool.name),
  );
  if (first === undefined || second === undefined) return undefined;
  const firstArguments = onlyKnown(recipe.first.arguments, first);
  // A server whose tools merely share the names asks for something that the recipe does not know.
  if (firstArguments === undefined) return undefined;
  const calls = fillTemplateForEachWord(firstArguments, { query: input.query }).map((filled) => ({
    tool: first.name,
    arguments: filled,
    reason: `recipe ${recipe.name}`,
  }));
  const { followUp } = recipe;
  if (followUp === undefined) return calls;
  const secondArguments = onlyKnown(followUp.arguments, second);
  if (secondArguments === undefined) return undefined;
  return calls.map((call) => ({
    ...call,
    followUp: { ...followUp, tool: second.name, arguments: secondArguments },
  }));
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
