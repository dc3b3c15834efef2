/** What other replicas stored about servers, taken into our records, where it is not older than what changed here. */
import { isDeepStrictEqual } from 'node:util';
import type { Changes } from '../changes.ts';
import { AppError } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { Vault } from '../security/credentials.ts';
import type { Database } from '../store/database.ts';
import type { ServerRow } from '../store/schema.ts';
import { findServer, findServers } from '../store/servers.ts';
import { type Server, toServer, withStored } from './server-record.ts';
import type { ServerTable } from './server-table.ts';

/** What another replica changed in the store, and what follows for the connection. */
export interface TakenChange {
  server: Server;
  kind: 'added' | 'changed' | 'removed';
  reconnect: boolean;
}

interface StoredChanges {
  /** Around a write, because a read that overlaps it may show either state. */
  changing<T>(id: string, store: () => Promise<T>): Promise<T>;
  /** Reads one server, or all, again. */
  take(id?: string): Promise<TakenChange[]>;
}

interface StoredChangesDependencies {
  db: Database;
  table: ServerTable;
  vault: Vault;
  changes: Changes;
  log: Logger;
  /** False where the server is gone already. */
  drop: (server: Server) => boolean;
}

export function createStoredChanges(deps: StoredChangesDependencies): StoredChanges {
  const { db, table, vault, changes, log, drop } = deps;
  /** How often each server was changed here: what was read before such a change is too old to be taken. */
  const ownChanges = new Map<string, number>();

  const count = (id: string) => void ownChanges.set(id, (ownChanges.get(id) ?? 0) + 1);

  function takeRow(row: ServerRow): TakenChange | undefined {
    const before = table.find(row.id);
    if (before === undefined) {
      const server = table.put(toServer(row));
      changes.publish('server.registered', { server_id: row.id, name: row.name });
      return { server, kind: 'added', reconnect: false };
    }
    const { server: stored, isChanged, reconnect } = withStored(before, row, isMoved(before, row));
    const server = table.put(stored);
    if (!isChanged) return undefined;
    const { name: previous } = before;
    if (previous !== row.name) changes.publish('server.renamed', { server_id: row.id, name: row.name, previous });
    changes.publish('server.updated', { server_id: row.id, name: row.name });
    return { server, kind: 'changed', reconnect };
  }

  /** The same credentials under another key are no other connection. */
  function isMoved(before: Server, { transport_type, connection_config: { sealed } }: ServerRow): boolean {
    if (before.transport_type !== transport_type) return true;
    if (before.sealed === sealed) return false;
    try {
      return !isDeepStrictEqual(vault.open(before.sealed, before.id), vault.open(sealed, before.id));
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      log.error({ server: before.name, error: error.message }, 'credentials changed; the connection is kept');
      return false;
    }
  }

  return {
    async changing(id, store) {
      count(id);
      try {
        return await store();
      } finally {
        count(id);
        changes.publish('server.stored', { server_id: id });
      }
    },

    async take(id) {
      const asked = new Map(ownChanges);
      const isCurrent = (candidate: string) => asked.get(candidate) === ownChanges.get(candidate);
      const rows = id === undefined ? (await findServers(db)).rows : [await findServer(db, id)];
      const taken: TakenChange[] = [];
      for (const row of rows) {
        const change = row !== undefined && isCurrent(row.id) ? takeRow(row) : undefined;
        if (change !== undefined) taken.push(change);
      }
      const stored = new Set(rows.map((row) => row?.id));
      const missing = table.all().filter((server) => !stored.has(server.id) && (id === undefined || server.id === id));
      for (const server of missing) {
        // Asked again: it may have been registered here after the rows were read.
        if ((await findServer(db, server.id)) !== undefined || !isCurrent(server.id)) continue;
        if (drop(server)) taken.push({ server, kind: 'removed', reconnect: false });
      }
      return taken;
    },
  };
}
