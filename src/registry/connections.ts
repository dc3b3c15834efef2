/** The connections of servers: opened with the vault, with their references resolved, and their secrets hidden in texts. */
import type { Config } from '../config/config.ts';
import { AppError } from '../errors.ts';
import { maskConfig } from '../security/connection-secrets.ts';
import type { Vault } from '../security/credentials.ts';
import { createMask } from '../security/mask.ts';
import type { Secrets } from '../security/secrets.ts';
import type { UserKeys } from '../security/user-keys.ts';
import { resolveReferences, type SecretSources } from './resolve-connection.ts';
import { type Connection, userKeysIn } from './server.ts';
import type { Server } from './server-record.ts';
import { keyRequired, toKeyTarget } from './user-key-target.ts';

interface ResolvedConnection {
  connection: Connection;
  /** Hides the connection's secrets in any text. */
  mask: (text: string) => string;
  /** Whose keys are in it. */
  keyHolder: string | undefined;
}

export interface ServerConnections {
  openConnection(id: string): Connection;
  /** With the keys of the user, where the server asks each for some; without a user, with those of an admin. */
  resolveConnection(id: string, user?: string): Promise<ResolvedConnection>;
  maskedConfig(id: string): unknown;
  /** A text that comes from this server, with nothing secret in it. */
  mask(id: string, text: string): string;
}

interface ConnectionDependencies {
  /** The server's record as it is now. */
  get: (id: string) => Server;
  config: Config;
  vault: Vault;
  secrets: Secrets;
  secretSources: SecretSources;
  /** Without it, connections cannot refer to keys of users. */
  userKeys: Pick<UserKeys, 'open' | 'findAdmin'> | undefined;
}

export function createConnections(deps: ConnectionDependencies) {
  const { get, config, vault, secrets, secretSources, userKeys } = deps;
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

  /** Of the user, or, for what all users share, of the admin whose keys the lists are read with. */
  function keysOf(id: string, stored: Connection, user: string | undefined) {
    const target = toKeyTarget(id, stored);
    if (target.names.length === 0) return { keys: {}, holder: undefined };
    const holder = user ?? userKeys?.findAdmin(target);
    const found = holder === undefined ? {} : (userKeys?.open(target, holder) ?? {});
    const missing = target.names.filter((name) => !Object.hasOwn(found, name));
    if (missing.length > 0) throw keyRequired(get(id).name, missing);
    return { keys: found, holder };
  }

  async function resolveConnection(id: string, user?: string): Promise<ResolvedConnection> {
    const { environment, allowHttp } = config;
    const stored = openConnection(id);
    const { keys, holder: keyHolder } = keysOf(id, stored, user);
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
    return { connection, mask: (text) => secrets.mask(maskOwn(text), id), keyHolder };
  }

  return {
    openConnection,
    resolveConnection,
    findUserKeys,
    maskedConfig: (id: string) => maskConfig(openConnection(id).connection_config),
    mask: (id: string, text: string) => secrets.mask(text, id),
    /** One of the servers that has this connection, or had it when it was imported. */
    findSame(servers: readonly Server[], connection: Connection): Server | undefined {
      const content = contentOf(connection);
      const isEqual = (server: Server) => vault.canOpen(server.sealed) && contentOf(open(server)) === content;
      const isImported = ({ imported_as: mark }: Server) => mark !== null && vault.isMarked(content, mark);
      return servers.find(isEqual) ?? servers.find(isImported);
    },
    /** Recognises the connection later, also if it is changed meanwhile. */
    markOf: (connection: Connection) => vault.mark(contentOf(connection)),
    forget(id: string): void {
      secrets.forget(id);
      knownSecrets.delete(id);
      userSecrets.forget(id);
    },
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
