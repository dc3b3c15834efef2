import type { Database } from './database.ts';
import type { UserKeyRow } from './schema.ts';

type KeyOwner = Pick<UserKeyRow, 'server_id' | 'principal'>;

/** The oldest first. */
export function findUserKeys({ kysely }: Database, of: Partial<KeyOwner> = {}): Promise<UserKeyRow[]> {
  let query = kysely.selectFrom('user_keys').selectAll();
  if (of.server_id !== undefined) query = query.where('server_id', '=', of.server_id);
  if (of.principal !== undefined) query = query.where('principal', '=', of.principal);
  return query.orderBy('updated_at').orderBy('name').execute();
}

export async function upsertUserKey({ kysely }: Database, row: UserKeyRow): Promise<void> {
  const { sealed, updated_at } = row;
  await kysely
    .insertInto('user_keys')
    .values(row)
    .onConflict((conflict) => conflict.columns(['server_id', 'principal', 'name']).doUpdateSet({ sealed, updated_at }))
    .execute();
}

/** False where it is no longer sealed as it was. */
export async function updateUserKeySealed(
  { kysely }: Database,
  { server_id, principal, name }: KeyOwner & Pick<UserKeyRow, 'name'>,
  before: string,
  sealed: string,
): Promise<boolean> {
  const { numUpdatedRows } = await kysely
    .updateTable('user_keys')
    .set({ sealed })
    .where('server_id', '=', server_id)
    .where('principal', '=', principal)
    .where('name', '=', name)
    .where('sealed', '=', before)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

export async function deleteUserKey(
  { kysely }: Database,
  { server_id, principal, name }: KeyOwner & Pick<UserKeyRow, 'name'>,
): Promise<boolean> {
  const { numDeletedRows } = await kysely
    .deleteFrom('user_keys')
    .where('server_id', '=', server_id)
    .where('principal', '=', principal)
    .where('name', '=', name)
    .executeTakeFirst();
  return numDeletedRows > 0n;
}

export async function deleteUserKeysOf({ kysely }: Database, principal: string): Promise<void> {
  await kysely.deleteFrom('user_keys').where('principal', '=', principal).execute();
}
