/** What we send to an authorization server's token and revocation endpoints, and how we prove who we are there. */
import { createPrivateKey, randomUUID, sign } from 'node:crypto';
import { z } from 'zod';
import { AppError } from '../errors.ts';
import type { IssuerMetadata } from './discovery.ts';
import type { GuardedFetch, Trust } from './guarded-fetch.ts';

/** Who we are at one authorization server. */
export interface OauthClient {
  client_id: string;
  client_secret?: string;
  token_endpoint_auth_method?: string;
  /** PEM; signs assertions instead of a shared secret (RFC 7523). */
  private_key?: string;
  signing_algorithm?: SigningAlgorithm;
}

const signingAlgorithms = ['RS256', 'ES256', 'EdDSA'] as const;
type SigningAlgorithm = (typeof signingAlgorithms)[number];

const maxLifeSeconds = 315_360_000;

const tokenAnswer = z.looseObject({
  access_token: z.string().min(1),
  token_type: z.string().refine((type) => type.toLowerCase() === 'bearer', 'is not Bearer'),
  // Ten years are for ever; what is larger would be no date.
  expires_in: z.coerce
    .number()
    .positive()
    .transform((seconds) => Math.min(seconds, maxLifeSeconds))
    .optional(),
  refresh_token: z.string().min(1).optional(),
  scope: z.string().optional(),
});
export type TokenAnswer = z.infer<typeof tokenAnswer>;

const deviceAnswer = z.looseObject({
  device_code: z.string().min(1).max(4_096),
  user_code: z.string().min(1).max(256),
  verification_uri: z.url({ protocol: /^https?$/ }).max(2_048),
  verification_uri_complete: z
    .url({ protocol: /^https?$/ })
    .max(2_048)
    .optional(),
  expires_in: z.number().positive().max(86_400),
  interval: z.number().positive().max(600).default(5),
});
export type DeviceAnswer = z.infer<typeof deviceAnswer>;

export const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';

/** When the token ends; null where the answer does not say. */
export function expiryOf({ expires_in: seconds }: TokenAnswer): string | null {
  return seconds === undefined ? null : new Date(Date.now() + seconds * 1_000).toISOString();
}

const errorAnswer = z.looseObject({ error: z.string() });

/** The authorization server said no; `error` is its code (`invalid_grant`, `invalid_client`, …). */
export class TokenRefused extends Error {
  readonly error: string;

  constructor(issuer: string, error: string) {
    super(`the authorization server ${issuer} rejected the request: ${error}`);
    this.name = 'TokenRefused';
    this.error = error;
  }
}

interface TokenEndpoint {
  issuer: IssuerMetadata;
  client: OauthClient;
  trust: Trust;
}

export async function requestToken(
  fetch: GuardedFetch,
  endpoint: TokenEndpoint,
  parameters: Record<string, string | undefined>,
): Promise<TokenAnswer> {
  const { issuer } = endpoint;
  const answer = await post(fetch, endpoint, issuer.token_endpoint, parameters);
  if (answer.status === 200) {
    const parsed = tokenAnswer.safeParse(answer.json);
    if (parsed.success) return parsed.data;
    // Never the answer itself: it may hold a token.
    throw new AppError('SERVER_CONNECTION_FAILED', `${issuer.issuer} returned no bearer token`);
  }
  throw refusalIn(issuer, answer);
}

/** The beginning of a sign-in on another device (RFC 8628). */
export async function requestDeviceCode(
  fetch: GuardedFetch,
  endpoint: TokenEndpoint,
  parameters: Record<string, string | undefined>,
): Promise<DeviceAnswer> {
  const { issuer } = endpoint;
  const { device_authorization_endpoint: place } = issuer;
  if (place === undefined) {
    throw new AppError('SERVER_STATE_CONFLICT', `${issuer.issuer} does not support signing in on another device`);
  }
  const answer = await post(fetch, endpoint, place, parameters);
  if (answer.status !== 200) throw refusalIn(issuer, answer);
  const parsed = deviceAnswer.safeParse(answer.json);
  if (parsed.success) return parsed.data;
  throw new AppError('SERVER_CONNECTION_FAILED', `${issuer.issuer} returned no device code`);
}

function refusalIn({ issuer }: IssuerMetadata, { status, json }: { status: number; json: unknown }): Error {
  const refusal = errorAnswer.safeParse(json);
  if (refusal.success && status < 500) return new TokenRefused(issuer, shortCode(refusal.data.error));
  return new AppError('SERVER_CONNECTION_FAILED', `${issuer} answered HTTP ${status} to a token request`);
}

/** RFC 7009; the refresh token first, because the access tokens go with it. */
export async function revokeTokens(
  fetch: GuardedFetch,
  endpoint: TokenEndpoint,
  tokens: { access_token: string; refresh_token?: string },
): Promise<void> {
  const { revocation_endpoint: place } = endpoint.issuer;
  if (place === undefined) return;
  const { refresh_token: refresh, access_token: access } = tokens;
  if (refresh !== undefined) await post(fetch, endpoint, place, { token: refresh, token_type_hint: 'refresh_token' });
  await post(fetch, endpoint, place, { token: access, token_type_hint: 'access_token' });
}

async function post(
  fetch: GuardedFetch,
  { issuer, client, trust }: TokenEndpoint,
  place: string | undefined,
  parameters: Record<string, string | undefined>,
) {
  if (place === undefined) throw new AppError('SERVER_CONNECTION_FAILED', `${issuer.issuer} has no token endpoint`);
  const proof = prove(client, issuer);
  const given = Object.entries({ ...parameters, ...proof.parameters });
  const form = new URLSearchParams(given.filter((entry): entry is [string, string] => entry[1] !== undefined));
  return await fetch(place, trust, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      accept: 'application/json',
      ...proof.headers,
    },
    body: form.toString(),
  });
}

function prove(
  client: OauthClient,
  issuer: IssuerMetadata,
): { headers?: Record<string, string>; parameters?: Record<string, string> } {
  const { client_id, client_secret = '' } = client;
  switch (authMethod(client, issuer)) {
    case 'private_key_jwt':
      return {
        parameters: {
          client_id,
          client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
          client_assertion: signAssertion(client, issuer.issuer),
        },
      };
    case 'client_secret_basic': {
      const pair = `${formEncode(client_id)}:${formEncode(client_secret)}`;
      return { headers: { authorization: `Basic ${Buffer.from(pair).toString('base64')}` } };
    }
    case 'client_secret_post':
      return { parameters: { client_id, client_secret } };
    default:
      return { parameters: { client_id } };
  }
}

/** What was agreed when registering, where the server still supports it; otherwise the best of what it supports. */
export function authMethod(client: OauthClient, issuer: IssuerMetadata): string {
  if (client.private_key !== undefined) return 'private_key_jwt';
  if (client.client_secret === undefined) return 'none';
  const supported = issuer.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  const agreed = client.token_endpoint_auth_method;
  if (agreed !== undefined && supported.includes(agreed)) return agreed;
  return ['client_secret_basic', 'client_secret_post', 'none'].find((one) => supported.includes(one)) ?? 'none';
}

function signAssertion(client: OauthClient, audience: string): string {
  const now = Math.floor(Date.now() / 1_000);
  const { client_id, private_key = '', signing_algorithm: alg = 'RS256' } = client;
  const claims = { iss: client_id, sub: client_id, aud: audience, iat: now, exp: now + 300, jti: randomUUID() };
  const unsigned = `${encode({ alg, typ: 'JWT' })}.${encode(claims)}`;
  const key = createPrivateKey(private_key);
  const signature = sign(alg === 'EdDSA' ? null : 'sha256', Buffer.from(unsigned), { key, dsaEncoding: 'ieee-p1363' });
  return `${unsigned}.${signature.toString('base64url')}`;
}

const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');

/** RFC 6749, 2.3.1: the parts of Basic are form-encoded before they are joined. */
function formEncode(text: string): string {
  return new URLSearchParams({ v: text }).toString().slice(2);
}

/** The code is for programs; anything longer is the other side's prose and is not repeated. */
export function shortCode(error: string): string {
  return /^[\w-]{1,64}$/.test(error) ? error : 'unknown error';
}
