/**
 * All known tools, prompts, resources and templates as one immutable snapshot. It comes from the store at start, so
 * that lists answer at once while servers connect behind it, and is replaced whenever a discovery changed something.
 */
import type { Server } from '../registry/registry.ts';
import { allKinds } from '../upstream/link.ts';
import { createBackgroundRefresh } from './background-refresh.ts';
import { mergeHints } from './cache-hints.ts';
import { type ChangeReview, createChangeReview } from './change-review.ts';
import type { Kind } from './discover.ts';
import { createDiscovery, type DiscoveryResources } from './discovery.ts';
import { interpretNotifications } from './notifications.ts';
import { createOwnLists, type OwnLists } from './own-lists.ts';
import { createRefreshSchedule } from './refresh-schedule.ts';
import { createServerLists } from './server-lists.ts';
import type { Snapshot } from './snapshot.ts';
import { createStoredLists } from './stored-lists.ts';

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
  const { db, registry, pool, changes, config, isOurs = () => true } = deps;
  const changeReview = await createChangeReview({ db, registry, policy: config.toolChanges, changes });
  const lists = await createServerLists(deps);
  const discovery = createDiscovery({ ...deps, lists, changeReview, onComplete: markSynced });
  const ownLists = createOwnLists({ ...deps, lists });
  const background = createBackgroundRefresh({ ...deps, discovery, isOurs });
  const refreshInBackground = background.refresh;
  const schedule = createRefreshSchedule(refreshInBackground);
  const reload = createStoredLists({ ...deps, lists, discovery, changeReview, onToolsChanged: markSynced });
  let lastSync: string | null = null;

  function markSynced(): void {
    lastSync = new Date().toISOString();
  }

  const isKnownElsewhere = (serverId: string) =>
    registry.find(serverId)?.elsewhere.some(({ status }) => status === 'CONNECTED') === true;

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
      if (status === 'CONNECTED') background.resume(id);
      const listedNow = status === 'CONNECTED' || status === 'DEGRADED';
      const listedBefore = previous === 'CONNECTED' || previous === 'DEGRADED';
      if (listedNow !== listedBefore) changes.publish('catalog.changed', { ...allKinds, server_id: id });
    }),
    changes.subscribe('server.registered', () => lists.rebuild()),
    changes.subscribe('server.updated', ({ server_id }) => applyServer(server_id)),
    changes.subscribe('server.removed', ({ server_id: id }) => {
      schedule.forget(id);
      background.forget(id);
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
      background.close();
      for (const off of offs) off();
      schedule.close();
      ownLists.close();
      await discovery.close();
    },
  };
}
