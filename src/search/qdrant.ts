import { z } from 'zod';
import { AppError } from '../errors.ts';

export const collectionName = 'mcp_unified_search';

/** What is stored beside a tool's vector (BR-003). */
interface ToolPayload {
  type: 'tool';
  db_id: number;
  name: string;
  description: string;
  source_server_id: string | null;
  source_server_name: string | null;
  original_name: string;
  is_external: boolean;
  is_classified: boolean;
  skill_ids: string[];
  primary_skill_id: string | null;
  /** Vectors of different models are never compared. */
  embedding_model: string;
}

export interface ToolPoint {
  id: number;
  vector: Float32Array;
  payload: ToolPayload;
}

export interface PointFilter {
  serverNames?: string[];
  serverIds?: string[];
  skillIds?: string[];
  isExternal?: boolean;
  embeddingModel?: string;
}

interface FoundPoint {
  id: number;
  score: number;
}

export interface Qdrant {
  ping(signal?: AbortSignal): Promise<void>;
  /** Creates the collection and its payload indexes where they are missing. */
  prepare(dimensions: number, signal?: AbortSignal): Promise<void>;
  upsert(points: ToolPoint[], signal?: AbortSignal): Promise<void>;
  setSkills(id: number, skillIds: string[], primarySkillId: string | null, signal?: AbortSignal): Promise<void>;
  delete(ids: number[], signal?: AbortSignal): Promise<void>;
  deleteServer(serverId: string, signal?: AbortSignal): Promise<void>;
  search(vector: Float32Array, limit: number, filter?: PointFilter, signal?: AbortSignal): Promise<FoundPoint[]>;
}

interface QdrantOptions {
  url: string;
  apiKey?: string;
  timeoutMs?: number;
  fetch?: typeof globalThis.fetch;
}

const pointsPerRequest = 256;
const indexedFields = {
  source_server_id: 'keyword',
  source_server_name: 'keyword',
  original_name: 'text',
  is_external: 'bool',
  is_classified: 'bool',
  skill_ids: 'keyword',
  embedding_model: 'keyword',
} as const;

const collectionSchema = z.object({
  result: z.object({
    config: z.object({ params: z.object({ vectors: z.looseObject({ size: z.number().optional() }) }) }),
  }),
});
const querySchema = z.object({
  result: z.object({ points: z.array(z.object({ id: z.number().int(), score: z.number() })) }),
});

/** The few calls of Qdrant's REST interface that search needs. */
export function createQdrant(options: QdrantOptions): Qdrant {
  const base = options.url.replace(/\/+$/, '');
  const send = options.fetch ?? globalThis.fetch;
  const timeoutMs = options.timeoutMs ?? 10_000;
  const collection = `/collections/${collectionName}`;

  async function call(method: string, path: string, body?: object, signal?: AbortSignal): Promise<Response> {
    const timeout = AbortSignal.timeout(timeoutMs);
    return send(`${base}${path}`, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(options.apiKey === undefined ? {} : { 'api-key': options.apiKey }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    });
  }

  async function done(method: string, path: string, body?: object, signal?: AbortSignal): Promise<unknown> {
    const response = await call(method, path, body, signal);
    if (!response.ok) throw failure(`Qdrant answered ${response.status} to ${method} ${path}`);
    return response.json();
  }

  async function prepare(dimensions: number, signal?: AbortSignal): Promise<void> {
    const existing = await call('GET', collection, undefined, signal);
    if (existing.status === 404) {
      await done('PUT', collection, { vectors: { size: dimensions, distance: 'Cosine' } }, signal);
    } else if (existing.ok) {
      const { size } = collectionSchema.parse(await existing.json()).result.config.params.vectors;
      if (size !== dimensions)
        throw failure(
          `the collection ${collectionName} has vectors of ${size} dimensions, the model returns ${dimensions}`,
        );
    } else {
      throw failure(`Qdrant answered ${existing.status} to GET ${collection}`);
    }
    for (const [field_name, field_schema] of Object.entries(indexedFields)) {
      await done('PUT', `${collection}/index?wait=true`, { field_name, field_schema }, signal);
    }
  }

  async function upsert(points: ToolPoint[], signal?: AbortSignal): Promise<void> {
    for (let start = 0; start < points.length; start += pointsPerRequest) {
      const batch = points.slice(start, start + pointsPerRequest);
      await done(
        'PUT',
        `${collection}/points?wait=true`,
        { points: batch.map(({ id, vector, payload }) => ({ id, vector: Array.from(vector), payload })) },
        signal,
      );
    }
  }

  return {
    ping: async (signal) => void (await done('GET', '/collections', undefined, signal)),
    prepare,
    upsert,
    setSkills: async (id, skillIds, primarySkillId, signal) => {
      const payload = {
        skill_ids: skillIds,
        primary_skill_id: primarySkillId,
        is_classified: skillIds.length > 0,
      } satisfies Partial<ToolPayload>;
      await done('POST', `${collection}/points/payload?wait=true`, { payload, points: [id] }, signal);
    },
    delete: async (ids, signal) => {
      if (ids.length > 0) await done('POST', `${collection}/points/delete?wait=true`, { points: ids }, signal);
    },
    deleteServer: async (serverId, signal) => {
      const filter = toFilter({ serverIds: [serverId] });
      await done('POST', `${collection}/points/delete?wait=true`, { filter }, signal);
    },
    search: async (vector, limit, filter = {}, signal) => {
      const body = { query: Array.from(vector), limit, filter: toFilter(filter), with_payload: false };
      const answer = querySchema.parse(await done('POST', `${collection}/points/query`, body, signal));
      return answer.result.points.toSorted((a, b) => b.score - a.score || a.id - b.id);
    },
  };
}

function toFilter(filter: PointFilter): { must: object[] } {
  const must: object[] = [];
  const any = (key: keyof ToolPayload, values: string[] | undefined) => {
    if (values !== undefined) must.push({ key, match: { any: values } });
  };
  any('source_server_name', filter.serverNames);
  any('source_server_id', filter.serverIds);
  any('skill_ids', filter.skillIds);
  if (filter.isExternal !== undefined) must.push({ key: 'is_external', match: { value: filter.isExternal } });
  if (filter.embeddingModel !== undefined)
    must.push({ key: 'embedding_model', match: { value: filter.embeddingModel } });
  return { must };
}

function failure(message: string): AppError {
  return new AppError('INTERNAL_ERROR', message);
}
