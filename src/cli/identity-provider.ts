/** Signs a user in at an identity provider, refreshes and revokes the tokens. */
import { AppError, describe } from '../errors.ts';
import { authorizationPage, codeIn, randomSecret } from '../oauth/authorization-request.ts';
import { findIssuer, type IssuerMetadata } from '../oauth/discovery.ts';
import { checkAddress, createGuardedFetch, type GuardedFetch, trustIn } from '../oauth/guarded-fetch.ts';
import { problemPage, signedInPage } from '../oauth/pages.ts';
import { requestToken, revokeTokens, type TokenAnswer, TokenRefused } from '../oauth/token-endpoint.ts';
import { CommandFailure } from './exit-code.ts';
import { createLoopbackRedirect } from './loopback-redirect.ts';
import type { ProviderSignIn } from './sign-ins.ts';

interface SignInRequest<Who> {
  issuer: string;
  client_id: string;
  resource: string;
  scopes: readonly string[];
  /** Port of the redirect URI; 0 selects a free port. */
  port: number;
  timeoutMs: number;
  /** Shows the page of the provider to the user. */
  show(page: string): void;
  /** Asks the aggregator for the principal; throws if it rejects the token. */
  identify(token: string): Promise<Who>;
}

/** Authorization code flow with PKCE and a loopback redirect (RFC 8252). */
export function signIn<Who>(request: SignInRequest<Who>): Promise<{ signedIn: ProviderSignIn; who: Who }> {
  const { client_id, resource, scopes, port, timeoutMs } = request;
  return withProvider(request.issuer, async (fetch, trust) => {
    const issuer = await findIssuer(fetch, request.issuer, trust);
    if (issuer === undefined) throw new CommandFailure('failed', `${request.issuer} publishes no metadata.`);
    const [state, verifier] = [randomSecret(), randomSecret()];
    const redirect = await createLoopbackRedirect({ port, state });
    const { redirectUri: redirect_uri } = redirect;
    try {
      const scope = scopesFor(issuer, scopes);
      const page = authorizationPage(issuer, verifier, { client_id, redirect_uri, state, scope, resource });
      // Checked because a browser would open any address.
      checkAddress(page, trust);
      request.show(page);
      const { parameters, show } = await redirect.answer(timeoutMs);
      const redeem = async () => {
        const code = codeIn(parameters, issuer);
        const given = { grant_type: 'authorization_code', code, redirect_uri, code_verifier: verifier, resource };
        const answer = await requestToken(fetch, { issuer, client: { client_id }, trust }, given);
        return { answer, who: await request.identify(answer.access_token) };
      };
      const { answer, who } = await redeem().catch(async (error: unknown) => {
        const failure = toFailure(error, request.issuer);
        await show(problemPage(failure.message), 400);
        throw failure;
      });
      await show(signedInPage());
      return { signedIn: { issuer: endpointsOf(issuer), client_id, resource, ...tokensIn(answer) }, who };
    } finally {
      await redirect.close();
    }
  });
}

/** With new tokens. */
export function refresh(current: ProviderSignIn): Promise<ProviderSignIn> {
  const { issuer, client_id, resource, refresh_token } = current;
  return withProvider(issuer.issuer, async (fetch, trust) => {
    const given = { grant_type: 'refresh_token', refresh_token, resource };
    const answer = await requestToken(fetch, { issuer, client: { client_id }, trust }, given);
    return { ...current, ...tokensIn(answer, refresh_token) };
  });
}

/** False if the provider has no revocation endpoint. */
export function revoke({ issuer, client_id, ...tokens }: ProviderSignIn): Promise<boolean> {
  return withProvider(issuer.issuer, async (fetch, trust) => {
    await revokeTokens(fetch, { issuer, client: { client_id }, trust }, tokens);
    return issuer.revocation_endpoint !== undefined;
  });
}

async function withProvider<Result>(
  issuer: string,
  task: (fetch: GuardedFetch, trust: ReturnType<typeof trustIn>) => Promise<Result>,
): Promise<Result> {
  const fetch = createGuardedFetch();
  try {
    return await task(fetch, trustIn([issuer]));
  } catch (error) {
    throw toFailure(error, issuer);
  } finally {
    await fetch.close();
  }
}

function toFailure(error: unknown, issuer: string): CommandFailure {
  if (error instanceof CommandFailure) return error;
  if (error instanceof TokenRefused) return new CommandFailure('denied', error.message, { cause: error });
  if (error instanceof AppError) {
    return new CommandFailure(error.code === 'FORBIDDEN' ? 'denied' : 'failed', error.message, { cause: error });
  }
  return new CommandFailure('unreachable', `${issuer} does not respond: ${describe(error)}`, { cause: error });
}

/** Requests a refresh token if the provider needs a scope for it, so that users need not sign in every hour. */
function scopesFor({ scopes_supported: supported }: IssuerMetadata, wanted: readonly string[]): string {
  const offline = supported?.includes('offline_access') === true ? ['offline_access'] : [];
  return [...new Set(['openid', ...wanted, ...offline])].join(' ');
}

function endpointsOf({ issuer, token_endpoint, revocation_endpoint }: IssuerMetadata): ProviderSignIn['issuer'] {
  return { issuer, token_endpoint, revocation_endpoint };
}

/** Keeps the old refresh token if the provider returns no new one. */
function tokensIn(answer: TokenAnswer, before?: string) {
  const { access_token, refresh_token = before, expires_in: seconds } = answer;
  const now = Date.now();
  const after = (count: number) => new Date(now + count * 1_000).toISOString();
  return {
    access_token,
    refresh_token,
    expires_at: seconds === undefined ? null : after(seconds),
    refresh_at: seconds === undefined ? null : after(seconds - Math.min(60, seconds / 5)),
  };
}
