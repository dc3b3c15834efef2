/** What an admin does with servers: the registry's record and the live connection, changed together. */
import type { Changes } from '../changes.ts';
import { AppError } from '../errors.ts';
import type { ConnectionOrigin } from '../registry/connection-patch.ts';
import type { RegistrationOrigin, Registry, Server } from '../registry/registry.ts';
import type { Registration, ServerPatch } from '../registry/server.ts';
import type { Link } from './link.ts';
import type { Pool } from './pool.ts';

export interface Fleet {
  register(input: Registration, how?: RegistrationOrigin): Promise<Server>;
  update(id: string, patch: ServerPatch, from?: ConnectionOrigin): Promise<Server>;
  remove(id: string): Promise<void>;
  connect(id: string): Promise<{ status: Server['status']; message: string }>;
  disconnect(
    id: string,
    options: { force: boolean },
  ): Promise<{ status: Server['status']; pending: number; message: string }>;
  /** A new session, after the server's credentials changed. */
  reconnect(server: Server): Promise<void>;
  /** At our start: everything that should be connected begins to connect. */
  start(): void;
  /** No server is being connected. */
  isSettled(): boolean;
}

interface FleetDependencies {
  registry: Registry;
  pool: Pool;
  changes: Changes;
  enabled: boolean;
  /** Why it is disabled, unless an admin disabled it. */
  safeMode?: string;
}

export function createFleet({ registry, pool, changes, enabled, safeMode }: FleetDependencies): Fleet {
  /** Calls are still being answered, and meanwhile the server is wanted again. */
  async function connectAfterwards(link: Link): Promise<void> {
    await link.disconnect({ force: false }).done;
    const { id, desired } = link.server;
    if (desired === 'connected' && enabled && pool.link(id) === link) link.connect();
  }

  /** Applies what another replica changed, of one server or of all. */
  async function follow(id?: string): Promise<void> {
    // At the same time: a server whose process ends slowly delays no other.
    await Promise.all(
      (await registry.takeChanges(id)).map(async ({ server, kind, reconnect }) => {
        if (kind === 'removed') await pool.drop(server.id);
        else if (reconnect) await pool.replace(server);
      }),
    );
    for (const server of id === undefined ? registry.list() : registry.list().filter((known) => known.id === id)) {
      const link = pool.open(server);
      const { status } = server.lifecycle;
      if (server.desired === 'connected' && status === 'DISCONNECTING') void connectAfterwards(link);
      else if (server.desired === 'connected' && enabled) link.start();
      else if (server.desired === 'disconnected' && status !== 'DISCONNECTED') link.disconnect({ force: false });
    }
  }

  changes.follow('server.stored', ({ server_id }) => follow(server_id));
  changes.follow('store.replaced', () => follow());

  return {
    async register(input, how) {
      const server = await registry.register(input, how);
      const link = pool.open(server);
      if (link.server.desired === 'connected' && enabled) link.connect();
      return link.server;
    },

    async update(id, patch, from) {
      const { server, reconnect } = await registry.update(id, patch, from);
      if (!reconnect) return server;
      const link = await pool.replace(server);
      if (link.server.desired === 'connected' && enabled) link.connect();
      return link.server;
    },

    // BR-008: disconnect first, then everything that belongs to it goes with the record.
    async remove(id) {
      const server = registry.get(id);
      await pool.open(server).disconnect({ force: true, isRemoval: true }).done;
      await registry.remove(id);
      await pool.drop(id);
    },

    async connect(id) {
      const server = registry.get(id);
      if (!enabled) {
        const reason = safeMode ?? 'MCP_AGGREGATOR_ENABLED=false';
        throw new AppError('SERVER_STATE_CONFLICT', `Connecting is disabled by ${reason}`);
      }
      if (server.lifecycle.status === 'DISCONNECTING') {
        throw new AppError(
          'SERVER_STATE_CONFLICT',
          `Server is disconnecting: ${server.name}; try again when it has finished`,
        );
      }
      const link = pool.open(server);
      await registry.setDesired(id, 'connected');
      if (link.shared !== undefined)
        return { status: link.server.lifecycle.status, message: 'Server already connected' };
      link.connect();
      return { status: link.server.lifecycle.status, message: 'Connection initiated' };
    },

    async disconnect(id, options) {
      const link = pool.open(registry.get(id));
      await registry.setDesired(id, 'disconnected');
      if (link.server.lifecycle.status === 'DISCONNECTED') {
        return { status: 'DISCONNECTED', pending: 0, message: 'Server already disconnected' };
      }
      const { pending, done } = link.disconnect(options);
      if (pending > 0) {
        const requests = pending === 1 ? 'request' : 'requests';
        return { status: 'DISCONNECTING', pending, message: `Waiting for ${pending} pending ${requests} to complete` };
      }
      await done;
      return { status: link.server.lifecycle.status, pending: 0, message: 'Server disconnected successfully' };
    },

    async reconnect(server) {
      const link = await pool.replace(server);
      if (link.server.desired === 'connected') link.connect();
    },

    start() {
      for (const server of registry.list()) {
        const link = pool.open(server);
        if (server.desired === 'connected' && enabled) link.start();
      }
    },

    isSettled: () => registry.list().every(({ lifecycle }) => lifecycle.status !== 'CONNECTING'),
  };
}
