import { Kysely, type LogEvent, sql } from 'kysely';
import { AppError, describe } from '../errors.ts';
import { migrate } from './migrate.ts';
import { createPostgresDialect } from './postgres.ts';
import type { Schema } from './schema.ts';
import { createSqliteDialect } from './sqlite.ts';

export type Engine = 'sqlite' | 'postgres';

export interface Database {
  readonly kysely: Kysely<Schema>;
  readonly engine: Engine;
  ping(): Promise<void>;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  url?: string;
  file?: string;
  /** Told of every query: how long it took, and whether it failed. */
  onQuery?: (ms: number, failed: boolean) => void;
}

type QueryLog = ((event: LogEvent) => void) | undefined;

/** PostgreSQL where a URL is given, otherwise the SQLite file; migrated and ready. */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const { url, file, onQuery } = options;
  const log = onQuery && ((event: LogEvent) => onQuery(event.queryDurationMillis, event.level === 'error'));
  const database = url !== undefined ? await openPostgres(url, log) : openSqlite(file ?? ':memory:', log);
  try {
    await migrate(database);
  } catch (error) {
    await database.close();
    throw error;
  }
  return database;
}

function openSqlite(file: string, log: QueryLog): Database {
  return toDatabase(new Kysely<Schema>({ dialect: createSqliteDialect(file), log }), 'sqlite');
}

async function openPostgres(url: string, log: QueryLog): Promise<Database> {
  // The driver's own error for this would carry the URL, password and all.
  if (!URL.canParse(url)) {
    throw new AppError(
      'CONFIGURATION_INVALID',
      'DATABASE_URL is not a URL like postgresql://user:password@host/database',
    );
  }
  const database = toDatabase(
    new Kysely<Schema>({ dialect: createPostgresDialect(url), log }).withSchema('mcp'),
    'postgres',
  );
  try {
    await database.ping();
  } catch (cause) {
    await database.close();
    const reason = cause instanceof AggregateError ? cause.errors.map(describe).join(', ') : describe(cause);
    throw new AppError('CONFIGURATION_INVALID', `DATABASE_URL: cannot use PostgreSQL: ${reason}`, { cause });
  }
  return database;
}

function toDatabase(kysely: Kysely<Schema>, engine: Engine): Database {
  return {
    kysely,
    engine,
    async ping() {
      await sql`select 1`.execute(kysely);
    },
    close: () => kysely.destroy(),
  };
}
