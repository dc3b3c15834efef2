/**
 * All known tools, prompts, resources and templates as one immutable snapshot. It comes from the store at start, so
 * that lists answer at once while servers connect behind it, and is replaced whenever a discovery changed something.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Changes } from '../changes.ts';
import type { Config } from '../config/config.ts';
import { AppError, describe } from '../errors.ts';
import { withPlainNumbers } from '../exact-json.ts';
import { isObject, type JsonObject } from '../json-rpc.ts';
import type { Logger } from '../log.ts';
import type { Registry, Server } from '../registry/registry.ts';
import type { Database } from '../store/database.ts';
import type { ServerItemKind, ToolRow } from '../store/schema.ts';
import { findItemsOfServer, findServerItems, replaceServerItems } from '../store/server-items.ts';
import {
  type DiscoveredTool,
  definitionHash,
  findServerTools,
  findTools,
  replaceServerTools,
  type ToolChanges,
} from '../store/tools.ts';
import { allKinds, type Link } from '../upstream/link.ts';
import type { Pool } from '../upstream/pool.ts';
import type { Session } from '../upstream/session.ts';
import { createByteBudget } from './byte-budget.ts';
import { type ChangeReview, createChangeReview } from './change-review.ts';
import { type Kind, type Listing, listAll } from './discover.ts';
import { interpretNotifications } from './notifications.ts';
import { markedParameters } from './parameter-headers.ts';
import { toCanonical, toWireName } from './tool-name.ts';

export interface CatalogTool {
  readonly row: ToolRow;
  readonly server: Server;
  readonly wireName: string;
}

export interface CatalogItem {
  readonly key: string;
  readonly wireName: string;
  readonly definition: JsonObject;
  readonly server: Server;
}

export interface Snapshot {
  readonly version: number;
  readonly tools: readonly CatalogTool[];
  readonly toolsByWireName: ReadonlyMap<string, CatalogTool>;
  readonly toolsByCanonicalName: ReadonlyMap<string, CatalogTool>;
  readonly toolsByOriginalName: ReadonlyMap<string, readonly CatalogTool[]>;
  readonly toolsByServer: ReadonlyMap<string, readonly CatalogTool[]>;
  readonly items: Readonly<Record<ServerItemKind, readonly CatalogItem[]>>;
  readonly promptsByName: ReadonlyMap<string, CatalogItem>;
}

export interface Catalog {
  readonly snapshot: Snapshot;
  readonly lastSync: string | null;
  /** Tools that changed after they were first seen. */
  readonly changes: ChangeReview;
  /** Its server is connected, or was so recently that lists should not flicker. */
  isListed(server: Server): boolean;
  /** Discovers everything of a connected server; one discovery per server at a time. */
  refresh(serverId: string, which?: readonly Kind[]): Promise<void>;
  /** The same with nobody waiting: a failure goes into the server's history. */
  refreshInBackground(serverId: string, which?: readonly Kind[]): void;
  /** How long a client may keep a list, as the spec merges it over servers. */
  cacheHints(servers: Iterable<Server>, kind: Kind): { ttlMs: number; cacheScope: 'public' | 'private' };
  close(): Promise<void>;
}

interface CatalogDependencies {
  db: Database;
  registry: Registry;
  pool: Pool;
  changes: Changes;
  log: Logger;
  config: Config;
  /** False where another replica discovers this server for all of us. */
  isOurs?: (serverId: string) => boolean;
}

const everyKind: readonly Kind[] = ['tool', 'prompt', 'resource', 'resource_template'];
const changedBy = { tool: 'tools', prompt: 'prompts', resource: 'resources', resource_template: 'resources' } as const;
const itemKinds = ['prompt', 'resource', 'resource_template'] as const;
const debounceMs = 100;
const maxWaitMs = 10_000;
const calmMs = 10_000;

export async function createCatalog(deps: CatalogDependencies): Promise<Catalog> {
  const { db, registry, pool, changes, log, config } = deps;
  const tools = new Map<string, ToolRow[]>();
  const items = new Map<string, Record<ServerItemKind, { key: string; definition: JsonObject }[]>>();
  const refreshing = new Map<string, { done: Promise<void>; again?: Set<Kind> }>();
  const debounced = new Map<string, { kinds: Set<Kind>; timer: NodeJS.Timeout }>();
  const paced = new Map<string, { waitMs: number; dueAt: number }>();
  const hints = new Map<string, { expires: number; public: boolean }>();
  const closed = new AbortController();
  const budget = createByteBudget(config);
  const changeReview = await createChangeReview({
    db,
    registry,
    policy: config.toolChanges,
    changes,
  });
  let lastSync: string | null = null;
  let version = 0;

  for (const row of await findTools(db)) append(tools, row.source_server_id ?? '', row);
  for (const list of tools.values()) list.sort((a, b) => a.position - b.position);
  for (const row of await findServerItems(db))
    itemsOf(row.server_id)[row.kind].push({ key: row.key, definition: row.definition });
  for (const serverId of new Set([...tools.keys(), ...items.keys()])) measure(serverId);
  let snapshot = build();

  function measure(serverId: string): void {
    budget.record(serverId, 'tool', tools.get(serverId) ?? []);
    for (const kind of itemKinds) budget.record(serverId, kind, itemsOf(serverId)[kind]);
  }

  function itemsOf(serverId: string) {
    const existing = items.get(serverId) ?? { prompt: [], resource: [], resource_template: [] };
    items.set(serverId, existing);
    return existing;
  }

  /** Servers by name, and within a server in the server's own order: the same list every time. */
  function build(): Snapshot {
    const next = emptySnapshot(++version);
    for (const server of registry.list()) {
      const own: CatalogTool[] = [];
      for (const row of tools.get(server.id) ?? []) {
        const tool = {
          row,
          server,
          wireName: freeName(next.toolsByWireName, toWireName(server.name, row.original_name)),
        };
        own.push(tool);
        next.tools.push(tool);
        next.toolsByWireName.set(tool.wireName, tool);
        next.toolsByCanonicalName.set(row.name, tool);
        append(next.toolsByOriginalName, row.original_name, tool);
      }
      next.toolsByServer.set(server.id, own);
      for (const kind of itemKinds) {
        for (const { key, definition } of itemsOf(server.id)[kind]) {
          const item = { key, definition, server, wireName: kind === 'prompt' ? toWireName(server.name, key) : key };
          next.items[kind].push(item);
          if (kind === 'prompt') next.promptsByName.set(item.wireName, item);
        }
      }
    }
    return next;
  }

  async function refresh(serverId: string, which: readonly Kind[] = everyKind): Promise<void> {
    const running = refreshing.get(serverId);
    if (running !== undefined) {
      running.again ??= new Set();
      for (const kind of which) running.again.add(kind);
      return await running.done;
    }
    const entry: { done: Promise<void>; again?: Set<Kind> } = { done: Promise.resolve() };
    refreshing.set(serverId, entry);
    entry.done = (async () => {
      try {
        for (let next: readonly Kind[] | undefined = which; next !== undefined; ) {
          entry.again = undefined;
          await discover(serverId, next);
          next = entry.again === undefined ? undefined : [...(entry.again as Set<Kind>)];
        }
      } finally {
        refreshing.delete(serverId);
      }
    })();
    await entry.done;
  }

  async function discover(serverId: string, which: readonly Kind[]): Promise<void> {
    const link = pool.link(serverId);
    const session = link?.shared;
    if (link === undefined || session === undefined) {
      throw new AppError('SESSION_NOT_FOUND', `No active session for: ${registry.find(serverId)?.name ?? serverId}`);
    }
    const changed = { tools: false, prompts: false, resources: false };
    let failure: { error: unknown } | undefined;
    for (const kind of which) {
      try {
        if (await discoverKind(link, session, kind)) changed[changedBy[kind]] = true;
      } catch (error) {
        // A server that cannot list its prompts still has tools.
        failure ??= { error };
      }
    }
    if (changed.tools || changed.prompts || changed.resources) {
      changes.publish('tools.stored', { server_id: serverId });
      changes.publish('catalog.changed', { ...changed, server_id: serverId });
    }
    if (failure !== undefined) throw failure.error;
    registry.recordDiscovery(serverId, null);
    lastSync = new Date().toISOString();
  }

  /** True when something changed; the snapshot has it then. */
  async function discoverKind(link: Link, session: Session, kind: Kind): Promise<boolean> {
    const { server } = link;
    const bytes = budget.open(server.id, kind);
    try {
      const isChanged = await replaceList(server, session, kind, bytes.take);
      if (registry.find(server.id) !== undefined) bytes.keep();
      return isChanged;
    } finally {
      bytes.release();
    }
  }

  async function replaceList(
    server: Server,
    session: Session,
    kind: Kind,
    take: (definition: unknown) => void,
  ): Promise<boolean> {
    const signal = AbortSignal.any([closed.signal, AbortSignal.timeout(config.requestTimeoutMs)]);
    const most = kind === 'tool' ? config.maxToolsPerServer : 100_000;
    const mask = (text: string) => registry.mask(server.id, text);
    const listing = await listAll(session, kind, signal, { most, take, mask });
    if (listing.skipped > 0)
      log.warn({ server: server.name, kind, skipped: listing.skipped }, 'ignored entries without a name');
    hints.set(`${server.id} ${kind}`, {
      expires: performance.now() + (listing.ttlMs ?? 0),
      public: listing.cacheScope === 'public',
    });
    if (kind === 'tool') return await storeTools(server, wellMarked(server, session, listing.items));
    if (!(await replaceServerItems(db, server.id, kind, listing.items))) return false;
    items.set(server.id, { ...itemsOf(server.id), [kind]: listing.items });
    snapshot = build();
    return true;
  }

  /** 2026-07-28: a tool whose `x-mcp-header` marks are invalid must not be offered; the others stay. */
  function wellMarked(server: Server, { era }: Session, listed: Listing['items']): Listing['items'] {
    if (era !== 'modern') return listed;
    const kept = listed.filter(({ definition: { inputSchema } }) => {
      return !isObject(inputSchema) || markedParameters(inputSchema) !== undefined;
    });
    if (kept.length < listed.length) {
      log.warn(
        { server: server.name, dropped: listed.length - kept.length },
        'ignored tools with invalid x-mcp-header annotations',
      );
    }
    return kept;
  }

  async function storeTools(server: Server, listed: { key: string; definition: JsonObject }[]): Promise<boolean> {
    if (listed.length === 0) log.warn({ server: server.name }, 'the server lists no tools');
    const offered = listed.map(({ key, definition }) => toDiscovered(server.name, key, definition));
    const found = await changeReview.settle(server, tools.get(server.id) ?? [], offered);
    const limits = { maxPerServer: config.maxToolsPerServer, maxTotal: config.maxTools };
    const toolChanges = await replaceServerTools(db, server.id, found, limits);
    if (registry.find(server.id) === undefined) return false; // removed meanwhile
    const rows = [...toolChanges.added, ...toolChanges.changed.map(({ after }) => after), ...toolChanges.unchanged];
    tools.set(
      server.id,
      rows.sort((a, b) => a.position - b.position),
    );
    registry.recordToolCount(server.id, rows.length);
    await changeReview.record(server, toolChanges);
    for (const { before, after } of toolChanges.changed) {
      registry.record(server.id, 'TOOL_CHANGED', {
        tool: after.name,
        changes: differences(before.definition, after.definition),
      });
    }
    const summary = namesOf(toolChanges);
    const anything = summary.added.length + summary.changed.length + summary.removed.length > 0;
    // Before anybody is told: whoever hears of a tool may call it at once.
    snapshot = build();
    changes.publish('server.discovered', { server_id: server.id, name: server.name, tools: rows.length, ...summary });
    if (anything) {
      registry.record(server.id, 'DISCOVERED', { tools: rows.length, ...shortened(summary) });
      changes.publish('tools.discovered', { server, toolChanges });
    }
    return anything;
  }

  function refreshSoon(serverId: string, which: readonly Kind[]): void {
    const waiting = debounced.get(serverId);
    if (waiting !== undefined) {
      for (const kind of which) waiting.kinds.add(kind);
      return;
    }
    const kinds = new Set(which);
    const timer = setTimeout(() => {
      debounced.delete(serverId);
      refreshInBackground(serverId, [...kinds]);
    }, waitBeforeRefresh(serverId));
    debounced.set(serverId, { kinds, timer });
  }

  /** A server that says all the time that its lists changed is asked for them ever less often. */
  function waitBeforeRefresh(serverId: string): number {
    const now = performance.now();
    const last = paced.get(serverId);
    const isCalm = last === undefined || now - last.dueAt > calmMs;
    const waitMs = isCalm ? debounceMs : Math.min(last.waitMs * 2, maxWaitMs);
    paced.set(serverId, { waitMs, dueAt: now + waitMs });
    return waitMs;
  }

  async function reload(serverId: string): Promise<void> {
    // Our own discovery knows better than what was stored before it.
    for (let running = refreshing.get(serverId); running !== undefined; running = refreshing.get(serverId))
      await Promise.allSettled([running.done]);
    const ownTools = tools.get(serverId);
    const before = itemsOf(serverId);
    const [rows, stored] = await Promise.all([findServerTools(db, serverId), findItemsOfServer(db, serverId)]);
    await changeReview.reload(serverId);
    const server = registry.find(serverId);
    if (server === undefined || refreshing.has(serverId)) return;
    // What was read while something changed here may be older than that.
    if (tools.get(serverId) !== ownTools || itemsOf(serverId) !== before) return await reload(serverId);
    const toolChanges = compareTools(tools.get(serverId) ?? [], rows);
    tools.set(
      serverId,
      rows.sort((a, b) => a.position - b.position),
    );
    items.set(serverId, { prompt: [], resource: [], resource_template: [] });
    for (const { kind, key, definition } of stored) itemsOf(serverId)[kind].push({ key, definition });
    registry.recordToolCount(serverId, rows.length);
    measure(serverId);
    snapshot = build();

    const summary = namesOf(toolChanges);
    const changed = {
      tools: summary.added.length + summary.changed.length + summary.removed.length > 0,
      prompts: !isDeepStrictEqual(before.prompt, itemsOf(serverId).prompt),
      resources: !isDeepStrictEqual(
        [before.resource, before.resource_template],
        [itemsOf(serverId).resource, itemsOf(serverId).resource_template],
      ),
    };
    changes.publish('tools.reloaded', { server, toolChanges });
    if (changed.tools) {
      lastSync = new Date().toISOString();
      changes.publish('server.discovered', { server_id: serverId, name: server.name, tools: rows.length, ...summary });
    }
    if (changed.tools || changed.prompts || changed.resources)
      changes.publish('catalog.changed', { ...changed, server_id: serverId });
  }

  function refreshInBackground(serverId: string, which?: readonly Kind[]): void {
    if (deps.isOurs?.(serverId) === false) {
      return changes.publish('discovery.requested', { server_id: serverId, kinds: which && [...which] });
    }
    refresh(serverId, which).catch((error: unknown) => {
      if (closed.signal.aborted) return;
      const server = registry.find(serverId);
      if (server === undefined) return;
      const text = describe(error);
      const problem = pool.link(serverId)?.mask(text) ?? text;
      log.warn({ server: server.name, error: problem }, 'discovery failed');
      registry.record(serverId, 'DISCOVERY_FAILED', { error: problem });
      registry.recordDiscovery(serverId, `discovery failed: ${problem}`);
    });
  }

  function replaceClassified(rows: readonly ToolRow[]): void {
    for (const [serverId, news] of Map.groupBy(rows, (row) => row.source_server_id ?? '')) {
      const own = tools.get(serverId);
      if (own !== undefined) tools.set(serverId, withNews(own, news));
    }
    snapshot = build();
  }

  const unsubscribe = [
    interpretNotifications(changes),
    changes.subscribe('tools.classified', ({ tools: rows }) => replaceClassified(rows)),
    changes.subscribe('lease.gained', ({ server_id }) => refreshInBackground(server_id)),
    changes.follow('tools.stored', ({ server_id }) => reload(server_id)),
    changes.follow('discovery.requested', ({ server_id, kinds }) => {
      if (deps.isOurs?.(server_id) !== false) refreshInBackground(server_id, kinds as Kind[] | undefined);
    }),
    // A server that is new to us; the fleet, which follows first, has registered it.
    changes.follow('server.stored', async ({ server_id }) => {
      if (!tools.has(server_id)) await reload(server_id);
    }),
    changes.follow('store.replaced', async () => {
      for (const { id } of registry.list()) await reload(id);
    }),
    changes.subscribe('server.status', ({ server_id: id, status, previous }) => {
      // Where several replicas connect, the one that gets to lead discovers.
      if (status === 'CONNECTED' && previous === 'CONNECTING' && deps.isOurs?.(id) !== false) refreshInBackground(id);
      const listedNow = status === 'CONNECTED' || status === 'DEGRADED';
      const listedBefore = previous === 'CONNECTED' || previous === 'DEGRADED';
      if (listedNow !== listedBefore) changes.publish('catalog.changed', { ...allKinds, server_id: id });
    }),
    changes.subscribe('server.registered', () => {
      snapshot = build();
    }),
    changes.subscribe('server.removed', ({ server_id: id }) => {
      paced.delete(id);
      tools.delete(id);
      items.delete(id);
      budget.forget(id);
      changeReview.forget(id);
      snapshot = build();
      changes.publish('catalog.changed', { ...allKinds, server_id: id });
    }),
    changes.subscribe('server.lists_changed', ({ server_id: id, kinds }) => refreshSoon(id, kinds as Kind[])),
  ];

  return {
    get snapshot() {
      return snapshot;
    },
    get lastSync() {
      return lastSync;
    },
    changes: changeReview,
    isListed: (server) => pool.open(server).listed,
    cacheHints(servers, kind) {
      let ttlMs = Number.POSITIVE_INFINITY;
      let isPublic = true;
      for (const { id } of servers) {
        const hint = hints.get(`${id} ${kind}`);
        ttlMs = Math.min(ttlMs, Math.max(0, (hint?.expires ?? 0) - performance.now()));
        isPublic &&= hint?.public === true;
      }
      return { ttlMs: Number.isFinite(ttlMs) ? ttlMs : 0, cacheScope: isPublic ? 'public' : 'private' };
    },
    refresh,
    refreshInBackground,
    async close() {
      closed.abort();
      for (const off of unsubscribe) off();
      for (const { timer } of debounced.values()) clearTimeout(timer);
      await Promise.allSettled([...refreshing.values()].map(({ done }) => done));
    },
  };
}

/** What was read before the server changed a tool must not undo that. */
export function withNews(own: readonly ToolRow[], news: readonly ToolRow[]): ToolRow[] {
  const newById = new Map(news.map((row) => [row.id, row]));
  return own.map((row) => {
    const newer = newById.get(row.id);
    return newer?.definition_hash === row.definition_hash ? newer : row;
  });
}

function namesOf({ added, changed, removed }: ToolChanges) {
  return {
    added: added.map((row) => row.name),
    changed: changed.map(({ after }) => after.name),
    removed: removed.map((row) => row.name),
  };
}

function compareTools(before: readonly ToolRow[], after: readonly ToolRow[]): ToolChanges {
  const known = new Map(before.map((row) => [row.id, row]));
  const changes: ToolChanges = { added: [], changed: [], removed: [], unchanged: [] };
  for (const row of after) {
    const old = known.get(row.id);
    known.delete(row.id);
    if (old === undefined) changes.added.push(row);
    else if (old.definition_hash !== row.definition_hash) changes.changed.push({ before: old, after: row });
    else changes.unchanged.push(row);
  }
  changes.removed.push(...known.values());
  return changes;
}

function emptySnapshot(version: number) {
  return {
    version,
    tools: [] as CatalogTool[],
    toolsByWireName: new Map<string, CatalogTool>(),
    toolsByCanonicalName: new Map<string, CatalogTool>(),
    toolsByOriginalName: new Map<string, CatalogTool[]>(),
    toolsByServer: new Map<string, CatalogTool[]>(),
    items: { prompt: [], resource: [], resource_template: [] } as Record<ServerItemKind, CatalogItem[]>,
    promptsByName: new Map<string, CatalogItem>(),
  };
}

function append<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [value]);
  else list.push(value);
}

/** Two hashed names are practically never equal; if they are, the later one in the fixed order gets a number. */
function freeName(taken: ReadonlyMap<string, unknown>, wanted: string): string {
  let name = wanted;
  for (let number = 2; taken.has(name); number += 1) name = `${wanted}_${number}`;
  return name;
}

function toDiscovered(server: string, name: string, definition: JsonObject): DiscoveredTool {
  const annotations = definition.annotations as JsonObject | undefined;
  const title = definition.title ?? annotations?.title;
  return {
    name: toCanonical(server, name),
    original_name: name,
    title: typeof title === 'string' ? title : null,
    description: typeof definition.description === 'string' ? definition.description : null,
    // Looked into by search and others; clients get the definition.
    input_schema: withPlainNumbers(definition.inputSchema ?? { type: 'object' }) as JsonObject,
    definition,
    definition_hash: definitionHash(definition),
  };
}

/** What changed in a definition, member by member. */
function differences(before: JsonObject, after: JsonObject): { member: string; before: unknown; after: unknown }[] {
  const members = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return members
    .filter((member) => JSON.stringify(before[member]) !== JSON.stringify(after[member]))
    .map((member) => ({ member, before: before[member] ?? null, after: after[member] ?? null }));
}

function shortened(summary: Record<string, string[]>): JsonObject {
  return Object.fromEntries(
    Object.entries(summary)
      .filter(([, names]) => names.length > 0)
      .map(([what, names]) => [
        what,
        names.length > 20 ? [...names.slice(0, 20), `… ${names.length - 20} more`] : names,
      ]),
  );
}
