import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Changes } from '../changes.ts';
import { AppError } from '../errors.ts';
import type { Database } from '../store/database.ts';
import type { Role, TokenRow } from '../store/schema.ts';
import { createStoredCollection } from '../store/stored-collection.ts';
import { deleteToken, findTokens, insertToken, updateTokensUsed } from '../store/tokens.ts';
import type { Accounts } from './accounts.ts';
import { lowerRole, userOf } from './policy.ts';

/** The caller. `servers` null means all servers. */
export interface Principal {
  id: string;
  /** The user whose token it is, where a user created it: its keys and logins are the user's. See `userOf`. */
  user?: string;
  name: string;
  role: Role;
  servers: ReadonlySet<string> | null;
  profile: string | null;
}

export type Token = Omit<TokenRow, 'hash'>;

interface NewToken {
  name: string;
  role: Role;
  servers?: string[] | null;
  profile?: string | null;
  expiresAt?: string | null;
  /** The user whose token it is; without one, it is a user of its own. */
  owner?: string | null;
  origin?: Token['origin'];
}

export interface Authenticator {
  /** Synchronous, from memory. `loopbackListener`: whether the request arrived on a loopback address. */
  authenticate(request: { authorization?: string; loopbackListener: boolean }): Principal;
  /** The token is returned only once; the database stores its hash. */
  createToken(token: NewToken, createdBy: string): Promise<{ token: string; row: Token }>;
  listTokens(): Token[];
  /** And those that were created with it. */
  revokeToken(id: string): Promise<boolean>;
  /** All that the user created. */
  revokeTokensOf(user: string): Promise<number>;
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
  /** The principal listens without sending requests, until what it returns is called. */
  attend?(principal: Principal): () => void;
  /** The WWW-Authenticate header of an error. */
  challenge(refusal: { path: string; error: unknown; presented: boolean }): string;
}

export interface AuthenticatorOptions {
  db: Database;
  changes: Changes;
  adminToken: string;
  /** The people of an identity provider who may have tokens. */
  accounts?: Pick<Accounts, 'findActive'>;
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
  /** Of the user who created it; the principal is limited to what this one may do. */
  holder?: Principal;
  /** Since the start. */
  usedAtMs?: number;
}

/** Headers that are recognised without hashing; a client sends the same one with every request. */
const maxRecognised = 1_000;

export async function createAuthenticator(options: AuthenticatorOptions): Promise<Authenticator> {
  const { db, changes, adminToken, accounts, anonymous, flushEveryMs = 10_000, onError = () => {} } = options;
  const adminDigest = digest(adminToken);
  const anonymousCaller = anonymous && anonymousPrincipal(anonymous);
  const used = new Map<string, number>();
  /** By the complete header. An entry counts only as long as its token is the stored one. */
  const recognised = new Map<string, KnownToken | 'admin'>();
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

  const tokensOf = (user: string) => [...tokens.entries.values()].filter(({ row }) => row.owner === user);

  // What a user created ends with the user.
  const off = changes.subscribe('principal.ended', (ended) => {
    const created = tokensOf(ended.principal_id).map(({ row }) => row.id);
    if (ended.suspended !== true && created.length > 0) return void revoke(created).catch(onError);
    for (const principal_id of created) changes.publish('principal.ended', { ...ended, principal_id });
  });

  /** The user with this id, if it may come in. */
  function findUser(id: string): Principal | undefined {
    if (id === adminPrincipal.id) return adminPrincipal;
    const entry = tokens.entries.get(id);
    if (entry === undefined) return accounts?.findActive(id);
    return entry.row.owner === null && !isExpired(entry) ? entry.principal : undefined;
  }

  /** Undefined where the user who created the token may no longer come in. */
  function principalOf(entry: KnownToken): Principal | undefined {
    const { owner } = entry.row;
    if (owner === null) return entry.principal;
    const holder = findUser(owner);
    if (holder === undefined) return undefined;
    if (entry.holder !== holder) {
      entry.holder = holder;
      entry.principal = limitedTo(holder, entry.row);
    }
    return entry.principal;
  }

  async function flush(): Promise<void> {
    if (used.size === 0) return;
    const batch = new Map(used);
    await updateTokensUsed(db, new Map([...batch].map(([id, ms]) => [id, new Date(ms).toISOString()])));
    for (const [id, ms] of batch) if (used.get(id) === ms) used.delete(id);
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

  function recognise(authorization: string): KnownToken | 'admin' {
    const before = recognised.get(authorization);
    if (before === 'admin' || (before !== undefined && tokens.entries.get(before.row.id) === before)) return before;
    const token = /^Bearer +(\S+)$/i.exec(authorization)?.[1];
    if (token === undefined) throw unauthenticated('the Authorization header must be "Bearer <token>"');
    const presented = digest(token);
    const entry = timingSafeEqual(presented, adminDigest) ? 'admin' : tokens.entries.get(tokenId(token));
    if (entry === undefined || (entry !== 'admin' && !isSame(presented, entry.digest)))
      throw unauthenticated('the token is not valid');
    if (recognised.size >= maxRecognised) recognised.clear();
    recognised.set(authorization, entry);
    return entry;
  }

  /** Which of them there were. */
  async function revoke(ids: readonly string[]): Promise<boolean[]> {
    const existed = await tokens.change(async (entries) => {
      const wereStored: boolean[] = [];
      for (const id of ids) {
        wereStored.push(await deleteToken(db, id));
        entries.delete(id);
        used.delete(id);
        expired.delete(id);
      }
      return wereStored;
    });
    for (const id of ids) end(id);
    return existed;
  }

  return {
    authenticate({ authorization, loopbackListener }) {
      if (authorization === undefined) {
        if (anonymousCaller !== undefined && loopbackListener) return anonymousCaller;
        throw unauthenticated('a token is required: send "Authorization: Bearer <token>"');
      }
      const entry = recognise(authorization);
      if (entry === 'admin') return adminPrincipal;
      if (isExpired(entry)) throw new ExpiredToken();
      const principal = principalOf(entry);
      if (principal === undefined) throw new ExpiredToken('the user of this token must sign in again');
      entry.usedAtMs = Date.now();
      used.set(entry.row.id, entry.usedAtMs);
      return principal;
    },

    async createToken(given, createdBy) {
      const { name, role, servers = null, profile = null, expiresAt = null, owner = null, origin = 'api' } = given;
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
          owner,
          origin,
        });
        const saved = toEntry(row);
        recordExpired(saved);
        entries.set(id, saved);
        return saved;
      });
      return { token, row: { ...entry.row } };
    },

    listTokens: () =>
      [...tokens.entries.values()].map(({ row, usedAtMs }) =>
        usedAtMs === undefined ? { ...row } : { ...row, last_used_at: new Date(usedAtMs).toISOString() },
      ),

    async revokeToken(id) {
      const [existed] = await revoke([id, ...tokensOf(id).map(({ row }) => row.id)]);
      return existed === true;
    },

    async revokeTokensOf(user) {
      return (await revoke(tokensOf(user).map(({ row }) => row.id))).filter(Boolean).length;
    },

    findPrincipal(id) {
      if (id === adminPrincipal.id) return adminPrincipal;
      if (id === 'anonymous') return anonymous === undefined ? undefined : anonymousPrincipal(anonymous);
      const entry = tokens.entries.get(id);
      return entry !== undefined && !isExpired(entry) ? principalOf(entry) : undefined;
    },

    reload: () => tokens.reload(),

    async close() {
      clearInterval(timer);
      off();
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

/** What the token may do, within what its user may do now. */
function limitedTo(holder: Principal, { id, name, role, servers, profile }: Token): Principal {
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

const adminPrincipal: Principal = { id: 'admin', name: 'admin', role: 'admin', servers: null, profile: null };

function anonymousPrincipal(role: 'caller' | 'viewer'): Principal {
  return { id: 'anonymous', name: 'anonymous', role, servers: null, profile: null };
}

/** An expired token was valid once, so it does not count as a guess. */
export class ExpiredToken extends AppError {
  constructor(reason = 'the token has expired') {
    super('UNAUTHENTICATED', `Not authenticated: ${reason}`);
  }
}

function unauthenticated(reason: string): AppError {
  return new AppError('UNAUTHENTICATED', `Not authenticated: ${reason}`);
}
