/** What an answer leads to: the items that it holds, what is asked next, and what is remembered of the server. */
import { wordsOf } from '../question/question.ts';
import { answers } from '../question/relevance.ts';
import type { Operation } from '../strategy/strategy.ts';
import type { ParsedAnswer } from './answer.ts';
import { assessAnswer, isDocument } from './assess.ts';
import { type Entry, entriesOf } from './entries.ts';
import { statementSteps } from './first-steps.ts';
import { stepsFrom } from './follow-steps.ts';
import { isConstantAnswer, recordFailure, recordSuccess } from './knowledge.ts';
import { isNothingFound, skeletonOf } from './nothing-found.ts';
import { nextPage } from './paging.ts';
import { bestItems, charsPerAnswer, type ReadCall, type ReadingState } from './reading-state.ts';
import { searchSteps } from './search-steps.ts';
import { tablesOf } from './sql.ts';
import { isPoor, type Planner, pageStep, priorities, retryStep, type Step, sourceWithoutHandle } from './step.ts';

/** Of one answer; the best of them are kept. */
const maxAssessed = 2_000;
/** With an item as good as this, servers explore no more than small collections, which may tell otherwise. */
const certain = 0.95;
/** Of one operation. */
const maxPages = 12;
/** The first pages are worth reading whatever they hold. */
const cheapPages = 8;
/** Reads in a row that told nothing new, after which the tool is not used for this list any more. */
const enoughReads = 3;
const comparedChars = 1_000;

export function* processAnswer(
  state: ReadingState,
  step: Step,
  parse: () => ParsedAnswer,
  report: ReadCall,
): Generator<void, void> {
  const { received, input } = state;
  const { knowledge } = input;
  const answer = parse();
  received.chars += answer.receivedChars;
  yield;
  if (step.target.kind !== 'tool') return void (yield* keepItems(state, step, answer, [], report));
  const { operation } = step.target;
  const entries = entriesOf(answer);
  yield;
  if (step.target.purpose === 'schema') return learnTables(state, operation, entries);
  recordSuccess(knowledge.tool(operation.tool));
  if (step.from !== undefined) recordSuccess(knowledge.pair(step.from, operation.tool));
  if (isNothingFound(answer, step.input?.text)) return retry(state, step);
  learnWorth(state, step, answer);
  const count = yield* keepItems(state, step, answer, entries, report);
  yield;
  learnWording(state, step, answer, count);
  followUp(state, step, operation, answer, entries);
}

/** How many of the kept items answer the question. */
function* keepItems(
  state: ReadingState,
  step: Step,
  answer: ParsedAnswer,
  entries: readonly Entry[],
  report: ReadCall,
): Generator<void, number> {
  const { input, calls, received, read, found } = state;
  const { limits, exploration } = input;
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
function learnWorth({ worthless, queue }: ReadingState, { from, target, context }: Step, answer: ParsedAnswer): void {
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
function learnWording(
  { input: { knowledge } }: ReadingState,
  { input: words, titles, spelling, target }: Step,
  answer: ParsedAnswer,
  count: number,
): void {
  if (target.kind !== 'tool') return;
  const record = knowledge.tool(target.operation.tool);
  if (titles.length > 0 && target.operation.kind === 'read') record.spelling = spelling;
  if (words === undefined) return;
  const isConstant = isConstantAnswer(record, skeletonOf(answer, words.text), words.text);
  if (count > 0 || !isConstant) record.found[words.form] += 1;
}

/** From what an answer lists to what can be read, and to its next page. */
function followUp(
  state: ReadingState,
  step: Step,
  operation: Operation,
  answer: ParsedAnswer,
  entries: readonly Entry[],
): void {
  const { input, queue, pages } = state;
  if (step.target.kind !== 'tool') return;
  const { arguments: args } = step.target;
  const context = step.context.slice(0, maxContextChars);
  const { tool, key, noun, kind } = operation;
  const read = pages.get(key) ?? 0;
  const next =
    read < maxPages && isNews(state, tool, answer) ? nextPage(operation, args, answer, entries.length) : undefined;
  const isAll = next === undefined && read === 0;
  if (kind === 'list') {
    const { scope } = step;
    input.knowledge.addListing({ tool, arguments: args, noun, scope, context, entries, isAll, at: Date.now() });
  }
  // The lines of a document are no handles.
  if (kind !== 'read' || answer.parts.every((part) => part.kind !== 'text')) {
    const { scope } = step;
    const found = { entries, operation, scope, depth: step.depth + 1, context };
    queue.add(stepsFrom(input, { ...found, isHit: step.input !== undefined, isAll }));
  }
  if (operation.isWhole && answer.truncated) queue.add(nameSearches(input, step));
  if (next === undefined) return;
  pages.set(key, read + 1);
  const page = pageStep(step, operation, next);
  const min = read >= cheapPages ? 0 : priorities.worthwhile;
  queue.add([{ ...page, priority: Math.max(page.priority, min) }]);
}

/** A tree that was cut does not hold every name: files are searched by name where it began. */
function nameSearches(planner: Planner, { scope, depth, context }: Step): Step[] {
  const source = { ...sourceWithoutHandle(planner), scope };
  return planner.strategy.operations
    .filter((operation) => operation.style === 'glob' && !isPoor(operation))
    .flatMap((operation) => searchSteps(planner, operation, source, { rung: 0, depth, context }));
}

/** A server that ignores the page it is asked for answers the same again. */
function isNews({ answered }: ReadingState, tool: string, { parts, receivedChars }: ParsedAnswer): boolean {
  const print = `${tool} ${receivedChars} ${JSON.stringify(parts).slice(0, comparedChars)}`;
  if (answered.has(print)) return false;
  answered.add(print);
  return true;
}

function learnTables({ input, queue }: ReadingState, operation: Operation, entries: readonly Entry[]): void {
  const tables = tablesOf(entries);
  if (tables.length === 0) return;
  input.knowledge.setTables(tables, Date.now());
  queue.exclude(({ target }) => target.kind === 'tool' && target.purpose === 'schema');
  queue.add(statementSteps(input, operation, tables));
}

/** Another year, the day after for a server that takes a day for its midnight, another word of the question. */
function retry({ queue }: ReadingState, step: Step): void {
  const [other] = step.others;
  if (other === undefined || step.target.kind !== 'tool') return;
  const { operation, arguments: args } = step.target;
  const isDated = operation.parameters.some(({ role }) => role.kind === 'date');
  const isOtherHandle = Object.entries(other.scope).some(([name, value]) => args[name] !== value);
  const next = isDated || isOtherHandle ? retryStep(step) : undefined;
  if (next !== undefined) queue.add([next]);
}

/** A call failed: another spelling of it, or a note that this tool failed. */
export function handleFailure(state: ReadingState, step: Step): void {
  const { input, queue } = state;
  const { knowledge } = input;
  const { signal } = input.turn;
  if (step.target.kind !== 'tool') return;
  const next = signal.aborted ? undefined : retryStep(step);
  if (next !== undefined) return queue.add([next]);
  const { tool, needs } = step.target.operation;
  // What one tool lists may not be what another one reads; a handle that the question named may not exist.
  if (step.from !== undefined && !signal.aborted) recordFailure(knowledge.pair(step.from, tool), Date.now());
  else if (step.depth > 0 || needs.length === 0 || signal.aborted) recordToolFailure(state, tool);
}

/** Several wordings of one question fail together: that is one failure. */
function recordToolFailure({ failedTools, input }: ReadingState, tool: string): void {
  if (failedTools.has(tool)) return;
  failedTools.add(tool);
  recordFailure(input.knowledge.tool(tool), Date.now());
}

/** When every wording of a rung is answered and none helped, the next rung follows. */
export function addNextRung({ input, queue, found }: ReadingState, step: Step): void {
  const rung = queue.finish(step);
  if (rung === undefined || step.target.kind !== 'tool' || input.turn.signal.aborted) return;
  const { operation } = step.target;
  if (found.some(({ relevance, tool }) => relevance >= answers && tool === operation.tool)) return;
  const source = { scope: step.scope, folders: input.folders };
  queue.add(searchSteps(input, operation, source, { rung, depth: step.depth, context: step.context }));
}

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
