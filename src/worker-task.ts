/** Work that would block the event loop runs in one thread beside it, which ends when there has been none for a while. */
import { extname } from 'node:path';
import { type Transferable, Worker } from 'node:worker_threads';
import { createMutex } from './mutex.ts';

/** What the thread returns; memory that is transferred is not copied. */
export interface Worked<Output> {
  output: Output;
  transfer: Transferable[];
}

export interface WorkerTask<Input, Output> {
  /** One after the other. What is transferred can no longer be used here. */
  run(input: Input, transfer: Transferable[]): Promise<Output>;
}

export interface Order {
  module: string;
  input: unknown;
}

export type Answer = { output: unknown } | { error: string };

interface TaskOptions {
  deadlineMs: number;
}

const idleMs = 10_000;
const maxHeapMb = 128;
const maxYoungMb = 8;
const program = moduleBeside(import.meta.url, 'worker-thread');

const mutex = createMutex();
let thread: Worker | undefined;
let idle: NodeJS.Timeout | undefined;

/** Compiled for publishing, modules have another extension. */
export function moduleBeside(url: string, name: string): URL {
  return new URL(`${name}${extname(url)}`, url);
}

/** The module exports `work`, from the input to what it `Worked`. */
export function createWorkerTask<Input, Output>(module: URL, { deadlineMs }: TaskOptions): WorkerTask<Input, Output> {
  return {
    run: (input, transfer) =>
      mutex(async () => (await carryOut({ module: module.href, input }, transfer, deadlineMs)) as Output),
  };
}

async function carryOut(order: Order, transfer: Transferable[], deadlineMs: number): Promise<unknown> {
  clearTimeout(idle);
  thread ??= startThread();
  const answer = await answerOf(thread, order, transfer, deadlineMs).catch((error: unknown) => {
    endThread();
    throw error;
  });
  idle = setTimeout(endThread, idleMs).unref();
  if ('error' in answer) throw new Error(answer.error);
  return answer.output;
}

function startThread(): Worker {
  const started = new Worker(program, {
    env: {},
    execArgv: ['--disable-warning=ExperimentalWarning'],
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMb, maxYoungGenerationSizeMb: maxYoungMb },
  });
  started.unref();
  // An error that comes when no work is waiting must not be an uncaught one.
  started.on('error', () => undefined);
  return started;
}

function endThread(): void {
  void thread?.terminate();
  thread = undefined;
}

function answerOf(worker: Worker, order: Order, transfer: Transferable[], deadlineMs: number): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => settle(() => reject(error));
    const timer = setTimeout(() => fail(new Error('the worker thread did not finish in time')), deadlineMs);
    const onExit = () => fail(new Error('the worker thread ended'));
    const onMessage = (answer: Answer) => settle(() => resolve(answer));
    function settle(act: () => void): void {
      clearTimeout(timer);
      worker.off('exit', onExit).off('error', fail).off('message', onMessage);
      act();
    }
    worker.on('exit', onExit).on('error', fail).on('message', onMessage);
    worker.postMessage(order, transfer);
  });
}
