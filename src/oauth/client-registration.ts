/** Which client we are at an authorization server: the one an admin registered, our metadata document, or a new one. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { AppError } from '../errors.ts';
import { isLoopback } from '../loopback.ts';
import type { IssuerMetadata } from './discovery.ts';
import type { GuardedFetch, Trust } from './guarded-fetch.ts';
import type { OauthClient } from './token-endpoint.ts';

/**
 * Who we are at one issuer. Each issuer sends people back to an address of its own: an answer that one server elicited
 * from the issuer of another then never reaches us as the first one's (mix-up, RFC 9700, 4.4).
 */
export interface OurClient {
  /** Where the client metadata document is; undefined where we have no public https address. */
  metadataUrl: string | undefined;
  redirectUri: string;
}

export interface OurClients {
  for(issuer: IssuerMetadata): OurClient;
  at(issuerKey: string): OurClient;
  /** For the document of `MCP_AGGREGATOR_CLIENT_METADATA_URL`, which is the same for all issuers. */
  everywhere(): OurClient;
}

/** The part of our addresses that stands for an issuer. */
export function issuerKey(issuer: string): string {
  return createHash('sha256').update(issuer).digest('hex').slice(0, 24);
}

/** The end of the year 9999. */
const latestSecond = 253_402_300_799;

const registered = z.looseObject({
  client_id: z.string().min(1),
  client_secret: z.string().min(1).optional(),
  client_secret_expires_at: z.number().optional(),
  token_endpoint_auth_method: z.string().optional(),
});

/** The document that authorization servers read when our client id is its address (CIMD). */
export function clientDocument(clientId: string, redirectUri: string): Record<string, unknown> {
  return { client_id: clientId, ...clientMetadata(redirectUri), token_endpoint_auth_method: 'none' };
}

function clientMetadata(redirectUri: string): Record<string, unknown> {
  const { origin, hostname } = new URL(redirectUri);
  return {
    client_name: 'MCP Aggregator',
    client_uri: origin,
    redirect_uris: [redirectUri],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    application_type: isLoopback(hostname) ? 'native' : 'web',
  };
}

/** True where the issuer takes the address of our metadata document as our client id. */
export function takesDocument(issuer: IssuerMetadata, ours: OurClient): boolean {
  return issuer.client_id_metadata_document_supported === true && ours.metadataUrl !== undefined;
}

/** Dynamic registration (RFC 7591), for issuers that know neither us nor our document. */
export async function registerClient(
  fetch: GuardedFetch,
  issuer: IssuerMetadata,
  { redirectUri }: OurClient,
  trust: Trust,
): Promise<OauthClient & { expiresAt: number | undefined }> {
  if (issuer.registration_endpoint === undefined) {
    throw new AppError(
      'SERVER_CONNECTION_FAILED',
      `${issuer.issuer} does not support client registration: register a client there with the redirect URI ${redirectUri} ` +
        "and set its ID as oauth.client_id in the server's connection_config",
    );
  }
  const supported = issuer.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  const method = ['client_secret_basic', 'client_secret_post', 'none'].find((one) => supported.includes(one));
  const answer = await fetch(issuer.registration_endpoint, trust, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({ ...clientMetadata(redirectUri), token_endpoint_auth_method: method ?? 'none' }),
  });
  const parsed = registered.safeParse(answer.json);
  if (answer.status >= 300 || !parsed.success) {
    throw new AppError(
      'SERVER_CONNECTION_FAILED',
      `${issuer.issuer} rejected the client registration (HTTP ${answer.status})`,
    );
  }
  const { client_id, client_secret, client_secret_expires_at: expires, token_endpoint_auth_method } = parsed.data;
  return {
    client_id,
    client_secret,
    token_endpoint_auth_method,
    // Later than that, or before anything began, is no date that anybody means.
    expiresAt: expires === undefined || expires <= 0 || expires > latestSecond ? undefined : expires * 1_000,
  };
}
