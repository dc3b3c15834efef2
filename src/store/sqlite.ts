import { chmodSync, closeSync, openSync, statSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { type DatabaseConnection, type Driver, SqliteDialect, type SqliteStatement } from 'kysely';
import { isTurnOver, nextTurn } from '../time-slice.ts';
import { fromSqlite } from './columns.ts';
import { fromSqliteError } from './storage-fault.ts';

/**
 * FULL: what was acknowledged survives a power cut, not only a killed process. In memory: what undoes half a statement,
 * for which every batch of records would otherwise make and remove a file. Waiting for a lock stops everything else in
 * this process, and only a foreign program can hold one.
 */
const pragmas = `
  pragma journal_mode = wal;
  pragma synchronous = full;
  pragma foreign_keys = on;
  pragma busy_timeout = 1000;
  pragma temp_store = memory;
`;
const cachedStatements = 200;
/** Long multi-row inserts are not cached, because they would evict the frequent short statements. */
const cachedSqlLength = 8_000;

/** Kysely's SQLite dialect on the database that is built into Node. */
export function createSqliteDialect(file: string): SqliteDialect {
  const database = translated(file, () => open(file));
  const statements = new Map<string, SqliteStatement>();

  const dialect = new SqliteDialect({
    database: {
      close: () => database.close(),
      prepare(sql) {
        const known = statements.get(sql);
        if (known !== undefined) return known;
        const statement = translated(file, () => toKyselyStatement(database.prepare(sql), sql, file));
        if (sql.length <= cachedSqlLength) {
          if (statements.size >= cachedStatements) statements.clear();
          statements.set(sql, statement);
        }
        return statement;
      },
    },
  });
  return Object.assign(dialect, { createDriver: () => givingWay(SqliteDialect.prototype.createDriver.call(dialect)) });
}

/**
 * SQLite answers at once, so that a transaction of many statements, and all that is done between them, would be a single
 * turn of the event loop. After each statement, other work runs if the turn has lasted for long.
 */
function givingWay(driver: Driver): Driver {
  const acquire = driver.acquireConnection.bind(driver);
  let wrapped: DatabaseConnection | undefined;
  return Object.assign(driver, {
    async acquireConnection(...options: Parameters<typeof acquire>) {
      wrapped ??= withTurns(await acquire(...options));
      return wrapped;
    },
  });
}

function withTurns(connection: DatabaseConnection): DatabaseConnection {
  return {
    async executeQuery(...query) {
      isTurnOver();
      const result = await connection.executeQuery<never>(...query);
      if (isTurnOver()) await nextTurn();
      return result;
    },
    streamQuery: (...query) => connection.streamQuery(...query),
  };
}

/** Readable by the owner only. SQLite creates its other files with the same mode. Windows has no such modes. */
function restrictToOwner(file: string): void {
  if (process.platform === 'win32') return;
  for (const path of [file, `${file}-wal`, `${file}-shm`]) {
    const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
    if ((mode & 0o077) !== 0) chmodSync(path, 0o600);
  }
}

function open(file: string): DatabaseSync {
  if (file !== ':memory:') closeSync(openSync(file, 'a', 0o600));
  const database = new DatabaseSync(file);
  try {
    database.exec(pragmas);
    restrictToOwner(file);
  } catch (error) {
    database.close();
    throw error;
  }
  return database;
}

function translated<T>(file: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw fromSqliteError(error, file);
  }
}

/** SQLite has rolled back already if the disk is full; a second rollback would hide that error. */
function isUndone(sql: string, error: unknown): boolean {
  return sql === 'rollback' && error instanceof Error && 'errcode' in error && error.errcode === sqliteError;
}

const sqliteError = 1;

function toKyselyStatement(statement: StatementSync, sql: string, file: string): SqliteStatement {
  return {
    // `statement.columns()` would tell, but only from Node 22.16 on.
    reader: /^\s*(select|with|pragma)\b|\breturning\b/i.test(sql),
    all: (parameters) => translated(file, () => statement.all(...parameters.map(toBindable)).map(fromSqlite)),
    run(parameters) {
      try {
        return statement.run(...parameters.map(toBindable));
      } catch (error) {
        if (isUndone(sql, error)) return { changes: 0, lastInsertRowid: 0 };
        throw fromSqliteError(error, file);
      }
    },
    *iterate(parameters) {
      for (const row of statement.iterate(...parameters.map(toBindable))) yield fromSqlite(row);
    },
  };
}

function toBindable(value: unknown): SQLInputValue {
  if (value === undefined || value === null) return null;
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint') return value;
  if (value instanceof Uint8Array) return value;
  throw new TypeError(`SQLite cannot store a ${typeof value}`);
}
