/** Refreshing tokens, by one replica at a time. */
import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { Database } from '../store/database.ts';
import { leaseOauthLogin, releaseOauthLogin } from '../store/oauth.ts';
import type { OauthLoginRow } from '../store/schema.ts';
import type { GuardedFetch } from './guarded-fetch.ts';
import { loginRequired } from './login-required.ts';
import { type LoginTarget, trustOf } from './login-target.ts';
import { needOf } from './refusals.ts';
import type { Login, TokenCache, Tokens } from './token-cache.ts';
import { expiryOf, requestToken, TokenRefused } from './token-endpoint.ts';

interface RefreshDependencies {
  db: Database;
  cache: TokenCache;
  fetch: GuardedFetch;
  log: Logger;
}

/** `needed`: the present token no longer works, so it is no answer while another replica refreshes. */
export type RefreshTokens = (target: LoginTarget, login: Login, needed: boolean) => Promise<Login>;

const leaseMs = 30_000;
const leasePollMs = 100;

export function createTokenRefresh({ db, cache, fetch, log }: RefreshDependencies): RefreshTokens {
  const refreshing = new Map<string, Promise<Login>>();

  async function refreshOnce(target: LoginTarget, stale: Login, needed: boolean): Promise<Login> {
    if (stale.tokens?.refresh_token === undefined) return needed ? await expire(target, stale) : stale;
    const giveUpAt = Date.now() + 2 * leaseMs;
    while (!(await lease(stale.row))) {
      const current = await active(target);
      if (current.row.updated_at !== stale.row.updated_at) return current;
      if (!needed) return stale;
      if (Date.now() > giveUpAt) {
        throw new AppError('SERVER_CONNECTION_FAILED', 'timed out waiting for another replica to refresh the token');
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

  async function refreshLeased(
    target: LoginTarget,
    stale: Login & { tokens: Tokens },
    needed: boolean,
  ): Promise<Login> {
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
      // Undefined: logged out, or logged in again, while the request was under way.
      return (await cache.change(stale, { expires_at: expiryOf(answer) }, tokens)) ?? (await active(target));
    } catch (error) {
      if (error instanceof TokenRefused) return await expire(target, stale);
      if (error instanceof AppError && error.code === 'LOGIN_REQUIRED') throw error;
      // The authorization server is away: what still works is used on, and the next request tries again.
      await releaseOauthLogin(db, stale.row);
      if (needed) throw error;
      log.warn({ err: error, server: target.server.name }, 'could not refresh a token yet; retrying automatically');
      return stale;
    }
  }

  /** Unless there was a new login meanwhile. */
  async function expire(target: LoginTarget, login: Login): Promise<Login> {
    await cache.change(login, { state: 'expired' });
    return await active(target);
  }

  async function active(target: LoginTarget): Promise<Login> {
    const current = await cache.load(target);
    if (current?.row.state === 'active') return current;
    throw loginRequired(target.server.name, needOf(current));
  }

  return (target, login, needed) => {
    const key = `${target.key} ${needed}`;
    const running = refreshing.get(key);
    if (running !== undefined) return running;
    const task = refreshOnce(target, login, needed).finally(() => refreshing.delete(key));
    refreshing.set(key, task);
    return task;
  };
}
