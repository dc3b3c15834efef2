import { describe } from '../errors.ts';
import { type ExtractedItems, type Item, type ToolAnswer, toItems } from './items.ts';
import type { FollowUp, PlannedCall, ServerPlan } from './plan.ts';
import { isRecord } from './records.ts';
import { fillTemplate } from './template.ts';

export type CallTool = (
  server: string,
  tool: string,
  args: Record<string, unknown>,
  signal: AbortSignal,
) => Promise<ToolAnswer>;

export interface FanOutLimits {
  serverTimeoutMs: number;
  totalTimeoutMs: number;
  /** Memory for the text of one query, copies for comparing included; shared out evenly so that order changes nothing. */
  maxBytes: number;
  maxItems: number;
}

export const defaultFanOutLimits: FanOutLimits = {
  serverTimeoutMs: 3000,
  totalTimeoutMs: 5000,
  maxBytes: 10 * 1024 * 1024,
  maxItems: 400,
};

export interface CallReport {
  tool: string;
  ms: number;
  items: number;
  /** The answer was larger than its share of the limits and was cut after a whole item. */
  truncated?: true;
  error?: string;
}

export interface ServerOutcome {
  server: string;
  ok: boolean;
  ms: number;
  calls: CallReport[];
  items: Item[];
  receivedChars: number;
  error?: string;
}

/** A character takes up to two bytes as it came, two more prepared for comparing, and one on the way out. */
const bytesPerChar = 5;

/**
 * Asks all servers at once. A server that fails, hangs or answers nonsense becomes data in its outcome; only the end of
 * `signal` (the client has gone) rejects, and then every call that still runs is aborted.
 */
export async function fanOut(
  query: string,
  plans: readonly ServerPlan[],
  callTool: CallTool,
  limits: FanOutLimits,
  signal: AbortSignal,
  onOutcome: (outcome: ServerOutcome) => void = () => undefined,
): Promise<ServerOutcome[]> {
  signal.throwIfAborted();
  const share = {
    maxChars: Math.floor(limits.maxBytes / bytesPerChar / Math.max(1, plans.length)),
    maxItems: Math.max(1, Math.floor(limits.maxItems / Math.max(1, plans.length))),
  };
  // All start together, so the shorter of the two times bounds both.
  const timeoutMs = Math.min(limits.serverTimeoutMs, limits.totalTimeoutMs);
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), timeoutMs);
  const serverSignal = AbortSignal.any([signal, timeout.signal]);
  try {
    const outcomes = await Promise.all(
      plans.map(async (plan) => {
        const outcome = await askServer(query, plan, callTool, share, serverSignal, timeoutMs);
        if (!signal.aborted) onOutcome(outcome);
        return outcome;
      }),
    );
    signal.throwIfAborted();
    return outcomes;
  } finally {
    clearTimeout(timer);
  }
}

interface Share {
  maxChars: number;
  maxItems: number;
}

async function askServer(
  query: string,
  plan: ServerPlan,
  callTool: CallTool,
  share: Share,
  signal: AbortSignal,
  timeoutMs: number,
): Promise<ServerOutcome> {
  const started = performance.now();
  const perCall = {
    maxChars: Math.floor(share.maxChars / plan.calls.length),
    maxItems: Math.max(1, Math.floor(share.maxItems / plan.calls.length)),
  };
  const results = await Promise.all(
    plan.calls.map((call) => askTool(query, plan.server, call, callTool, perCall, signal, timeoutMs)),
  );
  const reports = results.flatMap((result) => result.reports);
  const failed = reports.filter((report) => report.error !== undefined);
  const ok = failed.length < reports.length;
  return {
    server: plan.server,
    ok,
    ms: Math.round(performance.now() - started),
    calls: reports,
    items: results.flatMap((result) => result.items),
    receivedChars: results.reduce((sum, result) => sum + result.receivedChars, 0),
    ...(ok ? {} : { error: [...new Set(failed.map((report) => report.error))].join('; ') }),
  };
}

interface Asked {
  reports: CallReport[];
  items: Item[];
  receivedChars: number;
}

async function askTool(
  query: string,
  server: string,
  call: PlannedCall,
  callTool: CallTool,
  share: Share,
  signal: AbortSignal,
  timeoutMs: number,
): Promise<Asked> {
  const ask = (tool: string, args: Record<string, unknown>, part: Share): Promise<OneCall> =>
    callOnce({ server, tool, args, callTool, share: part, signal, timeoutMs });
  const first = await ask(call.tool, call.arguments, share);
  const { followUp } = call;
  if (followUp === undefined || first.answer === undefined) return asAsked([first]);

  const ids = findIds(first.answer, followUp);
  if (ids.length === 0) return asAsked([first]);
  const part = {
    maxChars: Math.floor(share.maxChars / (ids.length + 1)),
    maxItems: Math.max(1, Math.floor(share.maxItems / (ids.length + 1))),
  };
  const fetched = await Promise.all(
    ids.map((id) => ask(followUp.tool, fillTemplate(followUp.arguments, { query, id }), part)),
  );
  const isFirstShown = followUp.keepFirst || fetched.every((result) => result.report.error !== undefined);
  return asAsked([isFirstShown ? first : { ...first, extracted: undefined }, ...fetched]);
}

interface OneCall {
  report: CallReport;
  answer?: ToolAnswer;
  extracted?: ExtractedItems;
}

function asAsked(calls: readonly OneCall[]): Asked {
  return {
    reports: calls.map((call) => call.report),
    items: calls.flatMap((call) => call.extracted?.items ?? []),
    receivedChars: calls.reduce((sum, call) => sum + (call.extracted?.receivedChars ?? 0), 0),
  };
}

interface OneCallInput {
  server: string;
  tool: string;
  args: Record<string, unknown>;
  callTool: CallTool;
  share: Share;
  signal: AbortSignal;
  timeoutMs: number;
}

async function callOnce({ server, tool, args, callTool, share, signal, timeoutMs }: OneCallInput): Promise<OneCall> {
  const started = performance.now();
  const elapsed = (): number => Math.round(performance.now() - started);
  const failure = (error: string): OneCall => ({ report: { tool, ms: elapsed(), items: 0, error } });
  try {
    const answer = await untilAborted(callTool(server, tool, args, signal), signal);
    if (answer.isError === true) return failure(errorText(answer));
    const timestamp = new Date().toISOString();
    const extracted = toItems(answer, { server, tool, timestamp }, share);
    const report: CallReport = { tool, ms: elapsed(), items: extracted.items.length };
    if (extracted.truncated) report.truncated = true;
    return { report, answer, extracted };
  } catch (error) {
    return failure(signal.aborted ? `timeout after ${timeoutMs / 1000}s` : describe(error));
  }
}

/** A call that ignores its signal must not hold up whoever waits for it. */
export async function untilAborted<T>(call: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
  return Promise.race([call, aborted.promise]).finally(() => signal.removeEventListener('abort', abort));
}

const longestError = 300;

function errorText(answer: ToolAnswer): string {
  const blocks = Array.isArray(answer.content) ? answer.content.filter(isRecord) : [];
  const text = blocks.map((block) => block.text).find((found) => typeof found === 'string');
  return typeof text === 'string' && text.trim() !== ''
    ? text.trim().slice(0, longestError)
    : 'the tool reported an error';
}

/** Ids in the order the server gave them: from its JSON by key, else from its prose by label. */
export function findIds(answer: ToolAnswer, { ids, take }: Pick<FollowUp, 'ids' | 'take'>): string[] {
  const blocks = Array.isArray(answer.content) ? answer.content.filter(isRecord) : [];
  const texts = blocks.flatMap((block) => (typeof block.text === 'string' ? [block.text.slice(0, searchedChars)] : []));
  const values = [answer.structuredContent, ...texts.map(asJson)].filter(isObject);
  for (const key of ids) {
    const inJson = values.flatMap((value) => valuesOf(value, key, 0));
    const label = new RegExp(`${key.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}\\s*[:=]\\s*[\`"']?([^\\s\`"',]+)`, 'gi');
    const inProse = texts.flatMap((text) => [...text.matchAll(label)].map((found) => found[1] ?? ''));
    const found = [...new Set([...inJson, ...inProse])].filter((id) => id !== '').slice(0, take);
    if (found.length > 0) return found;
  }
  return [];
}

const searchedChars = 200_000;

function asJson(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    // Prose that begins with a bracket.
    return undefined;
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function valuesOf(value: unknown, key: string, depth: number): string[] {
  if (depth > 5) return [];
  if (Array.isArray(value)) return value.slice(0, 50).flatMap((inner) => valuesOf(inner, key, depth + 1));
  if (!isRecord(value)) return [];
  const own = value[key];
  const mine = typeof own === 'string' || typeof own === 'number' ? [String(own)] : [];
  return [
    ...mine,
    ...Object.values(value).flatMap((inner) => (isObject(inner) ? valuesOf(inner, key, depth + 1) : [])),
  ];
}
