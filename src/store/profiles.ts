import type { JsonObject } from '../json-rpc.ts';
import { toColumns } from './columns.ts';
import type { Database } from './database.ts';
import type { ProfileRow } from './schema.ts';

/** Creates the profile or gives it a new definition. */
export function upsertProfile({ kysely }: Database, name: string, definition: JsonObject): Promise<ProfileRow> {
  const now = new Date().toISOString();
  return kysely
    .insertInto('profiles')
    .values(toColumns({ name, definition, created_at: now, updated_at: now }))
    .onConflict((conflict) => conflict.column('name').doUpdateSet(toColumns({ definition, updated_at: now })))
    .returningAll()
    .executeTakeFirstOrThrow();
}

export function findProfiles({ kysely }: Database): Promise<ProfileRow[]> {
  return kysely.selectFrom('profiles').selectAll().orderBy('name').execute();
}

export async function deleteProfile({ kysely }: Database, name: string): Promise<boolean> {
  const { numDeletedRows } = await kysely.deleteFrom('profiles').where('name', '=', name).executeTakeFirst();
  return numDeletedRows > 0n;
}
