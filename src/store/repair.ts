/** Replaces a damaged database with the last intact backup. */
import { closeSync, copyFileSync, existsSync, fsyncSync, mkdirSync, openSync, renameSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { listBackups } from './daily-backup.ts';
import { claimDataDirectory } from './data-directory.ts';
import { databaseFileIn, findDamage } from './integrity.ts';

type Repair =
  | { outcome: 'nothing to do' }
  | { outcome: 'no backup'; damage: string }
  | { outcome: 'restored'; damage: string; from: string; at: Date; damagedFiles: string };

/** Throws if an aggregator uses the directory. */
export function repairDatabase(directory: string, now = new Date()): Repair {
  const claim = claimDataDirectory(directory);
  try {
    const file = databaseFileIn(directory);
    const damage = damageOf(file);
    if (damage === undefined) return { outcome: 'nothing to do' };
    const good = listBackups(directory).find((backup) => findDamage(backup.file) === undefined);
    if (good === undefined) return { outcome: 'no backup', damage };
    const damagedFiles = join(directory, `damaged-${now.toISOString().replaceAll(':', '-')}`);
    restore(file, good.file, damagedFiles);
    return { outcome: 'restored', damage, from: good.file, at: good.at, damagedFiles };
  } finally {
    claim.release();
  }
}

function damageOf(file: string): string | undefined {
  const size = statSync(file, { throwIfNoEntry: false })?.size;
  if (size === undefined) return `${file}: the database file is missing`;
  if (size === 0) return `${file}: the database file is empty`;
  return findDamage(file)?.message;
}

/** Syncs the copy before the damaged files are moved. They are kept, because they may contain newer data. */
function restore(file: string, backup: string, damagedFiles: string): void {
  const copy = `${file}.restored`;
  copyFileSync(backup, copy);
  const descriptor = openSync(copy, 'r+');
  fsyncSync(descriptor);
  closeSync(descriptor);
  mkdirSync(damagedFiles, { mode: 0o700 });
  for (const part of [file, `${file}-wal`, `${file}-shm`]) {
    if (existsSync(part)) renameSync(part, join(damagedFiles, basename(part)));
  }
  renameSync(copy, file);
}
