/**
 * One server's part of a query: the most promising call first, each answer opening new ones, until the time is up, the
 * answer is there or nothing is left to ask. A call that fails is data; only the end of `signal` ends the reading.
 */

import { describe } from '../../errors.ts';
import type { EventLoopWatchdog } from '../../event-loop-watchdog.ts';
import { createTimeSlice, inSlices } from '../../time-slice.ts';
import type { ServerTurn } from '../fan-out.ts';
import { wordsOf } from '../question/question.ts';
import { answers } from '../question/relevance.ts';
import type { RelevantItem } from '../results/items.ts';
import { withoutPointers } from '../results/pointers.ts';
import type { Operation } from '../strategy/strategy.ts';
import { isToolResult, type ParsedAnswer, parseAnswer, parseContents, type ToolAnswer } from './answer.ts';
import { assessAnswer, isDocument } from './assess.ts';
import { type Entry, entriesOf } from './entries.ts';
import type { Exploration } from './exploration.ts';
import { firstSteps, statementSteps } from './first-steps.ts';
import { stepsFrom, stepsFromListing } from './follow-steps.ts';
import { isConstantAnswer, recordFailure, recordSuccess, type ServerKnowledge } from './knowledge.ts';
import { isNothingFound, skeletonOf } from './nothing-found.ts';
import { nextPage } from './paging.ts';
import { stepsFromCompletion } from './resource-steps.ts';
import { searchSteps } from './search-steps.ts';
import { tablesOf } from './sql.ts';
import { nameOfStep, type Planner, pageStep, priorities, retryStep, type Step, searchesContents } from './step.ts';
import { createStepQueue } from './step-queue.ts';

/** What a server can be asked for. */
export interface ServerGateway {
  callTool(tool: string, args: Record<string, unknown>, signal: AbortSignal): Promise<ToolAnswer>;
  readResource(uri: string, signal: AbortSignal): Promise<{ contents?: unknown }>;
  complete(request: CompletionRequest, signal: AbortSignal): Promise<string[]>;
}

/** Values of a template's variable that begin like `value`, the other variables being `filled`. */
interface CompletionRequest {
  uriTemplate: string;
  variable: string;
  value: string;
  filled: Readonly<Record<string, string>>;
}

export interface ReadingLimits {
  maxCalls: number;
  /** Of these, calls whose use is doubtful. */
  maxExploring: number;
  maxChars: number;
  maxItems: number;
}

export interface ReadCall {
  /** The tool, or the method for resources and completions. */
  tool: string;
  ms: number;
  items: number;
  /** The answer was larger than its share of the limits and was cut after a whole item. */
  truncated?: true;
  error?: string;
}

export interface Reading {
  items: RelevantItem[];
  calls: ReadCall[];
  receivedChars: number;
  /** Items of all answers, before those that do not answer the question were left out. */
  rawItems: number;
  /** Tools that were not called because they kept failing. */
  resting: readonly string[];
  /** The server was not asked because it kept giving no answer. */
  isPaused?: true;
}

export type BeginWork = EventLoopWatchdog['begin'];

export const nothingRead: Reading = { items: [], calls: [], receivedChars: 0, rawItems: 0, resting: [] };

interface ReadingInput extends Planner {
  server: string;
  gateway: ServerGateway;
  /** The time for reading what a tool answered, so that it is known whose text takes long to read. */
  beginWork?: BeginWork;
  limits: ReadingLimits;
  turn: ServerTurn;
  exploration: Exploration;
  /** The caller named this server: it is asked although it or its tools kept failing. */
  isNamed: boolean;
}

const concurrentCalls = 3;
/** Of one answer; the best of them are kept. */
const maxAssessed = 2_000;
/** With an item as good as this, servers explore no more than small collections, which may tell otherwise. */
const certain = 0.95;
const glances = 12;
/** Of one operation. */
const maxPages = 12;
/** The first pages are worth reading whatever they hold. */
const cheapPages = 8;

export async function readServer(input: ReadingInput): Promise<Reading> {
  const { knowledge, limits, turn, exploration } = input;
  const { signal, timeoutMessage } = turn;
  if (!input.isNamed && knowledge.server.restsUntil > Date.now()) return { ...nothingRead, isPaused: true };
  const queue = createStepQueue(knowledge, Date.now, input.isNamed);
  const calls: ReadCall[] = [];
  const found: RelevantItem[] = [];
  const read: RelevantItem[] = [];
  const running = new Set<Promise<void>>();
  const received = { chars: 0, items: 0 };
  const pages = new Map<string, number>();
  const worthless = new Map<string, number>();
  const failedTools = new Set<string>();
  const answered = new Set<string>();
  // What a search of the contents does not find is hardly found by looking around.
  const canSearch = input.strategy.operations.some(searchesContents);
  const maxExploring = canSearch ? limits.maxExploring : limits.maxCalls;
  const maxGlances = canSearch ? 0 : glances;
  let begun = 0;

  queue.add(firstSteps(input, Date.now()));
  for (const listing of knowledge.listings(Date.now())) queue.add(stepsFromListing(input, listing));
  const part = exploration.enter();
  await work(priorities.worthwhile);
  part.done();
  await untilAborted(exploration.opened, signal).catch(() => undefined); // Then the time is up, and nothing is begun.
  await work(0);
  recordServer();
  return {
    items: bestItems([...withoutPointers(found, read), ...read], limits.maxItems),
    calls,
    receivedChars: received.chars,
    rawItems: received.items,
    resting: queue.resting,
  };

  /** A server that does not answer at all holds up every question: it is asked less. */
  function recordServer(): void {
    const isSilent = signal.aborted && calls.length > 0 && calls.every(({ error }) => error === timeoutMessage);
    if (isSilent) recordFailure(knowledge.server, Date.now());
    else if (calls.length > 0) recordSuccess(knowledge.server);
  }

  /** Until nothing is left that promises at least so much. */
  async function work(minPriority: number): Promise<void> {
    const begunBefore = begun;
    const mayBegin = (): boolean => {
      if (begun >= limits.maxCalls) return false;
      if (minPriority > 0) return true;
      return begun - begunBefore < (exploration.isAnswered ? maxGlances : maxExploring);
    };
    while (!signal.aborted) {
      while (running.size < concurrentCalls && mayBegin()) {
        const step = queue.next(minPriority);
        if (step === undefined) break;
        begun += 1;
        const call = take(respelt(step, knowledge)).finally(() => running.delete(call));
        running.add(call);
      }
      if (running.size === 0) return;
      await Promise.race(running);
    }
    await Promise.all(running);
  }

  async function take(step: Step): Promise<void> {
    const giveBack = await turn.takeSlot(step.priority).catch(() => undefined);
    // The time was up before its turn came.
    if (giveBack === undefined) return;
    const started = performance.now();
    const report: ReadCall = { tool: nameOfStep(step), ms: 0, items: 0 };
    calls.push(report);
    try {
      signal.throwIfAborted();
      if (step.target.kind === 'completion') {
        const { template, variable, value, filled } = step.target;
        const request = { uriTemplate: template.uriTemplate, variable, value, filled };
        const values = await untilAborted(input.gateway.complete(request, signal), signal);
        queue.add(stepsFromCompletion(input, step, values));
      } else {
        const parse = await ask(input, step);
        await readInSlices(step, parse, report);
      }
    } catch (error) {
      report.error = signal.aborted ? timeoutMessage : describe(error);
      handleFailure(step);
    } finally {
      giveBack();
      report.ms = Math.round(performance.now() - started);
      climb(step);
    }
  }

  /** In slices of time, and no longer than the query lasts. */
  async function readInSlices(step: Step, parse: () => ParsedAnswer, report: ReadCall): Promise<void> {
    const slice = input.beginWork?.({ server: input.server, tool: report.tool }) ?? createTimeSlice();
    try {
      await inSlices(use(step, parse, report), slice, signal);
    } finally {
      slice.end();
    }
  }

  function* use(step: Step, parse: () => ParsedAnswer, report: ReadCall): Generator<void, void> {
    const answer = parse();
    received.chars += answer.receivedChars;
    yield;
    if (step.target.kind !== 'tool') return void (yield* keep(step, answer, [], report));
    const { operation } = step.target;
    const entries = entriesOf(answer);
    yield;
    if (step.target.purpose === 'schema') return learnSchema(operation, entries);
    recordSuccess(knowledge.tool(operation.tool));
    if (step.from !== undefined) recordSuccess(knowledge.pair(step.from, operation.tool));
    if (isNothingFound(answer, step.input?.text)) return retry(step);
    learnWorth(step, answer);
    const count = yield* keep(step, answer, entries, report);
    yield;
    learnForm(step, answer, count);
    follow(step, operation, answer, entries);
  }

  /** How many of the kept items answer the question. */
  function* keep(
    step: Step,
    answer: ParsedAnswer,
    entries: readonly Entry[],
    report: ReadCall,
  ): Generator<void, number> {
    const { tool } = report;
    const source = { server: input.server, tool, timestamp: new Date().toISOString(), answer: calls.indexOf(report) };
    const share = { maxChars: charsPerAnswer(limits), maxItems: maxAssessed };
    const fit = step.target.kind === 'tool' ? (input.fits.get(step.target.operation.key) ?? 0) : 0;
    const { question, meter, about } = input;
    const assessed = yield* assessAnswer({ step, answer, entries, source, question, meter, fit, about, limits: share });
    report.items = assessed.rawItems;
    if (assessed.truncated) report.truncated = true;
    received.items += assessed.rawItems;
    const kept = isDocument(step) ? read : found;
    kept.push(...assessed.items);
    if (assessed.items.some(({ relevance }) => relevance >= certain)) exploration.reportAnswer();
    if (kept.length > 4 * limits.maxItems) kept.splice(0, kept.length, ...bestItems(kept, limits.maxItems));
    return assessed.items.filter(({ relevance }) => relevance >= answers).length;
  }

  /** Where reading a thing tells no more than the list did, the others need not be read. */
  function learnWorth({ from, target, context }: Step, answer: ParsedAnswer): void {
    if (from === undefined || target.kind !== 'tool' || target.operation.kind !== 'read') return;
    const { tool } = target.operation;
    const pair = `${from} ${tool}`;
    const times = isContained(answer, context) ? (worthless.get(pair) ?? 0) + 1 : 0;
    worthless.set(pair, times);
    if (times !== enoughReads) return;
    queue.exclude(
      ({ from: other, target: next }) => other === from && next.kind === 'tool' && next.operation.tool === tool,
    );
  }

  /** What worked is tried first the next time. */
  function learnForm({ input: words, titles, spelling, target }: Step, answer: ParsedAnswer, count: number): void {
    if (target.kind !== 'tool') return;
    const record = knowledge.tool(target.operation.tool);
    if (titles.length > 0 && target.operation.kind === 'read') record.spelling = spelling;
    if (words === undefined) return;
    const isConstant = isConstantAnswer(record, skeletonOf(answer, words.text), words.text);
    if (count > 0 || !isConstant) record.found[words.form] += 1;
  }

  /** From what an answer lists to what can be read, and to its next page. */
  function follow(step: Step, operation: Operation, answer: ParsedAnswer, entries: readonly Entry[]): void {
    if (step.target.kind !== 'tool') return;
    const { arguments: args } = step.target;
    const context = step.context.slice(0, maxContextChars);
    const { tool, key, noun, kind } = operation;
    const read = pages.get(key) ?? 0;
    const next =
      read < maxPages && isNews(tool, answer) ? nextPage(operation, args, answer, entries.length) : undefined;
    const isAll = next === undefined && read === 0;
    if (kind === 'list') {
      const { scope } = step;
      knowledge.addListing({ tool, arguments: args, noun, scope, context, entries, isAll, at: Date.now() });
    }
    // The lines of a document are no handles.
    if (kind !== 'read' || answer.parts.every((part) => part.kind !== 'text')) {
      const { scope } = step;
      const found = { entries, operation, scope, depth: step.depth + 1, context };
      queue.add(stepsFrom(input, { ...found, isHit: step.input !== undefined, isAll }));
    }
    if (next === undefined) return;
    pages.set(key, read + 1);
    const page = pageStep(step, operation, next);
    const min = read >= cheapPages ? 0 : priorities.worthwhile;
    queue.add([{ ...page, priority: Math.max(page.priority, min) }]);
  }

  /** A server that ignores the page it is asked for answers the same again. */
  function isNews(tool: string, { parts, receivedChars }: ParsedAnswer): boolean {
    const print = `${tool} ${receivedChars} ${JSON.stringify(parts).slice(0, comparedChars)}`;
    if (answered.has(print)) return false;
    answered.add(print);
    return true;
  }

  function learnSchema(operation: Operation, entries: readonly Entry[]): void {
    const tables = tablesOf(entries);
    if (tables.length === 0) return;
    knowledge.setTables(tables, Date.now());
    queue.exclude(({ target }) => target.kind === 'tool' && target.purpose === 'schema');
    queue.add(statementSteps(input, operation, tables));
  }

  /** Another year, the day after for a server that takes a day for its midnight, another word of the question. */
  function retry(step: Step): void {
    const [other] = step.others;
    if (other === undefined || step.target.kind !== 'tool') return;
    const { operation, arguments: args } = step.target;
    const isDated = operation.parameters.some(({ role }) => role.kind === 'date');
    const isOtherHandle = Object.entries(other.scope).some(([name, value]) => args[name] !== value);
    const next = isDated || isOtherHandle ? retryStep(step) : undefined;
    if (next !== undefined) queue.add([next]);
  }

  function handleFailure(step: Step): void {
    if (step.target.kind !== 'tool') return;
    const next = signal.aborted ? undefined : retryStep(step);
    if (next !== undefined) return queue.add([next]);
    const { tool, needs } = step.target.operation;
    // What one tool lists may not be what another one reads; a handle that the question named may not exist.
    if (step.from !== undefined && !signal.aborted) recordFailure(knowledge.pair(step.from, tool), Date.now());
    else if (step.depth > 0 || needs.length === 0 || signal.aborted) recordToolFailure(tool);
  }

  /** Several wordings of one question fail together: that is one failure. */
  function recordToolFailure(tool: string): void {
    if (failedTools.has(tool)) return;
    failedTools.add(tool);
    recordFailure(knowledge.tool(tool), Date.now());
  }

  /** When every wording of a rung is answered and none helped, the next rung follows. */
  function climb(step: Step): void {
    const rung = queue.finish(step);
    if (rung === undefined || step.target.kind !== 'tool' || signal.aborted) return;
    const { operation } = step.target;
    if (found.some(({ relevance, tool }) => relevance >= answers && tool === operation.tool)) return;
    const source = { scope: step.scope, folders: input.folders };
    queue.add(searchSteps(input, operation, source, { rung, depth: step.depth, context: step.context }));
  }
}

/** In the meantime another spelling of such handles may have been found to work. */
function respelt(step: Step, knowledge: ServerKnowledge): Step {
  if (step.target.kind !== 'tool' || step.titles.length === 0 || step.others.length === 0) return step;
  const { spelling } = knowledge.tool(step.target.operation.tool);
  return spelling === 1 && step.spelling === 0 ? (retryStep(step, step.priority) ?? step) : step;
}

const enoughReads = 3;
const comparedChars = 1_000;

/** Are nearly all words of the answer known already? */
function isContained({ parts, receivedChars }: ParsedAnswer, context: string): boolean {
  if (receivedChars > comparedChars) return false;
  const known = new Set(wordsOf(context));
  const texts = parts.map((part) =>
    part.kind === 'records'
      ? JSON.stringify(part.groups.map(({ records }) => records))
      : part.kind === 'text'
        ? part.text
        : '',
  );
  const words = wordsOf(texts.join(' ')).filter((word) => word.length > 3 || /\d/.test(word));
  return words.length > 0 && words.filter((word) => !known.has(word)).length <= newShare * words.length;
}

const newShare = 0.3;
const maxContextChars = 400;

const maxReadChars = 524_288;

/** One answer may take half of the server's share. */
const charsPerAnswer = ({ maxChars }: ReadingLimits): number => Math.min(maxReadChars, Math.floor(maxChars / 2));

/** Resolves with what takes the answer apart. */
async function ask(input: ReadingInput, step: Step): Promise<() => ParsedAnswer> {
  const { gateway, limits, turn } = input;
  const { target } = step;
  const { signal } = turn;
  const maxChars = charsPerAnswer(limits);
  if (target.kind === 'resource') {
    const { contents } = await untilAborted(gateway.readResource(target.resource.uri, signal), signal);
    return () => parseContents(contents, maxChars);
  }
  if (target.kind !== 'tool') return () => ({ parts: [], truncated: false, receivedChars: 0 });
  const answer = await untilAborted(gateway.callTool(target.operation.tool, target.arguments, signal), signal);
  if (answer.isError === true) throw new Error(errorText(answer));
  if (!isToolResult(answer)) throw new Error('the answer is not a tool result');
  return () => parseAnswer(answer, maxChars);
}

function bestItems(items: readonly RelevantItem[], maxItems: number): RelevantItem[] {
  return items
    .toSorted((a, b) => b.relevance - a.relevance || (a.answer ?? 0) - (b.answer ?? 0) || a.position - b.position)
    .slice(0, maxItems);
}

/** A call that ignores its signal must not hold up the reading. */
export async function untilAborted<T>(call: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
  return Promise.race([call, aborted.promise]).finally(() => signal.removeEventListener('abort', abort));
}

const maxErrorChars = 300;

export function errorText({ content }: ToolAnswer): string {
  const blocks: unknown[] = Array.isArray(content) ? content : [];
  const texts = blocks.flatMap((block) => (isTextBlock(block) ? [block.text.trim()] : []));
  return texts.find((text) => text !== '')?.slice(0, maxErrorChars) ?? 'the tool reported an error';
}

const isTextBlock = (block: unknown): block is { text: string } =>
  typeof block === 'object' && block !== null && 'text' in block && typeof block.text === 'string';
