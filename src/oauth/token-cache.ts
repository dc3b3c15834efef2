/** Logins with their tokens: sealed in the store, open in memory, so that no call waits for the database. */
import { createHash } from 'node:crypto';
import type { Vault } from '../security/credentials.ts';
import type { Secrets } from '../security/secrets.ts';
import type { Database } from '../store/database.ts';
import {
  deleteOauthLogin,
  findOauthLogin,
  insertOauthLogin,
  updateOauthLogin,
  upsertOauthLogin,
} from '../store/oauth.ts';
import type { OauthLoginRow } from '../store/schema.ts';
import type { IssuerMetadata } from './discovery.ts';
import { keyOf, type LoginTarget } from './login-target.ts';
import type { OauthClient } from './token-endpoint.ts';

/** What is sealed. */
export interface Tokens {
  access_token: string;
  refresh_token?: string;
  /** The tokens are for the server at this address and for no other. */
  server_url: string;
  resource: string;
  issuer: Pick<
    IssuerMetadata,
    'issuer' | 'token_endpoint' | 'revocation_endpoint' | 'token_endpoint_auth_methods_supported'
  >;
  client: OauthClient;
}

export interface Login {
  row: OauthLoginRow;
  tokens: Tokens | undefined;
}

export interface TokenCache {
  /** Without the database: the login, `absent` where there is none, undefined where it was not read yet. */
  get(key: string): Login | 'absent' | undefined;
  /** As it is stored now. */
  load(target: LoginTarget): Promise<Login | undefined>;
  /** Undefined where the login changed in the store since it was read: the stored one is newer. */
  change(before: Login, changes: Partial<OauthLoginRow>, tokens?: Tokens): Promise<Login | undefined>;
  /** Undefined where there is one by now. */
  add(row: OauthLoginRow, changes: Partial<OauthLoginRow>): Promise<Login | undefined>;
  /** Whatever is stored. */
  put(row: OauthLoginRow, changes: Partial<OauthLoginRow>, tokens: Tokens): Promise<void>;
  /** Here and in the store; the tokens it had. */
  drop(row: OauthLoginRow): Promise<Tokens | undefined>;
  /** In memory only, where another replica may have deleted the rows. */
  forgetPrincipal(principal: string): void;
  tokensIn(row: OauthLoginRow): Tokens | undefined;
}

export function createTokenCache(db: Database, vault: Vault, secrets: Secrets): TokenCache {
  const known = new Map<string, Login>();
  /** Most servers want no login, and no call may wait for the database to learn that again. */
  const absent = new Set<string>();

  function changed(row: OauthLoginRow, changes: Partial<OauthLoginRow>, tokens: Tokens | undefined): Login {
    const next = { ...row, ...changes, lease_until: null, updated_at: laterThan(row.updated_at) };
    return { row: { ...next, sealed: tokens === undefined ? null : vault.seal(tokens, contextOf(next)) }, tokens };
  }

  function keep(login: Login): Login {
    const { row, tokens } = login;
    const key = keyOf(row.server_id, row.principal);
    absent.delete(key);
    known.set(key, login);
    secrets.learnFrom(row.server_id, `oauth:${key}`, tokens === undefined ? [] : secretsOf(tokens));
    return login;
  }

  function tokensIn(row: OauthLoginRow): Tokens | undefined {
    return row.sealed === null ? undefined : (vault.open(row.sealed, contextOf(row)) as Tokens);
  }

  return {
    get: (key) => (absent.has(key) ? 'absent' : known.get(key)),
    async load({ server, principal, key }) {
      const row = await findOauthLogin(db, server.id, principal);
      if (row === undefined) {
        known.delete(key);
        absent.add(key);
        return undefined;
      }
      return keep({ row, tokens: tokensIn(row) });
    },
    async change(before, changes, tokens) {
      const login = changed(before.row, changes, tokens);
      return (await updateOauthLogin(db, login.row, before.row)) ? keep(login) : undefined;
    },
    async add(row, changes) {
      const login = changed(row, changes, undefined);
      return (await insertOauthLogin(db, login.row)) ? keep(login) : undefined;
    },
    async put(row, changes, tokens) {
      const login = changed(row, changes, tokens);
      await upsertOauthLogin(db, login.row);
      keep(login);
    },
    async drop(row) {
      const key = keyOf(row.server_id, row.principal);
      await deleteOauthLogin(db, row.server_id, row.principal);
      known.delete(key);
      secrets.forget(`oauth:${key}`);
      return tokensIn(row);
    },
    forgetPrincipal(principal) {
      for (const [key, { row }] of known) if (row.principal === principal) known.delete(key);
    },
    tokensIn,
  };
}

/** What a login's tokens are sealed for: they open only in their own row. */
export function contextOf({ server_id, issuer, principal }: OauthLoginRow): string {
  return `oauth:${createHash('sha256')
    .update(JSON.stringify([server_id, issuer, principal]))
    .digest('hex')}`;
}

export function emptyRow(server_id: string, principal: string): OauthLoginRow {
  return {
    server_id,
    principal,
    state: 'required',
    issuer: null,
    sealed: null,
    scope: null,
    challenge: null,
    expires_at: null,
    lease_until: null,
    updated_at: '',
  };
}

/** Also the row's version: two changes never carry the same time. */
function laterThan(before: string): string {
  const now = Date.now();
  return new Date(before === '' ? now : Math.max(now, Date.parse(before) + 1)).toISOString();
}

const secretsOf = ({ access_token, refresh_token, client }: Tokens) =>
  [access_token, refresh_token, client.client_secret].filter((value) => value !== undefined);
