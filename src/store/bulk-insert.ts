import { CompiledQuery, type Transaction } from 'kysely';
import type { Database } from './database.ts';
import type { DatabaseSchema } from './schema.ts';

/** Only a few batch sizes, so that each statement is compiled once; compiling costs more than running. */
const sizes = [100, 10, 1];
const statements = new Map<string, string>();

/** Inserts rows that all have the same columns, in their order. */
export async function bulkInsert(
  { engine }: Database,
  transaction: Transaction<DatabaseSchema>,
  table: 'audit',
  rows: readonly Readonly<Record<string, unknown>>[],
): Promise<void> {
  const [first] = rows;
  if (first === undefined) return;
  const columns = Object.keys(first);
  let done = 0;
  for (const size of sizes) {
    for (; rows.length - done >= size; done += size) {
      const batch = rows.slice(done, done + size);
      const key = `${engine} ${table} ${size} ${columns.join(' ')}`;
      const sql = statements.get(key) ?? compile(transaction, table, batch);
      statements.set(key, sql);
      const values = batch.flatMap((row) => columns.map((column) => row[column]));
      await transaction.executeQuery(CompiledQuery.raw(sql, values));
    }
  }
}

function compile(transaction: Transaction<DatabaseSchema>, table: 'audit', batch: readonly object[]): string {
  // Only the shape of the rows matters to the statement; their values are bound later.
  return transaction
    .insertInto(table)
    .values(batch as never)
    .compile().sql;
}
