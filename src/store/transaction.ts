import { sql, type Transaction } from 'kysely';
import type { Database } from './database.ts';
import type { DatabaseSchema } from './schema.ts';

const locks = { migrations: 1, servers: 2, tools: 3, items: 4, audit: 5 } as const;
/** The first half of our advisory lock keys, to avoid collisions with other programs in the same database. */
const lockSpace = 0x6d6370;

/**
 * A transaction that no other one with the same lock runs beside: for decisions over many rows (limits, replacing a
 * server's tools), on PostgreSQL among all replicas. SQLite has one connection and so runs one transaction at a time.
 */
export function lockedTransaction<T>(
  { kysely, engine }: Database,
  lock: keyof typeof locks,
  run: (transaction: Transaction<DatabaseSchema>) => Promise<T>,
): Promise<T> {
  return kysely.transaction().execute(async (transaction) => {
    if (engine === 'postgres') {
      await sql`select pg_advisory_xact_lock(${lockSpace}::int, ${locks[lock]}::int)`.execute(transaction);
    }
    return run(transaction);
  });
}
