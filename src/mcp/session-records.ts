/** What is stored about legacy sessions beside their ids: who continues them, what they follow, that they have ended. */
import { describe } from '../errors.ts';
import type { JsonObject } from '../json-rpc.ts';
import type { Logger } from '../log.ts';
import type { Database } from '../store/database.ts';
import { claimMcpSession, endMcpSession, releaseMcpSessions, upsertMcpSessionDetails } from '../store/mcp-sessions.ts';
import { type SessionSeed, sessionLifetimeMs } from './session-ids.ts';

/** What a client set in its session after it was opened. */
export interface SessionDetails {
  readonly logLevel?: string;
  readonly subscriptions?: readonly string[];
}

export type Claim =
  | { kind: 'ours'; details: SessionDetails }
  /** Another replica continues the session. */
  | { kind: 'elsewhere'; replica: string }
  | { kind: 'ended' };

export interface SessionRecords {
  /** Makes this replica the one that continues the session. `except`: a replica that cannot, although it lives. */
  claim(seed: SessionSeed, except?: string): Promise<Claim>;
  /** Resolves when it is stored, or will be in a moment: a client may set a thousand things one after the other. */
  save(seed: SessionSeed, details: SessionDetails): Promise<void>;
  end(seed: SessionSeed): Promise<void>;
  /** Other replicas may continue the sessions that this one took over. */
  release(): Promise<void>;
  close(): Promise<void>;
}

const saveEveryMs = 100;

interface SessionRecordDependencies {
  db: Database;
  log: Logger;
  replicaId: string;
  /** The ids of the other replicas that live. */
  otherReplicas(): readonly string[];
}

export function createSessionRecords(deps: SessionRecordDependencies): SessionRecords {
  const { db, log, replicaId } = deps;
  const expiry = ({ openedAt }: SessionSeed) => new Date(openedAt + sessionLifetimeMs).toISOString();
  const logFailure = (error: unknown) =>
    log.warn({ error: describe(error) }, 'could not store the state of an MCP session');

  const unsaved = new Map<string, { id: string; details: JsonObject; expires_at: string }>();
  let timer: NodeJS.Timeout | undefined;
  let saving: Promise<void> = Promise.resolve();

  function saveAll(): Promise<void> {
    const rows = [...unsaved.values()];
    unsaved.clear();
    saving = saving.then(async () => {
      for (const row of rows) await upsertMcpSessionDetails(db, row).catch(logFailure);
    });
    return saving;
  }

  return {
    async claim(seed, except) {
      const living = deps.otherReplicas().filter((id) => id !== except);
      try {
        const claimed = { id: seed.key, replica: replicaId, expires_at: expiry(seed) };
        const row = await claimMcpSession(db, claimed, [...living, replicaId]);
        if (row.ended) return { kind: 'ended' };
        if (row.replica !== null && row.replica !== replicaId) return { kind: 'elsewhere', replica: row.replica };
        return { kind: 'ours', details: (row.details ?? {}) as SessionDetails };
      } catch (error) {
        // Calls work without the database, and so do the sessions that they belong to.
        logFailure(error);
        return { kind: 'ours', details: {} };
      }
    },
    async save(seed, details) {
      unsaved.set(seed.key, { id: seed.key, details: { ...details }, expires_at: expiry(seed) });
      if (timer !== undefined) return;
      timer = setTimeout(() => {
        timer = undefined;
        void saveAll();
      }, saveEveryMs).unref();
      await saveAll();
    },
    async end(seed) {
      unsaved.delete(seed.key);
      await endMcpSession(db, { id: seed.key, expires_at: expiry(seed) }).catch(logFailure);
    },
    async release() {
      await saveAll();
      await releaseMcpSessions(db, replicaId).catch(logFailure);
    },
    async close() {
      clearTimeout(timer);
      await saveAll();
      await saving;
    },
  };
}
