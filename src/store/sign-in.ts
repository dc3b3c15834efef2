import type { Database } from './database.ts';
import type { SignInCodeRow, SpentPassRow } from './schema.ts';

export async function insertSignInCode(db: Database, row: SignInCodeRow): Promise<void> {
  await deleteExpired(db, 'sign_in_codes');
  await db.kysely.insertInto('sign_in_codes').values(row).execute();
}

export function findSignInCode({ kysely }: Database, code_hash: string): Promise<SignInCodeRow | undefined> {
  return kysely.selectFrom('sign_in_codes').selectAll().where('code_hash', '=', code_hash).executeTakeFirst();
}

/** Deletes and returns it, because a code is valid once. */
export function takeSignInCode({ kysely }: Database, code_hash: string): Promise<SignInCodeRow | undefined> {
  return kysely.deleteFrom('sign_in_codes').where('code_hash', '=', code_hash).returningAll().executeTakeFirst();
}

/** True for the first use. */
export async function insertSpentPass(db: Database, row: SpentPassRow): Promise<boolean> {
  await deleteExpired(db, 'spent_passes');
  const { numInsertedOrUpdatedRows } = await db.kysely
    .insertInto('spent_passes')
    .values(row)
    .onConflict((conflict) => conflict.column('id').doNothing())
    .executeTakeFirst();
  return (numInsertedOrUpdatedRows ?? 0n) > 0n;
}

export function findSpentPasses({ kysely }: Database): Promise<SpentPassRow[]> {
  return kysely.selectFrom('spent_passes').selectAll().execute();
}

async function deleteExpired({ kysely }: Database, table: 'sign_in_codes' | 'spent_passes'): Promise<void> {
  await kysely.deleteFrom(table).where('expires_at', '<', new Date().toISOString()).execute();
}
