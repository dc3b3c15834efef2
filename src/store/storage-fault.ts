/** Translates storage errors into messages with the file or database, the cause and the remedy. */
import { AppError, describe } from '../errors.ts';
import type { Logger } from '../log.ts';

interface Fault {
  cause: string;
  remedy: string;
  retryAfterSeconds: number;
  /** Faults that end as soon as the database responds; others affect only writes or some tables. */
  isConnection?: boolean;
}

const repair = 'Stop the aggregator and run: mcp-aggregator doctor --repair';
const full: Fault = { cause: 'the disk is full', remedy: 'Free some space.', retryAfterSeconds: 30 };
const readOnly: Fault = {
  cause: 'it cannot be written to',
  remedy: 'Make the directory and its files writable for the user that runs the aggregator.',
  retryAfterSeconds: 30,
};
const unreadable: Fault = {
  cause: 'the disk reports an input/output error',
  remedy: 'Check the disk and its file system.',
  retryAfterSeconds: 30,
};
const damaged: Fault = { cause: 'the database is damaged', remedy: repair, retryAfterSeconds: 300 };
const exhausted: Fault = {
  cause: 'no file descriptors are left',
  remedy: 'Raise the limit of open files (ulimit -n).',
  retryAfterSeconds: 5,
};

/** By SQLite's primary result code. */
const sqliteFaults: Record<number, Fault> = {
  5: { cause: 'another program has locked it', remedy: 'Close that program.', retryAfterSeconds: 2 },
  7: { cause: 'there is not enough memory', remedy: 'Increase the memory of the aggregator.', retryAfterSeconds: 5 },
  8: readOnly,
  10: unreadable,
  11: damaged,
  13: full,
  14: { ...readOnly, cause: 'it cannot be opened' },
  26: { ...damaged, cause: 'it is not a database' },
};

const fileFaults: Record<string, Fault> = {
  ENOSPC: full,
  EDQUOT: { ...full, cause: 'the disk quota is used up' },
  EROFS: { ...readOnly, cause: 'the file system is read-only' },
  EACCES: readOnly,
  EPERM: readOnly,
  EIO: unreadable,
  EMFILE: exhausted,
  ENFILE: exhausted,
  ENOTDIR: { ...readOnly, cause: 'a part of the path is not a directory', remedy: 'Choose another data directory.' },
  EEXIST: { ...readOnly, cause: 'it is not a directory', remedy: 'Choose another data directory.' },
};

const away: Fault = {
  cause: 'it does not respond',
  remedy: 'Retrying automatically.',
  retryAfterSeconds: 5,
  isConnection: true,
};

/** By SQLSTATE, the whole of it or its class. */
const postgresFaults: Record<string, Fault> = {
  25006: { cause: 'it is read-only', remedy: 'Connect to the primary.', retryAfterSeconds: 10 },
  53100: { ...full, cause: 'its disk is full' },
  57014: { cause: 'a query took too long', remedy: 'Check the load of the database.', retryAfterSeconds: 5 },
  '08': { ...away, cause: 'the connection was lost' },
  28: { cause: 'it rejects the login', remedy: 'Correct DATABASE_URL.', retryAfterSeconds: 30 },
  53: { cause: 'it is out of resources', remedy: 'Check its limits and its log.', retryAfterSeconds: 10 },
  57: { ...away, cause: 'it is shutting down or starting' },
  58: { cause: 'it reports a system error', remedy: 'Check its log.', retryAfterSeconds: 30 },
  XX: { cause: 'it reports an internal error', remedy: 'Check its log.', retryAfterSeconds: 30 },
};

export class StorageFault extends AppError {
  /** The file or the database. */
  readonly place: string;
  readonly remedy: string;
  readonly isConnection: boolean;

  constructor(place: string, { cause: why, remedy, retryAfterSeconds, isConnection = false }: Fault, cause?: unknown) {
    super('STORAGE_UNAVAILABLE', `${place}: ${why}. ${remedy}`, { cause, retryAfterSeconds });
    this.name = 'StorageFault';
    this.place = place;
    this.remedy = remedy;
    this.isConnection = isConnection;
  }
}

/** Undefined: the fault is over. */
export function logFault(log: Logger, fault: StorageFault | undefined): void {
  if (fault === undefined) return log.info('storage works again');
  const { place, remedy, message, cause } = fault;
  log.error({ place, remedy, reason: describe(cause) }, message);
}

/** A record that is stored later. */
export function logUnstored(log: Logger, error: unknown): void {
  // A storage fault is in the log already, once.
  if (!(error instanceof StorageFault)) log.error({ err: error }, 'could not store a record yet');
}

/** Other errors (a violated constraint, a bug) are not translated. */
export function fromSqliteError(error: unknown, file: string): unknown {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return error;
  const fault = sqliteFaults[error.errcode & 0xff];
  return fault === undefined ? error : new StorageFault(file, fault, error);
}

export function fromFileError(error: unknown, directory: string): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error;
  const { code, syscall, path = syscall === 'write' ? directory : undefined } = error as NodeJS.ErrnoException;
  const fault = fileFaults[code ?? ''];
  if (fault === undefined || path === undefined || !path.startsWith(directory)) return error;
  return new StorageFault(path, fault, error);
}

export function fromPostgresError(error: unknown, place: string): unknown {
  if (!(error instanceof Error) || error instanceof TypeError || error instanceof RangeError) return error;
  if (!('severity' in error)) return unreachable(place, error);
  const { code = '' } = error as Error & { code?: string };
  const fault = postgresFaults[code] ?? postgresFaults[code.slice(0, 2)];
  return fault === undefined ? error : new StorageFault(place, fault, error);
}

export function unreachable(place: string, error: unknown): StorageFault {
  return new StorageFault(place, away, error);
}

export function damagedDatabase(file: string, why: string): StorageFault {
  return new StorageFault(file, { ...damaged, cause: why });
}
