/** Asks a server for everything it offers, page by page (BR-003). */
import { RpcError } from '../errors.ts';
import { isObject, type JsonObject, rpcCodes } from '../json-rpc.ts';
import { createTimeSlice } from '../time-slice.ts';
import type { Session } from '../upstream/session.ts';
import { maskDefinition, type TextMask } from './mask-definition.ts';

const skillsOf = ({ extensions }: JsonObject): unknown =>
  isObject(extensions) ? extensions['io.modelcontextprotocol/skills'] : undefined;

/** Tools, prompts, resources, templates and skills differ by a row, not by code. */
export const kinds = {
  tool: { method: 'tools/list', member: 'tools', key: 'name', capability: ({ tools }: JsonObject) => tools },
  prompt: { method: 'prompts/list', member: 'prompts', key: 'name', capability: ({ prompts }: JsonObject) => prompts },
  resource: {
    method: 'resources/list',
    member: 'resources',
    key: 'uri',
    capability: ({ resources }: JsonObject) => resources,
  },
  resource_template: {
    method: 'resources/templates/list',
    member: 'resourceTemplates',
    key: 'uriTemplate',
    capability: ({ resources }: JsonObject) => resources,
  },
  skill: { method: 'skills/list', member: 'skills', key: 'uri', capability: skillsOf },
} as const;
export type Kind = keyof typeof kinds;
/** The list whose change clients are told of: skills are files, and files are resources. */
export const listOf = {
  tool: 'tools',
  prompt: 'prompts',
  resource: 'resources',
  resource_template: 'resources',
  skill: 'resources',
} as const satisfies Record<Kind, string>;
export const listMethods: readonly string[] = Object.values(kinds).map(({ method }) => method);

export interface Listing {
  items: { key: string; definition: JsonObject }[];
  /** Entries without the one field that identifies them. */
  skipped: number;
  ttlMs?: number;
  cacheScope?: string;
}

const maxPages = 10_000;

/** `take` is told of everything that is kept meanwhile, and throws where that gets too much. */
export async function listAll(
  session: Session,
  kind: Kind,
  signal: AbortSignal,
  { most, take, mask }: { most: number; take: (definition: unknown) => void; mask: TextMask },
): Promise<Listing> {
  const { method, member, key, capability } = kinds[kind];
  const listing: Listing = { items: [], skipped: 0 };
  if (capability(session.capabilities) === undefined) return listing;

  const slice = createTimeSlice();
  const seenCursors = new Set<string>();
  let cursor: string | undefined;
  for (let page = 0; page < maxPages; page += 1) {
    const result = await listPage(session, method, cursor, signal);
    if (result === undefined) return listing;
    for (const definition of Array.isArray(result[member]) ? result[member] : []) {
      // One over the limit is enough to know that it is passed.
      if (listing.items.length > most) return listing;
      await slice.giveWay();
      take(definition);
      const name = isObject(definition) ? definition[key] : undefined;
      if (typeof name === 'string' && name !== '')
        listing.items.push({ key: name, definition: maskDefinition(definition, mask) });
      else listing.skipped += 1;
    }
    if (typeof result.ttlMs === 'number')
      listing.ttlMs = Math.min(listing.ttlMs ?? Number.POSITIVE_INFINITY, result.ttlMs);
    if (typeof result.cacheScope === 'string') listing.cacheScope = result.cacheScope;
    // A cursor that repeats would never end.
    if (listing.items.length > most) return listing;
    if (typeof result.nextCursor !== 'string' || seenCursors.has(result.nextCursor)) return listing;
    take(result.nextCursor);
    cursor = result.nextCursor;
    seenCursors.add(cursor);
  }
  return listing;
}

/** Undefined where the server has no such method: servers of the Python SDK declare resources without having templates. */
async function listPage(
  session: Session,
  method: string,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<JsonObject | undefined> {
  try {
    return await session.request(method, cursor === undefined ? {} : { cursor }, { signal });
  } catch (error) {
    if (error instanceof RpcError && error.code === rpcCodes.methodNotFound) return undefined;
    throw error;
  }
}
