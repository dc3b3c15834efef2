/** From a server that wants a token to the authorization server that gives one (RFC 9728, RFC 8414, OIDC). */
import { z } from 'zod';
import { AppError } from '../errors.ts';
import { isLoopback } from '../loopback.ts';
import type { Challenge } from './challenge.ts';
import type { FetchedAnswer, GuardedFetch, Trust } from './guarded-fetch.ts';

const url = z
  .string()
  .max(2_048)
  .refine((value) => URL.canParse(value), 'is not a URL');

/** A browser goes there, or our credentials do: nothing that starts a program, is overheard or looks like another. */
const endpoint = url.refine((value) => isEndpoint(new URL(value)), 'must be https, or loopback, without user info');

function isEndpoint({ protocol, hostname, username, password }: URL): boolean {
  if (username !== '' || password !== '') return false;
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
}

const resourceMetadata = z.looseObject({
  resource: url,
  authorization_servers: z.array(url).min(1).optional(),
  scopes_supported: z.array(z.string()).optional(),
});

const issuerMetadata = z.looseObject({
  issuer: z.string(),
  authorization_endpoint: endpoint.optional(),
  token_endpoint: endpoint.optional(),
  registration_endpoint: endpoint.optional(),
  revocation_endpoint: endpoint.optional(),
  device_authorization_endpoint: endpoint.optional(),
  jwks_uri: endpoint.optional(),
  scopes_supported: z.array(z.string()).optional(),
  grant_types_supported: z.array(z.string()).optional(),
  code_challenge_methods_supported: z.array(z.string()).optional(),
  token_endpoint_auth_methods_supported: z.array(z.string()).optional(),
  client_id_metadata_document_supported: z.boolean().optional(),
  authorization_response_iss_parameter_supported: z.boolean().optional(),
});
export type IssuerMetadata = z.infer<typeof issuerMetadata>;

export interface AuthorizationTarget {
  /** Exactly as the server publishes it: authorization servers compare it as text. */
  resource: string;
  scopesSupported: string[] | undefined;
  issuer: IssuerMetadata;
}

interface DiscoveryRequest {
  serverUrl: string;
  challenge: Challenge;
  /** Configured by an admin, or the issuer of the login that there is: taken where the server still names it. */
  preferredIssuer?: string;
  trust: Trust;
}

/** Undefined where nothing tells of OAuth: the server wants some other kind of credentials. */
export async function discover(
  fetch: GuardedFetch,
  request: DiscoveryRequest,
): Promise<AuthorizationTarget | undefined> {
  const { serverUrl, preferredIssuer, trust } = request;
  const published = await findResource(fetch, request);
  if (published === undefined) {
    // Servers of 2025-03-26 are their own authorization server and have no metadata about themselves.
    const issuer = await findIssuer(fetch, preferredIssuer ?? new URL(serverUrl).origin, trust);
    return issuer && { resource: withoutFragment(serverUrl), scopesSupported: undefined, issuer };
  }
  if (!covers(published.resource, serverUrl)) {
    throw new AppError(
      'SERVER_CONNECTION_FAILED',
      `the server's metadata describes another resource (${published.resource}), so no token is requested`,
    );
  }
  const issuers = published.authorization_servers ?? [new URL(serverUrl).origin];
  const chosen = issuers.find((issuer) => issuer === preferredIssuer) ?? issuers[0] ?? '';
  const issuer = await findIssuer(fetch, chosen, trust);
  if (issuer === undefined) {
    throw new AppError('SERVER_CONNECTION_FAILED', `the authorization server ${chosen} publishes no metadata`);
  }
  return { resource: published.resource, scopesSupported: published.scopes_supported, issuer };
}

async function findResource(fetch: GuardedFetch, { serverUrl, challenge, trust }: DiscoveryRequest) {
  const { origin, pathname } = new URL(serverUrl);
  const wellKnown = `${origin}/.well-known/oauth-protected-resource`;
  const path = pathname.replace(/\/$/, '');
  const places =
    challenge.resourceMetadata === undefined
      ? [...new Set([`${wellKnown}${path}`, wellKnown])]
      : [challenge.resourceMetadata];
  for (const place of places) {
    const answer = await fetch(place, trust, { headers: json });
    if (isThere(answer)) return parseAs(resourceMetadata, answer.json, place);
  }
  return undefined;
}

/** The order of the specification; the document must be the issuer's own, letter for letter (RFC 8414, 3.3). */
export async function findIssuer(
  fetch: GuardedFetch,
  issuer: string,
  trust: Trust,
): Promise<IssuerMetadata | undefined> {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  const places =
    path === ''
      ? [`${origin}/.well-known/oauth-authorization-server`, `${origin}/.well-known/openid-configuration`]
      : [
          `${origin}/.well-known/oauth-authorization-server${path}`,
          `${origin}/.well-known/openid-configuration${path}`,
          `${origin}${path}/.well-known/openid-configuration`,
        ];
  for (const place of places) {
    const answer = await fetch(place, trust, { headers: json });
    if (!isThere(answer)) continue;
    const found = parseAs(issuerMetadata, answer.json, place);
    if (found.issuer === issuer) return found;
    throw new AppError('SERVER_CONNECTION_FAILED', `${place} belongs to another issuer than ${issuer}`);
  }
  return undefined;
}

const json = { accept: 'application/json' };

const isThere = ({ status, json: body }: FetchedAnswer) => status === 200 && body !== undefined;

function parseAs<Schema extends z.ZodType>(schema: Schema, body: unknown, place: string): z.output<Schema> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const problem = issue === undefined ? '' : `: ${issue.path.join('.')} ${issue.message}`;
  throw new AppError('SERVER_CONNECTION_FAILED', `${place} does not contain valid metadata${problem}`, {
    cause: parsed.error,
  });
}

/** The resource is the server itself or what it is a part of. A token for anything else is none of its business. */
export function covers(resource: string, serverUrl: string): boolean {
  const outer = new URL(resource);
  const inner = new URL(serverUrl);
  const path = outer.pathname.replace(/\/$/, '');
  return outer.origin === inner.origin && (inner.pathname === path || `${inner.pathname}/`.startsWith(`${path}/`));
}

function withoutFragment(address: string): string {
  return address.split('#')[0] ?? address;
}
