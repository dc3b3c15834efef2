/** The calls that were made in this window. They run on when another page is opened, and can be found and cancelled. */
import { useSyncExternalStore } from 'react';
import { ApiError, type Json, messageOf } from './api.ts';
import { callMcp, type McpRequest, type Progress, type Question } from './mcp-call.ts';

export type CallState = 'running' | 'asking' | 'done' | 'failed' | 'cancelled';

/** What was called: where it has a page, and what it was called with. */
export interface CallTarget {
  kind: 'tool' | 'resource' | 'prompt';
  server: string;
  /** Canonical name of a tool, name of a prompt, URI of a resource. */
  name: string;
  args: Json;
  request: McpRequest;
}

export interface PlaygroundCall extends CallTarget {
  id: number;
  state: CallState;
  startedAt: number;
  /** Until it ended. */
  ms?: number;
  progress?: Progress;
  questions?: Question[];
  result?: Json;
  error?: ApiError;
}

const maxEnded = 30;

let calls: readonly PlaygroundCall[] = [];
let lastId = 0;
const listeners = new Set<() => void>();
const controls = new Map<number, { cancel(): void; answer?: (answers: Json) => void }>();

function publish(next: readonly PlaygroundCall[]): void {
  calls = next;
  for (const listener of listeners) listener();
}

function change(id: number, part: Partial<PlaygroundCall>): void {
  publish(calls.map((call) => (call.id === id ? { ...call, ...part } : call)));
}

export const isRunning = ({ state }: PlaygroundCall) => state === 'running' || state === 'asking';

/** The running calls, and the newest of those that ended. */
function bounded(all: readonly PlaygroundCall[]): readonly PlaygroundCall[] {
  let ended = 0;
  return all.filter((call) => {
    if (isRunning(call)) return true;
    ended += 1;
    return ended <= maxEnded;
  });
}

export function startCall(target: CallTarget): number {
  lastId += 1;
  const id = lastId;
  const controller = new AbortController();
  const startedAt = Date.now();
  controls.set(id, { cancel: () => controller.abort() });
  publish(bounded([{ ...target, id, state: 'running', startedAt }, ...calls]));
  const end = (part: Partial<PlaygroundCall>) => {
    controls.delete(id);
    change(id, { ...part, ms: Date.now() - startedAt, questions: undefined });
  };
  callMcp(target.request, {
    signal: controller.signal,
    onProgress: (progress) => change(id, { progress }),
    onQuestions: (questions) => ask(id, questions, controller.signal),
  }).then(
    (result) => end({ state: 'done', result }),
    (error: unknown) =>
      end(controller.signal.aborted ? { state: 'cancelled' } : { state: 'failed', error: toApiError(error) }),
  );
  return id;
}

function ask(id: number, questions: Question[], signal: AbortSignal): Promise<Json> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    const control = controls.get(id);
    if (control !== undefined) control.answer = resolve;
    change(id, { state: 'asking', questions });
  });
}

export function answerCall(id: number, answers: Json): void {
  change(id, { state: 'running', questions: undefined });
  controls.get(id)?.answer?.(answers);
}

export function cancelPlaygroundCall(id: number): void {
  controls.get(id)?.cancel();
}

/** Those that run stay. */
export function clearEndedCalls(): void {
  publish(calls.filter(isRunning));
}

const toApiError = (error: unknown) =>
  error instanceof ApiError ? error : new ApiError(0, 'UNKNOWN', messageOf(error));

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function usePlaygroundCalls(): readonly PlaygroundCall[] {
  return useSyncExternalStore(subscribe, () => calls);
}
