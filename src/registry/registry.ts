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
import type { UserKeys } from '../security/user-keys.ts';
import type { Database } from '../store/database.ts';
import type { ServerRow, SessionEvidence } from '../store/schema.ts';
import { deleteServer, insertServer, updateServer, updateToolOverrides } from '../store/servers.ts';
import { type ConnectionOrigin, patchedConnection, requireAllowed } from './connection-patch.ts';
import { type Lifecycle, type LifecycleEvent, transition } from './lifecycle.ts';
import { resolveReferences, type SecretSources } from './resolve-connection.ts';
import { type Connection, type Registration, type ServerPatch, userKeysIn } from './server.ts';
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
import { ownershipOf } from './session-ownership.ts';
import { createStoredChanges, type TakenChange } from './stored-changes.ts';
import { type ToolOverridePatch, type ToolOverrides, withOverride } from './tool-overrides.ts';
import { keyRequired, toKeyTarget } from './user-key-target.ts';

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
  /** The state machine's only entry; undefined when the event is illegal in the server's state. */
  apply(id: string, event: LifecycleEvent, note?: TransitionNote): Lifecycle | undefined;
  /** With the keys of the user, where the server asks each for some; without a user, with those of an admin. */
  resolveConnection(id: string, user?: string): Promise<ResolvedConnection>;
  openConnection(id: string): Connection;
  maskedConfig(id: string): unknown;
  /** A text that comes from this server, with nothing secret in it. */
  mask(id: string, text: string): string;
  recordIdentity(id: string, identity: Identity): void;
  recordVerdict(id: string, verdict: { era: 'modern' | 'legacy'; checkedAt: string }): void;
  /** The server sent its client a request. */
  recordAsked(id: string, method: string, how: { atStart: boolean }): void;
  /** What its tools say about the state they keep, or undefined. */
  recordStateful(id: string, reason: string | undefined): void;
  recordLogin(id: string, login: Server['login']): void;
  recordSession(id: string, session: Server['session']): void;
  recordHealth(id: string, at: string): void;
  recordToolCount(id: string, count: number): void;
  /** What is wrong with the lists of a connected server, or null when nothing is. */
  recordDiscovery(id: string, problem: string | null): void;
  /** All lists of the server were read. */
  recordDiscovered(id: string): void;
  record(id: string, eventType: string, details: JsonObject): void;
  /** Reads one server, or all, again, after another replica changed them. */
  takeChanges(id?: string): Promise<TakenChange[]>;
  recordOtherReplicas(views: ReadonlyMap<string, readonly ReplicaView[]>): void;
  /** Everything noted so far is stored. */
  settled(): Promise<void>;
}

export interface RegistrationOrigin {
  origin?: ServerRow['origin'];
  from?: ConnectionOrigin;
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
  const table = await createServerTable({ db, log, secrets, findUserKeys });
  const stored = createStoredChanges({ db, table, vault, changes, log, drop });
  const { get, find, record, settled } = table;
  const knownSecrets = new Map<string, readonly string[]>();
  const userSecrets = createUserSecrets();

  function open({ id, transport_type, sealed }: Server): Connection {
    return { transport_type, connection_config: vault.open(sealed, id) } as Connection;
  }

  function openConnection(id: string): Connection {
    return open(get(id));
  }

  function findUserKeys(server: Server): string[] {
    try {
      return userKeysIn(open(server).connection_config);
    } catch (error) {
      // Reported when it is connected.
      if (error instanceof AppError && error.code === 'CREDENTIAL_UNREADABLE') return [];
      throw error;
    }
  }

  function drop({ id, name }: Server): boolean {
    if (!table.delete(id)) return false;
    secrets.forget(id);
    knownSecrets.delete(id);
    userSecrets.forget(id);
    changes.publish('server.removed', { server_id: id, name });
    return true;
  }

  function findSame(connection: Connection): Server | undefined {
    const content = contentOf(connection);
    const isReadable = ({ sealed }: Server) => vault.canOpen(sealed);
    const isImported = ({ imported_as: mark }: Server) => mark !== null && vault.isMarked(content, mark);
    const servers = table.all();
    const isEqual = (server: Server) => isReadable(server) && contentOf(openConnection(server.id)) === content;
    return servers.find(isEqual) ?? servers.find(isImported);
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
        imported_as: origin === 'import' ? vault.mark(contentOf(input)) : null,
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
    const connection = patchedConnection(openConnection(id), patch, from);
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

  /** Of the user, or, for what all users share, of the admin whose keys the lists are read with. */
  function keysOf(id: string, stored: Connection, user: string | undefined): Record<string, string> {
    const target = toKeyTarget(id, stored);
    if (target.names.length === 0) return {};
    const holder = user ?? userKeys?.findAdmin(target);
    const found = holder === undefined ? {} : (userKeys?.open(target, holder) ?? {});
    const missing = target.names.filter((name) => !Object.hasOwn(found, name));
    if (missing.length > 0) throw keyRequired(get(id).name, missing);
    return found;
  }

  async function resolveConnection(id: string, user?: string): Promise<ResolvedConnection> {
    const { environment, allowHttp } = config;
    const stored = openConnection(id);
    const keys = keysOf(id, stored, user);
    const resolved = await resolveReferences(stored, environment, secretSources, allowHttp, keys);
    const { connection } = resolved;
    // What a user chose hides nothing in texts for others; the definitions that all see come with the keys of an admin.
    const values = user === undefined ? [...resolved.secrets, ...resolved.userSecrets] : resolved.secrets;
    // Sessions that were opened earlier may still print the secrets of then.
    const known = [...new Set([...values, ...(knownSecrets.get(id) ?? [])])].slice(
      0,
      Math.max(values.length, maxKnownSecrets),
    );
    knownSecrets.set(id, known);
    secrets.learn(id, known);
    const maskOwn = createMask([...known, ...userSecrets.learn(id, user, resolved.userSecrets)]);
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
    findSame,
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

/** What users entered for a server, to hide in what comes from their sessions; sessions may still print an earlier key. */
function createUserSecrets() {
  const known = new Map<string, Map<string | undefined, readonly string[]>>();
  return {
    /** All of the user's, the newest first. */
    learn(serverId: string, user: string | undefined, values: readonly string[]): readonly string[] {
      if (values.length === 0) return values;
      const ofServer = known.get(serverId) ?? new Map<string | undefined, readonly string[]>();
      const all = [...new Set([...values, ...(ofServer.get(user) ?? [])])].slice(
        0,
        Math.max(values.length, maxUserSecrets),
      );
      known.set(serverId, ofServer.set(user, all));
      return all;
    },
    forget: (serverId: string) => void known.delete(serverId),
  };
}

/** The same text for the same connection, in whichever order it was written. */
function contentOf({ transport_type, connection_config }: Connection): string {
  const sorted = (_key: string, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value;
  return JSON.stringify([transport_type, connection_config], sorted);
}

/** Of one server; a secret may be another one at every connection. */
const maxKnownSecrets = 1_000;

/** Of one user of one server. */
const maxUserSecrets = 100;

/** A server names the methods: a few are known, any number can be invented. */
const maxAsked = 10;

type Observation =
  | 'apply'
  | 'recordIdentity'
  | 'recordVerdict'
  | 'recordAsked'
  | 'recordStateful'
  | 'recordLogin'
  | 'recordSession'
  | 'recordHealth'
  | 'recordToolCount'
  | 'recordDiscovery'
  | 'recordDiscovered'
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
    const { error, stderr, details } = note;
    const at = new Date().toISOString();
    // A parked server that was started: only the time of its connection is another.
    if (next.status === previous.status && event === 'connect_succeeded') table.change(moved, { connected_at: at });
    if (next.status === previous.status) return next;

    const masked = error === undefined ? undefined : secrets.mask(error, id);
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

  function recordEvidence(id: string, session_evidence: SessionEvidence): void {
    const server = table.find(id);
    if (server === undefined) return;
    const changed = table.change(server, { session_evidence });
    const before = ownershipOf(server);
    const after = ownershipOf(changed);
    if (before.ownership === after.ownership) return;
    table.record(id, 'SESSIONS', { ...after, before: before.ownership });
    publishUpdated(changed);
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
    recordAsked(id, method, { atStart }) {
      const evidence = table.find(id)?.session_evidence ?? {};
      const asked = atStart ? 'asked_at_start' : 'asked';
      if (evidence[asked]?.includes(method)) return;
      recordEvidence(id, { ...evidence, [asked]: [...(evidence[asked] ?? []), method].slice(0, maxAsked) });
    },
    recordStateful(id, stateful) {
      const { stateful: before, ...rest } = table.find(id)?.session_evidence ?? {};
      if (before !== stateful) recordEvidence(id, stateful === undefined ? rest : { ...rest, stateful });
    },
    recordLogin(id, login) {
      const server = table.find(id);
      if (server === undefined || server.login === login) return;
      table.put({ ...server, login });
      if (login !== null) table.record(id, 'LOGIN', { login });
      publishUpdated(server);
    },
    recordSession(id, session) {
      const server = table.find(id);
      if (server === undefined || server.session === session) return;
      // What was wrong before says nothing about the new session; what is found out about it comes after this.
      if (session === 'open') table.change({ ...server, session }, { error_message: null });
      else table.put({ ...server, session });
      if (session === 'parked' && server.session === 'open') table.record(id, 'PARKED', {});
      if (session === 'open' && server.session === 'parked') table.record(id, 'STARTED', {});
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
      if (server?.session !== 'open' || server.error_message === problem) return;
      table.change(server, { error_message: problem });
      publishUpdated(server);
    },
    recordDiscovered(id) {
      const server = table.find(id);
      if (server !== undefined) table.change(server, { discovered_at: new Date().toISOString() });
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
