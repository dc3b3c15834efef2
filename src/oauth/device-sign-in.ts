/**
 * Signing in on a machine without a browser (RFC 8628): the person opens the provider's page elsewhere. The device code
 * stays sealed in the hands of the program that asks, so any replica can take the next question.
 */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { AppError } from '../errors.ts';
import type { Principal } from '../security/auth.ts';
import type { Vault } from '../security/credentials.ts';
import type { AccountChecks } from './account-checks.ts';
import type { ProviderClient } from './provider-client.ts';
import { deviceGrant, type TokenAnswer, TokenRefused } from './token-endpoint.ts';

export interface DeviceSignIn {
  begin(name: string): Promise<BegunDeviceSignIn>;
  /** What became of it so far. */
  poll(sealed: string): Promise<{ principal: Principal; name: string } | { retryAfterSeconds: number }>;
}

interface BegunDeviceSignIn {
  device_code: string;
  user_code: string;
  verification_uri: string;
  verification_uri_complete: string | null;
  expires_at: string;
  interval: number;
}

interface DeviceSignInOptions {
  client: ProviderClient;
  vault: Vault;
  checks: AccountChecks;
}

const begun = z.object({
  id: z.string(),
  name: z.string(),
  device_code: z.string(),
  interval: z.number(),
  expires: z.number(),
});

/** Anybody may begin; each costs the provider a request. */
const maxBegunPerMinute = 30;
const maxPolled = 1_000;
const slowDownSeconds = 5;

export function createDeviceSignIn({ client, vault, checks }: DeviceSignInOptions): DeviceSignIn {
  const begunAt: number[] = [];
  /** When the provider may be asked again, by the id of the sign-in. */
  const next = new Map<string, number>();

  function limit(): void {
    const now = Date.now();
    while (begunAt[0] !== undefined && now - begunAt[0] > 60_000) begunAt.shift();
    if (begunAt.length >= maxBegunPerMinute)
      throw new AppError('RATE_LIMITED', 'Too many sign-ins were started; try again later', { retryAfterSeconds: 30 });
    begunAt.push(now);
  }

  function open(sealed: string): z.infer<typeof begun> {
    try {
      return begun.parse(vault.open(sealed, 'device sign-in'));
    } catch (cause) {
      throw new AppError('FORBIDDEN', 'Unknown sign-in; start again', { cause });
    }
  }

  function waitFor(id: string, seconds: number): { retryAfterSeconds: number } {
    if (next.size >= maxPolled) next.clear();
    next.set(id, Date.now() + seconds * 1_000);
    return { retryAfterSeconds: seconds };
  }

  async function finish(answer: TokenAnswer): Promise<Principal> {
    const principal = await client.identify(answer);
    if (principal === undefined) throw new AppError('FORBIDDEN', `${client.issuer} does not say who signed in`);
    if (await checks.signIn(principal, answer.refresh_token)) return principal;
    throw noRefreshToken(client.issuer);
  }

  return {
    async begin(name) {
      limit();
      const found = await client.requestDeviceCode().catch(toAppError);
      const { device_code, user_code, verification_uri, verification_uri_complete, expires_in, interval } = found;
      const expires = Date.now() + expires_in * 1_000;
      return {
        device_code: vault.seal({ id: randomUUID(), name, device_code, interval, expires }, 'device sign-in'),
        user_code,
        verification_uri,
        verification_uri_complete: verification_uri_complete ?? null,
        expires_at: new Date(expires).toISOString(),
        interval,
      };
    },

    async poll(sealed) {
      const { id, name, device_code, interval, expires } = open(sealed);
      if (expires < Date.now()) throw new AppError('FORBIDDEN', 'The sign-in was not confirmed in time; start again');
      const due = (next.get(id) ?? 0) - Date.now();
      if (due > 0) return { retryAfterSeconds: Math.ceil(due / 1_000) };
      try {
        const answer = await client.requestToken({ grant_type: deviceGrant, device_code });
        next.delete(id);
        return { principal: await finish(answer), name };
      } catch (error) {
        if (!(error instanceof TokenRefused)) throw error;
        if (error.error === 'authorization_pending') return waitFor(id, interval);
        if (error.error === 'slow_down') return waitFor(id, interval + slowDownSeconds);
        return toAppError(error);
      }
    },
  };
}

function toAppError(error: unknown): never {
  if (!(error instanceof TokenRefused)) throw error;
  throw new AppError('FORBIDDEN', error.message, { cause: error });
}

export function noRefreshToken(issuer: string): AppError {
  return new AppError(
    'SERVER_STATE_CONFLICT',
    `${issuer} returned no refresh token, so the account could not be checked later: allow refresh tokens ` +
      '(offline_access) for the client of the aggregator',
  );
}
