import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { toUnit } from '../similarity/cosine.ts';
import type { Embedder } from './embedder.ts';

interface EmbeddingsServiceOptions {
  /** Base of an OpenAI-compatible API (`…/v1`) or the full address of its `/embeddings`. */
  url: string;
  model: string;
  apiKey?: string;
  batchSize?: number;
  timeoutMs?: number;
  /** Waits before each further try; their number is the number of retries. */
  retryDelaysMs?: number[];
  fetch?: typeof globalThis.fetch;
}

export class EmbeddingsUnavailable extends Error {
  /** Whether the same request may succeed later: overload, outage, timeout. */
  readonly retryable: boolean;

  constructor(message: string, retryable: boolean, cause?: unknown) {
    super(message, { cause });
    this.name = 'EmbeddingsUnavailable';
    this.retryable = retryable;
  }
}

const answerSchema = z.object({
  data: z.array(z.object({ index: z.number().int().min(0), embedding: z.array(z.number()).min(1) })),
});

const defaults = { batchSize: 64, timeoutMs: 20_000, retryDelaysMs: [250, 1_000, 4_000] };

/** Asks once, to learn the model's dimensions: an index cannot be built without them. */
export async function createEmbeddingsService(
  options: EmbeddingsServiceOptions,
  signal?: AbortSignal,
): Promise<Embedder> {
  const settings = { ...defaults, ...options };
  const [probe] = await askWithRetries(settings, ['dimensions'], signal);
  const dimensions = probe?.length ?? 0;
  return {
    identity: `${settings.model}@${new URL(settings.url).host}:${dimensions}`,
    dimensions,
    embed: async (texts, signal) => {
      const vectors: Float32Array[] = [];
      for (let start = 0; start < texts.length; start += settings.batchSize) {
        const batch = await askWithRetries(settings, texts.slice(start, start + settings.batchSize), signal);
        if (batch.some((vector) => vector.length !== dimensions)) {
          throw new EmbeddingsUnavailable(
            `the embeddings service no longer returns vectors of ${dimensions} dimensions`,
            false,
          );
        }
        vectors.push(...batch);
      }
      return vectors;
    },
  };
}

type Settings = EmbeddingsServiceOptions & typeof defaults;

async function askWithRetries(settings: Settings, texts: string[], signal?: AbortSignal): Promise<Float32Array[]> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await ask(settings, texts, signal);
    } catch (thrown) {
      signal?.throwIfAborted();
      const wait = settings.retryDelaysMs[attempt];
      if (wait === undefined || !(thrown instanceof EmbeddingsUnavailable) || !thrown.retryable) throw thrown;
      await delay(wait, undefined, { signal });
    }
  }
}

async function ask(settings: Settings, texts: string[], signal?: AbortSignal): Promise<Float32Array[]> {
  const timeout = AbortSignal.timeout(settings.timeoutMs);
  const send = settings.fetch ?? globalThis.fetch;
  let body: unknown;
  try {
    const response = await send(toEndpoint(settings.url), {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(settings.apiKey === undefined ? {} : { authorization: `Bearer ${settings.apiKey}` }),
      },
      // Some services refuse empty input; a space has no meaning either.
      body: JSON.stringify({
        model: settings.model,
        input: texts.map((text) => text || ' '),
        encoding_format: 'float',
      }),
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    });
    if (!response.ok) {
      const retryable = response.status === 408 || response.status === 429 || response.status >= 500;
      throw new EmbeddingsUnavailable(`the embeddings service answered ${response.status}`, retryable);
    }
    body = await response.json();
  } catch (thrown) {
    if (thrown instanceof EmbeddingsUnavailable) throw thrown;
    throw new EmbeddingsUnavailable('the embeddings service cannot be reached', true, thrown);
  }
  return readVectors(body, texts.length);
}

function readVectors(body: unknown, count: number): Float32Array[] {
  const answer = answerSchema.safeParse(body);
  if (!answer.success) {
    throw new EmbeddingsUnavailable('the embeddings service sent an invalid response', false, answer.error);
  }
  const vectors: Float32Array[] = [];
  for (const { index, embedding } of answer.data.data) vectors[index] = toUnit(Float32Array.from(embedding));
  // The order of `data` is not promised, `index` is; a hole means a text without its vector.
  if (vectors.length !== count || Object.keys(vectors).length !== count) {
    throw new EmbeddingsUnavailable(`${count} texts sent, ${answer.data.data.length} vectors received`, false);
  }
  if (new Set(vectors.map(({ length }) => length)).size > 1) {
    throw new EmbeddingsUnavailable('the vectors differ in length', false);
  }
  return vectors;
}

function toEndpoint(url: string): string {
  const base = url.replace(/\/+$/, '');
  return base.endsWith('/embeddings') ? base : `${base}/embeddings`;
}
