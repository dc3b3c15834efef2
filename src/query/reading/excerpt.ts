/** The beginning of a large answer, read by a worker thread: a query reads no more of it. */
import { RawResult, type Result, toObject } from '../../raw-result.ts';
import { largeBytes } from '../../time-slice.ts';
import { createWorkerTask, moduleBeside } from '../../worker-task.ts';
import type { ToolAnswer } from './answer.ts';

/** The JSON of the members that a query reads. */
export type AnswerBytes = Partial<Record<'content' | 'contents' | 'structuredContent', Uint8Array<ArrayBuffer>>>;

export interface Excerpt extends ToolAnswer {
  contents?: unknown;
}

const deadlineMs = 10_000;
const module = moduleBeside(import.meta.url, 'excerpt-worker');
const task = createWorkerTask<AnswerBytes, Excerpt>(module, { deadlineMs });

export async function toExcerpt(result: Result): Promise<Excerpt> {
  if (!(result instanceof RawResult)) return result;
  if (result.byteLength <= largeBytes) return toObject(result);
  const given: AnswerBytes = {};
  const transfer: ArrayBuffer[] = [];
  for (const name of ['content', 'contents', 'structuredContent'] as const) {
    const bytes = result.bytes(name);
    if (bytes === undefined) continue;
    const copy = new Uint8Array(bytes);
    given[name] = copy;
    transfer.push(copy.buffer);
  }
  return { ...(await task.run(given, transfer)), isError: result.read('isError') };
}
