import { type AuditFilter, findAudit, insertAuditBatch, type NewAudit } from '../store/audit.ts';
import type { Database } from '../store/database.ts';
import type { AuditRow, JsonObject } from '../store/schema.ts';

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
  find(filter: AuditFilter): Promise<AuditRow[]>;
  flush(): Promise<void>;
  close(): Promise<void>;
}

export interface AuditOptions {
  flushEveryMs?: number;
  /** Records held while the database does not take them; beyond, records are dropped and counted. */
  capacity?: number;
  /** Told when a flush failed; what was not stored is tried again with the next one. */
  onError?: (error: unknown) => void;
}

export function createAudit(
  db: Database,
  { flushEveryMs = 250, capacity = 10_000, onError = () => {} }: AuditOptions = {},
): Audit {
  const waiting: NewAudit[] = [];
  let dropped = 0;
  let writing = Promise.resolve();

  /** One write at a time, in the order of recording. */
  function flush(): Promise<void> {
    const written = writing.then(write);
    writing = written.catch(() => {});
    return written;
  }

  async function write(): Promise<void> {
    if (waiting.length === 0 && dropped === 0) return;
    const batch = waiting.slice();
    const lost = dropped;
    const entries =
      lost === 0 ? batch : [...batch, toRow({ event: 'audit.overflow', actor: 'system', details: { lost } })];
    await insertAuditBatch(db, entries);
    waiting.splice(0, batch.length);
    dropped -= lost;
  }

  const timer = setInterval(() => flush().catch(onError), flushEveryMs).unref();

  return {
    record(entry) {
      if (waiting.length < capacity) waiting.push(toRow(entry));
      else dropped += 1;
    },
    async recordNow(entry) {
      waiting.push(toRow(entry));
      await flush();
    },
    async find(filter) {
      await flush();
      return findAudit(db, filter);
    },
    flush,
    async close() {
      clearInterval(timer);
      await flush();
    },
  };
}

function toRow(entry: AuditEntry): NewAudit {
  return {
    timestamp: entry.timestamp ?? new Date().toISOString(),
    event: entry.event,
    actor: entry.actor,
    ip_address: entry.ip_address ?? null,
    server_id: entry.server_id ?? null,
    server_name: entry.server_name ?? null,
    details: entry.details ?? null,
  };
}
