import type { JsonObject } from '../json-rpc.ts';
import { toColumns } from './columns.ts';
import type { Database } from './database.ts';
import type { HistoryRow } from './schema.ts';

const keptPerServer = 1_000;

interface NewHistory {
  server_id: string;
  event_type: string;
  details?: JsonObject | null;
  timestamp?: string;
}

/** Keeps the newest entries of a server. A session that ends after its server was removed leaves none. */
export async function insertHistory({ kysely }: Database, entry: NewHistory): Promise<void> {
  const row = toColumns({ details: null, timestamp: new Date().toISOString(), ...entry });
  await kysely.transaction().execute(async (transaction) => {
    const server = await transaction
      .selectFrom('external_servers')
      .select('id')
      .where('id', '=', entry.server_id)
      .executeTakeFirst();
    if (server === undefined) return;
    await transaction.insertInto('server_connection_history').values(row).execute();
    await transaction
      .deleteFrom('server_connection_history')
      .where('server_id', '=', entry.server_id)
      .where('id', '<=', (eb) =>
        eb
          .selectFrom('server_connection_history')
          .select('id')
          .where('server_id', '=', entry.server_id)
          .orderBy('id', 'desc')
          .limit(1)
          .offset(keptPerServer),
      )
      .execute();
  });
}

/** Newest first; `before` is the id of the last entry of the previous page. */
export function findHistory(
  { kysely }: Database,
  serverId: string,
  { limit, before }: { limit: number; before?: number },
): Promise<HistoryRow[]> {
  let query = kysely.selectFrom('server_connection_history').selectAll().where('server_id', '=', serverId);
  if (before !== undefined) query = query.where('id', '<', before);
  return query.orderBy('id', 'desc').limit(limit).execute();
}
