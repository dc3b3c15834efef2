/** Daily verified copies of the SQLite database. `doctor --repair` restores from them. */
import { existsSync, mkdirSync, readdirSync, rmSync, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { backupDirectoryIn, databaseFileIn } from './integrity.ts';

interface DailyBackupOptions {
  directory: string;
  /** Number of copies to keep. */
  keep: number;
  /** Called after each backup and after each failure. */
  onBackup: (file: string, ms: number) => void;
  onError: (error: Error) => void;
}

interface DailyBackup {
  /** Creates a backup if the last one is a day old. Never rejects; errors go to `onError`. */
  makeIfDue(now?: Date): Promise<void>;
  close(): Promise<void>;
}

const dayMs = 86_400_000;
const checkEveryMs = 600_000;
/** Delays the first backup after the start. */
const firstCheckMs = 30_000;
/** Maximum size of all copies; the newest is always kept. */
const maxBackupBytes = 2_147_483_648;
const backupTimeoutMs = 600_000;
const name = /^aggregator-(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d)Z\.db$/;

export function createDailyBackup({ directory, keep, onBackup, onError }: DailyBackupOptions): DailyBackup {
  const backups = backupDirectoryIn(directory);
  const closing = new AbortController();
  let underWay: Promise<void> | undefined;

  function makeIfDue(now = new Date()): Promise<void> {
    underWay ??= make(now)
      .catch((error: Error) => {
        if (!closing.signal.aborted) onError(error);
      })
      .finally(() => {
        underWay = undefined;
      });
    return underWay;
  }

  async function make(now: Date): Promise<void> {
    const [newest] = listBackups(directory);
    if (newest !== undefined && now.getTime() - newest.at.getTime() < dayMs) return;
    const startedAt = performance.now();
    const file = databaseFileIn(directory);
    mkdirSync(backups, { recursive: true, mode: 0o700 });
    requireSpace(file, backups);
    const target = join(backups, `aggregator-${now.toISOString().slice(0, 19).replaceAll(':', '-')}Z.db`);
    await copyInWorker(file, target, closing.signal);
    onBackup(target, Math.round(performance.now() - startedAt));
    prune(directory, keep);
  }

  const first = setTimeout(() => void makeIfDue(), firstCheckMs).unref();
  const timer = setInterval(() => void makeIfDue(), checkEveryMs).unref();
  return {
    makeIfDue,
    async close() {
      clearTimeout(first);
      clearInterval(timer);
      closing.abort();
      await underWay;
    },
  };
}

/** The newest first. */
export function listBackups(directory: string): { file: string; at: Date; bytes: number }[] {
  const backups = backupDirectoryIn(directory);
  if (!existsSync(backups)) return [];
  return readdirSync(backups)
    .flatMap((entry) => {
      const [, time] = name.exec(entry) ?? [];
      if (time === undefined) return [];
      const file = join(backups, entry);
      const at = new Date(`${time.slice(0, 11)}${time.slice(11).replaceAll('-', ':')}Z`);
      return [{ file, at, bytes: statSync(file).size }];
    })
    .sort((a, b) => b.at.getTime() - a.at.getTime());
}

function prune(directory: string, keep: number): void {
  let bytes = 0;
  for (const [place, backup] of listBackups(directory).entries()) {
    bytes += backup.bytes;
    if (place >= keep || (place > 0 && bytes > maxBackupBytes)) rmSync(backup.file, { force: true });
  }
}

/** A backup must not fill the disk. */
function requireSpace(file: string, backups: string): void {
  const { bavail, bsize } = statfsSync(backups);
  const wanted = statSync(file).size * 2;
  if (bavail * bsize < wanted) throw new Error(`not enough free space for a backup: ${wanted} bytes are required`);
}

/** In a worker thread, because copying a large database would block all calls for seconds. */
function copyInWorker(file: string, target: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(copyScript, { eval: true, workerData: { file, target }, execArgv: [], env: {} });
    const end = (reason: Error) => {
      reject(reason);
      void worker.terminate();
    };
    const timer = setTimeout(() => end(new Error('the backup timed out')), backupTimeoutMs).unref();
    signal.addEventListener('abort', () => end(new Error('closing')), { once: true });
    worker.on('error', reject);
    worker.on('exit', (code) => {
      clearTimeout(timer);
      if (code === 0) resolve();
      else reject(new Error(`the backup ended with ${code}`));
    });
  });
}

const copyScript = `
const fs = require('node:fs');
const { DatabaseSync } = require('node:sqlite');
const { workerData: { file, target } } = require('node:worker_threads');
const part = target + '.part';
fs.rmSync(part, { force: true });
// Made first, because SQLite would make it readable for everybody.
fs.closeSync(fs.openSync(part, 'w', 0o600));
const source = new DatabaseSync(file, { readOnly: true });
source.prepare('vacuum into ?').run(part);
source.close();
const copy = new DatabaseSync(part, { readOnly: true });
const [verdict] = Object.values(copy.prepare('pragma quick_check(1)').get());
copy.close();
if (verdict !== 'ok') throw new Error('the backup is damaged: ' + verdict);
const descriptor = fs.openSync(part, 'r+');
fs.fsyncSync(descriptor);
fs.closeSync(descriptor);
fs.renameSync(part, target);
`;
