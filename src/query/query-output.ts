/** Builds the output of a query: results and metadata. Pure. */
import type { ServerOutcome } from './fan-out.ts';
import type { QueryPlan } from './query-plan.ts';
import type { QueryOutput, QueryResult, ServerReport } from './query-tool.ts';
import { answers } from './question/relevance.ts';
import type { RelevantItem } from './results/items.ts';
import type { Ranked } from './results/rank.ts';
import { estimateTokens } from './results/tokens.ts';

interface Answered {
  results: readonly Ranked[];
  distinct: number;
  dedupeComplete: boolean;
  ranking: 'local' | 'model';
  outcomes: readonly ServerOutcome[];
  plan: QueryPlan;
  ms: number;
}

export function toOutput(answered: Answered): QueryOutput {
  const { outcomes, plan, ranking, dedupeComplete } = answered;
  const results = answered.results.map(toResult);
  return {
    results,
    metadata: {
      ...counts(answered),
      resultsCondensed: results.filter((result) => result.condensed).length,
      ...plan.choice,
      tokensRaw: outcomes.reduce((sum, outcome) => sum + tokensReceived(outcome), 0),
      tokensReturned: results.reduce((sum, result) => sum + estimateTokens(result.content), 0),
      truncated: outcomes.some((outcome) => outcome.calls.some((call) => call.truncated)),
      dedupeComplete,
      ranking,
      warnings: plan.warnings,
      servers: outcomes.map(toReport),
      skipped: plan.skipped,
    },
  };
}

/**
 * With as little around the results as possible where the caller wants that, or where the account of how they came about
 * would take more room than the answers that it saves reading.
 */
export function presentOutput(output: QueryOutput, isCompact: boolean | undefined): QueryOutput {
  if (isCompact === false || output.plan !== undefined) return output;
  const receivedChars = (output.metadata.tokensRaw ?? 0) * charsPerToken;
  return isCompact === true || JSON.stringify(output).length > receivedChars ? toCompact(output) : output;
}

/** What a reader of the results needs: the text, where it is from, and what is missing. */
function toCompact({ results, metadata }: QueryOutput): QueryOutput {
  const { serversQueried, serversSucceeded, totalResultsRaw, totalResultsDedup } = metadata;
  const { resultsReturned, processingTimeMs, serverDiversity, servers = [], warnings = [] } = metadata;
  const failed = servers.filter(({ ok }) => !ok).map(({ server, error = 'failed' }) => ({ server, reason: error }));
  const skipped = [...failed, ...(metadata.skipped ?? [])];
  return {
    results: results.map(toCompactResult),
    metadata: {
      serversQueried,
      serversSucceeded,
      totalResultsRaw,
      totalResultsDedup,
      resultsReturned,
      processingTimeMs,
      serverDiversity,
      ...(warnings.length === 0 ? {} : { warnings }),
      ...(skipped.length === 0 ? {} : { skipped }),
    },
  };
}

function counts({ results, distinct, outcomes, plan, ms }: Answered) {
  return {
    serversQueried: outcomes.length,
    serversSucceeded: outcomes.filter((outcome) => outcome.ok).length,
    totalResultsRaw: outcomes.reduce((sum, outcome) => sum + outcome.rawItems, 0),
    totalResultsDedup: distinct,
    resultsReturned: results.length,
    processingTimeMs: ms,
    serverDiversity: diversity(results, outcomes.length + plan.skipped.length),
  };
}

/** Of all servers that the query was for, those left out included. */
function diversity(results: readonly Ranked[], servers: number): number {
  const contributing = new Set(results.flatMap(({ sources }) => sources.map((source) => source.server)));
  return servers === 0 ? 0 : Number((contributing.size / servers).toFixed(4));
}

const charsPerToken = 4;
const tokensReceived = ({ receivedChars }: ServerOutcome): number => Math.round(receivedChars / charsPerToken);

export function toReport({ server, ok, ms, error, calls, items, rawItems, resting }: ServerOutcome): ServerReport {
  return {
    server,
    ok,
    ms,
    items: rawItems,
    relevant: items.filter((item) => item.relevance >= answers).length,
    ...(error === undefined ? {} : { error }),
    ...(resting.length === 0 ? {} : { resting: [...resting] }),
    calls: summarise(calls),
  };
}

/** One entry for each tool, however often it was called. */
function summarise(calls: ServerOutcome['calls']): ServerReport['calls'] {
  return [...Map.groupBy(calls, ({ tool }) => tool)].map(([tool, same]) => {
    const error = same.find((call) => call.error !== undefined)?.error;
    return {
      tool,
      count: same.length,
      ms: Math.max(...same.map(({ ms }) => ms)),
      items: same.reduce((sum, { items }) => sum + items, 0),
      ...(same.some(({ truncated }) => truncated) ? { truncated: true } : {}),
      ...(error === undefined ? {} : { error }),
    };
  });
}

const maxSources = 5;

function toResult({ item, sources, score, condensed }: Ranked, index: number): QueryResult {
  const distinct = distinctSources(sources, item);
  return {
    content: item.content,
    server: item.server,
    relevanceScore: score,
    rank: index + 1,
    timestamp: item.timestamp,
    tool: item.tool,
    ...(item.title === undefined ? {} : { title: item.title }),
    ...(item.link === undefined ? {} : { link: item.link }),
    sources: distinct.slice(0, maxSources),
    ...(distinct.length > maxSources ? { moreSources: distinct.length - maxSources } : {}),
    ...(condensed ? { condensed } : {}),
  };
}

type ResultSource = NonNullable<QueryResult['sources']>[number];

/** A tool that was called with several wordings counts as one source. */
function distinctSources(sources: readonly RelevantItem[], shown: RelevantItem): ResultSource[] {
  const distinct = new Map<string, ResultSource>();
  for (const { server, tool, position, title, link } of sources) {
    const key = JSON.stringify([server, tool, link]);
    if (distinct.has(key)) continue;
    distinct.set(key, {
      server,
      tool,
      position,
      ...(title === undefined || title === shown.title ? {} : { title }),
      ...(link === undefined || link === shown.link ? {} : { link }),
    });
  }
  return [...distinct.values()];
}

function toCompactResult(result: QueryResult): QueryResult {
  const { content, server, relevanceScore, rank, title, link, sources = [], moreSources, condensed } = result;
  const isRepeated = title !== undefined && content.includes(title);
  const others = [...new Map(sources.map((source) => [source.server, source])).values()]
    .filter((source) => source.server !== server)
    .map(({ position: _position, ...source }) => source);
  return {
    content,
    server,
    relevanceScore: Number(relevanceScore.toFixed(2)),
    rank,
    ...(title === undefined || isRepeated ? {} : { title }),
    ...(link === undefined || link === title ? {} : { link }),
    ...(others.length > 0 ? { sources: others } : {}),
    ...(moreSources === undefined ? {} : { moreSources }),
    ...(condensed ? { condensed } : {}),
  };
}

/** With `explain`: how each server would be asked. */
export async function toExplanation(plan: QueryPlan, ms: number): Promise<QueryOutput> {
  const { plans, tried, skipped, failed, choice, warnings } = plan;
  const metadata = {
    serversQueried: 0,
    serversSucceeded: 0,
    totalResultsRaw: 0,
    totalResultsDedup: 0,
    resultsReturned: 0,
    processingTimeMs: ms,
    serverDiversity: 0,
    ...choice,
    warnings,
    skipped: [...skipped, ...failed.map(({ server, error = 'failed' }) => ({ server, reason: error }))],
  };
  const described = await Promise.all(plans.map((describe) => describe()));
  const inOrder = described.toSorted((a, b) => tried.indexOf(a.server) - tried.indexOf(b.server));
  return { results: [], metadata, plan: inOrder };
}
