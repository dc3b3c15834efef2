/** Who a request comes from: the principal of its token, from memory, limited to what the user of the token may do now. */
import type { Changes } from '../changes.ts';
import { AppError } from '../errors.ts';
import type { Database } from '../store/database.ts';
import type { Role } from '../store/schema.ts';
import { createStoredCollection } from '../store/stored-collection.ts';
import { deleteToken, findTokens, insertToken, updateTokensUsed } from '../store/tokens.ts';
import type { Accounts } from './accounts.ts';
import { issueToken, type KnownToken, limitedTo, type NewToken, type Token, toKnownToken } from './known-token.ts';
import { createTokenExpiry } from './token-expiry.ts';
import { createTokenRecognition, unauthenticated } from './token-recognition.ts';

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

export async function createAuthenticator(options: AuthenticatorOptions): Promise<Authenticator> {
  const { db, changes, adminToken, accounts, anonymous, flushEveryMs = 10_000, onError = () => {} } = options;
  const anonymousCaller = anonymous && anonymousPrincipal(anonymous);
  const used = new Map<string, number>();
  const expiry = createTokenExpiry(end);
  const tokens = await createStoredCollection<string, KnownToken>({
    load: async () => (await findTokens(db)).map((row) => [row.id, toKnownToken(row)]),
    replicated: { changes, topic: 'tokens.stored' },
    onReloaded(before, after) {
      for (const id of before.keys()) {
        if (after.has(id)) continue;
        expiry.forget(id);
        end(id);
      }
    },
  });
  const recognise = createTokenRecognition(adminToken, (id) => tokens.entries.get(id));

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
    return entry.row.owner === null && !expiry.isExpired(entry) ? entry.principal : undefined;
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

  for (const entry of tokens.entries.values()) expiry.recordKnown(entry);

  const timer = setInterval(() => {
    for (const entry of tokens.entries.values()) expiry.isExpired(entry);
    flush().catch(onError);
  }, flushEveryMs).unref();

  /** Which of them there were. */
  async function revoke(ids: readonly string[]): Promise<boolean[]> {
    const existed = await tokens.change(async (entries) => {
      const wereStored: boolean[] = [];
      for (const id of ids) {
        wereStored.push(await deleteToken(db, id));
        entries.delete(id);
        used.delete(id);
        expiry.forget(id);
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
      if (expiry.isExpired(entry)) throw new ExpiredToken();
      const principal = principalOf(entry);
      if (principal === undefined) throw new ExpiredToken('the user of this token must sign in again');
      entry.usedAtMs = Date.now();
      used.set(entry.row.id, entry.usedAtMs);
      return principal;
    },

    async createToken(given, createdBy) {
      const { token, row } = issueToken(given, createdBy);
      const saved = await tokens.change(async (entries) => {
        const entry = toKnownToken(await insertToken(db, row));
        expiry.recordKnown(entry);
        entries.set(row.id, entry);
        return entry;
      });
      return { token, row: { ...saved.row } };
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
      return entry !== undefined && !expiry.isExpired(entry) ? principalOf(entry) : undefined;
    },

    reload: () => tokens.reload(),

    async close() {
      clearInterval(timer);
      off();
      await flush();
    },
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
