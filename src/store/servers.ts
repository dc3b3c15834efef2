import { type Kysely, sql } from 'kysely';
import { AppError } from '../errors.ts';
import type { JsonObject } from '../json-rpc.ts';
import { toColumns } from './columns.ts';
import type { Database } from './database.ts';
import type { DatabaseSchema, ServerRow, ServerStatus } from './schema.ts';
import { lockedTransaction } from './transaction.ts';

export type NewServer = Pick<ServerRow, 'id' | 'name' | 'transport_type' | 'connection_config'> & Partial<ServerRow>;
export type ServerRowPatch = Partial<Omit<ServerRow, 'id' | 'name' | 'registered_at'>>;

/** Name and limit are checked in the transaction of the insert, because replicas and parallel requests compete. */
export function insertServer(
  db: Database,
  server: NewServer,
  { maxServers }: { maxServers: number },
): Promise<ServerRow> {
  const now = new Date().toISOString();
  return lockedTransaction(db, 'servers', async (transaction) => {
    const row = await transaction
      .insertInto('external_servers')
      .values(toColumns({ registered_at: now, updated_at: now, ...server }))
      .onConflict((conflict) => conflict.column('name').doNothing())
      .returningAll()
      .executeTakeFirst();
    if (row === undefined) throw new AppError('SERVER_ALREADY_EXISTS', `Server already exists: ${server.name}`);
    // After the insert, so that a taken name is reported even if the limit is reached as well.
    if ((await countRows(transaction)) > maxServers) {
      throw new AppError('SERVER_LIMIT_REACHED', `Server limit reached: ${maxServers} servers are registered`, {
        context: { max_servers: maxServers },
      });
    }
    return row;
  });
}

export function findServer({ kysely }: Database, id: string): Promise<ServerRow | undefined> {
  return kysely.selectFrom('external_servers').selectAll().where('id', '=', id).executeTakeFirst();
}

export async function findServers(
  { kysely }: Database,
  { status, limit, offset = 0 }: { status?: ServerStatus; limit?: number; offset?: number } = {},
): Promise<{ rows: ServerRow[]; total: number }> {
  let query = kysely.selectFrom('external_servers').selectAll().orderBy('name');
  if (status !== undefined) query = query.where('status', '=', status);
  if (limit !== undefined) query = query.limit(limit).offset(offset);
  const rows = await query.execute();
  return { rows, total: limit === undefined ? rows.length : await countRows(kysely, status) };
}

export function updateServer({ kysely }: Database, id: string, patch: ServerRowPatch): Promise<ServerRow | undefined> {
  return kysely
    .updateTable('external_servers')
    .set(toColumns({ updated_at: new Date().toISOString(), ...patch }))
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst();
}

/** Read and written in one transaction, because two admins may decide about different tools at the same time. */
export function updateToolOverrides(
  db: Database,
  id: string,
  change: (overrides: JsonObject) => JsonObject,
): Promise<ServerRow | undefined> {
  return lockedTransaction(db, 'servers', async (transaction) => {
    const inside = { ...db, kysely: transaction };
    const row = await findServer(inside, id);
    return row && (await updateServer(inside, id, { tool_overrides: change(row.tool_overrides) }));
  });
}

/** False where the connection is no longer sealed as it was. */
export async function updateSealed({ kysely }: Database, id: string, before: string, after: string): Promise<boolean> {
  const { numUpdatedRows } = await kysely
    .updateTable('external_servers')
    .set({ connection_config: JSON.stringify({ sealed: after }) })
    .where('id', '=', id)
    .where(sql<string>`cast(connection_config as text)`, '=', JSON.stringify({ sealed: before }))
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Tools, items and history go with it. */
export async function deleteServer({ kysely }: Database, id: string): Promise<boolean> {
  const { numDeletedRows } = await kysely.deleteFrom('external_servers').where('id', '=', id).executeTakeFirst();
  return numDeletedRows > 0n;
}

async function countRows(kysely: Kysely<DatabaseSchema>, status?: ServerStatus): Promise<number> {
  let query = kysely.selectFrom('external_servers').select((eb) => eb.fn.countAll<number>().as('count'));
  if (status !== undefined) query = query.where('status', '=', status);
  return (await query.executeTakeFirstOrThrow()).count;
}
