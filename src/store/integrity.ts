/** Checks the integrity of a SQLite file without writing to it, except for SQLite's own recovery from its log. */
import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Logger } from '../log.ts';
import { damagedDatabase, fromSqliteError, type StorageFault } from './storage-fault.ts';

export const databaseFileIn = (directory: string) => join(directory, 'aggregator.db');
export const backupDirectoryIn = (directory: string) => join(directory, 'backups');

const headerBytes = 100;

/** Checks the complete file after a crash, otherwise only its length. */
export function checkDatabaseFile(directory: string, endedUncleanly: boolean, log: Logger): void {
  refuseCutDatabase(directory);
  const file = databaseFileIn(directory);
  if (!endedUncleanly || !existsSync(file)) return;
  const startedAt = performance.now();
  const damage = findDamage(file);
  if (damage !== undefined) throw damage;
  const duration_ms = Math.round(performance.now() - startedAt);
  log.info({ file, duration_ms }, 'the last run did not end cleanly; the database was checked and is intact');
}

/**
 * Before the database is opened, because SQLite takes an empty file for a new database. A directory that was in use
 * has our other files; a first start that was killed has none.
 */
export function refuseCutDatabase(directory: string): void {
  const file = databaseFileIn(directory);
  const size = statSync(file, { throwIfNoEntry: false })?.size;
  if (size === undefined) return;
  const wasInUse = ['backups', 'credential-key', 'admin-token'].some((name) => existsSync(join(directory, name)));
  if (size === 0 && wasInUse) throw damagedDatabase(file, 'the database file is empty');
  // With a write-ahead log, the file alone does not determine its length.
  if (size === 0 || (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0) return;
  const expected = lengthInHeader(file);
  if (expected !== undefined && size < expected) {
    throw damagedDatabase(file, `the database file is truncated (${size} of ${expected} bytes)`);
  }
}

/** Undefined if it is intact. Takes about a second per gigabyte. */
export function findDamage(file: string): StorageFault | undefined {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(file);
    const [first] = Object.values(database.prepare('pragma quick_check(1)').get() ?? {});
    return first === 'ok' ? undefined : damagedDatabase(file, `the database is damaged (${String(first)})`);
  } catch (error) {
    const known = fromSqliteError(error, file);
    if (known === error) throw error;
    return known as StorageFault;
  } finally {
    database?.close();
  }
}

/** Undefined if the header does not contain it; SQLite rejects files that are not databases. */
function lengthInHeader(file: string): number | undefined {
  const header = Buffer.alloc(headerBytes);
  const descriptor = openSync(file, 'r');
  const length = readSync(descriptor, header);
  closeSync(descriptor);
  if (length < headerBytes || header.toString('latin1', 0, 15) !== 'SQLite format 3') return undefined;
  const pageBytes = header.readUInt16BE(16);
  return (pageBytes === 1 ? 65_536 : pageBytes) * header.readUInt32BE(28);
}
