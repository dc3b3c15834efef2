/** A token as it is known in memory, and its format. The secret is only with the client; the database stores its hash. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Role, TokenRow } from '../store/schema.ts';
import type { Principal } from './auth.ts';
import { lowerRole, userOf } from './policy.ts';

export type Token = Omit<TokenRow, 'hash'>;

export interface KnownToken {
  row: Token;
  digest: Buffer;
  expiresAtMs: number;
  principal: Principal;
  /** Of the user who created it; the principal is limited to what this one may do. */
  holder?: Principal;
  /** Since the start. */
  usedAtMs?: number;
}

export interface NewToken {
  name: string;
  role: Role;
  servers?: string[] | null;
  profile?: string | null;
  expiresAt?: string | null;
  /** The user whose token it is; without one, it is a user of its own. */
  owner?: string | null;
  origin?: Token['origin'];
}

const prefix = 'mcpa';

/** `mcpa_<id>_<secret>`: the id finds the row, so that the secret is compared with one hash only. */
export function tokenId(token: string): string {
  const [start, id] = token.split('_', 2);
  return start === prefix && id !== undefined ? id : '';
}

/** The secrets are random and long, so a plain hash can't be searched; digests have one length, as the comparison needs. */
export function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** `timingSafeEqual` throws for different lengths, so those are rejected first. */
export const isSameDigest = (presented: Buffer, stored: Buffer): boolean =>
  presented.length === stored.length && timingSafeEqual(presented, stored);

export function issueToken(given: NewToken, createdBy: string): { token: string; row: TokenRow } {
  const { name, role, servers = null, profile = null, expiresAt = null, owner = null, origin = 'api' } = given;
  const id = randomBytes(8).toString('hex');
  const token = `${prefix}_${id}_${randomBytes(32).toString('base64url')}`;
  const row = {
    id,
    name,
    hash: digestOf(token).toString('hex'),
    role,
    servers,
    profile,
    created_at: new Date().toISOString(),
    last_used_at: null,
    expires_at: expiresAt,
    created_by: createdBy,
    owner,
    origin,
  };
  return { token, row };
}

export function toKnownToken({ hash, ...row }: TokenRow): KnownToken {
  return {
    row,
    digest: Buffer.from(hash, 'hex'),
    expiresAtMs: row.expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(row.expires_at),
    principal: {
      id: row.id,
      name: row.name,
      role: row.role,
      servers: row.servers === null ? null : new Set(row.servers),
      profile: row.profile,
    },
  };
}

/** What the token may do, within what its user may do now. */
export function limitedTo(holder: Principal, { id, name, role, servers, profile }: Token): Principal {
  const allowed = holder.servers;
  return {
    id,
    user: userOf(holder),
    name: `${holder.name} (${name})`,
    role: lowerRole(role, holder.role),
    servers: servers === null ? allowed : new Set(servers.filter((server) => allowed?.has(server) ?? true)),
    profile: holder.profile ?? profile,
  };
}
