import { AppError } from '../errors.ts';
import { condense } from './condense.ts';
import { dedupe, defaultThreshold } from './dedupe.ts';
import { type CallTool, defaultFanOutLimits, type FanOutLimits, fanOut, type ServerOutcome } from './fan-out.ts';
import type { Item } from './items.ts';
import type { MessagesApi } from './messages-api.ts';
import { type PlannableTool, planServer, type QueryTool, type ServerPlan } from './plan.ts';
import type { QueryOutput, QueryResult, ServerReport } from './query-tool.ts';
import { type Candidate, type Ranked, rank, similarities, withinBudget } from './rank.ts';
import { AllServersFailedError, parseQuery, QueryInputError, type QueryRequest } from './request.ts';
import { rerank } from './rerank.ts';
import { chooseServers, type ServerChoice, type ServerRule } from './server-rules.ts';
import { estimateTokens } from './tokens.ts';

/** A server as the caller may see it. */
export interface QueryServer {
  name: string;
  /** Absent when it can be called; otherwise why not ("not connected: ERROR"). */
  unavailable?: string;
  tools: readonly PlannableTool[];
  queryTools?: readonly QueryTool[];
}

export interface FoundTool {
  server: string;
  tool: string;
  score: number;
}

/** Told how a query gets on, while it runs. */
export interface QueryWatch {
  /** What `explain` would have answered. */
  onPlan(plan: QueryOutput): void;
  onServer(report: ServerReport): void;
}

export interface QueryDeps {
  /** The servers this caller may use. */
  servers(): readonly QueryServer[];
  findTools(query: string, servers: readonly string[], limit: number): FoundTool[] | Promise<FoundTool[]>;
  callTool: CallTool;
  rules: readonly ServerRule[];
  embed?(texts: readonly string[]): Float32Array[] | Promise<Float32Array[]>;
  /** Skills that a query calls for, in the names that tools carry. */
  skillsOf?(query: string): readonly string[];
  model?: MessagesApi;
  watch?: QueryWatch;
  limits?: Partial<FanOutLimits>;
  threshold?: number;
  maxServers?: number;
}

const defaultMaxServers = 10;
const searchedTools = 50;
/** Scores are chances: a server whose best tool is fifty times less likely than the best of all is not asked. */
const fitShare = 0.02;

/**
 * One question to many servers: choose, plan, ask, merge, rank, cut. Throws `QueryInputError` for a bad parameter,
 * `AllServersFailedError` when nobody answered, CALL_CANCELLED when `signal` ends.
 */
export async function runQuery(deps: QueryDeps, input: unknown, signal: AbortSignal): Promise<QueryOutput> {
  const started = performance.now();
  const request = parseQuery(input);
  const servers = deps.servers();
  checkAsked(request, servers);

  const { choice, plans, skipped, unavailable, tried } = await makePlan(deps, request, servers);
  const elapsed = (): number => Math.round(performance.now() - started);
  const common = { chosenBy: choice.by, ...(choice.pattern === undefined ? {} : { pattern: choice.pattern }) };
  const warnings = choice.rulesStopped
    ? ['the server rules took too long and were left out: simplify their patterns']
    : [];
  const explain = () => explained({ plans, skipped, common, warnings, ms: elapsed() });
  if (request.explain === true) return explain();
  deps.watch?.onPlan(explain());
  for (const outcome of unavailable) deps.watch?.onServer(toReport(outcome));

  const limits = { ...defaultFanOutLimits, ...deps.limits };
  const totalTimeoutMs = Math.max(1, limits.totalTimeoutMs - elapsed());
  const answers = await ask(deps, request.query, plans, { ...limits, totalTimeoutMs }, signal);
  const outcomes = [...answers, ...unavailable];
  if (!outcomes.some((outcome) => outcome.ok)) throw allFailed(tried, outcomes, skipped);

  const items = outcomes.flatMap((outcome) => outcome.items);
  const merged = merge(items, deps.threshold ?? defaultThreshold);
  const local = await rankLocally(deps, request, servers, merged.candidates);
  const ranked = await rankByModel(deps, request, local, signal);
  const shown = await shorten(deps, request, ranked.results);
  const results = withinBudget(shown, { maxResults: request.maxResults, maxTokens: request.max_tokens }).map(toResult);
  if (ranked.warning !== undefined) warnings.push(ranked.warning);

  return {
    results,
    metadata: {
      serversQueried: outcomes.length,
      serversSucceeded: outcomes.filter((outcome) => outcome.ok).length,
      totalResultsRaw: items.length,
      totalResultsDedup: merged.candidates.length,
      resultsReturned: results.length,
      resultsCondensed: results.filter((result) => result.condensed).length,
      processingTimeMs: elapsed(),
      serverDiversity: diversity(results, outcomes),
      ...common,
      tokensRaw: outcomes.reduce((sum, outcome) => sum + tokensReceived(outcome), 0),
      tokensReturned: results.reduce((sum, result) => sum + estimateTokens(result.content), 0),
      truncated: outcomes.some((outcome) => outcome.calls.some((call) => call.truncated)),
      dedupeComplete: merged.complete,
      ranking: ranked.by,
      warnings,
      servers: outcomes.map(toReport),
      skipped,
    },
  };
}

function checkAsked({ servers: asked = [] }: QueryRequest, servers: readonly QueryServer[]): void {
  const known = new Set(servers.map((server) => server.name));
  const unknown = asked.filter((name) => !known.has(name));
  if (unknown.length === 0) return;
  const names = unknown.map((name) => JSON.stringify(name.slice(0, 255))).join(', ');
  throw new QueryInputError('servers', `Unknown server${unknown.length > 1 ? 's' : ''} ${names}`);
}

interface QueryPlan {
  choice: ServerChoice;
  plans: ServerPlan[];
  skipped: { server: string; reason: string }[];
  /** Chosen servers that cannot be called: failures from the start. */
  unavailable: ServerOutcome[];
  tried: string[];
}

async function makePlan(deps: QueryDeps, request: QueryRequest, servers: readonly QueryServer[]): Promise<QueryPlan> {
  const byName = new Map(servers.map((server) => [server.name, server]));
  const callable = servers.filter((server) => server.unavailable === undefined).map((server) => server.name);
  const found = await deps.findTools(request.query, callable, searchedTools);
  const planOf = remembered((name: string) => {
    const { tools = [], queryTools } = byName.get(name) ?? {};
    const scores = new Map(found.filter((hit) => hit.server === name).map((hit) => [hit.tool, hit.score]));
    return planServer({ server: name, query: request.query, tools, scores, queryTools });
  });
  // Only where a person chose, a server that cannot be asked is worth a word about it.
  const askable = (names: readonly string[]): readonly string[] => {
    const those = names.filter((name) => planOf(name).calls.length > 0);
    return those.length > 0 ? those : names;
  };
  const best = Math.max(0, ...found.map((hit) => hit.score));
  const fitting = found.filter((hit) => hit.score > 0 && hit.score >= best * fitShare).map((hit) => hit.server);
  const choice = chooseServers({
    query: request.query,
    asked: request.servers,
    rules: deps.rules,
    known: () => askable(callable),
    fitting: askable([...new Set(fitting)]),
    maxServers: deps.maxServers ?? defaultMaxServers,
  });

  const plan: QueryPlan = { choice, plans: [], skipped: [], unavailable: [], tried: choice.servers };
  for (const name of choice.servers) {
    const server = byName.get(name);
    // Only a rule can name a server that is not there: calls are checked before.
    const problem = server === undefined ? 'named by a rule, but not registered' : server.unavailable;
    if (server === undefined || problem !== undefined) plan.unavailable.push(failure(name, problem ?? 'not connected'));
    else {
      const serverPlan = planOf(name);
      plan.plans.push(serverPlan);
      if (serverPlan.calls.length === 0) plan.skipped.push({ server: name, reason: 'no read-only tool takes a query' });
    }
  }
  return plan;
}

function remembered<T>(work: (name: string) => T): (name: string) => T {
  const known = new Map<string, T>();
  return (name) => {
    const before = known.get(name);
    if (before !== undefined) return before;
    const made = work(name);
    known.set(name, made);
    return made;
  };
}

function failure(server: string, error: string): ServerOutcome {
  return { server, ok: false, ms: 0, calls: [], items: [], receivedChars: 0, error };
}

async function ask(
  deps: QueryDeps,
  query: string,
  plans: readonly ServerPlan[],
  limits: FanOutLimits,
  signal: AbortSignal,
): Promise<ServerOutcome[]> {
  const callable = plans.filter((plan) => plan.calls.length > 0);
  try {
    const { callTool, watch } = deps;
    return await fanOut(query, callable, callTool, limits, signal, (outcome) => watch?.onServer(toReport(outcome)));
  } catch (error) {
    if (signal.aborted) throw new AppError('CALL_CANCELLED', 'The client ended the query', { cause: error });
    throw error;
  }
}

function toReport({ server, ok, ms, error, calls, items }: ServerOutcome): ServerReport {
  return { server, ok, ms, items: items.length, ...(error === undefined ? {} : { error }), calls };
}

function allFailed(
  tried: string[],
  outcomes: readonly ServerOutcome[],
  skipped: QueryPlan['skipped'],
): AllServersFailedError {
  const failed = outcomes.map(({ server, error }) => `${server}: ${error ?? 'failed'}`);
  const without = skipped.map(({ server, reason }) => `${server}: ${reason}`);
  const errors = [...failed, ...without];
  return new AllServersFailedError(tried, errors.length > 0 ? errors : ['no server is connected']);
}

function merge(items: readonly Item[], threshold: number): { candidates: Candidate[]; complete: boolean } {
  const { clusters, complete } = dedupe(
    items.map((item) => item.content),
    { threshold },
  );
  const candidates = clusters.flatMap((members) => {
    const sources = members.flatMap((index) => items[index] ?? []);
    const [item] = sources;
    return item === undefined ? [] : [{ item, sources }];
  });
  return { candidates, complete };
}

/** Enough of an item to tell what it is about. */
const embeddedChars = 1000;

async function rankLocally(
  deps: QueryDeps,
  request: QueryRequest,
  servers: readonly QueryServer[],
  candidates: readonly Candidate[],
): Promise<Ranked[]> {
  const texts = candidates.map(({ item }) => `${item.title ?? ''}\n${item.content.slice(0, embeddedChars)}`);
  const vectors = await deps.embed?.([request.query, ...texts]);
  const toolSkills = new Map(
    servers.flatMap((server) =>
      server.tools.map((tool) => [`${server.name}\n${tool.name}`, tool.skills ?? []] as const),
    ),
  );
  return rank({
    query: request.query,
    candidates,
    similarities: vectors === undefined ? undefined : similarities(vectors),
    querySkills: deps.skillsOf?.(request.query),
    toolSkills,
  });
}

interface RankedBy {
  results: Ranked[];
  by: 'local' | 'model';
  warning?: string;
}

async function rankByModel(
  deps: QueryDeps,
  request: QueryRequest,
  local: Ranked[],
  signal: AbortSignal,
): Promise<RankedBy> {
  if (request.rerank !== 'model' || local.length === 0) return { results: local, by: 'local' };
  if (deps.model === undefined)
    return { results: local, by: 'local', warning: 'no model is configured: ranked locally' };
  const reranked = await rerank(deps.model, request.query, local.slice(0, request.maxResults), signal);
  return reranked.ok
    ? { results: reranked.results, by: 'model' }
    : {
        results: local,
        by: 'local',
        warning: `the model's ranking was not usable (${reranked.reason}): ranked locally`,
      };
}

/** With a budget of tokens, smaller results may be taken instead of larger ones that rank higher. */
async function shorten(deps: QueryDeps, request: QueryRequest, ranked: readonly Ranked[]): Promise<readonly Ranked[]> {
  if (request.full === true) return ranked;
  const results = request.max_tokens === undefined ? ranked.slice(0, request.maxResults) : ranked;
  return await condense({ query: request.query, results, embed: deps.embed });
}

function toResult(ranked: Ranked, index: number): QueryResult {
  const { item, sources, score, condensed } = ranked;
  return {
    content: item.content,
    server: item.server,
    relevanceScore: score,
    rank: index + 1,
    timestamp: item.timestamp,
    tool: item.tool,
    ...(item.title === undefined ? {} : { title: item.title }),
    ...(item.link === undefined ? {} : { link: item.link }),
    sources: sources.map((source) => toSource(source, item)),
    ...(condensed ? { condensed } : {}),
  };
}

function toSource({ server, tool, position, title, link }: Item, shown: Item) {
  return {
    server,
    tool,
    position,
    ...(title === undefined || title === shown.title ? {} : { title }),
    ...(link === undefined || link === shown.link ? {} : { link }),
  };
}

function diversity(results: readonly QueryResult[], outcomes: readonly ServerOutcome[]): number {
  const contributing = new Set(results.flatMap((result) => result.sources?.map((source) => source.server) ?? []));
  return outcomes.length === 0 ? 0 : Number((contributing.size / outcomes.length).toFixed(4));
}

/** Items are counted; what was cut, or lost its wrapping when items were made, is taken to be of the same density. */
function tokensReceived({ items, receivedChars }: ServerOutcome): number {
  const chars = items.reduce((sum, item) => sum + item.content.length, 0);
  const tokens = items.reduce((sum, item) => sum + estimateTokens(item.content), 0);
  return chars === 0 ? 0 : Math.round((tokens * Math.max(chars, receivedChars)) / chars);
}

interface Explanation {
  plans: ServerPlan[];
  skipped: QueryPlan['skipped'];
  common: Pick<QueryOutput['metadata'], 'chosenBy' | 'pattern'>;
  warnings: string[];
  ms: number;
}

function explained({ plans, skipped, common, warnings, ms }: Explanation): QueryOutput {
  const metadata = {
    serversQueried: 0,
    serversSucceeded: 0,
    totalResultsRaw: 0,
    totalResultsDedup: 0,
    resultsReturned: 0,
    processingTimeMs: ms,
    serverDiversity: 0,
    ...common,
    warnings,
    skipped,
  };
  const plan = plans.map(({ server, calls, leftOut }) => ({
    server,
    leftOut,
    calls: calls.map(({ followUp, ...call }) => ({
      ...call,
      ...(followUp === undefined ? {} : { followUp: { ...followUp, ids: [...followUp.ids] } }),
    })),
  }));
  return { results: [], metadata, plan };
}
