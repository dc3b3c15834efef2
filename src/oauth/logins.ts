/**
 * The tokens that servers get from us: one login per server, or one per server and principal. Kept sealed, refreshed
 * before they expire by one replica at a time, and never given to a server at another address than they were made for.
 */
import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Changes } from '../changes.ts';
import { AppError } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { Registry, Server } from '../registry/registry.ts';
import type { Connection, OauthConfig } from '../registry/server.ts';
import type { Vault } from '../security/credentials.ts';
import type { Secrets } from '../security/secrets.ts';
import type { Database } from '../store/database.ts';
import {
  deleteOauthLogin,
  deleteOauthServer,
  findOauthLogin,
  findOauthLogins,
  insertOauthLogin,
  leaseOauthLogin,
  releaseOauthLogin,
  updateOauthLogin,
  upsertOauthLogin,
} from '../store/oauth.ts';
import type { OauthLoginRow } from '../store/schema.ts';
import { type Challenge, parseChallenge, scopesOf, union } from './challenge.ts';
import { type Discovered, discover, type IssuerMetadata } from './discovery.ts';
import { type GuardedFetch, type Trust, trustIn } from './guarded-fetch.ts';
import { type LoginNeed, loginRequired } from './login-required.ts';
import { type OauthClient, requestToken, revokeTokens, type TokenAnswer, TokenRefused } from './token-endpoint.ts';

/** A server, where it is, how it wants its tokens, and for whom. */
export interface Target {
  server: Server;
  url: string;
  oauth: OauthConfig;
  /** Empty: shared by everybody. */
  principal: string;
  /** Of its login among all of them. */
  key: string;
}

export interface Refusal {
  status: number;
  challenge: string | undefined;
  /** The headers that were refused. */
  sent: Record<string, string>;
  /** How often this very request was refused before. */
  attempt: number;
}

/** What one session's requests are asked for before they go, and told of when they are refused. */
export interface SessionCredentials {
  headers(): Record<string, string> | Promise<Record<string, string>>;
  /** True: there are other credentials now, send it again. False: not a matter of OAuth. */
  refused(refusal: Refusal): Promise<boolean>;
}

export interface Logins {
  /** Undefined where the server gets no tokens from us. Without a principal: the session that fills the catalog. */
  credentials(server: Server, connection: Connection, principal: string | undefined): SessionCredentials | undefined;
  target(server: Server, principal: string): Target;
  /** What a login would ask for, of whom. */
  plan(target: Target): Promise<LoginPlan>;
  save(target: Target, plan: LoginPlan, client: OauthClient, answer: TokenAnswer): Promise<void>;
  state(server: Server, principal: string): Promise<Pick<OauthLoginRow, 'state' | 'updated_at'> | undefined>;
  /** Somebody is logged in, so that connecting is worth a try. */
  isKnown(server: Server): Promise<boolean>;
  /** Revokes and forgets. */
  logout(server: Server, principal: string): Promise<boolean>;
  /** Everybody's; an empty principal is all who share one. */
  list(): Promise<Pick<OauthLoginRow, 'server_id' | 'principal' | 'state' | 'issuer' | 'scope' | 'updated_at'>[]>;
  close(): Promise<void>;
}

export interface LoginPlan extends Discovered {
  scope: string | undefined;
  trust: Trust;
}

export interface LoginDependencies {
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

/** What is sealed. */
interface Tokens {
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

interface Login {
  row: OauthLoginRow;
  tokens: Tokens | undefined;
}

/** What a server said when it refused, kept for the login that follows. */
interface StoredChallenge extends Challenge {
  /** Times in a row that scopes were demanded which the token had been asked for already. */
  refusals?: number;
  at?: number;
}

const leaseMs = 30_000;
const leasePollMs = 100;
/** Refreshed so long before the end, or in the last fifth of a shorter life. */
const refreshBeforeMs = 60_000;
const discoveryLifetimeMs = 300_000;
const maxRefusals = 2;
const refusalMemoryMs = 600_000;

export async function createLogins(deps: LoginDependencies): Promise<Logins> {
  const { db, vault, secrets, registry, changes, log, fetch } = deps;
  const known = new Map<string, Login>();
  /** Looked for and not there: most servers want no login, and no call may wait for the database to say so again. */
  const absent = new Set<string>();
  const machines = new Map<string, { token: string; expiresAt: number; plan: LoginPlan; madeFor: string }>();
  const refreshing = new Map<string, Promise<Login>>();
  /** The access token that each login got because the one before was refused. */
  const renewed = new Map<string, string>();
  const discoveries = new Map<string, { found: Discovered | undefined; at: number }>();
  const pending = new Set<Promise<unknown>>();

  await tidy();
  const offRemoved = changes.subscribe('server.removed', ({ server_id }) => track(forget(server_id)));
  const offEnded = changes.subscribe('principal.ended', ({ principal_id }) => track(forgetPrincipal(principal_id)));
  const offUpdated = changes.subscribe('server.updated', ({ server_id }) => {
    discoveries.delete(server_id);
    track(dropMoved(server_id));
  });

  /** At the start: what belongs to removed servers and to principals that ended goes. */
  async function tidy(): Promise<void> {
    for (const row of await findOauthLogins(db)) {
      if (registry.find(row.server_id) === undefined) track(forget(row.server_id));
      else if (deps.isEnded(row.principal)) track(drop(row));
    }
  }

  async function forgetPrincipal(principal: string): Promise<void> {
    // At once, also where another replica was first to delete the rows.
    for (const [key, { row }] of known) if (row.principal === principal) known.delete(key);
    for (const row of await findOauthLogins(db)) if (row.principal === principal) await drop(row);
  }

  function track(task: Promise<unknown>): void {
    const kept = task
      .catch((error: unknown) => log.warn({ err: error }, 'tokens could not be revoked'))
      .finally(() => pending.delete(kept));
    pending.add(kept);
  }

  async function load({ server, principal, key }: Target): Promise<Login | undefined> {
    const row = await findOauthLogin(db, server.id, principal);
    if (row === undefined) {
      known.delete(key);
      absent.add(key);
      return undefined;
    }
    return keep({ row, tokens: tokensIn(row) });
  }

  /** Undefined where somebody else changed the login since it was read: theirs is the newer one. */
  async function change(before: Login, changes: Partial<OauthLoginRow>, tokens?: Tokens): Promise<Login | undefined> {
    const login = changed(before.row, changes, tokens);
    return (await updateOauthLogin(db, login.row, before.row)) ? keep(login) : undefined;
  }

  async function add(row: OauthLoginRow, changes: Partial<OauthLoginRow>): Promise<Login | undefined> {
    const login = changed(row, changes, undefined);
    return (await insertOauthLogin(db, login.row)) ? keep(login) : undefined;
  }

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

  /** Without waiting where that can be: every request to a server asks. */
  function headers(target: Target): Record<string, string> | Promise<Record<string, string>> {
    if (target.oauth.grant === 'client_credentials') return machineHeaders(target);
    if (absent.has(target.key)) return {};
    const login = known.get(target.key);
    return login === undefined ? load(target).then((loaded) => headersOf(target, loaded)) : headersOf(target, login);
  }

  function headersOf(
    target: Target,
    login: Login | undefined,
  ): Record<string, string> | Promise<Record<string, string>> {
    const tokens = usable(login, target);
    if (login === undefined || tokens === undefined) return {};
    return isDue(login.row) ? freshHeaders(target, login, tokens) : bearer(tokens.access_token);
  }

  async function freshHeaders(target: Target, login: Login, tokens: Tokens): Promise<Record<string, string>> {
    const fresh = await refresh(target, login, isOver(login.row));
    return bearer(fresh.tokens?.access_token ?? tokens.access_token);
  }

  /** A token for another address than the server's present one would be told to a stranger. */
  function usable(login: Login | undefined, target: Target): Tokens | undefined {
    if (login?.row.state !== 'active' || login.tokens === undefined) return undefined;
    return isMadeFor(login.tokens, target) ? login.tokens : undefined;
  }

  /** `needed`: the token that there is no longer works, so it is no answer while somebody else refreshes. */
  function refresh(target: Target, login: Login, needed: boolean): Promise<Login> {
    const key = `${target.key} ${needed}`;
    const running = refreshing.get(key);
    if (running !== undefined) return running;
    const task = refreshOnce(target, login, needed).finally(() => refreshing.delete(key));
    refreshing.set(key, task);
    return task;
  }

  async function refreshOnce(target: Target, stale: Login, needed: boolean): Promise<Login> {
    if (stale.tokens?.refresh_token === undefined) return needed ? await expire(target, stale) : stale;
    const giveUpAt = Date.now() + 2 * leaseMs;
    while (!(await lease(stale.row))) {
      const current = await active(target);
      if (current.row.updated_at !== stale.row.updated_at) return current;
      if (!needed) return stale;
      if (Date.now() > giveUpAt) {
        throw new AppError('SERVER_CONNECTION_FAILED', 'another replica refreshes the token, and does not get done');
      }
      await delay(leasePollMs);
    }
    return await refreshLeased(target, { ...stale, tokens: stale.tokens }, needed);
  }

  function lease(row: OauthLoginRow): Promise<boolean> {
    const now = Date.now();
    return leaseOauthLogin(db, row, {
      now: new Date(now).toISOString(),
      until: new Date(now + leaseMs).toISOString(),
    });
  }

  async function refreshLeased(target: Target, stale: Login & { tokens: Tokens }, needed: boolean): Promise<Login> {
    const { issuer, client, resource, refresh_token } = stale.tokens;
    try {
      const answer = await requestToken(
        fetch,
        { issuer, client, trust: trustOf(target) },
        { grant_type: 'refresh_token', refresh_token, resource },
      );
      // Not every server gives a new refresh token with each answer.
      const tokens = { ...stale.tokens, access_token: answer.access_token };
      if (answer.refresh_token !== undefined) tokens.refresh_token = answer.refresh_token;
      // Undefined: logged out, or logged in again, while we asked.
      return (await change(stale, { expires_at: expiryOf(answer) }, tokens)) ?? (await active(target));
    } catch (error) {
      if (error instanceof TokenRefused) return await expire(target, stale);
      if (error instanceof AppError && error.code === 'LOGIN_REQUIRED') throw error;
      // The authorization server is away: what still works is used on, and the next request tries again.
      await releaseOauthLogin(db, stale.row);
      if (needed) throw error;
      log.warn({ err: error, server: target.server.name }, 'a token could not be refreshed yet');
      return stale;
    }
  }

  /** Unless somebody logged in meanwhile. */
  async function expire(target: Target, login: Login): Promise<Login> {
    await change(login, { state: 'expired' });
    return await active(target);
  }

  /** The login as it is stored now. */
  async function active(target: Target): Promise<Login> {
    const current = await load(target);
    if (current?.row.state === 'active') return current;
    throw loginRequired(target.server.name, needOf(current));
  }

  async function refused(target: Target, refusal: Refusal): Promise<boolean> {
    const challenge = parseChallenge(refusal.challenge);
    const stepUp = refusal.status === 403;
    if (stepUp && challenge.error !== 'insufficient_scope') return false;
    if (target.oauth.grant === 'client_credentials') return await renewMachine(target, challenge, refusal);

    const login = await load(target);
    const tokens = usable(login, target);
    if (isReplaced(tokens, refusal)) return true;

    const found = await discovered(target, challenge, tokens?.issuer.issuer);
    if (found === undefined) return false;
    const sameIssuer = tokens?.issuer.issuer === found.issuer.issuer;
    if (!stepUp && login !== undefined && tokens?.refresh_token !== undefined && sameIssuer) {
      if (refusal.attempt === 0 || !isRenewed(target, tokens)) {
        await renew(target, login);
        return true;
      }
    }
    const lacksScope = stepUp && tokens !== undefined;
    const need = await recordNeed(target, login, challenge, lacksScope);
    if (need !== undefined) throw need;
    const current = await load(target);
    if (isReplaced(usable(current, target), refusal)) return true;
    throw loginRequired(target.server.name, { ...needOf(current), stepUp: lacksScope });
  }

  /** True for a token that was got because the one before was refused: where it is, too, another would be as well. */
  function isRenewed({ key }: Target, { access_token }: Tokens): boolean {
    return renewed.get(key) === access_token;
  }

  async function renew(target: Target, login: Login): Promise<void> {
    const { tokens } = await refresh(target, login, true);
    if (tokens !== undefined) renewed.set(target.key, tokens.access_token);
  }

  /** Undefined where somebody else changed the login meanwhile: what they noted stays. */
  async function recordNeed(
    { server, principal }: Target,
    login: Login | undefined,
    challenge: Challenge,
    stepUp: boolean,
  ): Promise<AppError | undefined> {
    const row = login?.row ?? emptyRow(server.id, principal);
    const before = storedChallenge(row);
    const asked = scopesOf(row.scope ?? undefined);
    const granted = stepUp && scopesOf(challenge.scope).every((scope) => asked.includes(scope));
    const recent = Date.now() - (before.at ?? 0) < refusalMemoryMs;
    const refusals = granted ? (recent ? (before.refusals ?? 0) : 0) + 1 : 0;
    const stored: StoredChallenge = { ...challenge, refusals, at: Date.now() };
    const wasActive = row.state === 'active' && row.sealed !== null;
    const state = stepUp ? row.state : wasActive || row.state === 'expired' ? 'expired' : 'required';
    const noted = { state, challenge: JSON.stringify(stored) };
    const kept =
      login === undefined ? await add(row, noted) : await change(login, noted, stepUp ? login.tokens : undefined);
    if (kept === undefined) return undefined;
    if (refusals >= maxRefusals) {
      return new AppError(
        'SERVER_CONNECTION_FAILED',
        `the server demands the scope "${challenge.scope}" again although the login asked for it; logging in once more would not help`,
      );
    }
    return loginRequired(server.name, { login: state === 'expired' ? 'expired' : 'required', stepUp });
  }

  async function discovered(
    { server, url, oauth }: Target,
    challenge: Challenge,
    currentIssuer?: string,
  ): Promise<Discovered | undefined> {
    const found = await discover(fetch, {
      serverUrl: url,
      challenge,
      preferredIssuer: oauth.issuer ?? currentIssuer,
      trust: trustOf({ url, oauth }),
    });
    if (oauth.issuer !== undefined && found !== undefined && found.issuer.issuer !== oauth.issuer) {
      throw new AppError('SERVER_CONNECTION_FAILED', `the server does not name the configured issuer ${oauth.issuer}`);
    }
    discoveries.set(server.id, { found, at: Date.now() });
    return found;
  }

  async function plan(target: Target): Promise<LoginPlan> {
    const { server, oauth } = target;
    const login = (await load(target)) ?? (await load({ ...target, ...loginOf(server, '') }));
    const challenge = login === undefined ? {} : storedChallenge(login.row);
    const recent = discoveries.get(server.id);
    const found =
      recent !== undefined && Date.now() - recent.at < discoveryLifetimeMs
        ? recent.found
        : await discovered(target, challenge, login?.tokens?.issuer.issuer);
    if (found === undefined) {
      throw new AppError('SERVER_STATE_CONFLICT', `${server.name} does not say where to log in to it`);
    }
    const before = login?.row.issuer === found.issuer.issuer ? scopesOf(login.row.scope ?? undefined) : [];
    const scope = chooseScopes({ oauth, challenge, before, found });
    return { ...found, scope: scope.length === 0 ? undefined : scope.join(' '), trust: trustOf(target) };
  }

  async function save(target: Target, made: LoginPlan, client: OauthClient, answer: TokenAnswer): Promise<void> {
    const { server, principal, url } = target;
    const { issuer, token_endpoint, revocation_endpoint, token_endpoint_auth_methods_supported } = made.issuer;
    const before = await load(target);
    const tokens: Tokens = {
      access_token: answer.access_token,
      refresh_token: answer.refresh_token,
      server_url: url,
      resource: made.resource,
      issuer: { issuer, token_endpoint, revocation_endpoint, token_endpoint_auth_methods_supported },
      client,
    };
    // Whatever was there: this is the newest that the person did.
    const login = changed(
      before?.row ?? emptyRow(server.id, principal),
      { state: 'active', issuer, scope: made.scope ?? answer.scope ?? null, expires_at: expiryOf(answer) },
      tokens,
    );
    await upsertOauthLogin(db, login.row);
    keep(login);
  }

  /** Machines need nobody: their token is asked for when it is needed, by every replica for itself. */
  async function machineHeaders(target: Target): Promise<Record<string, string>> {
    const machine = machines.get(target.server.id);
    if (machine === undefined || machine.madeFor !== purposeOf(target)) return {};
    if (Date.now() < machine.expiresAt - 10_000) return bearer(machine.token);
    return bearer(await machineToken(target, machine.plan));
  }

  async function renewMachine(target: Target, challenge: Challenge, { attempt }: Refusal): Promise<boolean> {
    if (attempt > 0) return false;
    const found = await discovered(target, challenge);
    if (found === undefined) return false;
    const before = scopesOf(machines.get(target.server.id)?.plan.scope);
    const scope = chooseScopes({ oauth: target.oauth, challenge, before, found }).filter(
      (one) => one !== 'offline_access',
    );
    await machineToken(target, { ...found, scope: scope.join(' ') || undefined, trust: trustOf(target) });
    return true;
  }

  async function machineToken(target: Target, made: LoginPlan): Promise<string> {
    const client = configuredClient(target, made.issuer.issuer);
    if (client === undefined || (client.client_secret === undefined && client.private_key === undefined)) {
      throw new AppError(
        'SERVER_CONNECTION_FAILED',
        'client_credentials need oauth.client_id and oauth.client_secret or oauth.private_key in connection_config',
      );
    }
    const answer = await requestToken(
      fetch,
      { issuer: made.issuer, client, trust: made.trust },
      { grant_type: 'client_credentials', scope: made.scope, resource: made.resource },
    ).catch((error: unknown) => {
      if (!(error instanceof TokenRefused)) throw error;
      throw new AppError('SERVER_CONNECTION_FAILED', error.message, { cause: error });
    });
    const expires = expiryOf(answer);
    const expiresAt = expires === null ? Number.POSITIVE_INFINITY : Date.parse(expires);
    machines.set(target.server.id, {
      token: answer.access_token,
      expiresAt,
      plan: made,
      madeFor: purposeOf(target),
    });
    secrets.learnFrom(target.server.id, `oauth:machine:${target.server.id}`, [answer.access_token]);
    return answer.access_token;
  }

  async function revoke({ row, tokens }: Login, trust: Trust): Promise<void> {
    if (tokens === undefined) return;
    await revokeTokens(fetch, { issuer: tokens.issuer, client: tokens.client, trust }, tokens);
    log.info({ server_id: row.server_id }, 'tokens revoked');
  }

  /** The server is gone. */
  async function forget(serverId: string): Promise<void> {
    const rows = (await findOauthLogins(db)).filter((row) => row.server_id === serverId);
    await deleteOauthServer(db, serverId);
    machines.delete(serverId);
    discoveries.delete(serverId);
    for (const row of rows) await drop(row);
  }

  /** The server has another address or another issuer: what was made for the old one is of no use. */
  async function dropMoved(serverId: string): Promise<void> {
    const server = registry.find(serverId);
    const rows = (await findOauthLogins(db)).filter((row) => row.server_id === serverId && row.sealed !== null);
    if (server === undefined || rows.length === 0) return;
    const made = toTarget(server, registry.resolveConnection(serverId).connection, '');
    for (const row of rows) {
      const tokens = tokensIn(row);
      if (tokens !== undefined && (made === undefined || !isMadeFor(tokens, made))) await drop(row);
    }
  }

  /** Forgets a login, here and at its issuer, whose address is in what was sealed. */
  async function drop(row: OauthLoginRow): Promise<void> {
    const key = keyOf(row.server_id, row.principal);
    await deleteOauthLogin(db, row.server_id, row.principal);
    known.delete(key);
    renewed.delete(key);
    secrets.forget(`oauth:${key}`);
    const tokens = tokensIn(row);
    if (tokens !== undefined) await revoke({ row, tokens }, trustIn([tokens.server_url]));
  }

  function tokensIn(row: OauthLoginRow): Tokens | undefined {
    return row.sealed === null ? undefined : (vault.open(row.sealed, contextOf(row)) as Tokens);
  }

  function target(server: Server, principal: string): Target {
    const { connection } = registry.resolveConnection(server.id);
    const made = toTarget(server, connection, isPerPrincipal(server) ? principal : '');
    if (made === undefined)
      throw new AppError('SERVER_STATE_CONFLICT', `${server.name} has no login: it gets no tokens`);
    return made;
  }

  /** Which of the people who logged in lends its eyes to the catalog: the one whose login is the oldest. */
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
      let chosen: Promise<Target> | undefined;
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
      const login = await load(wanted);
      if (login === undefined) return false;
      await deleteOauthLogin(db, server.id, wanted.principal);
      known.delete(wanted.key);
      await revoke(login, trustOf(wanted));
      return true;
    },
    list: () => findOauthLogins(db),
    async close() {
      offRemoved();
      offUpdated();
      offEnded();
      await Promise.all(pending);
      await fetch.close();
    },
  };
}

export function isPerPrincipal(server: Server): boolean {
  return server.options.credentials === 'per_principal';
}

/** A key that an admin put into the headers is the server's credential; OAuth would only get in its way. */
function toTarget(server: Server, connection: Connection, principal: string): Target | undefined {
  if (connection.transport_type === 'STDIO') return undefined;
  const { headers = {}, oauth } = connection.connection_config;
  const hasKey = Object.keys(headers).some((name) => name.toLowerCase() === 'authorization');
  if (hasKey && oauth === undefined) return undefined;
  const url =
    'url' in connection.connection_config ? connection.connection_config.url : connection.connection_config.base_url;
  return { server, url, oauth: oauth ?? {}, ...loginOf(server, principal) };
}

/** For another address, or another issuer than the one an admin named, they would be told to a stranger. */
function isMadeFor({ server_url, issuer }: Tokens, { url, oauth }: Pick<Target, 'url' | 'oauth'>): boolean {
  return server_url === url && (oauth.issuer === undefined || oauth.issuer === issuer.issuer);
}

/** Whatever changes it makes another token necessary. */
const purposeOf = ({ url, oauth }: Target) => JSON.stringify([url, oauth]);

/**
 * The client that an admin registered. A server names whichever issuer it likes, so the secret goes only to the one that
 * the admin named, or to one at the server's own address.
 */
export function configuredClient(
  { server, url, oauth }: Pick<Target, 'server' | 'url' | 'oauth'>,
  issuer: string,
): OauthClient | undefined {
  const { client_id, client_secret, private_key, signing_algorithm } = oauth;
  if (client_id === undefined) return undefined;
  const isNamed = oauth.issuer === issuer || new URL(issuer).origin === new URL(url).origin;
  if (client_secret !== undefined && !isNamed) {
    throw new AppError(
      'SERVER_CONNECTION_FAILED',
      `${server.name} names the authorization server ${issuer}, which nobody configured, so oauth.client_secret is not ` +
        'sent to it; if it is the right one, set oauth.issuer in connection_config to it',
    );
  }
  return { client_id, client_secret, private_key, signing_algorithm };
}

export function trustOf({ url, oauth }: Pick<Target, 'url' | 'oauth'>): Trust {
  return trustIn(oauth.issuer === undefined ? [url] : [url, oauth.issuer]);
}

/** The specification's order: what the server demanded, what its metadata list, nothing. */
export function chooseScopes({
  oauth,
  challenge,
  before,
  found,
}: {
  oauth: OauthConfig;
  challenge: Challenge;
  before: string[];
  found: Discovered;
}): string[] {
  const demanded = scopesOf(challenge.scope);
  const wanted = oauth.scopes ?? (demanded.length > 0 ? demanded : (found.scopesSupported ?? []));
  // Where a refresh token must be asked for, it is: nobody wants to log in every hour.
  const offline = found.issuer.scopes_supported?.includes('offline_access') === true ? ['offline_access'] : [];
  return union(before, wanted, offline);
}

/** Refreshed, or logged in, since the request was sent. */
function isReplaced(tokens: Tokens | undefined, { sent }: Refusal): boolean {
  return tokens !== undefined && sent.authorization !== bearer(tokens.access_token).authorization;
}

function needOf(login: Login | undefined): LoginNeed {
  return { login: login?.row.state === 'expired' ? 'expired' : 'required' };
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const keyOf = (serverId: string, principal: string) => `${serverId} ${principal}`;
const loginOf = (server: Server, principal: string) => ({ principal, key: keyOf(server.id, principal) });
const secretsOf = ({ access_token, refresh_token, client }: Tokens) =>
  [access_token, refresh_token, client.client_secret].filter((value) => value !== undefined);

/** What a login's tokens are sealed for: they open only in their own row. */
export function contextOf({ server_id, issuer, principal }: OauthLoginRow): string {
  return `oauth:${createHash('sha256')
    .update(JSON.stringify([server_id, issuer, principal]))
    .digest('hex')}`;
}

function emptyRow(server_id: string, principal: string): OauthLoginRow {
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

function storedChallenge({ challenge }: OauthLoginRow): StoredChallenge {
  return challenge === null ? {} : (JSON.parse(challenge) as StoredChallenge);
}

/** Also the row's version: two changes never carry the same time. */
function laterThan(before: string): string {
  const now = Date.now();
  return new Date(before === '' ? now : Math.max(now, Date.parse(before) + 1)).toISOString();
}

function expiryOf({ expires_in: seconds }: TokenAnswer): string | null {
  return seconds === undefined ? null : new Date(Date.now() + seconds * 1_000).toISOString();
}

function isOver({ expires_at }: OauthLoginRow): boolean {
  return expires_at !== null && Date.parse(expires_at) <= Date.now();
}

function isDue({ expires_at, updated_at }: OauthLoginRow): boolean {
  if (expires_at === null) return false;
  const end = Date.parse(expires_at);
  const life = end - Date.parse(updated_at);
  return Date.now() >= end - Math.min(refreshBeforeMs, life / 5);
}
