/**
 * Vectors of an embeddings service for every tool, in the background: whatever is stored is taken from there, the rest
 * is asked for. Search moves over when there is a vector for every tool, and goes on with the old ones until then.
 */

import { describe } from '../errors.ts';
import { interruptibleDelay } from '../interruptible-delay.ts';
import type { Logger } from '../log.ts';
import type { Database } from '../store/database.ts';
import { deleteVectorsOfOtherModels, findVectors, upsertVectors } from '../store/vectors.ts';
import type { Embedder } from './embedder.ts';
import { createEmbeddingsService, EmbeddingsUnavailable } from './embeddings-service.ts';
import { embedTools } from './search-index.ts';
import type { SearchableTool } from './tool.ts';
import { contentHash, toFloats, toVectorRows } from './vector-row.ts';

export interface ServiceVectors {
  /** Tools came or changed. */
  wake(): void;
  /** Tools that wait for their vector. */
  readonly pending: number;
  close(): Promise<void>;
}

interface ServiceVectorDependencies {
  service: { url: string; model: string; apiKey?: string };
  /** Whose vectors are kept beside the service's. */
  builtIn: Embedder;
  db: Database;
  log: Logger;
  tools(): Iterable<SearchableTool>;
  /** There is a vector for every tool. */
  onComplete(embedder: Embedder, vectors: Map<number, Float32Array>): void;
  /** A tool that came later has its vector. */
  onVector(tool: SearchableTool, vector: Float32Array): void;
}

const retryDelaysMs = [1_000, 2_000, 5_000, 15_000, 30_000];
const embedAtOnce = 64;

export function createServiceVectors(deps: ServiceVectorDependencies): ServiceVectors {
  const { db, log } = deps;
  const closed = new AbortController();
  /** By tool, the text that has a vector. */
  const hashes = new Map<number, string>();
  /** Until search moves over. */
  let collected: Map<number, Float32Array> | undefined = new Map();
  let service: Embedder | undefined;
  let woken = Promise.withResolvers<void>();
  closed.signal.addEventListener('abort', () => woken.resolve());
  const running = run();

  async function run(): Promise<void> {
    for (let failures = 0; !closed.signal.aborted; ) {
      woken = Promise.withResolvers();
      if (closed.signal.aborted) return;
      try {
        service ??= await connect();
        await catchUp(service);
        failures = 0;
        await woken.promise;
      } catch (error) {
        if (closed.signal.aborted) return;
        const wait = retryDelaysMs[Math.min(failures++, retryDelaysMs.length - 1)] ?? 0;
        log.warn(
          { error: describe(error), retry_in_ms: wait },
          collected === undefined
            ? 'the embeddings service does not respond; new tools are matched by words only'
            : 'the embeddings service does not respond; search continues with the existing vectors',
        );
        await interruptibleDelay(wait, closed.signal, { ref: false });
      }
    }
  }

  async function connect(): Promise<Embedder> {
    const made = await createEmbeddingsService(deps.service, closed.signal);
    const stored = new Map((await findVectors(db, made.identity)).map((row) => [row.tool_id, row]));
    for (const tool of deps.tools()) {
      const known = stored.get(tool.id);
      if (known?.content_hash !== contentHash(tool)) continue;
      hashes.set(tool.id, known.content_hash);
      collected?.set(tool.id, toFloats(known.vector));
    }
    return made;
  }

  async function catchUp(embedder: Embedder): Promise<void> {
    for (let missing = findMissing(); missing.length > 0; missing = findMissing()) {
      const batch = missing.slice(0, embedAtOnce);
      const vectors = await embedTools(embedder, batch, closed.signal);
      await upsertVectors(db, toVectorRows(embedder, batch, vectors));
      for (const [place, tool] of batch.entries()) {
        const vector = vectors[place] as Float32Array;
        hashes.set(tool.id, contentHash(tool));
        if (collected === undefined) deps.onVector(tool, vector);
        else collected.set(tool.id, vector);
      }
    }
    if (collected === undefined) return;
    deps.onComplete(withinTime(embedder), collected);
    collected = undefined;
    await deleteVectorsOfOtherModels(db, [embedder.identity, deps.builtIn.identity]);
    log.info({ model: embedder.identity, tools: hashes.size }, 'search uses the vectors of the embeddings service');
  }

  function findMissing(): SearchableTool[] {
    const tools = [...deps.tools()];
    const present = new Set(tools.map(({ id }) => id));
    for (const id of hashes.keys()) if (!present.has(id)) hashes.delete(id);
    return tools.filter((tool) => hashes.get(tool.id) !== contentHash(tool));
  }

  return {
    wake: () => woken.resolve(),
    get pending() {
      return findMissing().length;
    },
    async close() {
      closed.abort();
      await running;
    },
  };
}

const requestTimeoutMs = 2_000;
const restMs = 5_000;
const maxRemembered = 500;

/**
 * For requests, which somebody waits for: an answer within two seconds or none, and after a failure no further try for a
 * while, so that an outage costs one slow search and not every one.
 */
function withinTime(service: Embedder): Embedder {
  const remembered = new Map<string, Float32Array>();
  let resting: { until: number; error: unknown } | undefined;

  async function ask(texts: string[], signal?: AbortSignal): Promise<Float32Array[]> {
    if (resting !== undefined && performance.now() < resting.until) throw resting.error;
    const timeout = AbortSignal.timeout(requestTimeoutMs);
    try {
      const vectors = await service.embed(texts, signal === undefined ? timeout : AbortSignal.any([signal, timeout]));
      resting = undefined;
      return vectors;
    } catch (error) {
      if (signal?.aborted) throw error;
      const reason = timeout.aborted
        ? new EmbeddingsUnavailable(`the embeddings service did not answer within ${requestTimeoutMs} ms`, true, error)
        : error;
      resting = { until: performance.now() + restMs, error: reason };
      throw reason;
    }
  }

  return {
    identity: service.identity,
    dimensions: service.dimensions,
    async embed(texts, signal) {
      const missing = [...new Set(texts.filter((text) => !remembered.has(text)))];
      const fresh = missing.length === 0 ? [] : await ask(missing, signal);
      const known = new Map(missing.map((text, place) => [text, fresh[place] as Float32Array]));
      const vectors = texts.map((text) => (known.get(text) ?? remembered.get(text)) as Float32Array);
      for (const [text, vector] of known) remembered.set(text, vector);
      for (const text of remembered.keys()) {
        if (remembered.size <= maxRemembered) break;
        remembered.delete(text);
      }
      return vectors;
    },
  };
}
