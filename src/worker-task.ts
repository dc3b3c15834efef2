/** Work that would block the event loop runs in a thread of its own, which ends when there has been none for a while. */
import { parentPort, type Transferable, Worker } from 'node:worker_threads';
import { createMutex } from './mutex.ts';

export interface WorkerTask<Input, Output> {
  /** One after the other. What is transferred can no longer be used here. */
  run(input: Input, transfer: Transferable[]): Promise<Output>;
}

interface WorkerOptions {
  deadlineMs: number;
}

type Answer<Output> = { output: Output } | { error: string };

const idleMs = 30_000;
const maxHeapMb = 64;

export function createWorkerTask<Input, Output>(
  program: URL,
  { deadlineMs }: WorkerOptions,
): WorkerTask<Input, Output> {
  const mutex = createMutex();
  let worker: Worker | undefined;
  let idle: NodeJS.Timeout | undefined;

  function start(): Worker {
    const started = new Worker(program, {
      env: {},
      execArgv: ['--disable-warning=ExperimentalWarning'],
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
    });
    started.unref();
    return started;
  }

  function end(): void {
    void worker?.terminate();
    worker = undefined;
  }

  async function run(input: Input, transfer: Transferable[]): Promise<Output> {
    clearTimeout(idle);
    worker ??= start();
    const answer = await answerOf<Output>(worker, () => worker?.postMessage(input, transfer), deadlineMs).catch(
      (error: unknown) => {
        end();
        throw error;
      },
    );
    idle = setTimeout(end, idleMs).unref();
    if ('error' in answer) throw new Error(answer.error);
    return answer.output;
  }

  return { run: (input, transfer) => mutex(() => run(input, transfer)) };
}

function answerOf<Output>(worker: Worker, send: () => void, deadlineMs: number): Promise<Answer<Output>> {
  return new Promise<Answer<Output>>((resolve, reject) => {
    const timer = setTimeout(
      () => settle(() => reject(new Error('the worker thread did not finish in time'))),
      deadlineMs,
    );
    const onExit = () => settle(() => reject(new Error('the worker thread ended')));
    const onError = (error: Error) => settle(() => reject(error));
    const onMessage = (answer: Answer<Output>) => settle(() => resolve(answer));
    function settle(act: () => void): void {
      clearTimeout(timer);
      worker.off('exit', onExit).off('error', onError).off('message', onMessage);
      // An error that comes later must not be an uncaught one.
      worker.on('error', () => undefined);
      act();
    }
    worker.on('exit', onExit).on('error', onError).on('message', onMessage);
    send();
  });
}

/** In the thread. */
export function serveWorkerTask<Input, Output>(
  work: (input: Input) => { output: Output; transfer: Transferable[] },
): void {
  parentPort?.on('message', (input: Input) => {
    try {
      const { output, transfer } = work(input);
      parentPort?.postMessage({ output }, transfer);
    } catch (error) {
      parentPort?.postMessage({ error: error instanceof Error ? error.message : String(error) });
    }
  });
}
