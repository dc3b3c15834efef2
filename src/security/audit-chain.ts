/** Hash chain over audit records with signed ends, and its verification. */
import { createHmac, hash, hkdfSync, timingSafeEqual } from 'node:crypto';
import {
  type AuditSeal,
  type ChainPlace,
  chainStart,
  findAuditAfter,
  findAuditEnds,
  findAuditHash,
  headLostEvent,
  type NewAudit,
} from '../store/audit.ts';
import type { Database } from '../store/database.ts';
import type { AuditRow } from '../store/schema.ts';

export interface AuditKeys {
  current: Buffer;
  previous?: Buffer;
}

/** A derived key, so that the credential key itself is not used for signatures. */
export function createAuditSeal({ current, previous }: AuditKeys): AuditSeal {
  const signing = derive(current);
  const accepted = previous === undefined ? [signing] : [signing, derive(previous)];
  return {
    next: (last, entry) => ({ seq: last.seq + 1, hash: hashRecord(last, entry) }),
    sign: (place) => ({ ...place, signature: signatureOf(place, signing).toString('hex') }),
    read(stored) {
      if (!isSigned(stored)) return undefined;
      const { seq, hash, signature } = stored;
      const given = Buffer.from(signature, 'hex');
      const valid = accepted.some((key) => {
        const expected = signatureOf({ seq, hash }, key);
        return given.length === expected.length && timingSafeEqual(given, expected);
      });
      return valid ? { seq, hash } : undefined;
    },
  };
}

/** Over everything that is stored of a record but its id; both engines give details back with their keys in order. */
function hashRecord(previous: ChainPlace, entry: NewAudit): string {
  const { timestamp, event, actor, ip_address, server_id, server_name, details } = entry;
  const columns = JSON.stringify([previous.seq + 1, timestamp, event, actor, ip_address, server_id, server_name]);
  return hash('sha256', `${previous.hash}\n${columns.slice(0, -1)},${details}]`);
}

export interface AuditVerdict {
  intact: boolean;
  records: number;
  /** Records from before the chain, which cannot be verified. */
  unsealed: number;
  /** Start of the chain: the last record that retention removed. */
  anchor: ChainPlace;
  /** To be compared with a copy stored elsewhere, because a database that was rolled back is consistent in itself. */
  head: ChainPlace | null;
  problem?: AuditProblem;
}

interface AuditProblem {
  kind: 'changed' | 'removed' | 'inserted' | 'truncated' | 'head_lost' | 'head_forged' | 'anchor_forged';
  seq: number | null;
  id: number | null;
  explanation: string;
}

const pageSize = 1_000;

/** Verifies the complete chain and stops at the first record that was changed, removed or inserted. */
export async function verifyAudit(db: Database, seal: AuditSeal): Promise<AuditVerdict> {
  const ends = await findAuditEnds(db);
  const anchor = seal.read(ends.anchor) ?? chainStart;
  const verdict: AuditVerdict = { intact: false, records: 0, unsealed: 0, anchor, head: null };
  const fail = (problem: AuditProblem) => ({ ...verdict, problem });
  if (ends.anchor !== undefined && seal.read(ends.anchor) === undefined) return fail(forged('anchor_forged', anchor));

  let last = anchor;
  for (let id = 0, page = await findAuditAfter(db, id, pageSize); page.length > 0; ) {
    for (const row of page) {
      id = row.id;
      if (row.seq === null && last === anchor) {
        verdict.unsealed += 1;
        continue;
      }
      const problem = problemOf(last, row);
      if (problem !== undefined) {
        // Retention may have moved the start of the chain in the meantime.
        const now = await findAuditEnds(db);
        return sameJson(now.anchor, ends.anchor) ? fail(problem) : await verifyAudit(db, seal);
      }
      last = { seq: row.seq ?? 0, hash: row.hash ?? '' };
      verdict.records += 1;
    }
    page = await findAuditAfter(db, id, pageSize);
  }

  // Read after the records, so that the head is at least as new as the last record.
  const stored = (await findAuditEnds(db)).head;
  const head = seal.read(stored);
  if (head === undefined && stored !== undefined) return fail(forged('head_forged', last));
  if (head === undefined && last.seq > 0) return fail(forged('head_lost', last));
  verdict.head = head ?? null;
  const problem =
    head === undefined ? undefined : endProblem(last, head, (await findAuditHash(db, head.seq)) === head.hash);
  return problem === undefined ? { ...verdict, intact: true } : fail(problem);
}

function problemOf(last: ChainPlace, row: AuditRow): AuditProblem | undefined {
  const at = { seq: row.seq, id: row.id };
  const expected = last.seq + 1;
  if (row.seq === null || row.seq < expected) {
    return { kind: 'inserted', ...at, explanation: `record ${row.id} stands between ${last.seq} and ${expected}` };
  }
  if (row.seq > expected) {
    const range = row.seq - 1 === expected ? `record ${expected} is` : `records ${expected} to ${row.seq - 1} are`;
    return { kind: 'removed', seq: expected, id: null, explanation: `${range} missing` };
  }
  const details = row.details === null ? null : JSON.stringify(row.details);
  if (row.hash !== hashRecord(last, { ...row, details })) {
    return { kind: 'changed', ...at, explanation: `record ${row.seq} is not what was written` };
  }
  if (row.event !== headLostEvent) return undefined;
  const explanation = `the signed head was missing or forged when record ${row.seq} was written`;
  return { kind: 'head_lost', ...at, explanation };
}

function endProblem(last: ChainPlace, head: ChainPlace, headIsThere: boolean): AuditProblem | undefined {
  if (last.seq === head.seq && last.hash === head.hash) return undefined;
  if (last.seq > head.seq) {
    const explanation = `the records after ${head.seq} were not written by us`;
    return { kind: 'inserted', seq: head.seq + 1, id: null, explanation };
  }
  if (headIsThere) return undefined; // written after our last page
  const explanation = `the newest record should be ${head.seq}, but the records end at ${last.seq}`;
  return { kind: 'truncated', seq: last.seq + 1, id: null, explanation };
}

function forged(kind: 'head_forged' | 'head_lost' | 'anchor_forged', { seq }: ChainPlace): AuditProblem {
  const explanation = {
    head_forged: 'the signed head of the chain was not signed with our key',
    head_lost: 'the signed head of the chain is missing',
    anchor_forged: 'the signed beginning of the chain was not signed with our key',
  }[kind];
  return { kind, seq, id: null, explanation };
}

function derive(key: Buffer): Buffer {
  return Buffer.from(hkdfSync('sha256', key, '', 'mcp-aggregator audit chain', 32));
}

function signatureOf({ seq, hash }: ChainPlace, key: Buffer): Buffer {
  return createHmac('sha256', key).update(`${seq}\n${hash}`).digest();
}

function isSigned(value: unknown): value is ChainPlace & { signature: string } {
  if (typeof value !== 'object' || value === null) return false;
  const { seq, hash, signature } = value as Record<string, unknown>;
  return typeof seq === 'number' && typeof hash === 'string' && typeof signature === 'string';
}

function sameJson(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
