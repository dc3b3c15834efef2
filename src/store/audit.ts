import { setImmediate } from 'node:timers/promises';
import { type ExpressionBuilder, sql, type Transaction } from 'kysely';
import { bulkInsert } from './bulk-insert.ts';
import type { Database } from './database.ts';
import type { AuditRow, DatabaseSchema } from './schema.ts';
import { findSetting, upsertSetting } from './settings.ts';
import { lockedTransaction } from './transaction.ts';

/** With details as the stored text, which is also hashed; serializing it once saves most of the cost of a record. */
export type NewAudit = Omit<AuditRow, 'id' | 'seq' | 'hash' | 'details'> & { details: string | null };
/** As lists show it; the seal is for verifying and for exports. */
export type AuditRecord = Omit<AuditRow, 'seq' | 'hash'>;

/** A position in the chain: number and hash of its record. */
export interface ChainPlace {
  seq: number;
  hash: string;
}

/** Sealing of records; this module does not know the keys. */
export interface AuditSeal {
  next(previous: ChainPlace, entry: NewAudit): ChainPlace;
  /** A stored, signed position, so that it cannot be moved without the key. */
  sign(place: ChainPlace): unknown;
  /** Undefined when the signature is not ours. */
  read(stored: unknown): ChainPlace | undefined;
}

export const chainStart: ChainPlace = { seq: 0, hash: '' };
/** The newest record of the chain, needed to detect removed records at the end. */
const headKey = 'audit.head';
/** The last record that retention removed: the chain is verified from here. */
const anchorKey = 'audit.anchor';
/** Batch size after which other work can run, so that a busy second does not delay calls by tens of milliseconds. */
const atOnce = 100;

/**
 * The only place that writes audit records: all or none of a batch, in the order given, one writer at a time among all
 * replicas, each record sealed to the one before.
 */
export function insertAuditBatch<Entry>(
  db: Database,
  entries: readonly Entry[],
  toRow: (entry: Entry) => NewAudit,
  seal: AuditSeal,
): Promise<void> {
  if (entries.length === 0) return Promise.resolve();
  return lockedTransaction(db, 'audit', async (transaction) => {
    let { place, lost } = await findHead(db, transaction, seal);
    const sealed = (row: NewAudit) => {
      place = seal.next(place, row);
      return { ...row, ...place };
    };
    // Continue the chain with a permanent record that its head could not be trusted here.
    if (lost) await bulkInsert(db, transaction, 'audit', [sealed(headLost(place))]);
    for (let done = 0; done < entries.length; done += atOnce) {
      if (done > 0) await setImmediate();
      const rows = entries.slice(done, done + atOnce).map((entry) => sealed(toRow(entry)));
      await bulkInsert(db, transaction, 'audit', rows);
    }
    await upsertSetting({ ...db, kysely: transaction }, headKey, seal.sign(place));
  });
}

/** The event that tells a verifier that the signed head was missing or forged when the next record was written. */
export const headLostEvent = 'audit.head_lost';

function headLost({ seq }: ChainPlace): NewAudit {
  const noOrigin = { ip_address: null, server_id: null, server_name: null };
  const timestamp = new Date().toISOString();
  return {
    timestamp,
    event: headLostEvent,
    actor: 'system',
    ...noOrigin,
    details: JSON.stringify({ continued_after: seq }),
  };
}

async function findHead(db: Database, transaction: Transaction<DatabaseSchema>, seal: AuditSeal) {
  const stored = await findSetting({ ...db, kysely: transaction }, headKey);
  const head = seal.read(stored);
  if (head !== undefined) return { place: head, lost: false };
  const newest = await transaction
    .selectFrom('audit')
    .select(['seq', 'hash'])
    .where('seq', 'is not', null)
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst();
  const place = newest === undefined ? chainStart : { seq: newest.seq ?? 0, hash: newest.hash ?? '' };
  return { place, lost: stored !== undefined || newest !== undefined };
}

/** The signed ends of the chain as they are stored. */
export async function findAuditEnds(db: Database): Promise<{ head: unknown; anchor: unknown }> {
  return { head: await findSetting(db, headKey), anchor: await findSetting(db, anchorKey) };
}

/** Signs both ends again after a key change. */
export function resealAuditEnds(db: Database, seal: AuditSeal): Promise<void> {
  return lockedTransaction(db, 'audit', async (transaction) => {
    const inside = { ...db, kysely: transaction };
    for (const key of [headKey, anchorKey]) {
      const place = seal.read(await findSetting(inside, key));
      if (place !== undefined) await upsertSetting(inside, key, seal.sign(place));
    }
  });
}

/** Removes old records from the start of the chain; returns their number. */
export function deleteAuditBefore(db: Database, time: string, seal: AuditSeal): Promise<number> {
  return lockedTransaction(db, 'audit', async (transaction) => {
    const { place: head, lost } = await findHead(db, transaction, seal);
    if (lost) return 0;
    const firstKept = await transaction
      .selectFrom('audit')
      .select((eb) => eb.fn.min('seq').as('seq'))
      .where('timestamp', '>=', time)
      .executeTakeFirst();
    const last = firstKept?.seq == null ? head.seq : firstKept.seq - 1;
    const anchor = await transaction
      .selectFrom('audit')
      .select(['seq', 'hash'])
      .where('seq', '=', last)
      .executeTakeFirst();
    if (anchor?.seq == null || anchor.hash === null) return 0;
    const { numDeletedRows } = await transaction
      .deleteFrom('audit')
      .where((eb) => eb.or([eb('seq', '<=', last), eb.and([eb('seq', 'is', null), eb('timestamp', '<', time)])]))
      .executeTakeFirst();
    const inside = { ...db, kysely: transaction };
    await upsertSetting(inside, anchorKey, seal.sign({ seq: anchor.seq, hash: anchor.hash }));
    return Number(numDeletedRows);
  });
}

/** A page in the order of writing; with what came before the chain first. */
export function findAuditAfter({ kysely }: Database, id: number, limit: number): Promise<AuditRow[]> {
  return kysely.selectFrom('audit').selectAll().where('id', '>', id).orderBy('id').limit(limit).execute();
}

export async function findAuditHash({ kysely }: Database, seq: number): Promise<string | null | undefined> {
  const row = await kysely.selectFrom('audit').select('hash').where('seq', '=', seq).executeTakeFirst();
  return row?.hash;
}

export interface AuditFilter {
  event?: string;
  actor?: string;
  server_id?: string;
  server_name?: string;
  /** Only records about these. */
  server_names?: readonly string[];
  /** In the event, the actor or the name of the server; upper and lower case are the same. */
  contains?: string;
  /** Calls of tools, or all others. */
  kind?: 'calls' | 'changes';
  since?: string;
  until?: string;
  limit: number;
  /** The id of the last record of the previous page. */
  before?: number;
}

/** The newest first. */
export function findAudit(
  { kysely }: Database,
  { since, until, limit, before, event, actor, server_id, server_name, server_names, contains, kind }: AuditFilter,
): Promise<AuditRecord[]> {
  if (server_names?.length === 0) return Promise.resolve([]);
  let query = kysely
    .selectFrom('audit')
    .select(['id', 'timestamp', 'event', 'actor', 'ip_address', 'server_id', 'server_name', 'details']);
  if (event !== undefined) query = query.where('event', '=', event);
  if (actor !== undefined) query = query.where('actor', '=', actor);
  if (server_id !== undefined) query = query.where('server_id', '=', server_id);
  if (server_name !== undefined) query = query.where('server_name', '=', server_name);
  if (server_names !== undefined) query = query.where('server_name', 'in', server_names);
  if (kind !== undefined) query = query.where('event', kind === 'calls' ? '=' : '!=', 'tool.called');
  if (contains !== undefined) query = query.where(holds(contains));
  if (since !== undefined) query = query.where('timestamp', '>=', since);
  if (until !== undefined) query = query.where('timestamp', '<', until);
  if (before !== undefined) query = query.where('id', '<', before);
  return query.orderBy('id', 'desc').limit(limit).execute();
}

const searched = ['event', 'actor', 'server_name'] as const;

function holds(text: string) {
  const pattern = `%${text.toLowerCase().replace(/[!%_]/g, '!$&')}%`;
  return (eb: ExpressionBuilder<DatabaseSchema, 'audit'>) =>
    eb.or(searched.map((column) => sql<boolean>`lower(${eb.ref(column)}) like ${pattern} escape '!'`));
}
