/** Every registered server, in memory and in the store. The only place where a server's record changes. */
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Changes } from '../changes.ts';
import type { Config } from '../config/config.ts';
import { AppError } from '../errors.ts';
import type { JsonObject } from '../json-rpc.ts';
import type { Logger } from '../log.ts';
import { maskConfig } from '../security/connection-secrets.ts';
import type { Vault } from '../security/credentials.ts';
import { createMask } from '../security/mask.ts';
import { createSecrets, type Secrets } from '../security/secrets.ts';
import type { Database } from '../store/database.ts';
import type { ServerRow } from '../store/schema.ts';
import { deleteServer, insertServer, updateServer } from '../store/servers.ts';
import { patchedConnection, requireAllowed } from './connection-patch.ts';
import { type Lifecycle, type LifecycleEvent, transition } from './lifecycle.ts';
import { resolveVariables } from './resolve-connection.ts';
import type { Connection, Registration, ServerPatch } from './server.ts';
import {
  needsOtherSession,
  overallStatus,
  type ReplicaView,
  type Server,
  statusPatch,
  toRowPatch,
  toServer,
  withRowPatch,
} from './server-record.ts';
import { createServerTable, type ServerTable } from './server-table.ts';
import { createStoredChanges, type TakenChange } from './stored-changes.ts';

export { overallStatus, type ReplicaView, type Server } from './server-record.ts';

interface ResolvedConnection {
  connection: Connection;
  /** Hides the connection's secrets in any text. */
  mask: (text: string) => string;
}

export interface Registry {
  /** Another number after every change of any server: what was made of their values is then out of date. */
  readonly version: number;
  list(): Server[];
  get(id: string): Server;
  find(id: string): Server | undefined;
  findByName(name: string): Server | undefined;
  register(input: Registration, origin?: ServerRow['origin']): Promise<Server>;
  update(id: string, patch: ServerPatch): Promise<{ server: Server; reconnect: boolean }>;
  remove(id: string): Promise<void>;
  setDesired(id: string, desired: Server['desired']): Promise<void>;
  /** The state machine's only entry; undefined when the event is illegal in the server's state. */
  apply(id: string, event: LifecycleEvent, note?: TransitionNote): Lifecycle | undefined;
  resolveConnection(id: string): ResolvedConnection;
  openConnection(id: string): Connection;
  maskedConfig(id: string): unknown;
  /** A text that comes from this server, with nothing secret in it. */
  mask(id: string, text: string): string;
  recordIdentity(id: string, identity: Identity): void;
  recordVerdict(id: string, verdict: { era: 'modern' | 'legacy'; checkedAt: string }): void;
  recordInteractive(id: string): void;
  recordLogin(id: string, login: Server['login']): void;
  recordHealth(id: string, at: string): void;
  recordToolCount(id: string, count: number): void;
  /** What is wrong with the lists of a connected server, or null when nothing is. */
  recordDiscovery(id: string, problem: string | null): void;
  record(id: string, eventType: string, details: JsonObject): void;
  /** Reads one server, or all, again, after another replica changed them. */
  takeChanges(id?: string): Promise<TakenChange[]>;
  recordOtherReplicas(views: ReadonlyMap<string, readonly ReplicaView[]>): void;
  /** Everything noted so far is stored. */
  settled(): Promise<void>;
}

interface Identity {
  era: 'modern' | 'legacy';
  protocolVersion: string;
  capabilities: JsonObject;
  serverInfo: JsonObject;
  instructions?: string;
}

interface TransitionNote {
  error?: string;
  stderr?: readonly string[];
  details?: JsonObject;
}

interface RegistryDependencies {
  db: Database;
  vault: Vault;
  changes: Changes;
  log: Logger;
  config: Config;
  secrets?: Secrets;
}

export async function createRegistry(deps: RegistryDependencies): Promise<Registry> {
  const { db, vault, changes, config, log, secrets = createSecrets() } = deps;
  const table = await createServerTable({ db, log, secrets });
  const stored = createStoredChanges({ db, table, vault, changes, log, drop });
  const { get, find, record, settled } = table;

  function openConnection(id: string): Connection {
    const { transport_type, sealed } = get(id);
    return { transport_type, connection_config: vault.open(sealed, id) } as Connection;
  }

  function drop({ id, name }: Server): boolean {
    if (!table.delete(id)) return false;
    secrets.forget(id);
    changes.publish('server.removed', { server_id: id, name });
    return true;
  }

  async function register(input: Registration, origin: ServerRow['origin'] = 'api'): Promise<Server> {
    requireAllowed(input.transport_type, config);
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
        origin,
      },
      { maxServers: config.maxServers },
    );
    const server = find(id) ?? table.put(toServer(row));
    changes.publish('server.stored', { server_id: id });
    record(id, 'REGISTERED', { transport_type: row.transport_type, origin });
    changes.publish('server.registered', { server_id: id, name: row.name });
    return server;
  }

  async function update(id: string, patch: ServerPatch): Promise<{ server: Server; reconnect: boolean }> {
    const connection = patchedConnection(openConnection(id), patch);
    if (connection !== undefined) requireAllowed(connection.transport_type, config);
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

  function resolveConnection(id: string): ResolvedConnection {
    const { connection, secrets: values } = resolveVariables(openConnection(id), config.environment);
    secrets.learn(id, values);
    const maskOwn = createMask(values);
    return { connection, mask: (text) => secrets.mask(maskOwn(text), id) };
  }

  return {
    get version() {
      return table.version;
    },
    list: () => table.all().sort((a, b) => (a.name < b.name ? -1 : 1)),
    get,
    find,
    findByName: (name) => table.all().find((server) => server.name === name),
    register,
    update,
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
    resolveConnection,
    openConnection,
    maskedConfig: (id) => maskConfig(openConnection(id).connection_config),
    mask: (id, text) => secrets.mask(text, id),
    record,
    takeChanges: stored.take,
    settled,
    ...createObservations({ table, changes, log, secrets }),
  };
}

type Observation =
  | 'apply'
  | 'recordIdentity'
  | 'recordVerdict'
  | 'recordInteractive'
  | 'recordLogin'
  | 'recordHealth'
  | 'recordToolCount'
  | 'recordDiscovery'
  | 'recordOtherReplicas';

/** What this replica finds out about servers while it talks with them. */
function createObservations(deps: {
  table: ServerTable;
  changes: Changes;
  log: Logger;
  secrets: Secrets;
}): Pick<Registry, Observation> {
  const { table, changes, log, secrets } = deps;

  const publishUpdated = ({ id, name }: Server) => changes.publish('server.updated', { server_id: id, name });

  function apply(id: string, event: LifecycleEvent, note: TransitionNote = {}): Lifecycle | undefined {
    const server = table.find(id);
    if (server === undefined) return undefined;
    const { name, lifecycle: previous } = server;
    const next = transition(previous, event);
    if (next === undefined) {
      log.debug({ server: name, status: previous.status, event }, 'event is illegal in this state');
      return undefined;
    }
    const moved = table.put({ ...server, lifecycle: next });
    if (next.status === previous.status) return next;

    const { error, stderr, details } = note;
    const masked = error === undefined ? undefined : secrets.mask(error, id);
    const at = new Date().toISOString();
    const { error_message } = table.change(moved, statusPatch(next.status, event, { error: masked, stderr, at }));
    table.record(id, next.status, {
      from: previous.status,
      event,
      ...details,
      ...(error === undefined ? {} : { error }),
      ...(stderr === undefined || stderr.length === 0 ? {} : { stderr: stderr.slice(-10) }),
    });
    const level = next.status === 'ERROR' || next.status === 'DEGRADED' ? 'warn' : 'info';
    log[level]({ server: name, from: previous.status, status: next.status, error }, 'server status');
    changes.publish('server.status', {
      server_id: id,
      name,
      status: next.status,
      previous: previous.status,
      error_message,
    });
    return next;
  }

  return {
    apply,
    recordIdentity(id, identity) {
      table.change(table.get(id), {
        protocol_version: identity.protocolVersion,
        server_info: secrets.maskJson(identity.serverInfo, id),
        capabilities: identity.capabilities,
        instructions: identity.instructions === undefined ? null : secrets.mask(identity.instructions, id),
      });
    },
    recordVerdict(id, verdict) {
      const server = table.find(id);
      if (server === undefined || (server.era === verdict.era && server.era_checked_at !== null)) return;
      table.change(server, { era: verdict.era, era_checked_at: verdict.checkedAt });
    },
    recordInteractive(id) {
      const server = table.find(id);
      if (server === undefined || server.interactive) return;
      table.change(server, { interactive: true });
      const meaning = 'the server sends requests to its clients; each client now gets its own session';
      table.record(id, 'INTERACTIVE', { meaning });
    },
    recordLogin(id, login) {
      const server = table.find(id);
      if (server === undefined || server.login === login) return;
      table.put({ ...server, login });
      if (login !== null) table.record(id, 'LOGIN', { login });
      publishUpdated(server);
    },
    recordHealth(id, at) {
      const server = table.find(id);
      if (server !== undefined) table.change(server, { last_health_check: at });
    },
    recordToolCount(id, count) {
      const server = table.find(id);
      if (server !== undefined && server.tool_count !== count) table.put({ ...server, tool_count: count });
    },
    recordDiscovery(id, problem) {
      const server = table.find(id);
      if (server?.lifecycle.status !== 'CONNECTED' || server.error_message === problem) return;
      table.change(server, { error_message: problem });
      publishUpdated(server);
    },
    recordOtherReplicas(views) {
      for (const server of table.all()) {
        const elsewhere = views.get(server.id) ?? [];
        if (isDeepStrictEqual(elsewhere, server.elsewhere)) continue;
        const seen = table.put({ ...server, elsewhere });
        if (overallStatus(seen).status !== overallStatus(server).status) publishUpdated(seen);
      }
    },
  };
}
