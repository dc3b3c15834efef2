/** Our own client at the identity provider: what it asks there, and who its answers are about. */
import type { Config } from '../config/config.ts';
import { AppError } from '../errors.ts';
import type { Principal } from '../security/auth.ts';
import { sessionPath } from '../security/page-session.ts';
import { scopesOf, union } from './challenge.ts';
import { findIssuer, type IssuerMetadata } from './discovery.ts';
import { type GuardedFetch, trustIn } from './guarded-fetch.ts';
import { checkScopes, toPrincipal } from './identity-claims.ts';
import { type Claims, looksLikeJwt } from './jwt.ts';
import type { ProviderTokens } from './provider-tokens.ts';
import { type DeviceAnswer, requestDeviceCode, requestToken, type TokenAnswer } from './token-endpoint.ts';

export interface ProviderClient {
  readonly issuer: string;
  readonly clientId: string;
  metadata(): Promise<IssuerMetadata>;
  /** Rejects with `TokenRefused` where the provider says no. */
  requestToken(parameters: Record<string, string | undefined>): Promise<TokenAnswer>;
  requestDeviceCode(): Promise<DeviceAnswer>;
  /** What a sign-in asks for, with lasting access where the provider offers it. */
  scopes(): Promise<string>;
  /**
   * An access token that is for us says who comes in, as it would with a request; otherwise the ID token does. Undefined
   * where the answer has neither.
   */
  identify(answer: TokenAnswer, expected?: { nonce: string }): Promise<Principal | undefined>;
}

interface ProviderClientOptions {
  config: Config;
  fetch: GuardedFetch;
  tokens: ProviderTokens;
}

const ownScopes = ['openid', 'profile', 'email'];
/** Asked at every check of an account. */
const metadataLifetimeMs = 600_000;

/** Undefined if no OAuth client is configured. */
export function createProviderClient({ config, fetch, tokens }: ProviderClientOptions): ProviderClient | undefined {
  const { oidcIssuer: issuer, oidcClientId: client_id, oidcClientSecret: client_secret } = config;
  if (issuer === undefined || client_id === undefined) return undefined;
  const client = { client_id, client_secret };
  const trust = trustIn([issuer]);
  let known: { metadata: IssuerMetadata; at: number } | undefined;

  async function metadata(): Promise<IssuerMetadata> {
    if (known !== undefined && Date.now() - known.at < metadataLifetimeMs) return known.metadata;
    const found = await findIssuer(fetch, issuer ?? '', trust).catch(orAway);
    if (found === undefined) throw new AppError('EXECUTION_FAILED', `${issuer} publishes no metadata`);
    known = { metadata: found, at: Date.now() };
    return found;
  }

  function orAway(cause: unknown): never {
    if (cause instanceof AppError) throw cause;
    throw new AppError('EXECUTION_FAILED', `${issuer} does not respond`, { cause });
  }

  async function verifyIdToken(token: string, expected: { nonce: string } | undefined): Promise<Claims> {
    const claims = await tokens.claimsOf(token);
    const { aud, azp = client_id } = claims;
    const isOurs = [aud].flat().includes(client_id) && azp === client_id;
    if (!isOurs || (expected !== undefined && claims.nonce !== expected.nonce)) {
      throw new AppError('FORBIDDEN', `${issuer} answered for another user`);
    }
    return claims;
  }

  async function admitted(token: string): Promise<Principal | undefined> {
    try {
      return (await tokens.verify(token, sessionPath)).principal;
    } catch (error) {
      if (error instanceof AppError && error.code === 'UNAUTHENTICATED') return undefined; // the provider's own
      throw error;
    }
  }

  const wanted = () => union(ownScopes, config.oidcRequiredScopes);

  async function scopes(): Promise<string> {
    const { scopes_supported: supported } = await metadata();
    return union(wanted(), supported?.includes('offline_access') === true ? ['offline_access'] : []).join(' ');
  }

  return {
    issuer,
    clientId: client_id,
    metadata,
    scopes,
    requestToken: async (parameters) => requestToken(fetch, { issuer: await metadata(), client, trust }, parameters),
    requestDeviceCode: async () =>
      requestDeviceCode(fetch, { issuer: await metadata(), client, trust }, { scope: await scopes() }),
    async identify(answer, expected) {
      const { access_token: token, id_token: idToken, scope: granted = wanted().join(' ') } = answer;
      const claims = typeof idToken === 'string' ? await verifyIdToken(idToken, expected) : undefined;
      if (claims === undefined && expected !== undefined)
        throw new AppError('FORBIDDEN', `${issuer} returned no ID token`);
      const bearer = looksLikeJwt(token) ? await admitted(token) : undefined;
      if (bearer !== undefined || claims === undefined) return bearer;
      checkScopes(scopesOf(granted), config.oidcRequiredScopes);
      return toPrincipal(claims, config);
    },
  };
}
