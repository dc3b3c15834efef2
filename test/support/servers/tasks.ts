import { randomUUID } from 'node:crypto';
import { errorCodes, errorMessage, isObject, type JsonObject, objectAt, RpcError } from './json-rpc.ts';
import { type Exchange, type InputRequest, missingCapability, type Program } from './program.ts';

export const tasksExtension = 'io.modelcontextprotocol/tasks';

/** What a task's work may do while it runs: ask for input through `tasks/update`, and see its cancellation. */
export interface TaskRun {
  signal: AbortSignal;
  ask<Key extends string>(requests: Record<Key, InputRequest>): Promise<Record<Key, JsonObject>>;
}

interface Task {
  view: JsonObject & { taskId: string; status: string };
  controller: AbortController;
  answers: JsonObject;
  answered: PromiseWithResolvers<void>;
}

export interface Tasks {
  methods: Record<string, (exchange: Exchange) => JsonObject>;
  /** Turns the call into a task where the client declared the extension. */
  start(exchange: Exchange, work: (run: TaskRun) => Promise<JsonObject>): JsonObject;
}

export function declaresTasks(exchange: Exchange): boolean {
  return objectAt(exchange.session.clientCapabilities, 'extensions')[tasksExtension] !== undefined;
}

/** The tasks extension of 2026-07-28 (SEP-2663): `tasks/get`, `tasks/update`, `tasks/cancel`. */
export function createTasks(announce: Program['announce']): Tasks {
  const tasks = new Map<string, Task>();

  function find(exchange: Exchange): Task {
    if (!declaresTasks(exchange)) missingCapability({ extensions: { [tasksExtension]: {} } });
    const task = tasks.get(String(exchange.params.taskId));
    if (!task) throw new RpcError(errorCodes.invalidParams, 'Unknown task', { taskId: exchange.params.taskId });
    return task;
  }

  function change(task: Task, fields: JsonObject & { status: string }): void {
    if (isTerminal(task)) return;
    const { inputRequests: _, ...rest } = task.view;
    task.view = { ...rest, ...fields, lastUpdatedAt: new Date().toISOString() };
    announce('notifications/tasks', task.view);
  }

  async function run(task: Task, work: (run: TaskRun) => Promise<JsonObject>): Promise<void> {
    try {
      const result = await work({ signal: task.controller.signal, ask: (requests) => askThrough(task, requests) });
      change(task, { status: 'completed', result: { resultType: 'complete', ...result } });
    } catch (error) {
      change(task, { status: 'failed', error: errorMessage(null, error).error });
    }
  }

  async function askThrough<Key extends string>(task: Task, requests: Record<Key, InputRequest>) {
    let missing: [string, InputRequest][] = Object.entries(requests);
    while (missing.length > 0) {
      change(task, { status: 'input_required', inputRequests: Object.fromEntries(missing) });
      await task.answered.promise;
      task.answered = Promise.withResolvers();
      missing = missing.filter(([key]) => !isObject(task.answers[key]));
    }
    change(task, { status: 'working' });
    return task.answers as Record<Key, JsonObject>; // no key is missing any more
  }

  return {
    start(_exchange, work) {
      const now = new Date().toISOString();
      const task: Task = {
        view: {
          taskId: randomUUID(),
          status: 'working',
          createdAt: now,
          lastUpdatedAt: now,
          ttlMs: 600_000,
          pollIntervalMs: 100,
        },
        controller: new AbortController(),
        answers: {},
        answered: Promise.withResolvers(),
      };
      tasks.set(task.view.taskId, task);
      const created = { resultType: 'task', ...task.view };
      void run(task, work);
      return created;
    },
    methods: {
      'tasks/get': (exchange) => ({ ...find(exchange).view }),
      'tasks/update': (exchange) => {
        const task = find(exchange);
        Object.assign(task.answers, objectAt(exchange.params, 'inputResponses'));
        task.answered.resolve();
        return {};
      },
      'tasks/cancel': (exchange) => {
        const task = find(exchange);
        change(task, { status: 'cancelled' });
        task.controller.abort();
        return {};
      },
    },
  };
}

function isTerminal(task: Task): boolean {
  return ['completed', 'failed', 'cancelled'].includes(task.view.status);
}
