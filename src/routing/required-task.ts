/**
 * Tools of 2025-11-25 that run as tasks only. The task is created, followed and read within one call, so that every client
 * can use such a tool; tasks of that revision are offered to none.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { CatalogTool } from '../catalog/catalog.ts';
import { isObject, type JsonObject } from '../json-rpc.ts';
import { memberOf, RawResult, type Result, toObject } from '../raw-result.ts';
import type { Session } from '../upstream/session.ts';
import type { RoutedCall } from './call.ts';
import type { Deadline } from './deadline.ts';

const relatedTask = 'io.modelcontextprotocol/related-task';
/** How long the server keeps a task that is read by no call. */
const taskMs = 3_600_000;
const minPollMs = 200;
const maxPollMs = 5_000;

export function requiresTask({ row }: CatalogTool): boolean {
  const { execution } = row.definition;
  return isObject(execution) && execution.taskSupport === 'required';
}

export async function relayAsTask(
  session: Pick<Session, 'relay' | 'request'>,
  { call, extend }: Pick<Deadline, 'call' | 'extend'>,
): Promise<Result> {
  const created = await session.relay({ ...call, params: { ...call.params, task: { ttl: taskMs } } });
  const task = memberOf(created, 'task');
  if (!isObject(task) || typeof task.taskId !== 'string') return created;
  const { taskId } = task;
  // Without an answer nothing is left to do: the server ends the task when its time is over.
  const cancel = () => void session.request('tasks/cancel', { taskId }).catch(() => undefined);
  call.signal.addEventListener('abort', cancel, { once: true });
  const done = new AbortController();
  try {
    void watch(session, taskId, pollMs(task), extend, done.signal);
    return withoutRelatedTask(await session.relay(resultRequest(call, taskId)));
  } finally {
    done.abort();
    call.signal.removeEventListener('abort', cancel);
  }
}

/** The server answers it when the task has ended, and asks on its stream meanwhile. */
function resultRequest(call: RoutedCall, taskId: string): RoutedCall {
  const { ask } = call;
  return {
    ...call,
    method: 'tasks/result',
    params: { taskId },
    ask: ask && ((method, params, withdrawn) => ask(method, withoutRelated(params), withdrawn)),
  };
}

/** A task that is being worked on is a sign of progress. It ends with the call, or with the session, which ends the call. */
async function watch(
  session: Pick<Session, 'request'>,
  taskId: string,
  intervalMs: number,
  extend: () => void,
  signal: AbortSignal,
): Promise<void> {
  try {
    while (!signal.aborted) {
      await delay(intervalMs, undefined, { signal });
      const { status } = await session.request('tasks/get', { taskId }, { signal });
      if (status !== 'working' && status !== 'input_required') return;
      extend();
    }
  } catch {
    // The deadline of the call is no longer extended.
  }
}

function pollMs({ pollInterval }: JsonObject): number {
  return Math.min(Math.max(typeof pollInterval === 'number' ? pollInterval : 1_000, minPollMs), maxPollMs);
}

function withoutRelatedTask(result: Result): Result {
  const meta = memberOf(result, '_meta');
  if (!isObject(meta) || meta[relatedTask] === undefined) return result;
  if (!(result instanceof RawResult)) return withoutRelated(toObject(result));
  const { _meta } = withoutRelated({ _meta: meta });
  return result.withChanges({ _meta: _meta === undefined ? undefined : JSON.stringify(_meta) });
}

/** The client does not know the task. */
function withoutRelated(params: JsonObject): JsonObject {
  const { _meta: meta, ...others } = params;
  if (!isObject(meta)) return params;
  const { [relatedTask]: _task, ...kept } = meta;
  return Object.keys(kept).length === 0 ? others : { ...others, _meta: kept };
}
