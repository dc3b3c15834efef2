/** What this process does when another one changed something, and what it shows the others of itself. */
import { networkInterfaces } from 'node:os';
import type { Catalog } from '../catalog/catalog.ts';
import type { Kind } from '../catalog/discover.ts';
import type { Profiles } from '../catalog/profiles.ts';
import type { Changes } from '../changes.ts';
import type { HealthMonitor } from '../health/monitor.ts';
import type { Registry, ReplicaView } from '../registry/registry.ts';
import type { ToolSearch } from '../search/tool-search.ts';
import type { Authenticator } from '../security/auth.ts';
import type { PageSessions } from '../security/page-session.ts';
import type { SkillStore } from '../skills/skill-store.ts';
import type { Fleet } from '../upstream/fleet.ts';
import type { Change } from './change.ts';
import type { Part, Replicas } from './replicas.ts';

export interface Rooms {
  replicas: Replicas;
  changes: Changes;
  registry: Registry;
  fleet: Fleet;
  catalog: Catalog;
  toolSearch: ToolSearch;
  monitor: HealthMonitor;
  authenticator: Authenticator;
  sessions: PageSessions;
  profiles: Profiles;
  skillStore: SkillStore;
  ruleStore: { reload(): Promise<void> };
}

/** Begins, reachable for the others at `address`; the function that ends it. */
export async function takePart(rooms: Rooms, address: string): Promise<() => Promise<void>> {
  const { replicas, registry, catalog, toolSearch, changes } = rooms;

  const part: Part = {
    statuses: () =>
      registry.list().map(({ id, lifecycle, error_message }) => ({
        server_id: id,
        status: lifecycle.status,
        error: error_message,
      })),
    onChange: (change) => follow(rooms, change),
    onOthers(others) {
      const views = new Map<string, ReplicaView[]>();
      for (const { id, statuses } of others) {
        for (const { server_id, status, error } of statuses) {
          views.set(server_id, [...(views.get(server_id) ?? []), { id, status, error }]);
        }
      }
      registry.recordOtherReplicas(views);
    },
    onLead(serverId) {
      catalog.refreshInBackground(serverId);
      toolSearch.takeOver(serverId);
    },
  };
  await replicas.start(address, part);
  const off = changes.subscribe('server.status', () => replicas.report());
  return async () => {
    off();
    await replicas.resign();
  };
}

async function follow(rooms: Rooms, change: Change): Promise<void> {
  const { replicas, catalog, toolSearch, monitor } = rooms;
  switch (change.kind) {
    case 'server':
      for (const { id } of await rooms.fleet.follow(change.id)) await catalog.reload(id);
      return;
    case 'tools':
      return await catalog.reload(change.id);
    case 'discover':
      if (replicas.leads(change.id)) catalog.refreshInBackground(change.id, change.kinds as Kind[] | undefined);
      return;
    case 'health':
      return monitor.hear(change.id, change.outcome);
    case 'statuses':
      return replicas.report();
    case 'tokens':
      return await rooms.authenticator.reload();
    case 'sessions':
      return await rooms.sessions.reload();
    case 'profiles':
      return await rooms.profiles.reload();
    case 'rules':
      return await rooms.ruleStore.reload();
    case 'skills':
      if (await rooms.skillStore.reload()) toolSearch.relearn();
      return;
    case 'everything':
      return await followEverything(rooms);
  }
}

export async function followEverything(rooms: Rooms): Promise<void> {
  await rooms.fleet.follow();
  await rooms.authenticator.reload();
  await rooms.sessions.reload();
  await rooms.profiles.reload();
  await rooms.ruleStore.reload();
  if (await rooms.skillStore.reload()) rooms.toolSearch.relearn();
  for (const { id } of rooms.registry.list()) await rooms.catalog.reload(id);
}

/** A listener on all addresses is reached at one of them. */
export function advertisedAddress(host: string, port: number): string {
  const anywhere = host === '0.0.0.0' || host === '::';
  const outward = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ internal, family }) => !internal && family === 'IPv4');
  const name = anywhere ? (outward?.address ?? '127.0.0.1') : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}
