/**
 * All known tools, prompts, resources and templates as one immutable snapshot. It comes from the store at start, so
 * that lists answer at once while servers connect behind it, and is replaced whenever a discovery changed something.
 */
import { isDeepStrictEqual } from 'node:util';
import { describe } from '../errors.ts';
import type { Server } from '../registry/registry.ts';
import { findItemsOfServer } from '../store/server-items.ts';
import { findServerTools } from '../store/tools.ts';
import { allKinds } from '../upstream/link.ts';
import { mergeHints } from './cache-hints.ts';
import { type ChangeReview, createChangeReview } from './change-review.ts';
import type { Kind } from './discover.ts';
import { createDiscovery, type DiscoveryResources } from './discovery.ts';
import { interpretNotifications } from './notifications.ts';
import { offeredChanges } from './offered-tool.ts';
import { createOwnLists, type OwnLists } from './own-lists.ts';
import { createRefreshSchedule } from './refresh-schedule.ts';
import { createServerLists } from './server-lists.ts';
import type { Snapshot } from './snapshot.ts';
import { compareTools, hasChanges, namesOf } from './tool-diff.ts';

export type { CatalogItem, CatalogTool, Snapshot } from './snapshot.ts';

export interface Catalog {
  readonly snapshot: Snapshot;
  /** As one client sees it, whose own sessions may offer other lists. */
  snapshotFor: OwnLists['snapshotFor'];
  readonly lastSync: string | null;
  /** Tools that changed after they were first seen. */
  readonly changes: ChangeReview;
  /** Its server is connected, or was so recently that lists should not flicker. */
  isListed(server: Server): boolean;
  /** Discovers everything of a connected server; one discovery per server at a time. */
  refresh(serverId: string, which?: readonly Kind[]): Promise<void>;
  /** The same in the background: a failure goes into the server's history. */
  refreshInBackground(serverId: string, which?: readonly Kind[]): void;
  /** How long a client may keep a list, as the spec merges it over servers. */
  cacheHints(servers: Iterable<Server>, kind: Kind): { ttlMs: number; cacheScope: 'public' | 'private' };
  close(): Promise<void>;
}

interface CatalogDependencies extends DiscoveryResources {
  /** False where another replica discovers this server for all of us. */
  isOurs?: (serverId: string) => boolean;
}

export async function createCatalog(deps: CatalogDependencies): Promise<Catalog> {
  const { db, registry, pool, changes, log, config, isOurs = () => true } = deps;
  const changeReview = await createChangeReview({ db, registry, policy: config.toolChanges, changes });
  const lists = await createServerLists(deps);
  const discovery = createDiscovery({ ...deps, lists, changeReview, onComplete: markSynced });
  const ownLists = createOwnLists({ ...deps, lists });
  const schedule = createRefreshSchedule(refreshInBackground);
  const postponed = new Set<string>();
  let lastSync: string | null = null;
  let isClosed = false;

  function markSynced(): void {
    lastSync = new Date().toISOString();
  }

  function refreshInBackground(serverId: string, which?: readonly Kind[]): void {
    // ST-002: a server that fails its health checks is discovered when it is healthy again.
    if (registry.find(serverId)?.lifecycle.status === 'DEGRADED') return void postponed.add(serverId);
    postponed.delete(serverId);
    if (!isOurs(serverId)) {
      return changes.publish('discovery.requested', { server_id: serverId, kinds: which && [...which] });
    }
    const refreshing = discovery.refresh(serverId, which).catch((error: unknown) => {
      const server = registry.find(serverId);
      if (isClosed || server === undefined) return;
      const text = describe(error);
      const problem = pool.link(serverId)?.mask(text) ?? text;
      log.warn({ server: server.name, error: problem }, 'discovery failed');
      registry.record(serverId, 'DISCOVERY_FAILED', { error: problem });
      registry.recordDiscovery(serverId, `discovery failed: ${problem}`);
    });
    void refreshing.then(() => changes.publish('discovery.finished', { server_id: serverId }));
  }

  const isKnownElsewhere = (serverId: string) =>
    registry.find(serverId)?.elsewhere.some(({ status }) => status === 'CONNECTED') === true;

  /** Reads the lists of a server again, after another replica stored them. */
  async function reload(serverId: string): Promise<void> {
    // Our own discovery knows better than what was stored before it.
    for (let running = discovery.running(serverId); running !== undefined; running = discovery.running(serverId))
      await Promise.allSettled([running]);
    const tools = lists.tools(serverId);
    const before = lists.items(serverId);
    const [rows, stored] = await Promise.all([findServerTools(db, serverId), findItemsOfServer(db, serverId)]);
    await changeReview.reload(serverId);
    const server = registry.find(serverId);
    if (server === undefined || discovery.running(serverId) !== undefined) return;
    // What was read while something changed here may be older than that.
    if (lists.tools(serverId) !== tools || lists.items(serverId) !== before) return await reload(serverId);
    const toolChanges = compareTools(tools ?? [], rows);
    registry.recordToolCount(serverId, rows.length);
    lists.setStored(serverId, rows, stored);
    const after = lists.items(serverId);
    const changed = {
      tools: hasChanges(toolChanges),
      prompts: !isDeepStrictEqual(before.prompt, after.prompt),
      resources: !isDeepStrictEqual(
        [before.resource, before.resource_template, before.skill],
        [after.resource, after.resource_template, after.skill],
      ),
    };
    changes.publish('tools.reloaded', { server, toolChanges: offeredChanges(toolChanges, server.tool_overrides) });
    if (changed.tools) {
      markSynced();
      const summary = namesOf(toolChanges);
      changes.publish('server.discovered', { server_id: serverId, name: server.name, tools: rows.length, ...summary });
    }
    if (changed.tools || changed.prompts || changed.resources)
      changes.publish('catalog.changed', { ...changed, server_id: serverId });
  }

  /** An admin renamed the server or decided about its tools. */
  function applyServer(serverId: string): void {
    const toolChanges = lists.applyServer(serverId);
    const server = registry.find(serverId);
    if (toolChanges === undefined || server === undefined) return;
    changes.publish('tools.reloaded', { server, toolChanges });
    changes.publish('catalog.changed', { ...allKinds, server_id: serverId });
  }

  const offs = [
    interpretNotifications(changes),
    changes.subscribe('tools.classified', ({ tools }) => lists.setClassified(tools)),
    changes.subscribe('lease.gained', ({ server_id }) => {
      if (registry.find(server_id)?.session === 'open') refreshInBackground(server_id);
    }),
    // The replica that leads has read the lists.
    changes.subscribe('server.updated', ({ server_id }) => {
      if (!isOurs(server_id) && isKnownElsewhere(server_id)) changes.publish('discovery.finished', { server_id });
    }),
    changes.subscribe('server.opened', ({ server_id }) => {
      // Where several replicas connect, the one that gets to lead discovers.
      if (isOurs(server_id)) refreshInBackground(server_id);
      else if (isKnownElsewhere(server_id)) changes.publish('discovery.finished', { server_id });
    }),
    changes.follow('tools.stored', async ({ server_id }) => {
      await reload(server_id);
      if (!isOurs(server_id)) changes.publish('discovery.finished', { server_id });
    }),
    changes.follow('discovery.requested', ({ server_id, kinds }) => {
      if (isOurs(server_id)) refreshInBackground(server_id, kinds as Kind[] | undefined);
    }),
    // A server that is new to us; the fleet, which follows first, has registered it.
    changes.follow('server.stored', async ({ server_id }) => {
      if (lists.tools(server_id) === undefined) await reload(server_id);
    }),
    changes.follow('store.replaced', async () => {
      for (const { id } of registry.list()) await reload(id);
    }),
    changes.subscribe('server.status', ({ server_id: id, status, previous }) => {
      if (status === 'CONNECTED' && postponed.has(id) && isOurs(id)) refreshInBackground(id);
      const listedNow = status === 'CONNECTED' || status === 'DEGRADED';
      const listedBefore = previous === 'CONNECTED' || previous === 'DEGRADED';
      if (listedNow !== listedBefore) changes.publish('catalog.changed', { ...allKinds, server_id: id });
    }),
    changes.subscribe('server.registered', () => lists.rebuild()),
    changes.subscribe('server.updated', ({ server_id }) => applyServer(server_id)),
    changes.subscribe('server.removed', ({ server_id: id }) => {
      schedule.forget(id);
      postponed.delete(id);
      discovery.forget(id);
      changeReview.forget(id);
      lists.delete(id);
      changes.publish('catalog.changed', { ...allKinds, server_id: id });
    }),
    changes.subscribe('server.lists_changed', ({ server_id: id, kinds }) => schedule.add(id, kinds as Kind[])),
  ];

  return {
    get snapshot() {
      return lists.snapshot;
    },
    get lastSync() {
      return lastSync;
    },
    snapshotFor: ownLists.snapshotFor,
    changes: changeReview,
    isListed: (server) => pool.open(server).listed,
    cacheHints(servers, kind) {
      const hints = Array.from(servers, ({ id }) => discovery.hint(id, kind));
      return mergeHints(hints, performance.now());
    },
    refresh: discovery.refresh,
    refreshInBackground,
    async close() {
      isClosed = true;
      for (const off of offs) off();
      schedule.close();
      ownLists.close();
      await discovery.close();
    },
  };
}
