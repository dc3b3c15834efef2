/** Every registered server, in memory and in the store. The only place where a server's record changes. */
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';
import type { Changes } from '../changes.ts';
import type { Config } from '../config/config.ts';
import { AppError, type Problem, ValidationError } from '../errors.ts';
import type { JsonObject } from '../json-rpc.ts';
import type { Logger } from '../log.ts';
import { collectSecrets, maskConfig } from '../security/connection-secrets.ts';
import type { Vault } from '../security/credentials.ts';
import { createMask, hidden, maxSecret } from '../security/mask.ts';
import { createSecrets, type Secrets } from '../security/secrets.ts';
import { substituteVariables } from '../security/variables.ts';
import type { Database } from '../store/database.ts';
import { insertHistory } from '../store/history.ts';
import type { ServerRow } from '../store/schema.ts';
import {
  deleteServer,
  findServer,
  findServers,
  insertServer,
  type ServerRowPatch as RowPatch,
  updateServer,
} from '../store/servers.ts';
import { best, type Lifecycle, type LifecycleEvent, type Status, transition } from './lifecycle.ts';
import {
  type Connection,
  connectionConfigs,
  type Registration,
  type ServerOptions,
  type ServerPatch,
  urlProblem,
} from './server.ts';

export interface Server extends Omit<ServerRow, 'options' | 'connection_config'> {
  options: ServerOptions;
  lifecycle: Lifecycle;
  sealed: string;
  /** The server wants a login (OAuth) that nobody made yet, or that no longer holds. */
  login: 'required' | 'expired' | null;
  /** What the other living replicas say of it. */
  elsewhere: readonly ReplicaView[];
}

export interface ReplicaView {
  /** Of the replica. */
  id: string;
  status: Status;
  error: string | null;
}

/** How a server is, seen from all replicas together. */
export function overallStatus(server: Server): { status: Status; error: string | null } {
  const own = { id: '', status: server.lifecycle.status, error: server.error_message };
  return best(own, server.elsewhere);
}

/** What another replica changed in the store, and what follows for the connection. */
interface TakenChange {
  server: Server;
  kind: 'added' | 'changed' | 'removed';
  reconnect: boolean;
}

interface ResolvedConnection {
  connection: Connection;
  /** Hides the connection's secrets in any text. */
  mask: (text: string) => string;
}

export interface Registry {
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
  const { db, vault, changes, log, config, secrets = createSecrets() } = deps;
  const servers = new Map<string, Server>();
  /** How often each server was changed here: what was read before such a change is too old to be taken. */
  const ownChanges = new Map<string, number>();
  let writing: Promise<unknown> = Promise.resolve();

  // Nothing is connected when we start, whatever the rows say.
  for (const row of (await findServers(db)).rows) servers.set(row.id, { ...toServer(row), status: 'DISCONNECTED' });

  /** In order, and never in the way: what is in memory is what counts, the store follows. */
  function write(task: () => Promise<unknown>): void {
    writing = writing
      .then(task)
      .catch((error: unknown) => log.error({ err: error }, 'could not store a server change'));
  }

  function change(server: Server, patch: RowPatch): void {
    Object.assign(server, patch, { updated_at: new Date().toISOString() });
    write(() => updateServer(db, server.id, patch));
  }

  function get(id: string): Server {
    const server = servers.get(id);
    if (server === undefined) throw new AppError('SERVER_NOT_FOUND', `Server not found: ${id}`);
    return server;
  }

  function openConnection(id: string): Connection {
    const server = get(id);
    return { transport_type: server.transport_type, connection_config: vault.open(server.sealed, id) } as Connection;
  }

  function record(id: string, eventType: string, details: JsonObject): void {
    write(() => insertHistory(db, { server_id: id, event_type: eventType, details: secrets.maskJson(details, id) }));
  }

  /** Around a write, because a read that overlaps it may show either state. */
  async function changing<T>(id: string, store: () => Promise<T>): Promise<T> {
    ownChanges.set(id, (ownChanges.get(id) ?? 0) + 1);
    try {
      return await store();
    } finally {
      ownChanges.set(id, (ownChanges.get(id) ?? 0) + 1);
      changes.publish('server.stored', { server_id: id });
    }
  }

  function take(row: ServerRow): TakenChange | undefined {
    const server = servers.get(row.id);
    if (server === undefined) {
      const added = toServer(row);
      servers.set(row.id, added);
      changes.publish('server.registered', { server_id: row.id, name: row.name });
      return { server: added, kind: 'added', reconnect: false };
    }
    const before = configured(server);
    const fresh = toServer(row);
    const moved = isMoved(server, fresh);
    Object.assign(server, configured(fresh), { sealed: fresh.sealed, updated_at: row.updated_at });
    if (moved) Object.assign(server, { era: null, era_checked_at: null, interactive: false });
    if (!moved && isDeepStrictEqual(before, configured(server))) return undefined;
    changes.publish('server.updated', { server_id: row.id, name: row.name });
    return { server, kind: 'changed', reconnect: moved || !isDeepStrictEqual(before.options, server.options) };
  }

  /** The same credentials under another key are no other connection. */
  function isMoved(before: Server, after: Server): boolean {
    if (before.transport_type !== after.transport_type) return true;
    if (before.sealed === after.sealed) return false;
    try {
      return !isDeepStrictEqual(vault.open(before.sealed, before.id), vault.open(after.sealed, after.id));
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      log.error({ server: before.name, error: error.message }, 'credentials changed; the connection is kept');
      return false;
    }
  }

  function drop(server: Server): boolean {
    if (!servers.delete(server.id)) return false;
    secrets.forget(server.id);
    changes.publish('server.removed', { server_id: server.id, name: server.name });
    return true;
  }

  return {
    list: () => [...servers.values()].sort((a, b) => (a.name < b.name ? -1 : 1)),
    get,
    find: (id) => servers.get(id),
    findByName: (name) => [...servers.values()].find((server) => server.name === name),
    openConnection,
    record,

    async register(input, origin = 'api') {
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
      const server = servers.get(id) ?? toServer(row);
      servers.set(id, server);
      changes.publish('server.stored', { server_id: id });
      record(id, 'REGISTERED', { transport_type: row.transport_type, origin });
      changes.publish('server.registered', { server_id: id, name: row.name });
      return server;
    },

    async update(id, patch) {
      const server = get(id);
      const connection = patchedConnection(openConnection(id), patch);
      if (connection !== undefined) requireAllowed(connection.transport_type, config);
      const fields: RowPatch = {};
      if (patch.description !== undefined) fields.description = patch.description;
      if (patch.health_check_url !== undefined) fields.health_check_url = patch.health_check_url;
      if (patch.auto_connect !== undefined) fields.auto_connect = patch.auto_connect;
      if (patch.options !== undefined) fields.options = patch.options;
      if (connection !== undefined) {
        fields.transport_type = connection.transport_type;
        fields.connection_config = { sealed: vault.seal(connection.connection_config, id) };
        // Another address may be another server: what was learned about the old one is void.
        Object.assign(fields, { era: null, era_checked_at: null, interactive: false });
      }
      const row = await changing(id, () => updateServer(db, id, fields));
      if (row === undefined) throw new AppError('SERVER_NOT_FOUND', `Server not found: ${id}`);
      const before = server.options;
      // Only what was patched: the rest of the row may be behind what is in memory.
      const { connection_config: sealed, ...changed } = fields;
      Object.assign(server, changed, { updated_at: row.updated_at });
      if (sealed !== undefined) server.sealed = sealed.sealed;
      record(id, 'UPDATED', { fields: Object.keys(patch) });
      changes.publish('server.updated', { server_id: id, name: server.name });
      const otherSession =
        patch.options !== undefined && !isDeepStrictEqual(ofSession(before), ofSession(patch.options));
      return { server, reconnect: connection !== undefined || otherSession };
    },

    async remove(id) {
      const server = get(id);
      await writing;
      await changing(id, () => deleteServer(db, id));
      drop(server);
    },

    async setDesired(id, desired) {
      // Stored even where it is no news here: another replica may have stored the opposite a moment ago.
      get(id).desired = desired;
      await changing(id, () => updateServer(db, id, { desired }));
    },

    apply(id, event, note = {}) {
      const server = servers.get(id);
      if (server === undefined) return undefined;
      const previous = server.lifecycle;
      const next = transition(previous, event);
      if (next === undefined) {
        log.debug({ server: server.name, status: previous.status, event }, 'event is illegal in this state');
        return undefined;
      }
      server.lifecycle = next;
      if (next.status === previous.status) return next;

      const patch: RowPatch = { status: next.status };
      if (next.status === 'CONNECTED') Object.assign(patch, { error_message: null });
      if (event === 'connect_succeeded') patch.connected_at = new Date().toISOString();
      if (note.error !== undefined) patch.error_message = secrets.mask(note.error, id);
      if (event === 'disconnected') patch.error_message = null;
      if (note.stderr !== undefined) patch.stderr_tail = note.stderr.join('\n');
      change(server, patch);
      record(id, next.status, {
        from: previous.status,
        event,
        ...note.details,
        ...(note.error === undefined ? {} : { error: note.error }),
        ...(note.stderr === undefined || note.stderr.length === 0 ? {} : { stderr: note.stderr.slice(-10) }),
      });
      const level = next.status === 'ERROR' || next.status === 'DEGRADED' ? 'warn' : 'info';
      log[level](
        { server: server.name, from: previous.status, status: next.status, error: note.error },
        'server status',
      );
      changes.publish('server.status', {
        server_id: id,
        name: server.name,
        status: next.status,
        previous: previous.status,
        error_message: server.error_message,
      });
      return next;
    },

    resolveConnection(id) {
      const stored = openConnection(id);
      const { value, missing, used } = substituteVariables<JsonObject>(stored.connection_config, config.environment);
      if (missing.length > 0) {
        const names = missing.map((name) => `\${${name}}`).join(', ');
        throw new AppError(
          'SERVER_CONNECTION_FAILED',
          `connection_config refers to variables that are not set in the aggregator's environment: ${names}`,
        );
      }
      const url = value.url ?? value.base_url;
      const problem = typeof url === 'string' ? urlProblem(url) : undefined;
      if (problem !== undefined) throw new AppError('SERVER_CONNECTION_FAILED', `the server's URL ${problem}`);
      const [tooLong] = [...used].find(([, text]) => text.length > maxSecret) ?? [];
      if (tooLong !== undefined) {
        throw new AppError(
          'SERVER_CONNECTION_FAILED',
          `\${${tooLong}} in connection_config may have at most ${maxSecret} characters`,
        );
      }
      const values = collectSecrets(value, used);
      secrets.learn(id, values);
      const maskOwn = createMask(values);
      return {
        connection: { ...stored, connection_config: value } as Connection,
        mask: (text) => secrets.mask(maskOwn(text), id),
      };
    },

    maskedConfig: (id) => maskConfig(openConnection(id).connection_config),
    mask: (id, text) => secrets.mask(text, id),

    recordIdentity(id, identity) {
      change(get(id), {
        protocol_version: identity.protocolVersion,
        server_info: secrets.maskJson(identity.serverInfo, id),
        capabilities: identity.capabilities,
        instructions: identity.instructions === undefined ? null : secrets.mask(identity.instructions, id),
      });
    },

    recordVerdict(id, verdict) {
      const server = servers.get(id);
      if (server === undefined || (server.era === verdict.era && server.era_checked_at !== null)) return;
      change(server, { era: verdict.era, era_checked_at: verdict.checkedAt });
    },

    recordInteractive(id) {
      const server = servers.get(id);
      if (server === undefined || server.interactive) return;
      change(server, { interactive: true });
      record(id, 'INTERACTIVE', {
        meaning: 'the server sends requests to its clients; each client now gets its own session',
      });
    },

    recordLogin(id, login) {
      const server = servers.get(id);
      if (server === undefined || server.login === login) return;
      server.login = login;
      if (login !== null) record(id, 'LOGIN', { login });
      changes.publish('server.updated', { server_id: id, name: server.name });
    },

    recordHealth(id, at) {
      const server = servers.get(id);
      if (server !== undefined) change(server, { last_health_check: at });
    },

    recordToolCount(id, count) {
      const server = servers.get(id);
      if (server !== undefined) server.tool_count = count;
    },

    recordDiscovery(id, problem) {
      const server = servers.get(id);
      if (server?.lifecycle.status !== 'CONNECTED' || server.error_message === problem) return;
      change(server, { error_message: problem });
      changes.publish('server.updated', { server_id: id, name: server.name });
    },

    async takeChanges(id) {
      const asked = new Map(ownChanges);
      const isCurrent = (candidate: string) => asked.get(candidate) === ownChanges.get(candidate);
      const rows = id === undefined ? (await findServers(db)).rows : [await findServer(db, id)];
      const taken: TakenChange[] = [];
      for (const row of rows) {
        const change = row !== undefined && isCurrent(row.id) ? take(row) : undefined;
        if (change !== undefined) taken.push(change);
      }
      const stored = new Set(rows.map((row) => row?.id));
      const missing = [...servers.values()].filter(
        (server) => !stored.has(server.id) && (id === undefined || server.id === id),
      );
      for (const server of missing) {
        // Asked again: it may have been registered here after the rows were read.
        if ((await findServer(db, server.id)) !== undefined || !isCurrent(server.id)) continue;
        if (drop(server)) taken.push({ server, kind: 'removed', reconnect: false });
      }
      return taken;
    },

    recordOtherReplicas(views) {
      for (const server of servers.values()) {
        const before = overallStatus(server).status;
        server.elsewhere = views.get(server.id) ?? [];
        if (overallStatus(server).status !== before)
          changes.publish('server.updated', { server_id: server.id, name: server.name });
      }
    },

    async settled() {
      await writing;
    },
  };
}

function toServer({ connection_config, options, ...row }: ServerRow): Server {
  return {
    ...row,
    sealed: connection_config.sealed,
    options: options as ServerOptions,
    lifecycle: { status: 'DISCONNECTED', failures: 0 },
    login: null,
    elsewhere: [],
  };
}

/** What admins decide about a server; the rest of a record is what this replica found out. */
function configured(server: Server) {
  const { description, transport_type, health_check_url, auto_connect, desired, options, origin } = server;
  return { description, transport_type, health_check_url, auto_connect, desired, options, origin };
}

function requireAllowed(transport: Connection['transport_type'], { stdio }: Config): void {
  if (transport !== 'STDIO' || stdio === 'allow') return;
  const msg = 'STDIO servers are disabled (MCP_AGGREGATOR_STDIO=deny)';
  throw new ValidationError([{ loc: ['body', 'transport_type'], msg, type: 'value_error' }]);
}

/** The connection after the patch, or undefined when it stays the same. */
function patchedConnection(current: Connection, patch: ServerPatch): Connection | undefined {
  if (patch.transport_type === undefined && patch.connection_config === undefined) return undefined;
  const transport = patch.transport_type ?? current.transport_type;
  const schema: z.ZodType = connectionConfigs[transport];
  const parsed = schema.safeParse(patch.connection_config ?? current.connection_config);
  if (!parsed.success) throw new ValidationError(toProblems(parsed.error, ['body', 'connection_config']));
  const masked = findMasked(parsed.data, ['body', 'connection_config']);
  if (masked.length > 0) throw new ValidationError(masked);
  return { transport_type: transport, connection_config: parsed.data } as Connection;
}

/** Whoever changes a config begins with the one that is shown, and would store its asterisks. */
function findMasked(value: unknown, loc: (string | number)[]): Problem[] {
  if (typeof value === 'string') {
    const msg = `contains "${hidden}" in place of a secret; send the complete value`;
    return value.includes(hidden) ? [{ loc, msg, type: 'value_error' }] : [];
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => findMasked(inner, [...loc, key]));
}

/** Zod's issues as the problems of the 422 answer; unknown fields are named one by one. */
export function toProblems(error: z.ZodError, prefix: (string | number)[]): Problem[] {
  return error.issues.flatMap((issue): Problem[] => {
    const loc = [...prefix, ...issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part))];
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => ({ loc: [...loc, key], msg: `unknown field: ${key}`, type: 'extra_forbidden' }));
    }
    const missing =
      issue.code === 'invalid_type' && issue.input === undefined && issue.message.startsWith('Invalid input');
    return [{ loc, msg: missing ? 'Field required' : issue.message, type: missing ? 'missing' : 'value_error' }];
  });
}

/** Options that a running session depends on; what the aggregator query asks is no concern of it. */
function ofSession({ query_tools: _, query_readers: __, ...options }: ServerOptions): ServerOptions {
  return options;
}
