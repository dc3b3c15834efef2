/** The resources or prompts of all servers, as their lists say. */
import type { Json, ServerList } from '../api.ts';
import { type ListMethod, serverEndpoint } from '../mcp-call.ts';
import { listMcp } from '../mcp-list.ts';
import { type Resource, serverEvents, useAnswer, useResource } from '../resource.ts';

export interface Offered {
  server: string;
  entry: Json;
}

const members: Record<ListMethod, string> = {
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
  'prompts/list': 'prompts',
};
const servedStates = new Set(['CONNECTED', 'DEGRADED']);

export function useOffered(methods: readonly ListMethod[]): Resource<Offered[]> {
  const list = useResource<ServerList>('/api/v1/aggregator/servers?limit=1000', { on: serverEvents });
  const names = (list.data?.servers ?? []).filter(({ status }) => servedStates.has(status)).map(({ name }) => name);
  const offered = useAnswer<Offered[]>(
    list.data === undefined ? null : [...methods, ...names],
    async (signal) => {
      const lists = await Promise.all(names.map((server) => listOf(server, methods, signal)));
      return lists.flat();
    },
    { on: ['catalog.changed'], gather: 1_000 },
  );
  return { ...offered, error: list.error ?? offered.error, loading: list.loading || offered.loading };
}

async function listOf(server: string, methods: readonly ListMethod[], signal: AbortSignal): Promise<Offered[]> {
  const entries: Offered[] = [];
  for (const method of methods) {
    const found = await listMcp(serverEndpoint(server), method, members[method], signal);
    entries.push(...found.map((entry) => ({ server, entry })));
  }
  return entries;
}

export const textOf = (entry: Json, ...keys: string[]): string => {
  for (const key of keys) if (typeof entry[key] === 'string' && entry[key] !== '') return entry[key];
  return '';
};
