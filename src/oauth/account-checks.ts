/**
 * Whether the people of the identity provider still have their accounts. The tokens issued here know nothing of the
 * provider, so every sign-in leaves a refresh token here, which is used while the person is active: a provider refuses it
 * once the account is disabled. One replica asks at a time, and only about people who are here.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { Config } from '../config/config.ts';
import { AppError, describe } from '../errors.ts';
import type { Logger } from '../log.ts';
import { type Account, type AccountFacts, type Accounts, isCheckable } from '../security/accounts.ts';
import { ExpiredToken, type Principal } from '../security/auth.ts';
import type { Vault } from '../security/credentials.ts';
import { leaseAccount, releaseAccount } from '../store/accounts.ts';
import type { Database } from '../store/database.ts';
import { mappingOf } from './identity-claims.ts';
import type { ProviderClient } from './provider-client.ts';
import { TokenRefused } from './token-endpoint.ts';

export interface AccountChecks {
  /** Returns at once where the account was confirmed a moment ago. Throws where it has ended. */
  admit(id: string): void | Promise<void>;
  /** Somebody listens without sending requests, until what it returns is called. */
  attend(id: string): () => void;
  /** Somebody signed in; true where the account can be checked from now on. */
  signIn(principal: Principal, refreshToken: string | undefined): Promise<boolean>;
  /** What is stored for a user needs an account, so that it ends with it. */
  remember(principal: Principal): Promise<void>;
  close(): Promise<void>;
}

interface AccountCheckOptions {
  config: Config;
  db: Database;
  vault: Vault;
  log: Logger;
  accounts: Accounts;
  /** Undefined if no OAuth client is configured at the provider. */
  client: ProviderClient | undefined;
}

const grant = z.object({ refresh_token: z.string(), client_id: z.string() });

/** What a grant is sealed for. */
export const grantContextOf = (accountId: string) => `account:${accountId}`;

const leaseMs = 20_000;
const leasePollMs = 100;
/** Whoever sent a request so recently is checked in advance, so that the next one need not wait. */
const activeMs = 300_000;
/** So long nothing is asked of a provider that did not respond. */
const awayMs = 10_000;
const maxConcurrent = 10;
const seenEveryMs = 3_600_000;
const dayMs = 86_400_000;

export function createAccountChecks(options: AccountCheckOptions): AccountChecks {
  const { config, db, vault, log, accounts, client } = options;
  const { oidcCheckIntervalMs: intervalMs, oidcCheckGraceMs: graceMs } = config;
  const rules = mappingOf(config);
  const checking = new Map<string, Promise<void>>();
  const seen = new Map<string, number>();
  const attending = new Map<string, number>();
  let away: { until: number; cause: unknown } | undefined;
  let sweeping: Promise<void> | undefined;
  let retained = 0;

  const isFresh = ({ row, checkedAtMs }: Account, maxAgeMs = intervalMs) =>
    Date.now() - checkedAtMs < maxAgeMs && row.rules === rules;

  function factsOf({ name, role, profile }: Principal): AccountFacts {
    return { issuer: config.oidcIssuer ?? '', name, role, profile, rules };
  }

  function admit(id: string): void | Promise<void> {
    seen.set(id, Date.now());
    const account = accounts.find(id);
    if (account !== undefined && isCheckable(account) && isFresh(account)) return;
    return check(id);
  }

  function check(id: string): Promise<void> {
    const running = checking.get(id);
    if (running !== undefined) return running;
    const task = checkOnce(id).finally(() => checking.delete(id));
    checking.set(id, task);
    return task;
  }

  async function checkOnce(id: string): Promise<void> {
    const before = accounts.find(id);
    if (before === undefined || !isCheckable(before)) throw ended();
    if (away !== undefined && Date.now() < away.until) return requireGrace(before, away.cause);
    try {
      const leased = await lease(before);
      if (leased !== undefined) await checkLeased(leased);
    } catch (error) {
      if (error instanceof ExpiredToken) throw error;
      away = { until: Date.now() + Math.min(awayMs, intervalMs), cause: error };
      log.warn({ account: before.row.name, error: describe(error) }, 'could not check an account');
      requireGrace(accounts.find(id) ?? before, error);
    }
  }

  /** The account as it is to be checked now; undefined where another replica has just done it. */
  async function lease(before: Account): Promise<Account | undefined> {
    const giveUpAt = Date.now() + leaseMs;
    for (let account: Account | undefined = before; ; account = await accounts.reload(before.row.id)) {
      if (account === undefined || !isCheckable(account)) throw ended();
      if (account !== before && isFresh(account)) return undefined;
      const now = Date.now();
      const times = { now: new Date(now).toISOString(), until: new Date(now + leaseMs).toISOString() };
      if (await leaseAccount(db, account.row, times)) return account;
      if (now > giveUpAt) throw new Error('timed out waiting for another replica');
      await delay(leasePollMs);
    }
  }

  async function checkLeased({ row }: Account): Promise<void> {
    try {
      const changes = await ask(row.id, row.sealed ?? '');
      away = undefined;
      await accounts.change(row, { ...changes, checked_at: new Date().toISOString() });
    } catch (error) {
      if (!isRefusal(error)) {
        await releaseAccount(db, row).catch((failure: unknown) =>
          log.warn({ account: row.name, error: describe(failure) }, 'could not release an account; its lease expires'),
        );
        throw error;
      }
      log.info({ account: row.name, error: describe(error) }, 'the identity provider ended an account');
      await accounts.end(row.id, { suspended: true });
      throw ended();
    }
  }

  /** With the answer's refresh token, because providers accept the one before only once. */
  async function ask(id: string, sealed: string) {
    const { refresh_token, client_id } = grant.parse(vault.open(sealed, grantContextOf(id)));
    if (client === undefined || client.clientId !== client_id) throw new OtherClient();
    const answer = await client.requestToken({ grant_type: 'refresh_token', refresh_token });
    const principal = await client.identify(answer);
    if (principal !== undefined && principal.id !== id) throw new OtherClient();
    const fresh = answer.refresh_token ?? refresh_token;
    return {
      ...(principal === undefined ? { rules } : factsOf(principal)),
      ...(fresh === refresh_token ? {} : { sealed: seal(id, fresh) }),
    };
  }

  function seal(id: string, refresh_token: string): string {
    return vault.seal({ refresh_token, client_id: client?.clientId }, grantContextOf(id));
  }

  /** While the provider, or our database, is away, what was known last holds for a while. */
  function requireGrace({ row, checkedAtMs }: Account, cause: unknown): void {
    if (Date.now() - checkedAtMs < Math.max(graceMs, intervalMs) && row.rules === rules) return;
    const problem = `Your account cannot be checked at the moment, because ${row.issuer} does not respond`;
    throw new AppError('IDENTITY_PROVIDER_UNAVAILABLE', problem, { cause, retryAfterSeconds: 10 });
  }

  /** Early enough that no active user waits for a check. */
  async function sweep(): Promise<void> {
    const now = Date.now();
    for (const [id, at] of seen) if (now - at > activeMs && !attending.has(id)) seen.delete(id);
    const due = [...seen.keys()].flatMap((id) => {
      const account = accounts.find(id);
      return account !== undefined && isCheckable(account) && !isFresh(account, intervalMs / 2) ? [id] : [];
    });
    for (let at = 0; at < due.length; at += maxConcurrent) {
      // Each was logged; who comes again is told.
      await Promise.allSettled(due.slice(at, at + maxConcurrent).map(check));
    }
    await recordSeen(now);
    if (now - retained > dayMs) await forgetAbsent(now);
  }

  async function recordSeen(now: number): Promise<void> {
    for (const [id, at] of seen) {
      const known = accounts.find(id)?.row.seen_at;
      if (known !== undefined && at - Date.parse(known) > seenEveryMs)
        await accounts.recordSeen(id, new Date(Math.min(at, now)).toISOString());
    }
  }

  async function forgetAbsent(now: number): Promise<void> {
    retained = now;
    const oldest = now - config.accountRetentionDays * dayMs;
    for (const { row } of accounts.list()) if (Date.parse(row.seen_at) < oldest) await accounts.remove(row.id);
  }

  const timer = setInterval(() => {
    sweeping ??= sweep()
      .catch((error: unknown) => log.warn({ err: error }, 'could not check the accounts; retrying automatically'))
      .finally(() => {
        sweeping = undefined;
      });
  }, intervalMs / 2).unref();

  return {
    admit,
    attend(id) {
      seen.set(id, Date.now());
      attending.set(id, (attending.get(id) ?? 0) + 1);
      return () => {
        const others = (attending.get(id) ?? 1) - 1;
        if (others > 0) attending.set(id, others);
        else attending.delete(id);
      };
    },
    async signIn(principal, refreshToken) {
      const { id } = principal;
      seen.set(id, Date.now());
      const sealed = refreshToken === undefined ? undefined : seal(id, refreshToken);
      return isCheckable(await accounts.signIn(id, factsOf(principal), sealed));
    },
    remember: (principal) => accounts.remember(principal.id, factsOf(principal)),
    async close() {
      clearInterval(timer);
      await sweeping;
      await Promise.allSettled(checking.values());
    },
  };
}

/** The grant belongs to another client than the configured one, or to another person. */
class OtherClient extends Error {}

/** Not `invalid_client` and the like, which are about us. */
function isRefusal(error: unknown): boolean {
  if (error instanceof OtherClient) return true;
  if (error instanceof AppError) return refusalCodes.has(error.code);
  return error instanceof TokenRefused && refusals.has(error.error);
}

/** The person has no role any more, or what we have is of no use. */
const refusalCodes = new Set<string>(['FORBIDDEN', 'INSUFFICIENT_SCOPE', 'CREDENTIAL_UNREADABLE']);
const refusals = new Set([
  ...['invalid_grant', 'access_denied', 'login_required', 'interaction_required', 'consent_required'],
]);

const ended = () => new ExpiredToken('the identity provider ended your access; sign in again');
