import type { ClassificationState } from '../store/schema.ts';
import { type Classification, toClassification } from './classification.ts';
import type { ToolToClassify } from './tool-to-classify.ts';

interface ClassificationQueueOptions {
  /** No skill fits the tools that are missing in the answer; those whose batch failed stay UNCLASSIFIED and are retried. */
  classify(tools: ToolToClassify[], signal: AbortSignal): Promise<Map<number, Classification>>;
  onClassified(toolId: number, classification: Classification): void;
  onUnclassified(toolId: number, error: unknown): void;
  onState?(toolId: number, state: ClassificationState): void;
  batchSize?: number;
  concurrency?: number;
  /** Delays after consecutive failures; the last one repeats. */
  retryDelaysMs?: number[];
}

/**
 * BR-004, EC-009: classification beside discovery, in batches, a few at once. While the service is down one batch at a
 * time asks whether it is back, so that an outage costs neither requests nor tools.
 */
interface ClassificationQueue {
  add(tools: ToolToClassify[]): void;
  remove(toolIds: number[]): void;
  /** Retries waiting tools immediately, for example when the service is available again. */
  retryNow(): void;
  stateOf(toolId: number): ClassificationState | undefined;
  readonly pending: number;
  /** Resolves when nothing is queued, running or waiting for a retry. */
  idle(): Promise<void>;
  close(): Promise<void>;
}

interface QueuedTool {
  tool: ToolToClassify;
  state: ClassificationState;
}

const nothingFits = toClassification([]);
const defaults = { batchSize: 10, concurrency: 5, retryDelaysMs: [1_000, 5_000, 30_000, 120_000] };

export function createClassificationQueue(options: ClassificationQueueOptions): ClassificationQueue {
  const { batchSize, concurrency, retryDelaysMs } = { ...defaults, ...options };
  const entries = new Map<number, QueuedTool>();
  const waiting: QueuedTool[] = [];
  const failed: QueuedTool[] = [];
  const running = new Set<Promise<void>>();
  const stop = new AbortController();
  let failures = 0;
  let timer: NodeJS.Timeout | undefined;
  let settled = Promise.withResolvers<void>();
  settled.resolve();

  function add(tools: ToolToClassify[]): void {
    if (stop.signal.aborted) return;
    if (isIdle()) settled = Promise.withResolvers();
    for (const tool of tools) {
      const entry: QueuedTool = { tool, state: 'DISCOVERED' };
      // A tool that changed during its batch is classified again; the answer for the old definition is ignored.
      entries.set(tool.id, entry);
      options.onState?.(tool.id, 'DISCOVERED');
      waiting.push(entry);
    }
    pump();
  }

  function pump(): void {
    const allowed = failures > 0 ? 1 : concurrency;
    while (!stop.signal.aborted && timer === undefined && running.size < allowed) {
      const batch = takeBatch();
      if (batch.length === 0) break;
      const task = run(batch).finally(() => {
        running.delete(task);
        pump();
        if (isIdle()) settled.resolve();
      });
      running.add(task);
    }
    if (isIdle()) settled.resolve();
  }

  function takeBatch(): QueuedTool[] {
    const batch: QueuedTool[] = [];
    while (batch.length < batchSize) {
      const entry = waiting.shift();
      if (entry === undefined) break;
      if (entries.get(entry.tool.id) === entry) batch.push(entry);
    }
    return batch;
  }

  async function run(batch: QueuedTool[]): Promise<void> {
    for (const entry of batch) move(entry, 'CLASSIFYING');
    try {
      const answers = await options.classify(
        batch.map(({ tool }) => tool),
        stop.signal,
      );
      if (stop.signal.aborted) return;
      failures = 0;
      for (const entry of batch) settle(entry, answers.get(entry.tool.id));
      waiting.push(...failed.splice(0));
    } catch (thrown) {
      if (stop.signal.aborted) return;
      for (const entry of batch) fail(entry, thrown);
      scheduleRetry();
    }
  }

  function settle(entry: QueuedTool, classification: Classification | undefined): void {
    if (entries.get(entry.tool.id) !== entry) return;
    move(entry, 'CLASSIFIED');
    options.onClassified(entry.tool.id, classification ?? nothingFits);
  }

  function fail(entry: QueuedTool, error: unknown): void {
    if (entries.get(entry.tool.id) !== entry) return;
    move(entry, 'UNCLASSIFIED');
    failed.push(entry);
    options.onUnclassified(entry.tool.id, error);
  }

  function scheduleRetry(): void {
    if (timer !== undefined) return;
    const delay = retryDelaysMs[Math.min(failures, retryDelaysMs.length - 1)] ?? 0;
    failures++;
    timer = setTimeout(retryNow, delay);
    timer.unref();
  }

  function retryNow(): void {
    clearTimeout(timer);
    timer = undefined;
    waiting.unshift(...failed.splice(0));
    pump();
  }

  function move(entry: QueuedTool, state: ClassificationState): void {
    entry.state = state;
    options.onState?.(entry.tool.id, state);
  }

  function isIdle(): boolean {
    return waiting.length === 0 && failed.length === 0 && running.size === 0 && timer === undefined;
  }

  return {
    add,
    retryNow,
    remove: (toolIds) => {
      for (const id of toolIds) entries.delete(id);
    },
    stateOf: (toolId) => entries.get(toolId)?.state,
    get pending() {
      return (
        waiting.length + failed.length + [...entries.values()].filter(({ state }) => state === 'CLASSIFYING').length
      );
    },
    idle: () => settled.promise,
    close: async () => {
      stop.abort();
      clearTimeout(timer);
      await Promise.all(running);
      settled.resolve();
    },
  };
}
