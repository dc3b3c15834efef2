/** Asks a connected server for its lists, stores what it answers and publishes what changed. */
import type { Changes } from '../changes.ts';
import type { Config } from '../config/config.ts';
import { AppError } from '../errors.ts';
import { isObject } from '../json-rpc.ts';
import type { Logger } from '../log.ts';
import type { Registry, Server } from '../registry/registry.ts';
import type { Database } from '../store/database.ts';
import { replaceServerItems } from '../store/server-items.ts';
import { type DiscoveredTool, replaceServerTools } from '../store/tools.ts';
import { createTimeSlice } from '../time-slice.ts';
import type { Pool } from '../upstream/pool.ts';
import type { Session } from '../upstream/session.ts';
import type { CacheHint } from './cache-hints.ts';
import type { ChangeReview } from './change-review.ts';
import { type Kind, kinds, type Listing, listAll, listOf } from './discover.ts';
import { offeredChanges } from './offered-tool.ts';
import { markedParameters } from './parameter-headers.ts';
import type { ServerLists } from './server-lists.ts';
import { findStatefulTool } from './stateful-tools.ts';
import { differences, hasChanges, namesOf, shortened, toDiscovered } from './tool-diff.ts';

export interface Discovery {
  /** One per server at a time: what is asked for meanwhile is discovered afterwards. */
  refresh(serverId: string, which?: readonly Kind[]): Promise<void>;
  running(serverId: string): Promise<void> | undefined;
  hint(serverId: string, kind: Kind): CacheHint | undefined;
  forget(serverId: string): void;
  close(): Promise<void>;
}

export interface DiscoveryResources {
  db: Database;
  registry: Registry;
  pool: Pool;
  changes: Changes;
  log: Logger;
  config: Config;
}

interface DiscoveryDependencies extends DiscoveryResources {
  lists: ServerLists;
  changeReview: ChangeReview;
  /** Everything that was asked for is there. */
  onComplete: () => void;
}

/** Every template is compared with the addresses that clients ask for. */
const maxItems = { prompt: 100_000, resource: 100_000, resource_template: 1_000, skill: 100_000 };

const everyKind = Object.keys(kinds) as readonly Kind[];

export function createDiscovery(deps: DiscoveryDependencies): Discovery {
  const { db, registry, pool, changes, log, config, lists } = deps;
  const refreshing = new Map<string, { done: Promise<void>; again?: Set<Kind> }>();
  const hints = new Map<string, Map<Kind, CacheHint>>();
  const closed = new AbortController();

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
    if (link === undefined) throw noSession(serverId);
    const { session, release } = await link.hold(closed.signal);
    try {
      await discoverOn(session, link.server, which);
    } finally {
      release();
    }
  }

  const noSession = (serverId: string) =>
    new AppError('SESSION_NOT_FOUND', `No active session for: ${registry.find(serverId)?.name ?? serverId}`);

  async function discoverOn(session: Session, server: Server, which: readonly Kind[]): Promise<void> {
    const serverId = server.id;
    const changed = { tools: false, prompts: false, resources: false };
    let failure: { error: unknown } | undefined;
    let warning: string | null = null;
    for (const kind of which) {
      try {
        const discovered = await discoverKind(server, session, kind);
        if (discovered.isChanged) changed[listOf[kind]] = true;
        warning ??= discovered.warning ?? null;
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
    registry.recordDiscovery(serverId, warning);
    if (which === everyKind) registry.recordDiscovered(serverId);
    deps.onComplete();
  }

  /** What changed is in the snapshot then. */
  async function discoverKind(server: Server, session: Session, kind: Kind): Promise<DiscoveredKind> {
    const bytes = lists.budget.open(server.id, kind);
    try {
      const { items: listed, warning } = await list(server, session, kind, bytes.take);
      const isChanged =
        kind === 'tool' ? await storeTools(deps, server, listed) : await storeItems(server, kind, listed);
      if (registry.find(server.id) !== undefined) bytes.keep();
      return { isChanged, warning };
    } finally {
      bytes.release();
    }
  }

  async function list(
    server: Server,
    session: Session,
    kind: Kind,
    take: (definition: unknown) => void,
  ): Promise<{ items: Listing['items']; warning?: string }> {
    const signal = AbortSignal.any([closed.signal, AbortSignal.timeout(config.requestTimeoutMs)]);
    const most = kind === 'tool' ? config.maxToolsPerServer : maxItems[kind];
    const mask = (text: string) => registry.mask(server.id, text);
    const { items, skipped, ttlMs, cacheScope } = await listAll(session, kind, signal, { most, take, mask });
    if (skipped > 0) log.warn({ server: server.name, kind, skipped }, 'ignored entries without a name');
    const hint = { expires: performance.now() + (ttlMs ?? 0), public: cacheScope === 'public' };
    hints.set(server.id, (hints.get(server.id) ?? new Map()).set(kind, hint));
    const kept = kind === 'tool' && session.era === 'modern' ? items.filter(isWellMarked) : items;
    if (kept.length < items.length) {
      log.warn(
        { server: server.name, dropped: items.length - kept.length },
        'ignored tools with invalid x-mcp-header annotations',
      );
    }
    if (kept.length <= most) return { items: kept };
    const warning = tooMany(kind, most);
    // Before its tools are counted: a client that waits for them reads both.
    registry.recordDiscovery(server.id, warning);
    return { items: kept.slice(0, most), warning };
  }

  async function storeItems(server: Server, kind: Exclude<Kind, 'tool'>, listed: Listing['items']): Promise<boolean> {
    if (!(await replaceServerItems(db, server.id, kind, listed))) return false;
    lists.setItems(server.id, kind, listed);
    return true;
  }

  return {
    refresh,
    running: (serverId) => refreshing.get(serverId)?.done,
    hint: (serverId, kind) => hints.get(serverId)?.get(kind),
    forget: (serverId) => void hints.delete(serverId),
    async close() {
      closed.abort();
      await Promise.allSettled([...refreshing.values()].map(({ done }) => done));
    },
  };
}

interface DiscoveredKind {
  isChanged: boolean;
  /** For the server's row: not all of it is offered. */
  warning?: string;
}

function tooMany(kind: Kind, most: number): string {
  const what = kinds[kind].member;
  const setting = kind === 'tool' ? ' (MCP_AGGREGATOR_MAX_TOOLS_PER_SERVER)' : '';
  return `the server lists more than ${most} ${what}; the first ${most} are offered${setting}`;
}

/** 2026-07-28: a tool whose `x-mcp-header` marks are invalid must not be offered; the others stay. */
function isWellMarked({ definition: { inputSchema } }: Listing['items'][number]): boolean {
  return !isObject(inputSchema) || markedParameters(inputSchema) !== undefined;
}

async function storeTools(
  { db, config, log, lists, registry, changes, changeReview }: DiscoveryDependencies,
  server: Server,
  listed: Listing['items'],
): Promise<boolean> {
  if (listed.length === 0) log.warn({ server: server.name }, 'the server lists no tools');
  const slice = createTimeSlice();
  const offered: DiscoveredTool[] = [];
  for (const { key, definition } of listed) {
    await slice.giveWay();
    offered.push(toDiscovered(server.name, key, definition));
  }
  const found = await changeReview.settle(server, lists.tools(server.id) ?? [], offered);
  const limits = { maxPerServer: config.maxToolsPerServer, maxTotal: config.maxTools };
  const toolChanges = await replaceServerTools(db, server.id, found, limits);
  if (registry.find(server.id) === undefined) return false; // removed meanwhile
  const rows = [...toolChanges.added, ...toolChanges.changed.map(({ after }) => after), ...toolChanges.unchanged];
  lists.setTools(server.id, rows);
  registry.recordToolCount(server.id, rows.length);
  registry.recordStateful(
    server.id,
    findStatefulTool(rows.map(({ original_name: name, description }) => ({ name, description }))),
  );
  await changeReview.record(server, toolChanges);
  for (const { before, after } of toolChanges.changed) {
    registry.record(server.id, 'TOOL_CHANGED', {
      tool: after.name,
      changes: differences(before.definition, after.definition),
    });
  }
  const summary = namesOf(toolChanges);
  // Before anything is published: a subscriber that learns of a tool may call it at once.
  lists.rebuild();
  changes.publish('server.discovered', { server_id: server.id, name: server.name, tools: rows.length, ...summary });
  if (!hasChanges(toolChanges)) return false;
  registry.record(server.id, 'DISCOVERED', { tools: rows.length, ...shortened(summary) });
  const { tool_overrides } = registry.find(server.id) ?? server;
  changes.publish('tools.discovered', { server, toolChanges: offeredChanges(toolChanges, tool_overrides) });
  return true;
}
