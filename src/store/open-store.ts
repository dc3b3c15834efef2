/** Opens the configured database: checks it, and backs up SQLite daily. */
import type { Config } from '../config/config.ts';
import { describe } from '../errors.ts';
import type { Logger } from '../log.ts';
import { createDailyBackup } from './daily-backup.ts';
import { type Database, openDatabase } from './database.ts';
import { checkDatabaseFile, databaseFileIn } from './integrity.ts';
import { logFault } from './storage-fault.ts';

interface StoreOptions {
  config: Config;
  log: Logger;
  /** The last process that used the data directory did not close it. */
  endedUncleanly: boolean;
  onQuery: (ms: number, failed: boolean) => void;
  checkSealed: (sealed: readonly string[]) => void;
}

/** Its `close` ends the backups first. */
export async function openStore({
  config,
  log,
  endedUncleanly,
  onQuery,
  checkSealed,
}: StoreOptions): Promise<Database> {
  const isFile = config.databaseUrl === undefined;
  if (isFile) checkDatabaseFile(config.dataDir, endedUncleanly, log);
  const db = await openDatabase({
    url: config.databaseUrl,
    file: databaseFileIn(config.dataDir),
    onQuery,
    checkSealed,
    onFault: (fault) => logFault(log, fault),
  });
  if (!isFile || config.backups === 0) return db;
  const backup = createDailyBackup({
    directory: config.dataDir,
    keep: config.backups,
    onBackup: (file, duration_ms) => log.info({ file, duration_ms }, 'the database was backed up'),
    onError: (error) => log.error({ reason: describe(error) }, 'the daily backup failed; retrying automatically'),
  });
  return {
    ...db,
    async close() {
      try {
        await backup.close();
      } finally {
        await db.close();
      }
    },
  };
}
