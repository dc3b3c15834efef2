import type { JsonObject } from '../json-rpc.ts';
import { toColumns } from './columns.ts';
import type { Database } from './database.ts';
import type { McpSessionRow } from './schema.ts';

/**
 * Makes this replica the one that continues the session, unless another living one does. Returns the row as it is then;
 * one statement, because several replicas may be asked for the session at once.
 */
export async function claimMcpSession(
  db: Database,
  { id, replica, expires_at }: Pick<McpSessionRow, 'id' | 'expires_at'> & { replica: string },
  living: readonly string[],
): Promise<McpSessionRow> {
  const { kysely } = db;
  await deleteExpired(db);
  await kysely
    .insertInto('mcp_sessions')
    .values({ id, replica, expires_at })
    .onConflict((conflict) =>
      conflict
        .column('id')
        .doUpdateSet({ replica, expires_at })
        .where((eb) => eb.or([eb('mcp_sessions.replica', 'is', null), eb('mcp_sessions.replica', 'not in', living)])),
    )
    .execute();
  return await kysely.selectFrom('mcp_sessions').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
}

/** What the session follows and how it is set. */
export async function upsertMcpSessionDetails(
  db: Database,
  { id, details, expires_at }: { id: string; details: JsonObject; expires_at: string },
): Promise<void> {
  await deleteExpired(db);
  const columns = toColumns({ details, expires_at });
  await db.kysely
    .insertInto('mcp_sessions')
    .values({ id, ...columns })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(columns))
    .execute();
}

export async function endMcpSession(
  db: Database,
  { id, expires_at }: Pick<McpSessionRow, 'id' | 'expires_at'>,
): Promise<void> {
  await deleteExpired(db);
  await db.kysely
    .insertInto('mcp_sessions')
    .values({ id, ended: true, expires_at })
    .onConflict((conflict) => conflict.column('id').doUpdateSet({ ended: true, details: null }))
    .execute();
}

export async function releaseMcpSessions({ kysely }: Database, replica: string): Promise<void> {
  await kysely.updateTable('mcp_sessions').set({ replica: null }).where('replica', '=', replica).execute();
}

async function deleteExpired({ kysely }: Database): Promise<void> {
  await kysely.deleteFrom('mcp_sessions').where('expires_at', '<', new Date().toISOString()).execute();
}
