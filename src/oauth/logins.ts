/**
 * The tokens that servers get from us: one login per server, or one per server and principal. Kept sealed, refreshed
 * before they expire by one replica at a time, and never given to a server at another address than they were made for.
 */
import type { Changes } from '../changes.ts';
import { AppError } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { Registry, Server } from '../registry/registry.ts';
import type { Connection } from '../registry/server.ts';
import type { Vault } from '../security/credentials.ts';
import type { Secrets } from '../security/secrets.ts';
import type { Database } from '../store/database.ts';
import { findOauthLogin, findOauthLogins } from '../store/oauth.ts';
import type { OauthLoginRow } from '../store/schema.ts';
import { scopesOf } from './challenge.ts';
import { createDiscoveryCache } from './discovery-cache.ts';
import type { GuardedFetch } from './guarded-fetch.ts';
import { createLoginCleanup } from './login-cleanup.ts';
import { createLoginCredentials } from './login-credentials.ts';
import { isPerPrincipal, type LoginPlan, type LoginTarget, loginOf, toTarget, trustOf } from './login-target.ts';
import { createMachineTokens } from './machine-tokens.ts';
import { chooseScopes, type Refusal, storedChallenge } from './refusals.ts';
import { createTokenCache, emptyRow } from './token-cache.ts';
import { expiryOf, type OauthClient, type TokenAnswer } from './token-endpoint.ts';
import { createTokenRefresh } from './token-refresh.ts';

/** What one session's requests are asked for before they go, and told of when they are refused. */
interface SessionCredentials {
  headers(): Record<string, string> | Promise<Record<string, string>>;
  /** True: there are other credentials now, send it again. False: not a matter of OAuth. */
  refused(refusal: Refusal): Promise<boolean>;
}

export interface Logins {
  /** Undefined where the server gets no tokens from us. Without a principal: the session that fills the catalog. */
  credentials(server: Server, connection: Connection, principal: string | undefined): SessionCredentials | undefined;
  target(server: Server, principal: string): Promise<LoginTarget>;
  /** What a login would ask for, of whom. */
  plan(target: LoginTarget): Promise<LoginPlan>;
  save(target: LoginTarget, plan: LoginPlan, client: OauthClient, answer: TokenAnswer): Promise<void>;
  state(server: Server, principal: string): Promise<Pick<OauthLoginRow, 'state' | 'updated_at'> | undefined>;
  /** Somebody is logged in, so that connecting is worth a try. */
  isKnown(server: Server): Promise<boolean>;
  /** Revokes and forgets. */
  logout(server: Server, principal: string): Promise<boolean>;
  /** Everybody's; an empty principal is all who share one. */
  list(): Promise<Pick<OauthLoginRow, 'server_id' | 'principal' | 'state' | 'issuer' | 'scope' | 'updated_at'>[]>;
  close(): Promise<void>;
}

interface LoginDependencies {
  db: Database;
  vault: Vault;
  secrets: Secrets;
  registry: Registry;
  changes: Changes;
  log: Logger;
  fetch: GuardedFetch;
  /** Its token was revoked or has expired. */
  isEnded: (principal: string) => boolean;
}

export async function createLogins(deps: LoginDependencies): Promise<Logins> {
  const { db, vault, secrets, registry, log, fetch } = deps;
  const cache = createTokenCache(db, vault, secrets);
  const discoveries = createDiscoveryCache(fetch);
  const machines = createMachineTokens(fetch, secrets, discoveries);
  const refresh = createTokenRefresh({ db, cache, fetch, log });
  const credentials = createLoginCredentials({ cache, discoveries, machines, refresh });
  const cleanup = await createLoginCleanup({
    ...deps,
    cache,
    discoveries,
    machines,
    onDropped: credentials.forget,
  });

  async function plan(target: LoginTarget): Promise<LoginPlan> {
    const { server, oauth } = target;
    const login = (await cache.load(target)) ?? (await cache.load({ ...target, ...loginOf(server, '') }));
    const challenge = login === undefined ? {} : storedChallenge(login.row);
    const found = await discoveries.recent(target, challenge, login?.tokens?.issuer.issuer);
    if (found === undefined) {
      throw new AppError('SERVER_STATE_CONFLICT', `${server.name} does not name an authorization server`);
    }
    const before = login?.row.issuer === found.issuer.issuer ? scopesOf(login.row.scope ?? undefined) : [];
    const scope = chooseScopes({ oauth, challenge, before, found });
    return { ...found, scope: scope.length === 0 ? undefined : scope.join(' '), trust: trustOf(target) };
  }

  async function save(target: LoginTarget, made: LoginPlan, client: OauthClient, answer: TokenAnswer): Promise<void> {
    const { server, principal, url } = target;
    const { issuer, token_endpoint, revocation_endpoint, token_endpoint_auth_methods_supported } = made.issuer;
    const before = await cache.load(target);
    // It replaces what is stored: this is the newest that the person did.
    await cache.put(
      before?.row ?? emptyRow(server.id, principal),
      { state: 'active', issuer, scope: made.scope ?? answer.scope ?? null, expires_at: expiryOf(answer) },
      {
        access_token: answer.access_token,
        refresh_token: answer.refresh_token,
        server_url: url,
        resource: made.resource,
        issuer: { issuer, token_endpoint, revocation_endpoint, token_endpoint_auth_methods_supported },
        client,
      },
    );
  }

  async function target(server: Server, principal: string): Promise<LoginTarget> {
    const { connection } = await registry.resolveConnection(server.id);
    const made = toTarget(server, connection, isPerPrincipal(server) ? principal : '');
    if (made === undefined) throw new AppError('SERVER_STATE_CONFLICT', `${server.name} does not use OAuth`);
    return made;
  }

  /** Whose login the catalog is read with: the oldest one. */
  async function catalogPrincipal(server: Server): Promise<string> {
    if (!isPerPrincipal(server)) return '';
    const rows = await findOauthLogins(db);
    return rows.find((row) => row.server_id === server.id && row.state === 'active')?.principal ?? '';
  }

  return {
    credentials(server, connection, principal) {
      const isShared = !isPerPrincipal(server);
      const made = toTarget(server, connection, isShared ? '' : (principal ?? ''));
      if (made === undefined) return undefined;
      if (isShared || principal !== undefined)
        return { headers: () => credentials.headers(made), refused: (refusal) => credentials.refused(made, refusal) };
      let chosen: Promise<LoginTarget> | undefined;
      const catalogTarget = () => {
        chosen ??= catalogPrincipal(server).then((known) => ({ ...made, ...loginOf(server, known) }));
        return chosen;
      };
      return {
        headers: async () => await credentials.headers(await catalogTarget()),
        refused: async (refusal) => await credentials.refused(await catalogTarget(), refusal),
      };
    },
    target,
    plan,
    save,
    async state(server, principal) {
      return await findOauthLogin(db, server.id, isPerPrincipal(server) ? principal : '');
    },
    async isKnown(server) {
      const principal = await catalogPrincipal(server);
      return (await findOauthLogin(db, server.id, principal))?.state === 'active';
    },
    async logout(server, principal) {
      const wanted = await target(server, principal);
      const login = await cache.load(wanted);
      if (login === undefined) return false;
      await cleanup.drop(login.row, trustOf(wanted));
      return true;
    },
    list: () => findOauthLogins(db),
    async close() {
      await cleanup.close();
      await fetch.close();
    },
  };
}
