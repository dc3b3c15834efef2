import type { Database } from './database.ts';
import type { AccountRow } from './schema.ts';

export function findAccounts({ kysely }: Database): Promise<AccountRow[]> {
  return kysely.selectFrom('accounts').selectAll().orderBy('name').orderBy('id').execute();
}

export function findAccount({ kysely }: Database, id: string): Promise<AccountRow | undefined> {
  return kysely.selectFrom('accounts').selectAll().where('id', '=', id).executeTakeFirst();
}

export async function upsertAccount({ kysely }: Database, row: AccountRow): Promise<void> {
  const { id: _id, created_at: _created, ...changed } = row;
  await kysely
    .insertInto('accounts')
    .values(row)
    .onConflict((conflict) => conflict.column('id').doUpdateSet(changed))
    .execute();
}

/** False if there is one already. */
export async function insertAccount({ kysely }: Database, row: AccountRow): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await kysely
    .insertInto('accounts')
    .values(row)
    .onConflict((conflict) => conflict.column('id').doNothing())
    .executeTakeFirst();
  return (numInsertedOrUpdatedRows ?? 0n) > 0n;
}

/** False if it was changed or deleted since it was read. */
export async function updateAccount(
  { kysely }: Database,
  { id, updated_at }: Pick<AccountRow, 'id' | 'updated_at'>,
  changes: Partial<AccountRow>,
): Promise<boolean> {
  const { numUpdatedRows } = await kysely
    .updateTable('accounts')
    .set(changes)
    .where('id', '=', id)
    .where('updated_at', '=', updated_at)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** True for the one replica that may check the account now. */
export async function leaseAccount(
  { kysely }: Database,
  { id, updated_at }: Pick<AccountRow, 'id' | 'updated_at'>,
  { now, until }: { now: string; until: string },
): Promise<boolean> {
  const { numUpdatedRows } = await kysely
    .updateTable('accounts')
    .set({ lease_until: until })
    .where('id', '=', id)
    // Only if unchanged, because another replica may have checked it.
    .where('updated_at', '=', updated_at)
    .where((is) => is.or([is('lease_until', 'is', null), is('lease_until', '<', now)]))
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Releases the lease early, so that others need not wait until it expires. */
export async function releaseAccount(
  { kysely }: Database,
  { id, updated_at }: Pick<AccountRow, 'id' | 'updated_at'>,
): Promise<void> {
  await kysely
    .updateTable('accounts')
    .set({ lease_until: null })
    .where('id', '=', id)
    .where('updated_at', '=', updated_at)
    .execute();
}

export async function updateAccountSeen({ kysely }: Database, id: string, seen_at: string): Promise<void> {
  await kysely.updateTable('accounts').set({ seen_at }).where('id', '=', id).execute();
}

/** False where it is no longer sealed as it was. */
export async function updateAccountSealed(
  { kysely }: Database,
  id: string,
  before: string,
  sealed: string,
): Promise<boolean> {
  const { numUpdatedRows } = await kysely
    .updateTable('accounts')
    .set({ sealed })
    .where('id', '=', id)
    .where('sealed', '=', before)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

export async function deleteAccount({ kysely }: Database, id: string): Promise<void> {
  await kysely.deleteFrom('accounts').where('id', '=', id).execute();
}
