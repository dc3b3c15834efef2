import { batches } from './batches.ts';
import { toColumns } from './columns.ts';
import type { Database } from './database.ts';
import type { AuditRow } from './schema.ts';
import { lockedTransaction } from './transaction.ts';

export type NewAudit = Omit<AuditRow, 'id'>;

/** The only place that writes audit records: all or none of a batch, in the order given, one writer at a time. */
export function insertAuditBatch(db: Database, entries: readonly NewAudit[]): Promise<void> {
  return lockedTransaction(db, 'audit', async (transaction) => {
    for (const batch of batches(entries)) {
      await transaction.insertInto('audit').values(batch.map(toColumns)).execute();
    }
  });
}

export interface AuditFilter {
  event?: string;
  actor?: string;
  server_id?: string;
  server_name?: string;
  since?: string;
  until?: string;
  limit: number;
  /** The id of the last record of the page before. */
  before?: number;
}

/** The newest first. */
export function findAudit(
  { kysely }: Database,
  { since, until, limit, before, event, actor, server_id, server_name }: AuditFilter,
): Promise<AuditRow[]> {
  let query = kysely.selectFrom('audit').selectAll();
  if (event !== undefined) query = query.where('event', '=', event);
  if (actor !== undefined) query = query.where('actor', '=', actor);
  if (server_id !== undefined) query = query.where('server_id', '=', server_id);
  if (server_name !== undefined) query = query.where('server_name', '=', server_name);
  if (since !== undefined) query = query.where('timestamp', '>=', since);
  if (until !== undefined) query = query.where('timestamp', '<', until);
  if (before !== undefined) query = query.where('id', '<', before);
  return query.orderBy('id', 'desc').limit(limit).execute();
}
