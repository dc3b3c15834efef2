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
  /** For calls: buffered, so that a call does not wait for the database. */
  record(entry: AuditEntry): void;
  /** For admin acts: resolves once the record is stored, after everything recorded before it. */
  recordNow(entry: AuditEntry): Promise<void>;
  find(filter: AuditFilter): Promise<AuditRecord[]>;
  /** Every record with its seal, the oldest first. */
  export(range?: { since?: string; until?: string }): AsyncGenerator<AuditRow>;
  /** Finds the first record that was changed, removed or inserted. */
  verify(): Promise<AuditVerdict>;
  /** Removes what is older than the retention, and records that. */
  prune(): Promise<number>;
  /** Not stored yet, and lost since the start. */
  readonly backlog: { waiting: number; dropped: number };
  flush(): Promise<void>;
  close(): Promise<void>;
}

export interface AuditOptions {
  keys: AuditKeys;
  flushEveryMs?: number;
  /** Records held while the database does not take them; beyond, records are dropped and counted. */
  capacity?: number;
  /** 0 keeps records for ever. */
  retentionDays?: number;
  /** May hide secrets in what others say of themselves. */
  stringify?: (details: JsonObject) => string;
  /** Told when a flush failed; what was not stored is tried again with the next one. */
  onError?: (error: unknown) => void;
}

/** Made a row of when it is stored: many at once cost half as much as each in the middle of its call. */
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
  // The ends may still be signed with the key before this one, which will be taken away.
  let writing: Promise<void> =
    options.keys.previous === undefined ? Promise.resolve() : resealAuditEnds(db, seal).catch(onError);

  /** One write at a time, in the order of recording. */
  function flush(): Promise<void> {
    const written = writing.then(write);
    writing = written.catch(() => {}); // `written` carries the failure to its caller; the next write follows anyway
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

  /** Exactly what a reader will get back, because the hash is over it: both engines change some texts and times. */
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

  /** One record that can't be written must not keep all the others waiting behind it. */
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
        // Before there is no more room, where calls come faster than that.
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

/** A time that is none is refused here: later it would keep all the others waiting. */
function recorded(entry: AuditEntry): Recorded {
  const at = entry.timestamp === undefined ? Date.now() : Date.parse(entry.timestamp);
  if (Number.isNaN(at)) throw new RangeError(`timestamp is not a time: ${entry.timestamp}`);
  return { at, entry };
}

let latest = { at: Number.NaN, text: '' };

/** Calls that end in the same millisecond share its text: writing it costs as much as hashing a record. */
function isoTime(at: number): string {
  if (latest.at !== at) latest = { at, text: new Date(at).toISOString() };
  return latest.text;
}

/** PostgreSQL refuses NUL in a text, and a lone half of a surrogate pair can't be stored by either engine. */
function storable(text: string): string {
  return /[\0\ud800-\udfff]/.test(text) ? text.replaceAll('\0', '').toWellFormed() : text;
}
