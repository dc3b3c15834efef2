import type { Database } from './database.ts';

export async function findSetting({ kysely }: Database, key: string): Promise<unknown> {
  const row = await kysely.selectFrom('settings').select('value').where('key', '=', key).executeTakeFirst();
  return row?.value;
}

export async function upsertSetting({ kysely }: Database, key: string, value: unknown): Promise<void> {
  const text = JSON.stringify(value);
  await kysely
    .insertInto('settings')
    .values({ key, value: text })
    .onConflict((conflict) => conflict.column('key').doUpdateSet({ value: text }))
    .execute();
}
