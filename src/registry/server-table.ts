/** The records of all servers in memory, and the queue in which what changes in them is stored. */
import { AppError } from '../errors.ts';
import type { JsonObject } from '../json-rpc.ts';
import type { Logger } from '../log.ts';
import type { Secrets } from '../security/secrets.ts';
import type { Database } from '../store/database.ts';
import { insertHistory } from '../store/history.ts';
import { findServers, updateServer } from '../store/servers.ts';
import { deepFreeze } from './deep-freeze.ts';
import { type RecordPatch, type Server, toServer } from './server-record.ts';

export interface ServerTable {
  readonly version: number;
  all(): Server[];
  find(id: string): Server | undefined;
  get(id: string): Server;
  /** The record from now on. */
  put(server: Server): Server;
  /** The same, stored as well. */
  change(server: Server, patch: RecordPatch): Server;
  delete(id: string): boolean;
  record(id: string, eventType: string, details: JsonObject): void;
  settled(): Promise<void>;
}

interface ServerTableDependencies {
  db: Database;
  log: Logger;
  secrets: Secrets;
  /** Opens the sealed connection. */
  findUserKeys: (server: Server) => readonly string[];
}

export async function createServerTable(deps: ServerTableDependencies): Promise<ServerTable> {
  const { db, log, secrets } = deps;
  const servers = new Map<string, Server>();
  let writing: Promise<unknown> = Promise.resolve();
  let version = 0;

  // Nothing is connected when we start, whatever the rows say.
  for (const row of (await findServers(db)).rows) put({ ...toServer(row), status: 'DISCONNECTED' });

  function put(given: Server): Server {
    const before = servers.get(given.id);
    const user_keys = before?.sealed === given.sealed ? before.user_keys : deps.findUserKeys(given);
    const server = deepFreeze({ ...given, user_keys });
    servers.set(server.id, server);
    version += 1;
    return server;
  }

  /** In order, and never in the way: what is in memory is what counts, the store follows. */
  function write(task: () => Promise<unknown>): void {
    writing = writing
      .then(task)
      .catch((error: unknown) => log.error({ err: error }, 'could not store a server change'));
  }

  return {
    get version() {
      return version;
    },
    all: () => [...servers.values()],
    find: (id) => servers.get(id),
    get(id) {
      const server = servers.get(id);
      if (server === undefined) throw new AppError('SERVER_NOT_FOUND', `Server not found: ${id}`);
      return server;
    },
    put,
    change(server, patch) {
      write(() => updateServer(db, server.id, patch));
      return put({ ...server, ...patch, updated_at: new Date().toISOString() });
    },
    delete(id) {
      const existed = servers.delete(id);
      if (existed) version += 1;
      return existed;
    },
    record(id, eventType, details) {
      write(() => insertHistory(db, { server_id: id, event_type: eventType, details: secrets.maskJson(details, id) }));
    },
    async settled() {
      await writing;
    },
  };
}
