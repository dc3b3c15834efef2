/** People sign in to our pages with the identity provider whose tokens open our endpoints: the same person either way. */
import { createHash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Config } from '../config.ts';
import { AppError } from '../errors.ts';
import type { Principal } from '../security/auth.ts';
import type { Vault } from '../security/credentials.ts';
import { findIssuer, type IssuerMetadata } from './discovery.ts';
import { checkIssuer } from './flow.ts';
import { toPrincipal } from './gatekeeper.ts';
import { type GuardedFetch, trustIn } from './guarded-fetch.ts';
import { createIssuerKeys, verifyJwt } from './jwt.ts';
import { requestToken, TokenRefused } from './token-endpoint.ts';

export interface SignIn {
  readonly issuer: string;
  /** The provider's page, and a cookie that ties the answer to this browser. */
  begin(next: string): Promise<{ page: string; cookie: string }>;
  finish(
    parameters: URLSearchParams,
    cookieHeader: string | undefined,
  ): Promise<{ principal: Principal; next: string }>;
}

export interface SignInOptions {
  config: Config;
  fetch: GuardedFetch;
  vault: Vault;
  baseUrl: () => string;
}

const begun = z.object({
  browser: z.string(),
  verifier: z.string(),
  nonce: z.string(),
  next: z.string(),
  expires: z.number(),
});

const lifetimeMs = 600_000;
const cookieName = 'mcp-aggregator-sign-in';

/** Undefined where we have no client of our own at an identity provider. */
export function createSignIn({ config, fetch, vault, baseUrl }: SignInOptions): SignIn | undefined {
  const { oidcIssuer: issuer, oidcClientId: client_id, oidcClientSecret: client_secret } = config;
  if (issuer === undefined || client_id === undefined) return undefined;
  const trust = trustIn([issuer]);
  const keys = createIssuerKeys(fetch, issuer);
  const redirectUri = () => `${baseUrl()}/oauth/sign-in/callback`;

  async function metadata(): Promise<IssuerMetadata & { authorization_endpoint: string }> {
    const found = await findIssuer(fetch, issuer ?? '', trust);
    const page = found?.authorization_endpoint;
    if (found === undefined || page === undefined) {
      throw new AppError('EXECUTION_FAILED', `${issuer} has no page to sign in on`);
    }
    return { ...found, authorization_endpoint: page };
  }

  return {
    issuer,
    async begin(next) {
      const { authorization_endpoint } = await metadata();
      const [browser, verifier, nonce] = [secret(), secret(), secret()];
      const state = vault.seal({ browser, verifier, nonce, next, expires: Date.now() + lifetimeMs }, 'sign-in');
      const page = new URL(authorization_endpoint);
      const parameters = {
        response_type: 'code',
        client_id,
        redirect_uri: redirectUri(),
        scope: 'openid profile email',
        state,
        nonce,
        code_challenge: createHash('sha256').update(verifier).digest('base64url'),
        code_challenge_method: 'S256',
      };
      for (const [name, value] of Object.entries(parameters)) page.searchParams.set(name, value);
      const secure = baseUrl().startsWith('https:') ? '; Secure' : '';
      const cookie = `${cookieName}=${browser}; Path=/oauth/sign-in; HttpOnly; SameSite=Lax; Max-Age=${lifetimeMs / 1_000}${secure}`;
      return { page: page.href, cookie };
    },

    async finish(parameters, cookieHeader) {
      const { browser, verifier, nonce, next, expires } = openState(parameters.get('state') ?? '');
      const isSame = cookieHeader?.split(/;\s*/).includes(`${cookieName}=${browser}`) === true;
      if (!isSame || expires < Date.now()) {
        throw new AppError('FORBIDDEN', 'This sign-in was begun in another browser or took too long; begin again');
      }
      const found = await metadata();
      checkIssuer(parameters.get('iss'), found);
      const code = parameters.get('code');
      if (code === null) throw new AppError('FORBIDDEN', `${issuer} refused the sign-in`);
      const answer = await requestToken(
        fetch,
        { issuer: found, client: { client_id, client_secret }, trust },
        { grant_type: 'authorization_code', code, redirect_uri: redirectUri(), code_verifier: verifier },
      ).catch((error: unknown) => {
        if (!(error instanceof TokenRefused)) throw error;
        throw new AppError('FORBIDDEN', error.message, { cause: error });
      });
      const claims = await verifyJwt(String(answer.id_token), issuer, keys);
      if (![claims.aud].flat().includes(client_id) || claims.nonce !== nonce) {
        throw new AppError('FORBIDDEN', `${issuer} answered for somebody else`);
      }
      return { principal: toPrincipal(claims, config), next };
    },
  };

  function openState(sealed: string): z.infer<typeof begun> {
    try {
      return begun.parse(vault.open(sealed, 'sign-in'));
    } catch (cause) {
      throw new AppError('FORBIDDEN', 'This sign-in is unknown; begin again', { cause });
    }
  }
}

const secret = () => randomBytes(32).toString('base64url');
