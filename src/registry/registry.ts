/** Every registered server, in memory and in the store. A server's record changes here and in `observations` only. */
import { randomUUID } from 'node:crypto';
import type { Changes } from '../changes.ts';
import type { Config } from '../config/config.ts';
import { AppError } from '../errors.ts';
import type { JsonObject } from '../json-rpc.ts';
import type { Logger } from '../log.ts';
import type { Vault } from '../security/credentials.ts';
import { createSecrets, type Secrets } from '../security/secrets.ts';
import type { UserKeys } from '../security/user-keys.ts';
import type { Database } from '../store/database.ts';
import type { ServerRow } from '../store/schema.ts';
import { deleteServer, insertServer, updateServer, updateToolOverrides } from '../store/servers.ts';
import { type ConnectionOrigin, patchedConnection, requireAllowed } from './connection-patch.ts';
import { createConnections, type ServerConnections } from './connections.ts';
import { createObservations, type Observations } from './observations.ts';
import type { SecretSources } from './resolve-connection.ts';
import type { Connection, Registration, ServerPatch } from './server.ts';
import { needsOtherSession, type Server, toRowPatch, toServer, withRowPatch } from './server-record.ts';
import { createServerTable } from './server-table.ts';
import { createStoredChanges, type TakenChange } from './stored-changes.ts';
import { type ToolOverridePatch, type ToolOverrides, withOverride } from './tool-overrides.ts';

export { overallStatus, type ReplicaView, type Server } from './server-record.ts';

export interface Registry extends ServerConnections, Observations {
  /** Another number after every change of any server: what was made of their values is then out of date. */
  readonly version: number;
  list(): Server[];
  get(id: string): Server;
  find(id: string): Server | undefined;
  findByName(name: string): Server | undefined;
  register(input: Registration, how?: RegistrationOrigin): Promise<Server>;
  update(id: string, patch: ServerPatch, from?: ConnectionOrigin): Promise<{ server: Server; reconnect: boolean }>;
  /** The server with this connection, also if it was changed after its import. */
  findSame(connection: Connection): Server | undefined;
  /** Throws where it could not be registered. */
  requireAllowed(connection: Connection, from: ConnectionOrigin): void;
  /** `store` renames it, with everything that names it. */
  rename(id: string, store: () => Promise<ServerRow>): Promise<Server>;
  /** Decides about one tool, or about those that match a name with "*". */
  overrideTool(id: string, tool: string, patch: ToolOverridePatch): Promise<Server>;
  remove(id: string): Promise<void>;
  setDesired(id: string, desired: Server['desired']): Promise<void>;
  record(id: string, eventType: string, details: JsonObject): void;
  /** Reads one server, or all, again, after another replica changed them. */
  takeChanges(id?: string): Promise<TakenChange[]>;
  /** Everything noted so far is stored. */
  settled(): Promise<void>;
}

export interface RegistrationOrigin {
  origin?: ServerRow['origin'];
  from?: ConnectionOrigin;
}

interface RegistryDependencies {
  db: Database;
  vault: Vault;
  changes: Changes;
  log: Logger;
  config: Config;
  secrets?: Secrets;
  /** Without them, references to a keychain or a command lead nowhere. */
  secretSources?: SecretSources;
  /** Without it, connections cannot refer to keys of users. */
  userKeys?: Pick<UserKeys, 'open' | 'findAdmin'>;
}

const noSources: SecretSources = {
  keychain: async () => undefined,
  command: () => Promise.reject(new Error('commands are not available')),
};

export async function createRegistry(deps: RegistryDependencies): Promise<Registry> {
  const { db, vault, changes, config, log, secrets = createSecrets(), secretSources = noSources, userKeys } = deps;
  const { findUserKeys, findSame, markOf, forget, ...connections } = createConnections({
    get: (id) => table.get(id),
    config,
    vault,
    secrets,
    secretSources,
    userKeys,
  });
  const table = await createServerTable({ db, log, secrets, findUserKeys });
  const stored = createStoredChanges({ db, table, vault, changes, log, drop });
  const { get, find, record, settled } = table;

  function drop({ id, name }: Server): boolean {
    if (!table.delete(id)) return false;
    forget(id);
    changes.publish('server.removed', { server_id: id, name });
    return true;
  }

  async function register(
    input: Registration,
    { origin = 'api', from = 'network' }: RegistrationOrigin = {},
  ): Promise<Server> {
    requireAllowed(input, config, from);
    const id = randomUUID();
    const row = await insertServer(
      db,
      {
        id,
        name: input.name,
        description: input.description ?? null,
        transport_type: input.transport_type,
        connection_config: { sealed: vault.seal(input.connection_config, id) },
        health_check_url: input.health_check_url ?? null,
        auto_connect: input.auto_connect ?? true,
        desired: (input.auto_connect ?? true) ? 'connected' : 'disconnected',
        options: input.options ?? {},
        tool_overrides: input.tool_overrides ?? {},
        origin,
        imported_as: origin === 'import' ? markOf(input) : null,
      },
      { maxServers: config.maxServers },
    );
    const server = find(id) ?? table.put(toServer(row));
    changes.publish('server.stored', { server_id: id });
    record(id, 'REGISTERED', { transport_type: row.transport_type, origin });
    changes.publish('server.registered', { server_id: id, name: row.name });
    return server;
  }

  async function update(
    id: string,
    patch: ServerPatch,
    from: ConnectionOrigin = 'network',
  ): Promise<{ server: Server; reconnect: boolean }> {
    const connection = patchedConnection(connections.openConnection(id), patch, from);
    if (connection !== undefined) requireAllowed(connection, config, from);
    const sealed = connection && {
      transport_type: connection.transport_type,
      sealed: vault.seal(connection.connection_config, id),
    };
    const fields = toRowPatch(patch, sealed);
    const row = await stored.changing(id, () => updateServer(db, id, fields));
    if (row === undefined) throw new AppError('SERVER_NOT_FOUND', `Server not found: ${id}`);
    const before = get(id);
    const server = table.put(withRowPatch(before, fields, row.updated_at));
    record(id, 'UPDATED', { fields: Object.keys(patch) });
    changes.publish('server.updated', { server_id: id, name: server.name });
    return { server, reconnect: connection !== undefined || needsOtherSession(before.options, server.options) };
  }

  async function rename(id: string, store: () => Promise<ServerRow>): Promise<Server> {
    const { name: previous } = get(id);
    const { name, updated_at } = await stored.changing(id, store);
    const server = table.put({ ...get(id), name, updated_at });
    record(id, 'RENAMED', { from: previous, to: name });
    changes.publish('server.renamed', { server_id: id, name, previous });
    changes.publish('server.updated', { server_id: id, name });
    return server;
  }

  async function overrideTool(id: string, tool: string, patch: ToolOverridePatch): Promise<Server> {
    const row = await stored.changing(id, () =>
      updateToolOverrides(db, id, (overrides) => withOverride(overrides as ToolOverrides, tool, patch)),
    );
    if (row === undefined) throw new AppError('SERVER_NOT_FOUND', `Server not found: ${id}`);
    const server = table.put(withRowPatch(get(id), { tool_overrides: row.tool_overrides }, row.updated_at));
    record(id, 'TOOL_UPDATED', { tool, fields: Object.keys(patch) });
    changes.publish('server.updated', { server_id: id, name: server.name });
    return server;
  }

  return {
    get version() {
      return table.version;
    },
    list: () => table.all().sort((a, b) => (a.name < b.name ? -1 : 1)),
    get,
    find,
    findByName: (name) => table.all().find((server) => server.name === name),
    findSame: (connection) => findSame(table.all(), connection),
    requireAllowed: (connection, from) => requireAllowed(connection, config, from),
    register,
    update,
    rename,
    overrideTool,
    async remove(id) {
      const server = get(id);
      await settled();
      await stored.changing(id, () => deleteServer(db, id));
      drop(server);
    },
    async setDesired(id, desired) {
      // Stored even where it is no news here: another replica may have stored the opposite a moment ago.
      table.put({ ...get(id), desired });
      await stored.changing(id, () => updateServer(db, id, { desired }));
    },
    ...connections,
    record,
    takeChanges: stored.take,
    settled,
    ...createObservations({ table, changes, log, secrets }),
  };
}
