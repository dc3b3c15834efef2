/** Out to the page of an authorization server, and back with a code: what every login and every sign-in has in common. */
import { createHash, randomBytes } from 'node:crypto';
import { AppError } from '../errors.ts';
import type { IssuerMetadata } from './discovery.ts';
import { shortCode } from './token-endpoint.ts';

interface AuthorizationRequest {
  client_id: string;
  redirect_uri: string;
  state: string;
  scope?: string;
  resource?: string;
  nonce?: string;
  /** Null: the provider decides whether to ask the person. */
  prompt?: 'consent' | null;
}

/** PKCE with S256, always: the code is worth nothing without the verifier, which stays here (RFC 7636). */
export function authorizationPage(issuer: IssuerMetadata, verifier: string, request: AuthorizationRequest): string {
  if (issuer.authorization_endpoint === undefined) {
    throw new AppError('SERVER_CONNECTION_FAILED', `${issuer.issuer} has no authorization endpoint`);
  }
  const page = new URL(issuer.authorization_endpoint);
  // OpenID providers give a refresh token only where the person was asked.
  const usual = request.scope?.split(' ').includes('offline_access') === true ? 'consent' : null;
  const { prompt = usual, ...given } = request;
  const parameters = {
    response_type: 'code',
    ...given,
    prompt: prompt ?? undefined,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  };
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) page.searchParams.set(name, value);
  return page.href;
}

/** For states, verifiers and nonces. */
export const randomSecret = () => randomBytes(32).toString('base64url');

/** The code that the browser came back with. */
export function codeIn(parameters: URLSearchParams, issuer: IssuerMetadata): string {
  // Before anything else is believed: another server's answer must not be taken for this one's (RFC 9207).
  checkIssuer(parameters.get('iss'), issuer);
  const refusal = parameters.get('error');
  if (refusal !== null) throw new AppError('FORBIDDEN', `${issuer.issuer} refused the login: ${shortCode(refusal)}`);
  const code = parameters.get('code');
  if (code === null) throw new AppError('FORBIDDEN', `${issuer.issuer} sent no authorization code`);
  return code;
}

/** Compared as text: an issuer that is equal only after tidying is another issuer. */
export function checkIssuer(iss: string | null, issuer: IssuerMetadata): void {
  if (iss === issuer.issuer) return;
  if (iss === null && issuer.authorization_response_iss_parameter_supported !== true) return;
  throw new AppError('FORBIDDEN', 'The response does not come from the expected authorization server');
}
