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
import { deleteOauthServer, findOauthLogin, findOauthLogins } from '../store/oauth.ts';
import type { OauthLoginRow } from '../store/schema.ts';
import { type Challenge, parseChallenge, scopesOf } from './challenge.ts';
import { createDiscoveryCache } from './discovery-cache.ts';
import { type GuardedFetch, type Trust, trustIn } from './guarded-fetch.ts';
import { loginRequired } from './login-required.ts';
import { isPerPrincipal, type LoginPlan, type LoginTarget, loginOf, toTarget, trustOf } from './login-target.ts';
import { createMachineTokens } from './machine-tokens.ts';
import {
  afterRefusal,
  bearer,
  chooseScopes,
  isAboutToken,
  isDue,
  isMadeFor,
  isOver,
  isReplaced,
  needAfter,
  needOf,
  type Refusal,
  storedChallenge,
  usableTokens,
} from './refusals.ts';
import { createTokenCache, emptyRow, type Login, type Tokens } from './token-cache.ts';
import { expiryOf, type OauthClient, revokeTokens, type TokenAnswer } from './token-endpoint.ts';
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
  target(server: Server, principal: string): LoginTarget;
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

type AuthorizationHeaders = Record<string, string>;

export async function createLogins(deps: LoginDependencies): Promise<Logins> {
  const { db, vault, secrets, registry, changes, log, fetch } = deps;
  const cache = createTokenCache(db, vault, secrets);
  const discoveries = createDiscoveryCache(fetch);
  const machines = createMachineTokens(fetch, secrets, discoveries);
  const refresh = createTokenRefresh({ db, cache, fetch, log });
  /** The access token that each login got because the one before was refused. */
  const renewed = new Map<string, string>();
  const pending = new Set<Promise<unknown>>();

  await tidy();
  const off = [
    changes.subscribe('server.removed', ({ server_id }) => track(forget(server_id))),
    changes.subscribe('principal.ended', ({ principal_id }) => track(forgetPrincipal(principal_id))),
    changes.subscribe('server.updated', ({ server_id }) => {
      discoveries.forget(server_id);
      track(dropMoved(server_id));
    }),
  ];

  /** At the start: what belongs to removed servers and to principals that ended goes. */
  async function tidy(): Promise<void> {
    for (const row of await findOauthLogins(db)) {
      if (registry.find(row.server_id) === undefined) track(forget(row.server_id));
      else if (deps.isEnded(row.principal)) track(drop(row));
    }
  }

  function track(task: Promise<unknown>): void {
    const kept = task
      .catch((error: unknown) => log.warn({ err: error }, 'could not revoke tokens'))
      .finally(() => pending.delete(kept));
    pending.add(kept);
  }

  /** Without waiting where that can be: every request to a server asks. */
  function headers(target: LoginTarget): AuthorizationHeaders | Promise<AuthorizationHeaders> {
    if (target.oauth.grant === 'client_credentials') return machines.headers(target);
    const login = cache.get(target.key);
    if (login === 'absent') return {};
    return login === undefined
      ? cache.load(target).then((loaded) => headersOf(target, loaded))
      : headersOf(target, login);
  }

  function headersOf(
    target: LoginTarget,
    login: Login | undefined,
  ): AuthorizationHeaders | Promise<AuthorizationHeaders> {
    const tokens = usableTokens(login, target);
    if (login === undefined || tokens === undefined) return {};
    return isDue(login.row, Date.now()) ? freshHeaders(target, login, tokens) : bearer(tokens.access_token);
  }

  async function freshHeaders(target: LoginTarget, login: Login, tokens: Tokens): Promise<AuthorizationHeaders> {
    const fresh = await refresh(target, login, isOver(login.row, Date.now()));
    return bearer(fresh.tokens?.access_token ?? tokens.access_token);
  }

  async function refused(target: LoginTarget, refusal: Refusal): Promise<boolean> {
    const challenge = parseChallenge(refusal.challenge);
    if (!isAboutToken(refusal, challenge)) return false;
    if (target.oauth.grant === 'client_credentials') return await machines.renew(target, challenge, refusal);

    const login = await cache.load(target);
    const tokens = usableTokens(login, target);
    if (isReplaced(tokens, refusal)) return true;

    const found = await discoveries.discover(target, challenge, tokens?.issuer.issuer);
    if (found === undefined) return false;
    const next = afterRefusal(refusal, tokens, { issuer: found.issuer.issuer, renewed: renewed.get(target.key) });
    if (next === 'refresh' && login !== undefined) {
      const { tokens: fresh } = await refresh(target, login, true);
      if (fresh !== undefined) renewed.set(target.key, fresh.access_token);
      return true;
    }
    const stepUp = next === 'step-up';
    const need = await recordNeed(target, login, challenge, stepUp);
    if (need !== undefined) throw need;
    const current = await cache.load(target);
    if (isReplaced(usableTokens(current, target), refusal)) return true;
    throw loginRequired(target.server.name, { ...needOf(current), stepUp });
  }

  /** Undefined where the login changed meanwhile: what is recorded there stays. */
  async function recordNeed(
    { server, principal }: LoginTarget,
    login: Login | undefined,
    challenge: Challenge,
    stepUp: boolean,
  ): Promise<AppError | undefined> {
    const row = login?.row ?? emptyRow(server.id, principal);
    const need = needAfter(row, challenge, { stepUp, now: Date.now() });
    const changes = { state: need.state, challenge: JSON.stringify(need.challenge) };
    const kept =
      login === undefined
        ? await cache.add(row, changes)
        : await cache.change(login, changes, stepUp ? login.tokens : undefined);
    if (kept === undefined) return undefined;
    if (need.isHopeless) {
      return new AppError(
        'SERVER_CONNECTION_FAILED',
        `the server still demands the scope "${challenge.scope}" although the login requested it; logging in again would not help`,
      );
    }
    return loginRequired(server.name, { ...needOf(kept), stepUp });
  }

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

  /** The server is gone. */
  async function forget(serverId: string): Promise<void> {
    const rows = (await findOauthLogins(db)).filter((row) => row.server_id === serverId);
    await deleteOauthServer(db, serverId);
    machines.forget(serverId);
    discoveries.forget(serverId);
    for (const row of rows) await drop(row);
  }

  async function forgetPrincipal(principal: string): Promise<void> {
    // At once, also where another replica was first to delete the rows.
    cache.forgetPrincipal(principal);
    for (const row of await findOauthLogins(db)) if (row.principal === principal) await drop(row);
  }

  /** The server has another address or another issuer: what was made for the old one is of no use. */
  async function dropMoved(serverId: string): Promise<void> {
    const server = registry.find(serverId);
    const rows = (await findOauthLogins(db)).filter((row) => row.server_id === serverId && row.sealed !== null);
    if (server === undefined || rows.length === 0) return;
    const made = toTarget(server, registry.resolveConnection(serverId).connection, '');
    for (const row of rows) {
      const tokens = cache.tokensIn(row);
      if (tokens !== undefined && (made === undefined || !isMadeFor(tokens, made))) await drop(row);
    }
  }

  /** Forgets a login, here and at its issuer; only the address that is sealed with the tokens is trusted by default. */
  async function drop(row: OauthLoginRow, trust?: Trust): Promise<void> {
    const tokens = await cache.drop(row);
    renewed.delete(loginOf({ id: row.server_id }, row.principal).key);
    if (tokens === undefined) return;
    const endpoint = { issuer: tokens.issuer, client: tokens.client, trust: trust ?? trustIn([tokens.server_url]) };
    await revokeTokens(fetch, endpoint, tokens);
    log.info({ server_id: row.server_id }, 'tokens revoked');
  }

  function target(server: Server, principal: string): LoginTarget {
    const { connection } = registry.resolveConnection(server.id);
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
        return { headers: () => headers(made), refused: (refusal) => refused(made, refusal) };
      let chosen: Promise<LoginTarget> | undefined;
      const catalogTarget = () => {
        chosen ??= catalogPrincipal(server).then((known) => ({ ...made, ...loginOf(server, known) }));
        return chosen;
      };
      return {
        headers: async () => await headers(await catalogTarget()),
        refused: async (refusal) => await refused(await catalogTarget(), refusal),
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
      const wanted = target(server, principal);
      const login = await cache.load(wanted);
      if (login === undefined) return false;
      await drop(login.row, trustOf(wanted));
      return true;
    },
    list: () => findOauthLogins(db),
    async close() {
      for (const stop of off) stop();
      await Promise.all(pending);
      await fetch.close();
    },
  };
}
