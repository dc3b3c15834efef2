import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Changes } from '../changes.ts';
import { AppError } from '../errors.ts';
import type { Database } from '../store/database.ts';
import type { Role, TokenRow } from '../store/schema.ts';
import { createStoredCollection } from '../store/stored-collection.ts';
import { deleteToken, findTokens, insertToken, updateTokensUsed } from '../store/tokens.ts';

/** The caller. `servers` null means all servers. */
export interface Principal {
  id: string;
  name: string;
  role: Role;
  servers: ReadonlySet<string> | null;
  profile: string | null;
}

type Token = Omit<TokenRow, 'hash'>;

interface NewToken {
  name: string;
  role: Role;
  servers?: string[] | null;
  profile?: string | null;
  expiresAt?: string | null;
}

export interface Authenticator {
  /** Synchronous, from memory. `loopbackListener`: whether the request arrived on a loopback address. */
  authenticate(request: { authorization?: string; loopbackListener: boolean }): Principal;
  /** The token is returned only once; the database stores its hash. */
  createToken(token: NewToken, createdBy: string): Promise<{ token: string; row: Token }>;
  listTokens(): Token[];
  revokeToken(id: string): Promise<boolean>;
  /** The current principal; undefined if its token was revoked or has expired. */
  findPrincipal(id: string): Principal | undefined;
  /** Reads the tokens again, after another replica changed them. */
  reload(): Promise<void>;
  close(): Promise<void>;
}

/** Authenticates requests with our tokens and, if configured, tokens of an identity provider. */
export interface RequestAuthenticator {
  authenticate(request: {
    authorization?: string;
    loopbackListener: boolean;
    path: string;
  }): Principal | Promise<Principal>;
  /** The WWW-Authenticate header of an error. */
  challenge(refusal: { path: string; error: unknown; presented: boolean }): string;
}

export interface AuthenticatorOptions {
  db: Database;
  changes: Changes;
  adminToken: string;
  /** The role of requests without a token, on loopback addresses only. */
  anonymous?: 'caller' | 'viewer';
  flushEveryMs?: number;
  /** Called if storing the last use failed; it is retried. */
  onError?: (error: unknown) => void;
}

interface KnownToken {
  row: Token;
  digest: Buffer;
  expiresAtMs: number;
  principal: Principal;
}

export async function createAuthenticator(options: AuthenticatorOptions): Promise<Authenticator> {
  const { db, changes, adminToken, anonymous, flushEveryMs = 10_000, onError = () => {} } = options;
  const adminDigest = digest(adminToken);
  const nobody = anonymous && anonymousPrincipal(anonymous);
  const used = new Map<string, string>();
  /** Expired tokens with their expiry date; they stay expired if the clock is set back. */
  const expired = new Map<string, string | null>();
  const tokens = await createStoredCollection<string, KnownToken>({
    load: async () => (await findTokens(db)).map((row) => [row.id, toEntry(row)]),
    replicated: { changes, topic: 'tokens.stored' },
    onReloaded(before, after) {
      for (const id of before.keys()) {
        if (after.has(id)) continue;
        expired.delete(id);
        end(id);
      }
    },
  });

  function end(principal_id: string): void {
    changes.publish('principal.ended', { principal_id });
  }

  async function flush(): Promise<void> {
    if (used.size === 0) return;
    const batch = new Map(used);
    await updateTokensUsed(db, batch);
    for (const [id, time] of batch) if (used.get(id) === time) used.delete(id);
  }

  function isExpired({ row, expiresAtMs }: KnownToken): boolean {
    if (row.expires_at !== null && expired.get(row.id) === row.expires_at) return true;
    // Written so that an unreadable date counts as expired.
    if (Date.now() < expiresAtMs) return false;
    expired.set(row.id, row.expires_at);
    end(row.id);
    return true;
  }

  /** Tokens that had expired before the start need no event. */
  function recordExpired({ row, expiresAtMs }: KnownToken): void {
    if (!(Date.now() < expiresAtMs)) expired.set(row.id, row.expires_at);
  }

  for (const entry of tokens.entries.values()) recordExpired(entry);

  const timer = setInterval(() => {
    for (const entry of tokens.entries.values()) isExpired(entry);
    flush().catch(onError);
  }, flushEveryMs).unref();

  return {
    authenticate({ authorization, loopbackListener }) {
      if (authorization === undefined) {
        if (nobody !== undefined && loopbackListener) return nobody;
        throw unauthenticated('a token is required: send "Authorization: Bearer <token>"');
      }
      const token = /^Bearer +(\S+)$/i.exec(authorization)?.[1];
      if (token === undefined) throw unauthenticated('the Authorization header must be "Bearer <token>"');
      const presented = digest(token);
      if (timingSafeEqual(presented, adminDigest)) return adminPrincipal;

      const entry = tokens.entries.get(tokenId(token));
      if (entry === undefined || !isSame(presented, entry.digest)) throw unauthenticated('the token is not valid');
      if (isExpired(entry)) throw new ExpiredToken();
      const usedAt = new Date().toISOString();
      entry.row.last_used_at = usedAt;
      used.set(entry.row.id, usedAt);
      return entry.principal;
    },

    async createToken({ name, role, servers = null, profile = null, expiresAt = null }, createdBy) {
      const id = randomBytes(8).toString('hex');
      const token = `${prefix}_${id}_${randomBytes(32).toString('base64url')}`;
      const entry = await tokens.change(async (entries) => {
        const row = await insertToken(db, {
          id,
          name,
          hash: digest(token).toString('hex'),
          role,
          servers,
          profile,
          created_at: new Date().toISOString(),
          last_used_at: null,
          expires_at: expiresAt,
          created_by: createdBy,
        });
        const saved = toEntry(row);
        recordExpired(saved);
        entries.set(id, saved);
        return saved;
      });
      return { token, row: { ...entry.row } };
    },

    listTokens: () => [...tokens.entries.values()].map((entry) => ({ ...entry.row })),

    async revokeToken(id) {
      const existed = await tokens.change(async (entries) => {
        const wasStored = await deleteToken(db, id);
        entries.delete(id);
        used.delete(id);
        expired.delete(id);
        return wasStored;
      });
      end(id);
      return existed;
    },

    findPrincipal(id) {
      if (id === adminPrincipal.id) return adminPrincipal;
      if (id === 'anonymous') return anonymous === undefined ? undefined : anonymousPrincipal(anonymous);
      const entry = tokens.entries.get(id);
      return entry !== undefined && !isExpired(entry) ? entry.principal : undefined;
    },

    reload: () => tokens.reload(),

    async close() {
      clearInterval(timer);
      await flush();
    },
  };
}

const prefix = 'mcpa';

/** `mcpa_<id>_<secret>`: the id finds the row, so that the secret is compared with one hash only. */
function tokenId(token: string): string {
  const [start, id] = token.split('_', 2);
  return start === prefix && id !== undefined ? id : '';
}

/** `timingSafeEqual` throws for different lengths, so those are rejected first. */
const isSame = (presented: Buffer, stored: Buffer) =>
  presented.length === stored.length && timingSafeEqual(presented, stored);

/** The secrets are random and long, so a plain hash can't be searched; digests have one length, as the comparison needs. */
function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

function toEntry({ hash, ...row }: TokenRow): KnownToken {
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

const adminPrincipal: Principal = { id: 'admin', name: 'admin', role: 'admin', servers: null, profile: null };

function anonymousPrincipal(role: 'caller' | 'viewer'): Principal {
  return { id: 'anonymous', name: 'anonymous', role, servers: null, profile: null };
}

/** An expired token was valid once, so it does not count as a guess. */
export class ExpiredToken extends AppError {
  constructor() {
    super('UNAUTHENTICATED', 'Not authenticated: the token has expired');
  }
}

function unauthenticated(reason: string): AppError {
  return new AppError('UNAUTHENTICATED', `Not authenticated: ${reason}`);
}
