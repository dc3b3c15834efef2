/** One link per registered server. */
import type { JsonObject } from '../json-rpc.ts';
import type { Server } from '../registry/registry.ts';
import { createLink, type Link, type LinkDependencies } from './link.ts';
import { createMessageBudget } from './message-budget.ts';

export interface Pool {
  links(): Link[];
  link(serverId: string): Link | undefined;
  /** The server's link, made on first use. */
  open(server: Server): Link;
  /** A changed server gets a new link; the old one ends with everything it holds but what clients follow. */
  replace(server: Server): Promise<Link>;
  drop(serverId: string): Promise<void>;
  release(ownerKey: string): Promise<void>;
  notify(ownerKey: string, method: string, params: JsonObject): void;
  close(): Promise<void>;
}

/** How often idle servers are looked for. */
const minSweepMs = 100;
const maxSweepMs = 15_000;

export function createPool(given: Omit<LinkDependencies, 'onNotification' | 'messageBudget'>): Pool {
  const { changes, registry, config } = given;
  const links = new Map<string, Link>();
  const deps: LinkDependencies = {
    ...given,
    messageBudget: createMessageBudget(config),
    onNotification: ({ id: server_id, name }, method, params, of) =>
      changes.publish('server.notified', {
        ...{ server_id, name, method, params },
        principal_id: of?.principal,
        owner_key: of?.owner,
      }),
  };

  const sweep = setInterval(
    () => {
      const now = performance.now();
      for (const link of links.values()) link.parkIfIdle(now);
    },
    Math.min(Math.max(config.idleTimeoutMs / 4, minSweepMs), maxSweepMs),
  ).unref();

  const offs = [
    changes.subscribe('discovery.finished', ({ server_id }) => links.get(server_id)?.handleDiscoveryFinished()),
    changes.subscribe('principal.ended', ({ principal_id }) => {
      for (const link of links.values()) link.handlePrincipalEnded(principal_id);
    }),
    changes.subscribe('user_keys.changed', ({ server_id, user }) => links.get(server_id)?.handleKeysChanged(user)),
    changes.subscribe('server.logged_in', ({ server_id }) => {
      const server = registry.find(server_id);
      if (server !== undefined) open(server).loggedIn();
    }),
  ];

  const open = (server: Server) => links.get(server.id) ?? add(server);

  function add(server: Server, before?: Link): Link {
    const link = createLink(server, deps, before?.following);
    links.set(server.id, link);
    return link;
  }

  async function drop(serverId: string): Promise<void> {
    const link = links.get(serverId);
    links.delete(serverId);
    await link?.close();
  }

  async function release(ownerKey: string): Promise<void> {
    await Promise.all([...links.values()].map((link) => link.release(ownerKey)));
  }

  return {
    links: () => [...links.values()],
    link: (serverId) => links.get(serverId),
    open,
    drop,
    async replace(server) {
      const before = links.get(server.id);
      await before?.disconnect({ force: true }).done;
      await drop(server.id);
      return links.get(server.id) ?? add(server, before);
    },
    release,
    notify(ownerKey, method, params) {
      for (const link of links.values()) link.notify(ownerKey, method, params);
    },
    async close() {
      clearInterval(sweep);
      for (const off of offs) off();
      await Promise.all([...links.values()].map((link) => link.close()));
      links.clear();
      deps.orphanReaper.close();
    },
  };
}
