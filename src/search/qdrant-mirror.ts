/**
 * Keeps Qdrant's collection equal to the index, in the background. While it is, Qdrant finds the nearest vectors; while
 * it is not (not filled yet, out of reach), the index in this process does, and it always holds everything.
 */

import { describe } from '../errors.ts';
import { interruptibleDelay } from '../interruptible-delay.ts';
import type { Logger } from '../log.ts';
import type { PointFilter, Qdrant, ToolPoint } from './qdrant.ts';
import type { RemoteScan } from './search.ts';

export interface QdrantMirror {
  /** These tools have a new vector, other skills, or are gone. */
  touch(ids: Iterable<number>): void;
  /** Undefined while the collection is not known to be complete. */
  scan(filter: PointFilter): RemoteScan | undefined;
  ping(): Promise<void>;
  close(): Promise<void>;
}

interface QdrantMirrorDependencies {
  qdrant: Qdrant;
  log: Logger;
  dimensions: () => number;
  /** Undefined for a tool that is gone or has no vector yet. */
  pointOf: (id: number) => ToolPoint | undefined;
}

const atOnce = 256;
const retryDelaysMs = [1_000, 5_000, 30_000];

export function createQdrantMirror({ qdrant, log, dimensions, pointOf }: QdrantMirrorDependencies): QdrantMirror {
  const closed = new AbortController();
  const touched = new Set<number>();
  let prepared = 0;
  let complete = false;
  let woken = Promise.withResolvers<void>();
  const running = run();

  async function run(): Promise<void> {
    for (let failures = 0; !closed.signal.aborted; ) {
      woken = Promise.withResolvers();
      try {
        await catchUp();
        complete = true;
        failures = 0;
        await Promise.race([woken.promise, aborted(closed.signal)]);
      } catch (error) {
        if (closed.signal.aborted) return;
        complete = false;
        log.warn({ error: describe(error) }, 'could not write vectors to Qdrant; using the built-in index');
        const wait = retryDelaysMs[Math.min(failures, retryDelaysMs.length - 1)] ?? 0;
        failures += 1;
        await interruptibleDelay(wait, closed.signal, { ref: false });
      }
    }
  }

  async function catchUp(): Promise<void> {
    if (prepared !== dimensions()) {
      await qdrant.prepare(dimensions(), closed.signal);
      prepared = dimensions();
    }
    while (touched.size > 0) {
      const ids = [...touched].slice(0, atOnce);
      const points = ids.map((id) => ({ id, point: pointOf(id) }));
      const there = points.flatMap(({ point }) => point ?? []);
      const gone = points.flatMap(({ id, point }) => (point === undefined ? [id] : []));
      if (there.length > 0) await qdrant.upsert(there, closed.signal);
      await qdrant.delete(gone, closed.signal);
      for (const id of ids) touched.delete(id);
    }
  }

  return {
    touch(ids) {
      for (const id of ids) touched.add(id);
      woken.resolve();
    },
    scan(filter) {
      if (!complete || touched.size > 0) return undefined;
      return (vector, limit, signal) => qdrant.search(vector, limit, filter, signal);
    },
    ping: () => qdrant.ping(),
    async close() {
      closed.abort();
      await running;
    },
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
