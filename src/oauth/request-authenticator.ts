/**
 * Who may come in: our own tokens, and where an identity provider is configured, its access tokens as well. We are a
 * protected resource then (RFC 9728): every endpoint has metadata, and every refusal says where to get a token.
 */
import { createHash } from 'node:crypto';
import type { Config } from '../config/config.ts';
import { AppError } from '../errors.ts';
import type { Authenticator, Principal, RequestAuthenticator } from '../security/auth.ts';
import type { Role } from '../store/schema.ts';
import { scopesOf, toChallenge } from './challenge.ts';
import { covers } from './discovery.ts';
import type { GuardedFetch } from './guarded-fetch.ts';
import { type Claims, createIssuerKeys, invalid, looksLikeJwt, verifyJwt } from './jwt.ts';
import type { SealedTickets } from './sealed-tickets.ts';

interface RequestAuthenticatorOptions {
  config: Config;
  authenticator: Authenticator;
  fetch: GuardedFetch;
  tickets: SealedTickets;
  /** Our address; known once we listen. */
  baseUrl: () => string;
}

export interface ResourceAuthenticator extends RequestAuthenticator {
  /** RFC 9728, for the endpoint at this path; undefined where no identity provider is configured. */
  metadata(path: string): ResourceMetadata | undefined;
  /** A token for somebody whom the identity provider vouched for. It never leaves us but inside of a sealed cookie. */
  tokenFor(principal: Principal): string;
}

interface ResourceMetadata {
  resource: string;
  authorization_servers: string[];
  bearer_methods_supported: string[];
  resource_name: string;
  scopes_supported?: string[];
}

interface Verified {
  principal: Principal;
  audiences: string[];
  scopes: string[];
  until: number;
}

const maxRemembered = 1_000;
/** So long a token is not checked again; its end is looked at every time. */
const rememberedMs = 60_000;
const personPrefix = 'mcpp_';
const personMs = 8 * 3_600_000;

export function createRequestAuthenticator(options: RequestAuthenticatorOptions): ResourceAuthenticator {
  const { config, authenticator, fetch, tickets, baseUrl } = options;
  const { oidcIssuer: issuer, oidcRequiredScopes: required } = config;
  const keys = issuer === undefined ? undefined : createIssuerKeys(fetch, issuer);
  const remembered = new Map<string, Verified>();

  const resourceOf = (path: string) => `${baseUrl()}${isEndpoint(path) ? path.replace(/\/$/, '') : ''}`;
  const metadataUrl = (path: string) =>
    `${baseUrl()}/.well-known/oauth-protected-resource${isEndpoint(path) ? path.replace(/\/$/, '') : ''}`;

  async function admit(token: string, path: string): Promise<Principal> {
    const { principal, audiences, scopes } = await verified(token);
    // A token that was made for somebody else must not work here, however valid it is.
    if (!audiences.some((audience) => isUs(audience, path))) throw invalid('the token is for another audience');
    checkScopes(scopes, required);
    return principal;
  }

  function admitPerson(token: string): Principal {
    const pass = tickets.open(token.slice(personPrefix.length), 'person');
    if (pass === undefined) throw invalid('the sign-in has expired');
    return pass.principal;
  }

  function isUs(audience: string, path: string): boolean {
    if (config.oidcAudience.includes(audience)) return true;
    return URL.canParse(audience) && covers(audience, resourceOf(path));
  }

  async function verified(token: string): Promise<Verified> {
    const digest = createHash('sha256').update(token).digest('base64');
    const before = remembered.get(digest);
    if (before !== undefined && Date.now() < before.until) return before;
    if (issuer === undefined || keys === undefined) throw invalid('the token is not valid');
    const claims = await verifyJwt(token, issuer, keys);
    const fresh = {
      principal: toPrincipal(claims, config),
      audiences: [claims.aud ?? []].flat(),
      scopes: scopesIn(claims),
      until: Math.min(Date.now() + rememberedMs, claims.exp * 1_000),
    };
    if (remembered.size >= maxRemembered) remembered.clear();
    remembered.set(digest, fresh);
    return fresh;
  }

  return {
    authenticate({ authorization, loopbackListener, path }) {
      const token = keys === undefined ? undefined : /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
      if (token !== undefined && looksLikeJwt(token)) return admit(token, path);
      if (token?.startsWith(personPrefix)) return admitPerson(token);
      return authenticator.authenticate({ authorization, loopbackListener });
    },

    challenge({ path, error, presented }) {
      const realm = 'mcp-aggregator';
      if (issuer === undefined) return toChallenge({ realm });
      const lacksScope = error instanceof AppError && error.code === 'INSUFFICIENT_SCOPE';
      return toChallenge({
        realm,
        error: lacksScope ? 'insufficient_scope' : presented ? 'invalid_token' : undefined,
        resource_metadata: metadataUrl(path),
        scope: required.join(' '),
      });
    },

    metadata(path) {
      if (issuer === undefined) return undefined;
      return {
        resource: resourceOf(path),
        authorization_servers: [issuer],
        bearer_methods_supported: ['header'],
        resource_name: 'MCP Aggregator',
        ...(required.length === 0 ? {} : { scopes_supported: required }),
      };
    },

    tokenFor: (principal) => `${personPrefix}${tickets.issue(principal, personMs, 'person')}`,
  };
}

/** The faces of MCP are resources of their own; everything else is the REST API. */
function isEndpoint(path: string): boolean {
  return /^\/(mcp(\/(servers|profiles)\/[^/]+)?|sse|messages)\/?$/.test(path);
}

export function checkScopes(scopes: readonly string[], required: readonly string[]): void {
  const missing = required.filter((scope) => !scopes.includes(scope));
  if (missing.length === 0) return;
  throw new AppError('INSUFFICIENT_SCOPE', `The token lacks the scope ${missing.join(' ')}`, {
    context: { required_scopes: required },
  });
}

function scopesIn({ scope, scp }: Claims): string[] {
  if (typeof scope === 'string') return scopesOf(scope);
  const list = scp ?? scope;
  return Array.isArray(list) ? list.map(String) : typeof list === 'string' ? scopesOf(list) : [];
}

export function toPrincipal(claims: Claims, config: Config): Principal {
  const id = createHash('sha256')
    .update(JSON.stringify([claims.iss, claims.sub]))
    .digest('hex')
    .slice(0, 32);
  const name = [claims.preferred_username, claims.email, claims.sub].find((one) => typeof one === 'string');
  return { id: `oidc:${id}`, name: String(name), role: roleOf(claims, config), servers: null, profile: null };
}

/** The highest role whose value is in the claim. Nobody is an admin unless the mapping says so. */
export function roleOf(
  claims: Claims,
  { oidcRoleClaim, oidcRoles }: Pick<Config, 'oidcRoleClaim' | 'oidcRoles'>,
): Role {
  const found = oidcRoleClaim
    .split('.')
    .reduce<unknown>((value, key) => (isRecord(value) ? value[key] : undefined), claims);
  const values =
    typeof found === 'string' ? [found, ...scopesOf(found)] : Array.isArray(found) ? found.map(String) : [];
  const has = (role: Role) => values.some((value) => oidcRoles.includes(`${role}=${value}`));
  const mapped = (['admin', 'caller', 'viewer'] as const).find(has);
  if (mapped !== undefined) return mapped;
  if (oidcRoles.some((pair) => pair.startsWith('caller='))) {
    throw new AppError('FORBIDDEN', 'The identity provider assigns you no role in this aggregator');
  }
  return 'caller';
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
