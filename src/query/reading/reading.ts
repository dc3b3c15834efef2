/**
 * One server's part of a query: the most promising call first, each answer opening new ones, until the time is up, the
 * answer is there or nothing is left to ask. A call that fails is data; only the end of `signal` ends the reading.
 */

import { describe } from '../../errors.ts';
import { createTimeSlice, inSlices } from '../../time-slice.ts';
import { withoutPointers } from '../results/pointers.ts';
import { isToolResult, type ParsedAnswer, parseAnswer, parseContents, type ToolAnswer } from './answer.ts';
import { workOutFirstSteps } from './first-steps.ts';
import { stepsFromListing } from './follow-steps.ts';
import { recordFailure, recordSuccess, type ServerKnowledge } from './knowledge.ts';
import { addNextRung, handleFailure, processAnswer } from './process-answer.ts';
import {
  bestItems,
  charsPerAnswer,
  newReadingState,
  type ReadCall,
  type Reading,
  type ReadingInput,
} from './reading-state.ts';
import { stepsFromCompletion } from './resource-steps.ts';
import { nameOfStep, priorities, retryStep, type Step, searchesContents } from './step.ts';

export const nothingRead: Reading = { items: [], calls: [], receivedChars: 0, rawItems: 0, resting: [] };

const concurrentCalls = 3;
const glances = 12;

export async function readServer(input: ReadingInput): Promise<Reading> {
  const { knowledge, limits, turn, exploration } = input;
  const { signal, timeoutMessage } = turn;
  if (!input.isNamed && knowledge.server.restsUntil > Date.now()) return { ...nothingRead, isPaused: true };
  const state = newReadingState(input);
  const { queue, calls, found, read, received } = state;
  const running = new Set<Promise<void>>();
  // What a search of the contents does not find is hardly found by looking around.
  const canSearch = input.strategy.operations.some(searchesContents);
  const maxExploring = canSearch ? limits.maxExploring : limits.maxCalls;
  const maxGlances = canSearch ? 0 : glances;
  let begun = 0;

  const part = exploration.enter();
  queue.add(await inSlices(workOutFirstSteps(input, Date.now()), createTimeSlice(), signal));
  for (const listing of knowledge.listings(Date.now())) queue.add(stepsFromListing(input, listing));
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
      handleFailure(state, step);
    } finally {
      giveBack();
      report.ms = Math.round(performance.now() - started);
      addNextRung(state, step);
    }
  }

  /** In slices of time, and no longer than the query lasts. */
  async function readInSlices(step: Step, parse: () => ParsedAnswer, report: ReadCall): Promise<void> {
    const slice = input.beginWork?.({ server: input.server, tool: report.tool }) ?? createTimeSlice();
    try {
      await inSlices(processAnswer(state, step, parse, report), slice, signal);
    } finally {
      slice.end();
    }
  }
}

/** In the meantime another spelling of such handles may have been found to work. */
function respelt(step: Step, knowledge: ServerKnowledge): Step {
  if (step.target.kind !== 'tool' || step.titles.length === 0 || step.others.length === 0) return step;
  const { spelling } = knowledge.tool(step.target.operation.tool);
  return spelling === 1 && step.spelling === 0 ? (retryStep(step, step.priority) ?? step) : step;
}

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
