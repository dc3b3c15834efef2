import type { JsonObject } from '../json-rpc.ts';
import { toColumns } from './columns.ts';
import type { Database } from './database.ts';
import type { ToolChangeRow, ToolChangeState } from './schema.ts';

const keptPerServer = 2_000;

export interface NewToolChange {
  server_id: string;
  tool: string;
  definition_before: JsonObject;
  definition_after: JsonObject | null;
  after_hash: string | null;
  risk: string;
  state: ToolChangeState;
  decided_by?: string;
}

/** Stores changes; keeps the newest decided ones. */
export async function insertToolChanges(
  { kysely }: Database,
  serverId: string,
  changes: readonly NewToolChange[],
): Promise<ToolChangeRow[]> {
  if (changes.length === 0) return [];
  const at = new Date().toISOString();
  return await kysely.transaction().execute(async (transaction) => {
    const rows: ToolChangeRow[] = [];
    for (const { decided_by = null, ...change } of changes) {
      const row = toColumns({ ...change, at, decided_at: decided_by === null ? null : at, decided_by });
      rows.push(await transaction.insertInto('tool_changes').values(row).returningAll().executeTakeFirstOrThrow());
    }
    await transaction
      .deleteFrom('tool_changes')
      .where('server_id', '=', serverId)
      .where('state', 'not in', ['pending', 'rejected'])
      .where('id', '<=', (eb) =>
        eb
          .selectFrom('tool_changes')
          .select('id')
          .where('server_id', '=', serverId)
          .orderBy('id', 'desc')
          .limit(1)
          .offset(keptPerServer),
      )
      .execute();
    return rows;
  });
}

/** Changes the state; undefined when the change is not in one of the states it may come from. */
export function updateToolChange(
  { kysely }: Database,
  id: number,
  from: readonly ToolChangeState[],
  to: ToolChangeState,
  { by, reason = null }: { by: string; reason?: string | null },
): Promise<ToolChangeRow | undefined> {
  return kysely
    .updateTable('tool_changes')
    .set({ state: to, decided_at: new Date().toISOString(), decided_by: by, reason })
    .where('id', '=', id)
    .where('state', 'in', from)
    .returningAll()
    .executeTakeFirst();
}

export function findToolChange({ kysely }: Database, serverId: string, id: number): Promise<ToolChangeRow | undefined> {
  return kysely
    .selectFrom('tool_changes')
    .selectAll()
    .where('server_id', '=', serverId)
    .where('id', '=', id)
    .executeTakeFirst();
}

interface ToolChangeFilter {
  state?: ToolChangeState;
  tool?: string;
  limit: number;
  /** The id of the last change of the previous page. */
  before?: number;
}

/** The newest first. */
export function findToolChanges(
  { kysely }: Database,
  serverId: string,
  { state, tool, limit, before }: ToolChangeFilter,
): Promise<ToolChangeRow[]> {
  let query = kysely.selectFrom('tool_changes').selectAll().where('server_id', '=', serverId);
  if (state !== undefined) query = query.where('state', '=', state);
  if (tool !== undefined) query = query.where('tool', '=', tool);
  if (before !== undefined) query = query.where('id', '<', before);
  return query.orderBy('id', 'desc').limit(limit).execute();
}

/** Of all servers, the newest first. */
export function findPendingChanges({ kysely }: Database, limit: number): Promise<ToolChangeRow[]> {
  return kysely
    .selectFrom('tool_changes')
    .selectAll()
    .where('state', '=', 'pending')
    .orderBy('id', 'desc')
    .limit(limit)
    .execute();
}

/** The newest change of every tool that was not withdrawn, of one server or of all. */
export async function findStandingChanges({ kysely }: Database, serverId?: string): Promise<ToolChangeRow[]> {
  let newest = kysely
    .selectFrom('tool_changes')
    .select((eb) => eb.fn.max('id').as('id'))
    .where('state', '!=', 'withdrawn')
    .groupBy(['server_id', 'tool']);
  if (serverId !== undefined) newest = newest.where('server_id', '=', serverId);
  return await kysely.selectFrom('tool_changes').selectAll().where('id', 'in', newest).execute();
}
