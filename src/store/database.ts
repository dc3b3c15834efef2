import { Kysely, type LogEvent, sql } from 'kysely';
import { AppError, describe } from '../errors.ts';
import { migrate } from './migrate.ts';
import { createPostgresDialect } from './postgres.ts';
import type { Schema } from './schema.ts';
import { createSqliteDialect } from './sqlite.ts';
import { StorageFault } from './storage-fault.ts';

export type Engine = 'sqlite' | 'postgres';

export interface Database {
  readonly kysely: Kysely<Schema>;
  readonly engine: Engine;
  /** Throws the storage fault where it does not answer, or could not write lately. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

interface DatabaseOptions {
  url?: string;
  file?: string;
  /** Told of every query: how long it took, and whether it failed. */
  onQuery?: (ms: number, failed: boolean) => void;
  /** Told once when storage begins to fail or fails in another way, and with undefined when it works again. */
  onFault?: (fault: StorageFault | undefined) => void;
}

type QueryLog = (event: LogEvent) => void;

/** A small write may fit where a large one did not: a fault is shown for at least so long. */
const faultShownMs = 10_000;

/** PostgreSQL where a URL is given, otherwise the SQLite file; migrated and ready. */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const { url, file, onQuery, onFault } = options;
  const faults = createFaultState(onFault);
  const log: QueryLog = (event) => {
    onQuery?.(event.queryDurationMillis, event.level === 'error');
    if (event.level === 'error' && event.error instanceof StorageFault) faults.set(event.error);
  };
  const database =
    url !== undefined ? await openPostgres(url, log, faults) : openSqlite(file ?? ':memory:', log, faults);
  try {
    await migrate(database);
  } catch (error) {
    await database.close();
    throw error;
  }
  return database;
}

function openSqlite(file: string, log: QueryLog, faults: FaultState): Database {
  return toDatabase(new Kysely<Schema>({ dialect: createSqliteDialect(file), log }), 'sqlite', faults);
}

async function openPostgres(url: string, log: QueryLog, faults: FaultState): Promise<Database> {
  // The driver's own error for this would carry the URL, password and all.
  if (!URL.canParse(url)) {
    throw new AppError(
      'CONFIGURATION_INVALID',
      'DATABASE_URL is not a URL like postgresql://user:password@host/database',
    );
  }
  // A start that fails says so itself.
  let isOpen = false;
  const onUnreachable = (error: unknown) => {
    if (isOpen && error instanceof StorageFault) faults.set(error);
  };
  const database = toDatabase(
    new Kysely<Schema>({ dialect: createPostgresDialect(url, onUnreachable), log }).withSchema('mcp'),
    'postgres',
    faults,
  );
  try {
    await database.ping();
    isOpen = true;
  } catch (cause) {
    await database.close();
    const reason = describe(rootOf(cause));
    throw new AppError('CONFIGURATION_INVALID', `DATABASE_URL: cannot use PostgreSQL: ${reason}`, { cause });
  }
  return database;
}

/** The driver's own words say more at the start, when a person looks at them. */
function rootOf(error: unknown): unknown {
  const driver = error instanceof StorageFault ? error.cause : error;
  return driver instanceof AggregateError ? new Error(driver.errors.map(describe).join(', ')) : driver;
}

function toDatabase(kysely: Kysely<Schema>, engine: Engine, faults: FaultState): Database {
  return {
    kysely,
    engine,
    async ping() {
      // Reading works where the disk is full or read-only; only a write tells whether it is over.
      if (engine === 'sqlite' && faults.current !== undefined) await sql`pragma user_version = 0`.execute(kysely);
      else await sql`select 1`.execute(kysely);
      faults.clear();
      if (faults.current !== undefined) throw faults.current;
    },
    close: () => kysely.destroy(),
  };
}

interface FaultState {
  readonly current: StorageFault | undefined;
  set(fault: StorageFault): void;
  /** Something worked again. */
  clear(): void;
}

function createFaultState(onFault: DatabaseOptions['onFault']): FaultState {
  let current: { fault: StorageFault; at: number } | undefined;
  return {
    get current() {
      return current?.fault;
    },
    set(fault) {
      const isNew = current?.fault.message !== fault.message;
      current = { fault, at: Date.now() };
      if (isNew) onFault?.(fault);
    },
    clear() {
      if (current === undefined) return;
      if (!current.fault.isConnection && Date.now() - current.at < faultShownMs) return;
      current = undefined;
      onFault?.(undefined);
    },
  };
}
