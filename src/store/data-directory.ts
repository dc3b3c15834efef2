import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { AppError } from '../errors.ts';
import { systemProgram } from '../windows-process.ts';
import { fromFileError, fromSqliteError } from './storage-fault.ts';

const sqliteBusy = 5;
/** References the lock database, because garbage collection would release the lock. */
const held = new Set<DatabaseSync>();

/**
 * Makes this process the only owner of a data directory. The lock is the operating system's (SQLite holds it on a
 * file that is otherwise empty), so it ends with the process, however that ends; a pid file alone would outlive it.
 */
export function claimDataDirectory(directory: string): DataDirectory {
  try {
    return claim(directory);
  } catch (error) {
    const lockFile = join(directory, 'owner.lock');
    throw fromFileError(fromSqliteError(error, lockFile), directory);
  }
}

interface DataDirectory {
  /** The previous owner crashed or lost power. */
  readonly endedUncleanly: boolean;
  release(): void;
}

function claim(directory: string): DataDirectory {
  const isNew = mkdirSync(directory, { recursive: true, mode: 0o700 }) !== undefined;
  if (isNew && process.platform === 'win32') restrictOnWindows(directory);
  const lock = new DatabaseSync(join(directory, 'owner.lock'));
  try {
    lock.exec('begin exclusive');
  } catch (cause) {
    lock.close();
    if (!isBusy(cause)) throw cause;
    throw new AppError('DATA_DIRECTORY_IN_USE', `${directory} is in use by another mcp-aggregator${owner(directory)}`, {
      cause,
    });
  }
  const ownerFile = join(directory, 'owner.json');
  const endedUncleanly = existsSync(ownerFile);
  try {
    writeFileSync(`${ownerFile}.new`, JSON.stringify({ pid: process.pid, startedAt: new Date().toISOString() }));
    renameSync(`${ownerFile}.new`, ownerFile);
  } catch (error) {
    lock.close();
    throw error;
  }
  held.add(lock);

  return {
    endedUncleanly,
    release() {
      rmSync(ownerFile, { force: true });
      held.delete(lock);
      lock.close();
    },
  };
}

/** A folder outside of the user's profile inherits rights for everybody. SYSTEM keeps its rights, for backups. */
function restrictOnWindows(directory: string): void {
  const rights = [userInfo().username, '*S-1-5-18'].flatMap((who) => ['/grant:r', `${who}:(OI)(CI)F`]);
  spawnSync(systemProgram('icacls.exe'), [directory, '/inheritance:r', ...rights], {
    stdio: 'ignore',
    windowsHide: true,
  });
}

function isBusy(thrown: unknown): boolean {
  return thrown instanceof Error && 'errcode' in thrown && thrown.errcode === sqliteBusy;
}

/** For the message only; the file may not exist yet. */
function owner(directory: string): string {
  try {
    const { pid, startedAt } = JSON.parse(readFileSync(join(directory, 'owner.json'), 'utf8'));
    return ` (pid ${pid}, since ${startedAt})`;
  } catch {
    return ''; // no file yet
  }
}
