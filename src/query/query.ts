/** One question to many servers: choose, read, merge, rank, cut. */
import { AppError } from '../errors.ts';
import type { FormFiller } from '../model.ts';
import { similarities } from '../similarity/cosine.ts';
import { dedupe, defaultThreshold } from '../similarity/dedupe.ts';
import { defaultFanOutLimits, type FanOutLimits, fanOut, type ServerOutcome } from './fan-out.ts';
import { type PlannedCall, planByModel } from './model-plan.ts';
import { toExplanation, toOutput, toReport } from './query-output.ts';
import { type Candidates, findCandidates, makePlan, type QueryPlan, type Subject, toPlannable } from './query-plan.ts';
import type { QueryOutput, ServerReport } from './query-tool.ts';
import { analyseQuestion, type Lexicon } from './question/question.ts';
import { answers, createRelevanceMeter } from './question/relevance.ts';
import type { ServerKnowledge } from './reading/knowledge.ts';
import type { NamedTool } from './reading/named-tools.ts';
import type { BeginWork, ServerGateway } from './reading/reading-state.ts';
import { AllServersFailedError, parseQuery, QueryInputError, type QueryRequest } from './request.ts';
import { rerank } from './rerank.ts';
import { condense } from './results/condense.ts';
import type { RelevantItem } from './results/items.ts';
import { type Candidate, type Ranked, rank, withinBudget } from './results/rank.ts';
import type { ServerRule } from './server-rules.ts';
import type { Strategy, StrategyTool } from './strategy/strategy.ts';

/** A server as the caller may see it. */
export interface QueryServer {
  name: string;
  /** Absent when it can be called; otherwise why not ("not connected: ERROR"). */
  unavailable?: string;
  tools: readonly StrategyTool[];
  strategy: Strategy;
  queryTools?: readonly NamedTool[];
  /** Its title, which questions may mention. */
  title?: string;
  /** Folders that it is configured with. */
  folders: readonly string[];
  /** A process of this machine: what other local servers know of its files holds for it. */
  isLocal: boolean;
}

export interface ToolFit {
  server: string;
  tool: string;
  score: number;
}

/** Receives the progress of a query. */
export interface QueryWatch {
  /** What `explain` would have answered. */
  onPlan?(plan: QueryOutput): void;
  onServer(report: ServerReport): void;
}

export interface QueryDeps {
  /** The servers this caller may use. */
  servers(): readonly QueryServer[] | Promise<readonly QueryServer[]>;
  findTools(query: string, servers: readonly string[], limit: number): ToolFit[] | Promise<ToolFit[]>;
  gateway(server: string): ServerGateway;
  knowledge(server: string): ServerKnowledge;
  beginWork?: BeginWork;
  lexicon: Lexicon;
  rules: readonly ServerRule[];
  embed?(texts: readonly string[]): Float32Array[] | Promise<Float32Array[]>;
  model?: FormFiller;
  /** The caller's own model, through `sampling/createMessage`: plans where no model is configured. */
  sampling?: FormFiller;
  watch?: QueryWatch;
  limits?: Partial<FanOutLimits>;
  /** Similarity above which results of different servers may be merged. */
  threshold?: number;
}

/**
 * Throws `QueryInputError` for a bad parameter, `AllServersFailedError` when every server that was asked failed,
 * CALL_CANCELLED when `signal` ends.
 */
export async function runQuery(deps: QueryDeps, input: unknown, signal: AbortSignal): Promise<QueryOutput> {
  const started = performance.now();
  const elapsed = (): number => Math.round(performance.now() - started);
  const request = parseQuery(input);
  const servers = await deps.servers();
  checkNames(request, servers);
  const question = analyseQuestion(request.query, deps.lexicon);
  const meter = createRelevanceMeter(question, deps.lexicon);
  const subject: Subject = { request, servers, question, meter };

  const candidates = await findCandidates(deps, subject);
  const thought = await planWithModel(deps, request, candidates, signal);
  const plan = await makePlan(deps, subject, candidates, thought.calls);
  plan.warnings.push(...thought.warnings);
  if (request.explain === true) return await toExplanation(plan, elapsed());
  if (deps.watch?.onPlan !== undefined) deps.watch.onPlan(await toExplanation(plan, elapsed()));
  for (const outcome of plan.failed) deps.watch?.onServer(toReport(outcome));

  const outcomes = await ask(deps, plan, signal);
  requireAnAnswer(outcomes, plan);
  const { candidates: merged, complete } = merge(
    answering(outcomes.flatMap((outcome) => outcome.items)),
    deps.threshold ?? defaultThreshold,
  );
  const local = await rankLocally(deps, request, merged);
  const ranked = await rankByModel(deps, request, local, signal);
  if (ranked.warning !== undefined) plan.warnings.push(ranked.warning);
  const shown = await shorten(deps, request, ranked.results);
  const results = withinBudget(shown, { maxResults: request.maxResults, maxTokens: request.max_tokens });
  const how = { dedupeComplete: complete, ranking: ranked.by, outcomes, plan, ms: elapsed() };
  return toOutput({ results, distinct: merged.length, ...how });
}

function checkNames({ servers: named = [] }: QueryRequest, servers: readonly QueryServer[]): void {
  const known = new Set(servers.map((server) => server.name));
  const unknown = named.filter((name) => !known.has(name));
  if (unknown.length === 0) return;
  const names = unknown.map((name) => JSON.stringify(name.slice(0, 255))).join(', ');
  throw new QueryInputError('servers', `Unknown server${unknown.length > 1 ? 's' : ''} ${names}`);
}

/** People approve what their client's model is asked. */
const samplingTimeoutMs = 60_000;

/** With `plan: "model"`, the calls that a model thought of; the local plan stands beside them and behind them. */
async function planWithModel(
  deps: QueryDeps,
  request: QueryRequest,
  candidates: Candidates,
  signal: AbortSignal,
): Promise<{ calls: PlannedCall[]; warnings: string[] }> {
  if (request.plan !== 'model') return { calls: [], warnings: [] };
  const model = deps.model ?? deps.sampling;
  if (model === undefined) {
    const warning = 'No model is configured and the client does not support sampling: planned locally.';
    return { calls: [], warnings: [warning] };
  }
  const timeoutMs = deps.model === undefined ? samplingTimeoutMs : undefined;
  const servers = toPlannable(deps, candidates, Date.now());
  const plan = await planByModel(model, request.query, servers, signal, timeoutMs);
  if (!plan.ok)
    return { calls: [], warnings: [`The plan of the model was invalid (${plan.reason}): planned locally.`] };
  return { calls: plan.calls, warnings: plan.refused.map((reason) => `A planned call was rejected: ${reason}.`) };
}

/** The time for all servers begins with the first call: a model that plans takes its own. */
async function ask(deps: QueryDeps, plan: QueryPlan, signal: AbortSignal): Promise<ServerOutcome[]> {
  const limits = { ...defaultFanOutLimits, ...deps.limits };
  const asked = await untilClientLeaves(signal, () =>
    fanOut(plan.asks, limits, signal, (outcome) => deps.watch?.onServer(toReport(outcome))),
  );
  // A server whose tools are all paused was not asked.
  const paused = asked.filter(({ calls, resting, isPaused }) => isPaused || (calls.length === 0 && resting.length > 0));
  for (const { server, resting, isPaused } of paused) {
    const why = isPaused ? 'it kept timing out' : `these tools kept failing: ${resting.join(', ')}`;
    plan.skipped.push({ server, reason: `paused because ${why}` });
  }
  return [...asked.filter((outcome) => !paused.includes(outcome)), ...plan.failed];
}

async function untilClientLeaves<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (signal.aborted) throw new AppError('CALL_CANCELLED', 'The client ended the query', { cause: error });
    throw error;
  }
}

/** Fails only if servers were queried or unreachable; if no server can be queried, the result is empty. */
function requireAnAnswer(outcomes: readonly ServerOutcome[], { skipped, tried, asks, warnings }: QueryPlan): void {
  if (outcomes.some((outcome) => outcome.ok)) return;
  const away = skipped.filter(({ reason }) => reason.startsWith('not connected'));
  if (outcomes.length === 0 && skipped.length > away.length) {
    const isPaused = skipped.some(({ reason }) => reason.startsWith('paused'));
    warnings.push(isPaused ? allPaused : nothingToAsk);
    return;
  }
  const inOrder = outcomes.toSorted((a, b) => tried.indexOf(a.server) - tried.indexOf(b.server));
  const failed = inOrder.map(({ server, error }) => `${server}: ${error ?? 'failed'}`);
  const without = (asks.length === 0 ? away : []).map(({ server, reason }) => `${server}: ${reason}`);
  const errors = [...failed, ...without];
  throw new AllServersFailedError(tried, errors.length > 0 ? errors : ['no server is connected']);
}

const nothingToAsk =
  'No connected server can be queried. Connect a server with read-only tools or resources, or add tools to the option query_readers or query_tools of a server.';
const allPaused =
  'No server was queried: the tools are paused after repeated failures. Add a server to "servers" to query it anyway.';

/** The items that answer the question, and related ones; empty if nothing answers it. */
function answering(items: readonly RelevantItem[]): RelevantItem[] {
  return items.some(({ relevance }) => relevance >= answers) ? [...items] : [];
}

function merge(items: readonly RelevantItem[], threshold: number): { candidates: Candidate[]; complete: boolean } {
  const { clusters, complete } = dedupe(items, { threshold });
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
  candidates: readonly Candidate[],
): Promise<Ranked[]> {
  const texts = candidates.map(({ item }) => `${item.title ?? ''}\n${item.content.slice(0, embeddedChars)}`);
  const vectors = await deps.embed?.([request.query, ...texts]);
  return rank({
    query: request.query,
    candidates,
    similarities: vectors === undefined ? undefined : similarities(vectors),
  });
}

interface RankedBy {
  results: Ranked[];
  by: 'local' | 'model';
  warning?: string;
}

async function rankByModel(
  { model }: QueryDeps,
  request: QueryRequest,
  local: Ranked[],
  signal: AbortSignal,
): Promise<RankedBy> {
  if (request.rerank !== 'model' || local.length === 0) return { results: local, by: 'local' };
  if (model === undefined) return { results: local, by: 'local', warning: 'No model is configured: ranked locally.' };
  const reranked = await rerank(model, request.query, local.slice(0, request.maxResults), signal);
  if (reranked.ok) return { results: reranked.results, by: 'model' };
  const warning = `The ranking of the model was invalid (${reranked.reason}): ranked locally.`;
  return { results: local, by: 'local', warning };
}

/** With a budget of tokens, smaller results may be taken instead of larger ones that rank higher. */
async function shorten(deps: QueryDeps, request: QueryRequest, ranked: readonly Ranked[]): Promise<readonly Ranked[]> {
  if (request.full === true) return ranked;
  const results = request.max_tokens === undefined ? ranked.slice(0, request.maxResults) : ranked;
  return await condense({ query: request.query, results, embed: deps.embed });
}
