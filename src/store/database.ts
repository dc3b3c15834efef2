import { Kysely, type LogEvent, sql } from 'kysely';
import { AppError, describe } from '../errors.ts';
import { findSealed, migrate } from './migrate.ts';
import type { DatabaseSchema } from './schema.ts';
import { createSqliteDialect } from './sqlite.ts';
import { StorageFault } from './storage-fault.ts';

export type Engine = 'sqlite' | 'postgres';

export interface Database {
  readonly kysely: Kysely<DatabaseSchema>;
  readonly engine: Engine;
  /** Throws the storage fault if the database does not respond or a recent write failed. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

interface DatabaseOptions {
  url?: string;
  file?: string;
  /** Called for every query with its duration and result. */
  onQuery?: (ms: number, failed: boolean) => void;
  /** Called when storage starts to fail or the cause changes, and with undefined when it works again. */
  onFault?: (fault: StorageFault | undefined) => void;
  /** Throws where the sealed values of the database cannot be ours, before anything is changed. */
  checkSealed?: (sealed: readonly string[]) => void;
}

type QueryLog = (event: LogEvent) => void;

/** Minimum duration of a reported fault, because a small write may succeed where a large one failed. */
const faultShownMs = 10_000;

/** Opens and migrates PostgreSQL if a URL is given, otherwise the SQLite file. */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const { url, file, onQuery, onFault } = options;
  const faults = createFaultState(onFault);
  const log: QueryLog = (event) => {
    onQuery?.(event.queryDurationMillis, event.level === 'error');
    if (event.level === 'error' && event.error instanceof StorageFault) faults.set(event.error);
  };
  const database =
    url !== undefined ? await openPostgres(url, log, { faults, onQuery }) : openSqlite(file ?? ':memory:', log, faults);
  try {
    if (options.checkSealed !== undefined) options.checkSealed(await findSealed(database));
    await migrate(database);
  } catch (error) {
    await database.close();
    throw error;
  }
  return database;
}

function openSqlite(file: string, log: QueryLog, faults: FaultState): Database {
  return toDatabase(new Kysely<DatabaseSchema>({ dialect: createSqliteDialect(file), log }), 'sqlite', faults);
}

async function openPostgres(
  url: string,
  log: QueryLog,
  { faults, onQuery }: { faults: FaultState; onQuery: DatabaseOptions['onQuery'] },
): Promise<Database> {
  // The error of the driver would contain the URL with the password.
  if (!URL.canParse(url)) {
    throw new AppError(
      'CONFIGURATION_INVALID',
      'DATABASE_URL is not a URL like postgresql://user:password@host/database',
    );
  }
  // A failed start reports the error itself.
  let isOpen = false;
  const onUnreachable = (error: unknown, ms: number) => {
    if (!isOpen) return;
    onQuery?.(ms, true);
    if (error instanceof StorageFault) faults.set(error);
  };
  // The driver is loaded only where it is used.
  const { createPostgresDialect } = await import('./postgres.ts');
  const database = toDatabase(
    new Kysely<DatabaseSchema>({ dialect: createPostgresDialect(url, onUnreachable), log }).withSchema('mcp'),
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

/** At startup, the message of the driver is more helpful. */
function rootOf(error: unknown): unknown {
  const driver = error instanceof StorageFault ? error.cause : error;
  return driver instanceof AggregateError ? new Error(driver.errors.map(describe).join(', ')) : driver;
}

function toDatabase(kysely: Kysely<DatabaseSchema>, engine: Engine, faults: FaultState): Database {
  return {
    kysely,
    engine,
    async ping() {
      // Reads succeed on a full or read-only disk, so only a write can detect the recovery.
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
