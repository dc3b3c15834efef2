import { describe } from '../errors.ts';
import type { JsonObject } from '../json-rpc.ts';
import {
  type AuditFilter,
  type AuditRecord,
  deleteAuditBefore,
  findAudit,
  findAuditAfter,
  insertAuditBatch,
  type NewAudit,
  resealAuditEnds,
} from '../store/audit.ts';
import type { Database } from '../store/database.ts';
import type { AuditRow } from '../store/schema.ts';
import { type AuditKeys, type AuditVerdict, createAuditSeal, verifyAudit } from './audit-chain.ts';

export interface AuditEntry {
  event: string;
  actor: string;
  ip_address?: string | null;
  server_id?: string | null;
  server_name?: string | null;
  details?: JsonObject | null;
  timestamp?: string;
}

export interface Audit {
  /** For calls: buffered, so that calls do not wait for the database. */
  record(entry: AuditEntry): void;
  /** For admin actions: resolves when this record and all earlier ones are stored. */
  recordNow(entry: AuditEntry): Promise<void>;
  find(filter: AuditFilter): Promise<AuditRecord[]>;
  /** All records with their seals, oldest first. */
  export(range?: { since?: string; until?: string }): AsyncGenerator<AuditRow>;
  /** Finds the first record that was changed, removed or inserted. */
  verify(): Promise<AuditVerdict>;
  /** Removes records that are older than the retention and records the removal. */
  prune(): Promise<number>;
  /** Number of records that are not stored yet, and lost since the start. */
  readonly backlog: { waiting: number; dropped: number };
  flush(): Promise<void>;
  close(): Promise<void>;
}

export interface AuditOptions {
  keys: AuditKeys;
  flushEveryMs?: number;
  /** Maximum number of buffered records; further ones are dropped and counted. */
  capacity?: number;
  /** 0 keeps records forever. */
  retentionDays?: number;
  /** Masks secrets in values from outside. */
  stringify?: (details: JsonObject) => string;
  /** Called if a flush failed; its records are retried with the next flush. */
  onError?: (error: unknown) => void;
}

/** Converted to a row when stored, because converting in batches costs half as much as during the calls. */
interface Recorded {
  at: number;
  entry: AuditEntry;
}

const dayMs = 86_400_000;
const pruneEveryMs = dayMs / 24;
const exportPage = 1_000;

export function createAudit(db: Database, options: AuditOptions): Audit {
  const {
    flushEveryMs = 1_000,
    capacity = 10_000,
    retentionDays = 0,
    onError = () => {},
    stringify = JSON.stringify,
  } = options;
  const seal = createAuditSeal(options.keys);
  const waiting: Recorded[] = [];
  let unreported = 0;
  let dropped = 0;
  // The ends may be signed with the previous key, which will be removed.
  let writing: Promise<void> =
    options.keys.previous === undefined ? Promise.resolve() : resealAuditEnds(db, seal).catch(onError);

  /** One write at a time, in the order of recording. */
  function flush(): Promise<void> {
    const written = writing.then(write);
    writing = written.catch(() => {}); // `written` reports the failure to its caller; the next write runs anyway
    return written;
  }

  async function write(): Promise<void> {
    if (waiting.length === 0 && unreported === 0) return;
    const batch = waiting.slice();
    const lost = unreported;
    const overflow = { event: 'audit.overflow', actor: 'system', details: { lost } };
    const all = lost > 0 ? [...batch, recorded(overflow)] : batch;
    await insertAuditBatch(db, all, toRow, seal);
    waiting.splice(0, batch.length);
    unreported -= lost;
  }

  /** Normalized to what the database returns, because the hash covers it and both engines change some values. */
  function toRow({ at, entry }: Recorded): NewAudit {
    return {
      timestamp: isoTime(at),
      event: storable(entry.event),
      actor: storable(entry.actor),
      ip_address: entry.ip_address == null ? null : storable(entry.ip_address),
      server_id: entry.server_id == null ? null : storable(entry.server_id),
      server_name: entry.server_name == null ? null : storable(entry.server_name),
      details: entry.details == null ? null : toText(entry.details),
    };
  }

  /** A record that cannot be written must not block the others. */
  function toText(details: JsonObject): string {
    try {
      return stringify(details);
    } catch (error) {
      return JSON.stringify({ unserialisable: describe(error) });
    }
  }

  async function recordNow(entry: AuditEntry): Promise<void> {
    waiting.push(recorded(entry));
    await flush();
  }

  async function prune(): Promise<number> {
    if (retentionDays === 0) return 0;
    const before = new Date(Date.now() - retentionDays * dayMs).toISOString();
    const removed = await deleteAuditBefore(db, before, seal);
    if (removed > 0) await recordNow({ event: 'audit.pruned', actor: 'system', details: { removed, before } });
    return removed;
  }

  const timers = [setInterval(() => flush().catch(onError), flushEveryMs).unref()];
  if (retentionDays > 0) {
    timers.push(setInterval(() => prune().catch(onError), pruneEveryMs).unref());
    prune().catch(onError);
  }

  return {
    record(entry) {
      if (waiting.length < capacity) {
        waiting.push(recorded(entry));
        // Flush early if records arrive faster than the interval.
        if (waiting.length === capacity / 2) flush().catch(onError);
        return;
      }
      unreported += 1;
      dropped += 1;
    },
    recordNow,
    async find(filter) {
      await flush();
      return findAudit(db, filter);
    },
    async *export({ since = '', until = '9999' } = {}) {
      await flush();
      for (let id = 0; ; ) {
        const page = await findAuditAfter(db, id, exportPage);
        yield* page.filter((row) => row.timestamp >= since && row.timestamp < until);
        id = page.at(-1)?.id ?? id;
        if (page.length < exportPage) return;
      }
    },
    async verify() {
      await flush();
      return await verifyAudit(db, seal);
    },
    prune,
    get backlog() {
      return { waiting: waiting.length, dropped };
    },
    flush,
    async close() {
      for (const timer of timers) clearInterval(timer);
      await flush();
    },
  };
}

/** Rejects an invalid time here, because it would block all other records later. */
function recorded(entry: AuditEntry): Recorded {
  const at = entry.timestamp === undefined ? Date.now() : Date.parse(entry.timestamp);
  if (Number.isNaN(at)) throw new RangeError(`timestamp is not a time: ${entry.timestamp}`);
  return { at, entry };
}

let latest = { at: Number.NaN, text: '' };

/** Cached per millisecond, because formatting a time costs as much as hashing a record. */
function isoTime(at: number): string {
  if (latest.at !== at) latest = { at, text: new Date(at).toISOString() };
  return latest.text;
}

/** PostgreSQL refuses NUL in a text, and a lone half of a surrogate pair can't be stored by either engine. */
function storable(text: string): string {
  return /[\0\ud800-\udfff]/.test(text) ? text.replaceAll('\0', '').toWellFormed() : text;
}
