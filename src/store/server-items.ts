import { isDeepStrictEqual } from 'node:util';
import { AppError } from '../errors.ts';
import { batches } from './batches.ts';
import { toColumns } from './columns.ts';
import type { Database } from './database.ts';
import type { ServerItemKind, ServerItemRow } from './schema.ts';
import { lockedTransaction } from './transaction.ts';

type DiscoveredItem = Pick<ServerItemRow, 'key' | 'definition'>;

/** Makes the stored prompts, resources or templates of a server equal to its list; says whether anything changed. */
export function replaceServerItems(
  db: Database,
  serverId: string,
  kind: ServerItemKind,
  items: readonly DiscoveredItem[],
): Promise<boolean> {
  const unique = [...new Map(items.map((item) => [item.key, item])).values()];
  const rows = unique.map((item, position): ServerItemRow => ({ server_id: serverId, kind, ...item, position }));

  return lockedTransaction(db, 'items', async (transaction) => {
    const server = await transaction
      .selectFrom('external_servers')
      .select('id')
      .where('id', '=', serverId)
      .executeTakeFirst();
    if (server === undefined) throw new AppError('SERVER_NOT_FOUND', `Server not found: ${serverId}`);

    const stored = await transaction
      .selectFrom('server_items')
      .selectAll()
      .where('server_id', '=', serverId)
      .where('kind', '=', kind)
      .orderBy('position')
      .execute();
    if (isDeepStrictEqual(stored, rows)) return false;

    await transaction.deleteFrom('server_items').where('server_id', '=', serverId).where('kind', '=', kind).execute();
    for (const batch of batches(rows)) {
      await transaction.insertInto('server_items').values(batch.map(toColumns)).execute();
    }
    return true;
  });
}

export function findServerItems({ kysely }: Database): Promise<ServerItemRow[]> {
  return kysely
    .selectFrom('server_items')
    .selectAll()
    .orderBy('server_id')
    .orderBy('kind')
    .orderBy('position')
    .execute();
}

export function findItemsOfServer({ kysely }: Database, serverId: string): Promise<ServerItemRow[]> {
  return kysely
    .selectFrom('server_items')
    .selectAll()
    .where('server_id', '=', serverId)
    .orderBy('kind')
    .orderBy('position')
    .execute();
}
