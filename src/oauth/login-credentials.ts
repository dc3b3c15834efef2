/** The header that a request to a server carries, and what follows when the server refuses it. */
import { AppError } from '../errors.ts';
import { type Challenge, parseChallenge } from './challenge.ts';
import type { DiscoveryCache } from './discovery-cache.ts';
import { loginRequired } from './login-required.ts';
import type { LoginTarget } from './login-target.ts';
import type { MachineTokens } from './machine-tokens.ts';
import {
  afterRefusal,
  bearer,
  isAboutToken,
  isDue,
  isOver,
  isReplaced,
  needAfter,
  needOf,
  type Refusal,
  usableTokens,
} from './refusals.ts';
import { emptyRow, type Login, type TokenCache, type Tokens } from './token-cache.ts';
import type { RefreshTokens } from './token-refresh.ts';

type AuthorizationHeaders = Record<string, string>;

interface LoginCredentials {
  headers(target: LoginTarget): AuthorizationHeaders | Promise<AuthorizationHeaders>;
  /** True: there are other credentials now, send it again. False: not a matter of OAuth. */
  refused(target: LoginTarget, refusal: Refusal): Promise<boolean>;
  /** The login of this key is gone. */
  forget(key: string): void;
}

interface LoginCredentialDependencies {
  cache: TokenCache;
  discoveries: DiscoveryCache;
  machines: MachineTokens;
  refresh: RefreshTokens;
}

export function createLoginCredentials(deps: LoginCredentialDependencies): LoginCredentials {
  const { cache, discoveries, machines, refresh } = deps;
  /** The access token that each login got because the one before was refused. */
  const renewed = new Map<string, string>();

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

  return { headers, refused, forget: (key) => void renewed.delete(key) };
}
