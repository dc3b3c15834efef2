/**
 * Lists that hold for one client only: its own session with a server announced that they changed. A tool that a call
 * enables in a session exists in that session alone, so no other client sees it.
 */
import type { Changes } from '../changes.ts';
import type { Config } from '../config/config.ts';
import { describe } from '../errors.ts';
import type { JsonObject } from '../json-rpc.ts';
import { jsonSize } from '../json-size.ts';
import type { Logger } from '../log.ts';
import type { Registry, Server } from '../registry/registry.ts';
import type { ServerItemKind, ToolRow } from '../store/schema.ts';
import type { Pool } from '../upstream/pool.ts';
import type { Session } from '../upstream/session.ts';
import { type Kind, type Listing, listAll, listOf } from './discover.ts';
import type { ServerLists } from './server-lists.ts';
import { createSnapshot, type Snapshot } from './snapshot.ts';
import { toDiscovered } from './tool-diff.ts';

/** The key of the owner of a client's sessions with a server. */
export type OwnerKeyOf = (server: Server) => string;

export interface OwnLists {
  /** The snapshot as a client sees it: with its own lists in place of those that all clients see. */
  snapshotFor(ownerKeyOf: OwnerKeyOf): Snapshot;
  close(): void;
}

interface OwnListsDependencies {
  registry: Registry;
  pool: Pool;
  changes: Changes;
  log: Logger;
  config: Config;
  lists: ServerLists;
}

/** What a client's own session listed; a kind that it never announced is missing. */
interface OwnList {
  readonly tools?: readonly ToolRow[];
  readonly items: Partial<Record<ServerItemKind, Listing['items']>>;
  /** The snapshot with this list, and what it was made of. */
  made?: { base: Snapshot; snapshot: Snapshot };
}

const debounceMs = 50;
const maxOwnLists = 1_000;

export function createOwnLists(deps: OwnListsDependencies): OwnLists {
  const { registry, pool, changes, log, config, lists } = deps;
  /** By server, then by the key of the owner. */
  const own = new Map<string, Map<string, OwnList>>();
  const waiting = new Map<string, { kinds: Set<Kind>; timer: NodeJS.Timeout }>();
  const closed = new AbortController();

  function schedule(serverId: string, ownerKey: string, kinds: readonly Kind[]): void {
    const key = `${serverId} ${ownerKey}`;
    const scheduled = waiting.get(key);
    if (scheduled !== undefined) return kinds.forEach((kind) => void scheduled.kinds.add(kind));
    const all = new Set(kinds);
    const timer = setTimeout(() => {
      waiting.delete(key);
      void read(serverId, ownerKey, [...all]);
    }, debounceMs);
    waiting.set(key, { kinds: all, timer });
  }

  async function read(serverId: string, ownerKey: string, kinds: readonly Kind[]): Promise<void> {
    const server = registry.find(serverId);
    const session = pool.link(serverId)?.ownedSession(ownerKey);
    if (server === undefined || session === undefined) return;
    const changed = { tools: false, prompts: false, resources: false };
    try {
      for (const kind of kinds) {
        put(serverId, ownerKey, kind, await list(server, session, kind));
        changed[listOf[kind]] = true;
      }
    } catch (error) {
      log.warn({ server: server.name, error: describe(error) }, "could not read the lists of a client's own session");
    }
    changes.publish('catalog.changed', { ...changed, server_id: serverId, owner_key: ownerKey });
  }

  async function list(server: Server, session: Session, kind: Kind): Promise<Listing['items']> {
    const signal = AbortSignal.any([closed.signal, AbortSignal.timeout(config.requestTimeoutMs)]);
    const most = config.maxToolsPerServer;
    const budget = lists.budget.open(server.id, kind);
    try {
      const mask = (text: string) => registry.mask(server.id, text);
      const { items } = await listAll(session, kind, signal, { most, take: budget.take, mask });
      return items.slice(0, most).filter(({ definition }) => isSmall(definition));
    } finally {
      budget.release();
    }
  }

  const isSmall = (definition: JsonObject) =>
    jsonSize(definition, config.maxDefinitionBytes).bytes <= config.maxDefinitionBytes;

  function put(serverId: string, ownerKey: string, kind: Kind, items: Listing['items']): void {
    const ofServer = own.get(serverId) ?? new Map<string, OwnList>();
    own.set(serverId, ofServer);
    const before = ofServer.get(ownerKey) ?? { items: {} };
    const server = registry.find(serverId);
    if (server === undefined) return;
    ofServer.delete(ownerKey);
    ofServer.set(
      ownerKey,
      kind === 'tool'
        ? { tools: toRows(server, items, lists.tools(serverId) ?? []), items: before.items }
        : { tools: before.tools, items: { ...before.items, [kind]: items } },
    );
    const [oldest] = ofServer.keys();
    if (ofServer.size > maxOwnLists && oldest !== undefined) ofServer.delete(oldest);
  }

  function forget(serverId: string, ownerKey?: string): void {
    const ofServer = own.get(serverId);
    const existed = ownerKey === undefined ? ofServer !== undefined : ofServer?.delete(ownerKey) === true;
    if (ownerKey === undefined || ofServer?.size === 0) own.delete(serverId);
    if (existed && ownerKey !== undefined)
      changes.publish('catalog.changed', {
        server_id: serverId,
        owner_key: ownerKey,
        tools: true,
        prompts: true,
        resources: true,
      });
  }

  const offs = [
    changes.subscribe('own_lists.changed', ({ server_id, owner_key, kinds }) =>
      schedule(server_id, owner_key, kinds as Kind[]),
    ),
    changes.subscribe('own_session.ended', ({ server_id, owner_key }) => forget(server_id, owner_key)),
    changes.subscribe('server.removed', ({ server_id }) => forget(server_id)),
  ];

  function snapshotFor(ownerKeyOf: OwnerKeyOf): Snapshot {
    const base = lists.snapshot;
    const mine = new Map<string, OwnList>();
    for (const [serverId, ofServer] of own) {
      const server = registry.find(serverId);
      const list = server && ofServer.get(ownerKeyOf(server));
      if (list !== undefined) mine.set(serverId, list);
    }
    const [first] = mine.values();
    if (first === undefined) return base;
    if (mine.size === 1 && first.made?.base === base) return first.made.snapshot;
    const snapshot = createSnapshot(registry.list(), (id) => {
      const list = mine.get(id);
      return { tools: list?.tools ?? lists.tools(id) ?? [], items: { ...lists.items(id), ...list?.items } };
    });
    if (mine.size === 1) first.made = { base, snapshot };
    return snapshot;
  }

  return {
    snapshotFor: (ownerKeyOf) => (own.size === 0 ? lists.snapshot : snapshotFor(ownerKeyOf)),
    close() {
      closed.abort();
      for (const off of offs) off();
      for (const { timer } of waiting.values()) clearTimeout(timer);
    },
  };
}

/** A tool that all clients know keeps its definition: whether a change of it is accepted is decided for all of them. */
function toRows(server: Server, items: Listing['items'], known: readonly ToolRow[]): ToolRow[] {
  const byName = new Map(known.map((row) => [row.original_name, row]));
  const now = new Date().toISOString();
  return items.map(({ key, definition }, position) => {
    const row = byName.get(key);
    if (row !== undefined) return row;
    return {
      ...toDiscovered(server.name, key, definition),
      id: 0,
      source_server_id: server.id,
      is_external: true,
      is_classified: false,
      skill_ids: [],
      primary_skill_id: null,
      skill_confidences: {},
      classification_state: 'UNCLASSIFIED',
      position,
      discovered_at: now,
      updated_at: now,
    };
  });
}
