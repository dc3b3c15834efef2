/**
 * People sign in to our pages and to the dashboard with the identity provider whose tokens open our endpoints: the same
 * person, with the same role, either way.
 */
import { z } from 'zod';
import type { Config } from '../config/config.ts';
import { AppError } from '../errors.ts';
import type { Principal, RequestAuthenticator } from '../security/auth.ts';
import type { Vault } from '../security/credentials.ts';
import { sessionPath } from '../security/page-session.ts';
import { authorizationPage, codeIn, randomSecret } from './authorization-request.ts';
import { scopesOf, union } from './challenge.ts';
import { findIssuer, type IssuerMetadata } from './discovery.ts';
import { type GuardedFetch, trustIn } from './guarded-fetch.ts';
import { type Claims, createIssuerKeys, looksLikeJwt, verifyJwt } from './jwt.ts';
import { checkScopes, toPrincipal } from './request-authenticator.ts';
import { requestToken, type TokenAnswer, TokenRefused } from './token-endpoint.ts';

const goal = z.union([
  /** On to the login to this server. */
  z.strictObject({ server: z.string() }),
  /** On to this place in the dashboard. */
  z.strictObject({ place: z.string() }),
]);
/** Where somebody wants to be once it is known who they are. */
type Goal = z.infer<typeof goal>;

export interface SignIn {
  readonly issuer: string;
  /** The provider's page, and a cookie that ties the answer to this browser. */
  begin(goal: Goal): Promise<{ page: string; cookie: string }>;
  /** With a cookie that takes the other one back. */
  finish(
    parameters: URLSearchParams,
    cookieHeader: string | undefined,
  ): Promise<{ principal: Principal; goal: Goal; cookie: string }>;
}

interface SignInOptions {
  config: Config;
  fetch: GuardedFetch;
  vault: Vault;
  requestAuthenticator: RequestAuthenticator;
  /** True for the first who asks, at whichever replica. */
  spend: (pass: { id: string; expires: number }) => Promise<boolean>;
  baseUrl: () => string;
}

const begun = z.object({
  browser: z.string(),
  verifier: z.string(),
  nonce: z.string(),
  goal,
  expires: z.number(),
});

const lifetimeMs = 600_000;
const cookieName = 'mcp-aggregator-sign-in';
const ownScopes = ['openid', 'profile', 'email'];

/** Undefined where we have no client of our own at an identity provider. */
export function createSignIn(options: SignInOptions): SignIn | undefined {
  const { config, fetch, vault, requestAuthenticator, spend, baseUrl } = options;
  const { oidcIssuer: issuer, oidcClientId: client_id, oidcClientSecret: client_secret } = config;
  if (issuer === undefined || client_id === undefined) return undefined;
  const client = { client_id, client_secret };
  const trust = trustIn([issuer]);
  const keys = createIssuerKeys(fetch, issuer);
  const scope = union(ownScopes, config.oidcRequiredScopes).join(' ');
  const redirectUri = () => `${baseUrl()}/oauth/sign-in/callback`;

  async function metadata(): Promise<IssuerMetadata> {
    const found = await findIssuer(fetch, issuer ?? '', trust).catch(orAway);
    if (found === undefined) throw new AppError('EXECUTION_FAILED', `${issuer} publishes no metadata`);
    return found;
  }

  function toCookie(value: string, maxAgeMs: number): string {
    const secure = baseUrl().startsWith('https:') ? '; Secure' : '';
    // Lax: the provider sends the browser back to us by a link.
    return `${cookieName}=${value}; Path=/oauth/sign-in; HttpOnly; SameSite=Lax; Max-Age=${maxAgeMs / 1_000}${secure}`;
  }

  function openState(sealed: string): z.infer<typeof begun> {
    try {
      return begun.parse(vault.open(sealed, 'sign-in'));
    } catch (cause) {
      throw new AppError('FORBIDDEN', 'Unknown sign-in; start again', { cause });
    }
  }

  async function redeem(found: IssuerMetadata, code: string, code_verifier: string): Promise<TokenAnswer> {
    return await requestToken(
      fetch,
      { issuer: found, client, trust },
      { grant_type: 'authorization_code', code, redirect_uri: redirectUri(), code_verifier },
    ).catch((error: unknown) => {
      if (!(error instanceof TokenRefused)) return orAway(error);
      throw new AppError('FORBIDDEN', error.message, { cause: error });
    });
  }

  function orAway(cause: unknown): never {
    if (cause instanceof AppError) throw cause;
    throw new AppError('EXECUTION_FAILED', `${issuer} does not respond`, { cause });
  }

  async function verifyIdToken(token: unknown, nonce: string): Promise<Claims> {
    const claims = await verifyJwt(String(token), issuer ?? '', keys);
    const { aud, azp = client_id } = claims;
    if (![aud].flat().includes(client_id) || azp !== client_id || claims.nonce !== nonce) {
      throw new AppError('FORBIDDEN', `${issuer} answered for another user`);
    }
    return claims;
  }

  /** An access token that is for us says who comes in, as it would with a request; otherwise the id token does. */
  async function identify(answer: TokenAnswer, claims: Claims): Promise<Principal> {
    const { access_token: token, scope: granted = scope } = answer;
    const bearer = looksLikeJwt(token) ? await admitted(token) : undefined;
    if (bearer !== undefined) return bearer;
    checkScopes(scopesOf(granted), config.oidcRequiredScopes);
    return toPrincipal(claims, config);
  }

  async function admitted(token: string): Promise<Principal | undefined> {
    try {
      const authorization = `Bearer ${token}`;
      return await requestAuthenticator.authenticate({ authorization, loopbackListener: false, path: sessionPath });
    } catch (error) {
      if (error instanceof AppError && error.code === 'UNAUTHENTICATED') return undefined; // the provider's own
      throw error;
    }
  }

  return {
    issuer,
    async begin(wanted) {
      const found = await metadata();
      const [browser, verifier, nonce] = [randomSecret(), randomSecret(), randomSecret()];
      const expires = Date.now() + lifetimeMs;
      const state = vault.seal({ browser, verifier, nonce, goal: wanted, expires }, 'sign-in');
      const redirect_uri = redirectUri();
      const page = authorizationPage(found, verifier, { client_id, redirect_uri, scope, state, nonce });
      return { page, cookie: toCookie(browser, lifetimeMs) };
    },

    async finish(parameters, cookieHeader) {
      const { browser, verifier, nonce, goal, expires } = openState(parameters.get('state') ?? '');
      const isSame = cookieHeader?.split(/;\s*/).includes(`${cookieName}=${browser}`) === true;
      if (!isSame || expires < Date.now()) {
        throw new AppError('FORBIDDEN', 'This sign-in was started in another browser or has expired; start again');
      }
      if (!(await spend({ id: nonce, expires }))) {
        throw new AppError('FORBIDDEN', 'This sign-in was already used; start again');
      }
      const found = await metadata();
      const answer = await redeem(found, codeIn(parameters, found), verifier);
      const claims = await verifyIdToken(answer.id_token, nonce);
      return { principal: await identify(answer, claims), goal, cookie: toCookie('', 0) };
    },
  };
}
