/** Access tokens of the identity provider that are for us: who shows one, and when it was issued. */
import { createHash } from 'node:crypto';
import type { Config } from '../config/config.ts';
import type { Principal } from '../security/auth.ts';
import { covers } from './discovery.ts';
import type { GuardedFetch } from './guarded-fetch.ts';
import { checkScopes, scopesIn, toPrincipal } from './identity-claims.ts';
import { type Claims, createIssuerKeys, invalid, verifyJwt } from './jwt.ts';

export interface ProviderTokens {
  /** Throws if the token is not valid, has another audience, or lacks a scope. */
  verify(token: string, path: string): Promise<ProviderToken>;
  /** The claims of a token issued to our OAuth client, such as an ID token. */
  claimsOf(token: string): Promise<Claims>;
  /** What a token for this endpoint is for. */
  resourceOf(path: string): string;
}

export interface ProviderToken {
  principal: Principal;
  issuedAtMs: number;
}

interface ProviderTokenOptions {
  config: Config;
  fetch: GuardedFetch;
  /** Our address; known once we listen. */
  baseUrl: () => string;
}

interface Verified extends ProviderToken {
  audiences: string[];
  scopes: string[];
  until: number;
}

const maxRemembered = 1_000;
/** So long a token is not checked again; its end is looked at every time. */
const rememberedMs = 60_000;

export function createProviderTokens(issuer: string, { config, fetch, baseUrl }: ProviderTokenOptions): ProviderTokens {
  const keys = createIssuerKeys(fetch, issuer);
  const remembered = new Map<string, Verified>();

  const resourceOf = (path: string) => `${baseUrl()}${isEndpoint(path) ? path.replace(/\/$/, '') : ''}`;

  function isUs(audience: string, path: string): boolean {
    if (config.oidcAudience.includes(audience)) return true;
    return URL.canParse(audience) && covers(audience, resourceOf(path));
  }

  async function verified(token: string): Promise<Verified> {
    const digest = createHash('sha256').update(token).digest('base64');
    const before = remembered.get(digest);
    if (before !== undefined && Date.now() < before.until) return before;
    const claims = await verifyJwt(token, issuer, keys);
    const fresh = {
      principal: toPrincipal(claims, config),
      issuedAtMs: typeof claims.iat === 'number' ? claims.iat * 1_000 : 0,
      audiences: [claims.aud ?? []].flat(),
      scopes: scopesIn(claims),
      until: Math.min(Date.now() + rememberedMs, claims.exp * 1_000),
    };
    if (remembered.size >= maxRemembered) remembered.clear();
    remembered.set(digest, fresh);
    return fresh;
  }

  return {
    async verify(token, path) {
      const { principal, issuedAtMs, audiences, scopes } = await verified(token);
      // A valid token with another audience must not work here.
      if (!audiences.some((audience) => isUs(audience, path))) throw invalid('the token is for another audience');
      checkScopes(scopes, config.oidcRequiredScopes);
      return { principal, issuedAtMs };
    },
    claimsOf: (token) => verifyJwt(token, issuer, keys),
    resourceOf,
  };
}

/** The faces of MCP are resources of their own; everything else is the REST API. */
export function isEndpoint(path: string): boolean {
  return /^\/(mcp(\/(servers|profiles)\/[^/]+)?|sse|messages)\/?$/.test(path);
}
