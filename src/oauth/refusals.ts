/** What follows from a refused request, and when a token is due: decisions over values, without effects. */
import type { OauthConfig } from '../registry/server.ts';
import type { OauthLoginRow } from '../store/schema.ts';
import { type Challenge, scopesOf, union } from './challenge.ts';
import type { AuthorizationTarget } from './discovery.ts';
import type { LoginNeed } from './login-required.ts';
import type { LoginTarget } from './login-target.ts';
import type { Login, Tokens } from './token-cache.ts';

export interface Refusal {
  status: number;
  challenge: string | undefined;
  /** The headers that were refused. */
  sent: Record<string, string>;
  /** How often this very request was refused before. */
  attempt: number;
}

/** What a server said when it refused, kept for the login that follows. */
interface StoredChallenge extends Challenge {
  /** Times in a row that scopes were demanded which the token had been asked for already. */
  refusals?: number;
  at?: number;
}

/** Refreshed so long before the end, or in the last fifth of a shorter life. */
const refreshBeforeMs = 60_000;
const maxRefusals = 2;
const refusalMemoryMs = 600_000;

/** A 403 is about the token only where it says so. */
export function isAboutToken({ status }: Pick<Refusal, 'status'>, { error }: Challenge): boolean {
  return status !== 403 || error === 'insufficient_scope';
}

/** A token for another address than the server's present one would be told to a stranger. */
export function usableTokens(login: Login | undefined, target: Pick<LoginTarget, 'url' | 'oauth'>): Tokens | undefined {
  if (login?.row.state !== 'active' || login.tokens === undefined) return undefined;
  return isMadeFor(login.tokens, target) ? login.tokens : undefined;
}

/** For another address, or another issuer than the one an admin named, they would be told to a stranger. */
export function isMadeFor({ server_url, issuer }: Tokens, { url, oauth }: Pick<LoginTarget, 'url' | 'oauth'>): boolean {
  return server_url === url && (oauth.issuer === undefined || oauth.issuer === issuer.issuer);
}

/** Refreshed, or logged in, since the request was sent. */
export function isReplaced(tokens: Tokens | undefined, { sent }: Pick<Refusal, 'sent'>): boolean {
  return tokens !== undefined && sent.authorization !== bearer(tokens.access_token).authorization;
}

/**
 * `refresh`: another token may work. `step-up`: the login lacks permissions. `login`: there is nothing left to try.
 * `renewed` is the token that was got because the one before was refused: where it is refused too, another would be.
 */
export function afterRefusal(
  { status, attempt }: Pick<Refusal, 'status' | 'attempt'>,
  tokens: Tokens | undefined,
  { issuer, renewed }: { issuer: string; renewed: string | undefined },
): 'refresh' | 'step-up' | 'login' {
  if (status === 403) return tokens === undefined ? 'login' : 'step-up';
  if (tokens?.refresh_token === undefined || tokens.issuer.issuer !== issuer) return 'login';
  return attempt === 0 || renewed !== tokens.access_token ? 'refresh' : 'login';
}

interface RecordedNeed {
  state: OauthLoginRow['state'];
  challenge: StoredChallenge;
  /** The same scopes are demanded again and again although the login asked for them. */
  isHopeless: boolean;
}

/** What is recorded for the login that follows. */
export function needAfter(
  row: Pick<OauthLoginRow, 'state' | 'sealed' | 'scope' | 'challenge'>,
  challenge: Challenge,
  { stepUp, now }: { stepUp: boolean; now: number },
): RecordedNeed {
  const before = storedChallenge(row);
  const asked = scopesOf(row.scope ?? undefined);
  const wasAskedFor = stepUp && scopesOf(challenge.scope).every((scope) => asked.includes(scope));
  const isRecent = now - (before.at ?? 0) < refusalMemoryMs;
  const refusals = wasAskedFor ? (isRecent ? (before.refusals ?? 0) : 0) + 1 : 0;
  const wasActive = row.state === 'active' && row.sealed !== null;
  const state = stepUp ? row.state : wasActive || row.state === 'expired' ? 'expired' : 'required';
  return { state, challenge: { ...challenge, refusals, at: now }, isHopeless: refusals >= maxRefusals };
}

export function storedChallenge({ challenge }: Pick<OauthLoginRow, 'challenge'>): StoredChallenge {
  return challenge === null ? {} : (JSON.parse(challenge) as StoredChallenge);
}

export function needOf(login: Login | undefined): LoginNeed {
  return { login: login?.row.state === 'expired' ? 'expired' : 'required' };
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
  found: AuthorizationTarget;
}): string[] {
  const demanded = scopesOf(challenge.scope);
  const wanted = oauth.scopes ?? (demanded.length > 0 ? demanded : (found.scopesSupported ?? []));
  // A refresh token is requested where it must be, or users would log in every hour.
  const offline = found.issuer.scopes_supported?.includes('offline_access') === true ? ['offline_access'] : [];
  return union(before, wanted, offline);
}

export function isOver({ expires_at }: Pick<OauthLoginRow, 'expires_at'>, now: number): boolean {
  return expires_at !== null && Date.parse(expires_at) <= now;
}

export function isDue({ expires_at, updated_at }: Pick<OauthLoginRow, 'expires_at' | 'updated_at'>, now: number) {
  if (expires_at === null) return false;
  const end = Date.parse(expires_at);
  const life = end - Date.parse(updated_at);
  return now >= end - Math.min(refreshBeforeMs, life / 5);
}

export const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
