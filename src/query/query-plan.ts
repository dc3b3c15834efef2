/** Plans a query: servers, their order and first calls. Calls nothing. */

import { stem } from '../similarity/stem.ts';
import { createTimeSlice, inSlices } from '../time-slice.ts';
import { failedOutcome, type ServerAsk, type ServerOutcome } from './fan-out.ts';
import type { PlannableServer, PlannedCall } from './model-plan.ts';
import type { QueryDeps, QueryServer, ToolFit } from './query.ts';
import type { QueryOutput, ServerPlan } from './query-tool.ts';
import type { Lexicon, Question } from './question/question.ts';
import type { RelevanceMeter } from './question/relevance.ts';
import { createExploration, type Exploration } from './reading/exploration.ts';
import { workOutFirstSteps } from './reading/first-steps.ts';
import { planNamedTools, readNamedTools } from './reading/named-tools.ts';
import { readServer } from './reading/reading.ts';
import type { Nearness } from './reading/sql.ts';
import { fittingTool, type Planner, type Step } from './reading/step.ts';
import type { QueryRequest } from './request.ts';
import { chooseServers, type ServerChoice } from './server-rules.ts';
import { describeNamedTools, describeStrategy } from './strategy/describe-strategy.ts';
import { canBeAsked } from './strategy/strategy.ts';

export interface QueryPlan {
  choice: Pick<QueryOutput['metadata'], 'chosenBy' | 'pattern'>;
  /** Most promising first. */
  asks: ServerAsk[];
  /** A description of how each server is queried; built on demand. */
  plans: (() => Promise<ServerPlan>)[];
  skipped: { server: string; reason: string }[];
  /** Named servers that cannot be called: failures from the start. */
  failed: ServerOutcome[];
  warnings: string[];
  tried: string[];
}

/** A question and everything that is known before the first call. */
export interface Subject {
  request: QueryRequest;
  servers: readonly QueryServer[];
  question: Question;
  meter: RelevanceMeter;
}

/** The servers that a query is for, the most promising first. */
export interface Candidates {
  choice: ServerChoice;
  /** Undefined: named by a rule, but not registered. */
  ordered: { name: string; server: QueryServer | undefined }[];
  found: readonly ToolFit[];
}

const searchedTools = 50;

export async function findCandidates(deps: QueryDeps, { request, servers }: Subject): Promise<Candidates> {
  const byName = new Map(servers.map((server) => [server.name, server]));
  const known = servers.map(({ name }) => name);
  const choice = chooseServers({ query: request.query, named: request.servers, rules: deps.rules, known });
  const callable = choice.servers.filter((name) => byName.get(name)?.unavailable === undefined);
  const found = await deps.findTools(request.query, callable, searchedTools);
  const best = new Map<string, number>();
  for (const { server, score } of found) best.set(server, Math.max(best.get(server) ?? 0, score));
  const ordered = choice.servers
    .toSorted((a, b) => (best.get(b) ?? 0) - (best.get(a) ?? 0))
    .map((name) => ({ name, server: byName.get(name) }));
  return { choice, ordered, found };
}

/** What a model is told about the servers that can be asked. */
export function toPlannable(deps: QueryDeps, { ordered }: Candidates, now: number): PlannableServer[] {
  return ordered.flatMap(({ name, server }) => {
    if (server === undefined || server.unavailable !== undefined || !canBeAsked(server.strategy)) return [];
    const knowledge = deps.knowledge(name);
    const handles = knowledge.listings(now).flatMap(({ entries }) => entries.map(({ label }) => label));
    const { tools, strategy } = server;
    return [{ name, tools, strategy, handles, tables: knowledge.tables(now) ?? [] }];
  });
}

export async function makePlan(
  deps: QueryDeps,
  subject: Subject,
  { choice, ordered, found }: Candidates,
  planned: readonly PlannedCall[],
): Promise<QueryPlan> {
  const plan: QueryPlan = {
    choice: { chosenBy: choice.by, ...(choice.pattern === undefined ? {} : { pattern: choice.pattern }) },
    asks: [],
    plans: [],
    skipped: [],
    failed: [],
    warnings: choice.rulesStopped ? ['The server rules took too long and were ignored. Simplify their patterns.'] : [],
    tried: choice.servers,
  };
  const near = nearness(deps.lexicon);
  const exploration = createExploration();
  for (const { name, server } of ordered) {
    if (server === undefined) plan.failed.push(failedOutcome(name, 'named by a rule, but not registered'));
    else if (server.unavailable !== undefined) leaveOut(plan, choice, name, server.unavailable);
    else if ((server.queryTools ?? []).length > 0) addNamedTools(plan, deps, subject, server);
    else
      addServer(
        plan,
        deps,
        {
          planner: await plannerFor(deps, subject, server, { found, planned, near }),
          exploration,
          isNamed: choice.by === 'call',
        },
        server,
      );
  }
  return plan;
}

/** The caller who names a server is told that it failed; of all servers, those that are not connected are left out. */
function leaveOut(plan: QueryPlan, choice: ServerChoice, name: string, reason: string): void {
  if (choice.by === 'all') plan.skipped.push({ server: name, reason });
  else plan.failed.push(failedOutcome(name, reason));
}

/** `query_tools` of a server replace what would be worked out. */
function addNamedTools(plan: QueryPlan, deps: QueryDeps, { request, meter }: Subject, server: QueryServer): void {
  const { name, queryTools = [] } = server;
  const { query } = request;
  const known = new Set(server.tools.map(({ name: tool }) => tool));
  const { calls, missing } = planNamedTools(queryTools, known, query);
  plan.plans.push(async () => ({
    server: name,
    strategy: describeNamedTools(queryTools),
    calls: calls.map(({ tool, arguments: args }) => ({ tool, arguments: args, reason: 'named in query_tools' })),
    leftOut: missing.map((tool) => ({ tool, reason: 'named in query_tools, but the server has no such tool' })),
  }));
  if (calls.length === 0) {
    plan.skipped.push({ server: name, reason: 'query_tools names no tool that the server has' });
    return;
  }
  const gateway = deps.gateway(name);
  plan.asks.push({
    server: name,
    isLocal: server.isLocal,
    read: (limits, turn) => readNamedTools({ server: name, calls, query, meter, gateway, limits, turn }),
  });
}

const shownCalls = 10;

interface ReadingBasis {
  planner: Planner;
  exploration: Exploration;
  isNamed: boolean;
}

function addServer(plan: QueryPlan, deps: QueryDeps, basis: ReadingBasis, server: QueryServer): void {
  const { name, strategy, isLocal } = server;
  const { planner, exploration, isNamed } = basis;
  plan.plans.push(async () => ({
    server: name,
    strategy: describeStrategy(strategy),
    calls: (await inSlices(workOutFirstSteps(planner, Date.now()), createTimeSlice()))
      .toSorted((a, b) => b.priority - a.priority)
      .flatMap(toCall)
      .slice(0, shownCalls),
    leftOut: [...strategy.leftOut],
  }));
  if (!canBeAsked(strategy)) {
    const reason = 'it has no read-only tools or resources for a query; add tools to query_readers or query_tools';
    plan.skipped.push({ server: name, reason });
    return;
  }
  const gateway = deps.gateway(name);
  plan.asks.push({
    server: name,
    isLocal,
    read: (limits, turn) =>
      readServer({ ...planner, server: name, gateway, beginWork: deps.beginWork, limits, turn, exploration, isNamed }),
  });
}

const reasons = {
  search: 'takes the words of the question',
  list: 'lists what there is',
  read: 'reads what the question names',
  report: 'fits the question',
  sql: 'searches the tables',
} as const;

function toCall({ target, isPlanned }: Step): ServerPlan['calls'] {
  if (target.kind !== 'tool' || target.purpose !== 'answer') return [];
  const { operation, arguments: args } = target;
  return [
    { tool: operation.tool, arguments: args, reason: isPlanned ? 'planned by the model' : reasons[operation.kind] },
  ];
}

const maxSharedFolders = 3;

async function plannerFor(
  deps: QueryDeps,
  { servers, question, meter }: Subject,
  server: QueryServer,
  { found, planned, near }: { found: readonly ToolFit[]; planned: readonly PlannedCall[]; near: Nearness },
): Promise<Planner> {
  const others = server.isLocal ? servers.flatMap(({ isLocal, folders }) => (isLocal ? folders : [])) : [];
  return {
    strategy: server.strategy,
    question,
    meter,
    near,
    fits: await toolFits(server, question, meter, found),
    // What another server of this machine works on is the best guess where a server has no folder of its own.
    folders: server.folders.length > 0 ? server.folders : [...new Set(others)].slice(0, maxSharedFolders),
    knowledge: deps.knowledge(server.name),
    about: `${server.name} ${server.title ?? ''}`,
    planned: planned.filter((call) => call.server === server.name),
  };
}

/**
 * By search over all tools, or by the question's own words in what the tool says of itself. What fits little and is far
 * behind the server's best fits by chance.
 */
async function toolFits(
  { name, strategy }: QueryServer,
  question: Question,
  meter: RelevanceMeter,
  found: readonly ToolFit[],
): Promise<Map<string, number>> {
  const hits = found.filter((hit) => hit.server === name);
  const best = Math.max(Number.EPSILON, ...hits.map(({ score }) => score));
  const scores = new Map(hits.map(({ tool, score }) => [tool, score < fittingTool ? score * (score / best) : score]));
  const stems = new Set(question.terms.map((term) => term.stem));
  const fits = new Map<string, number>();
  const slice = createTimeSlice();
  for (const { key, tool, about, kind, noun } of strategy.operations) {
    await slice.giveWay();
    // Who asks about releases means the tool that lists releases.
    const isNamed = kind === 'list' && noun !== '' && stems.has(stem(noun));
    fits.set(key, Math.max(scores.get(tool) ?? 0, meter.judge(meter.measure(about)), isNamed ? fittingTool : 0));
  }
  return fits;
}

/** Words repeat from server to server, so each is embedded once. */
function nearness({ embedText }: Lexicon): Nearness {
  const known = new Map<string, Float32Array>();
  const vectorOf = (word: string): Float32Array => {
    const vector = known.get(word) ?? embedText(word);
    known.set(word, vector);
    return vector;
  };
  return (a, b) => {
    const [x, y] = [vectorOf(a), vectorOf(b)];
    return Math.max(
      0,
      x.reduce((sum, value, at) => sum + value * (y[at] ?? 0), 0),
    );
  };
}
