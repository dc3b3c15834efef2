import { toColumns } from './columns.ts';
import type { Database } from './database.ts';
import type { TokenRow } from './schema.ts';

export function insertToken({ kysely }: Database, token: TokenRow): Promise<TokenRow> {
  return kysely.insertInto('tokens').values(toColumns(token)).returningAll().executeTakeFirstOrThrow();
}

export function findTokens({ kysely }: Database): Promise<TokenRow[]> {
  return kysely.selectFrom('tokens').selectAll().orderBy('created_at').orderBy('id').execute();
}

export async function deleteToken({ kysely }: Database, id: string): Promise<boolean> {
  const { numDeletedRows } = await kysely.deleteFrom('tokens').where('id', '=', id).executeTakeFirst();
  return numDeletedRows > 0n;
}

export function updateTokensUsed({ kysely }: Database, usedAt: ReadonlyMap<string, string>): Promise<void> {
  return kysely.transaction().execute(async (transaction) => {
    // Sorted, because replicas that lock the same rows in different orders would deadlock.
    for (const [id, last_used_at] of [...usedAt].sort(([a], [b]) => (a < b ? -1 : 1))) {
      await transaction.updateTable('tokens').set({ last_used_at }).where('id', '=', id).execute();
    }
  });
}
