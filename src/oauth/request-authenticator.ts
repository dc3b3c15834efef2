/**
 * Who may come in: our own tokens, and where an identity provider is configured, its access tokens as well. We are a
 * protected resource then (RFC 9728): every endpoint has metadata, and every refusal says where to get a token.
 */
import type { Config } from '../config/config.ts';
import { AppError } from '../errors.ts';
import type { Accounts } from '../security/accounts.ts';
import { type Authenticator, ExpiredToken, type Principal, type RequestAuthenticator } from '../security/auth.ts';
import { userOf } from '../security/policy.ts';
import type { AccountChecks } from './account-checks.ts';
import { toChallenge } from './challenge.ts';
import { accountPrefix } from './identity-claims.ts';
import { clockToleranceSeconds, invalid, looksLikeJwt } from './jwt.ts';
import { isEndpoint, type ProviderTokens } from './provider-tokens.ts';
import type { SealedTickets } from './sealed-tickets.ts';

interface RequestAuthenticatorOptions {
  config: Config;
  authenticator: Authenticator;
  accounts: Accounts;
  checks: AccountChecks;
  /** Undefined where no identity provider is configured. */
  tokens: ProviderTokens | undefined;
  tickets: SealedTickets;
  /** Our address; known once we listen. */
  baseUrl: () => string;
}

export interface ResourceAuthenticator extends RequestAuthenticator {
  /** RFC 9728, for the endpoint at this path; undefined where no identity provider is configured. */
  metadata(path: string): ResourceMetadata | undefined;
  /** A token for a user whom the identity provider confirmed. It leaves this process only in a sealed cookie. */
  tokenFor(principal: Principal, lifetimeMs?: number): string;
}

interface ResourceMetadata {
  resource: string;
  authorization_servers: string[];
  bearer_methods_supported: string[];
  resource_name: string;
  scopes_supported?: string[];
}

const personPrefix = 'mcpp_';
const personMs = 8 * 3_600_000;

export function createRequestAuthenticator(options: RequestAuthenticatorOptions): ResourceAuthenticator {
  const { config, authenticator, accounts, checks, tokens, tickets, baseUrl } = options;
  const { oidcIssuer: issuer, oidcRequiredScopes: required } = config;

  const metadataUrl = (path: string) =>
    `${baseUrl()}/.well-known/oauth-protected-resource${isEndpoint(path) ? path.replace(/\/$/, '') : ''}`;

  async function admit(token: string, path: string, verifier: ProviderTokens): Promise<Principal> {
    const { principal, issuedAtMs } = await verifier.verify(token, path);
    const { id } = principal;
    if (isCheckable(id)) await ignoringEnd(checks.admit(id));
    const account = accounts.find(id)?.row;
    const endedAt = account?.ended_at ?? null;
    // Issued since then, so the provider gave the person access again.
    const isNewer = endedAt === null || issuedAtMs > Date.parse(endedAt) + clockToleranceSeconds * 1_000;
    if (!isNewer) throw new ExpiredToken('the identity provider ended your access; sign in again');
    if (config.oidcRequireSignIn && !isCheckable(id)) throw signInRequired(baseUrl());
    return principal;
  }

  async function admitPerson(token: string): Promise<Principal> {
    const pass = tickets.open(token.slice(personPrefix.length), 'person');
    if (pass === undefined) throw invalid('the sign-in has expired');
    const { principal } = pass;
    if (!isCheckable(principal.id)) return principal;
    await checks.admit(principal.id);
    return accounts.findActive(principal.id) ?? principal;
  }

  const isCheckable = (id: string) => accounts.findActive(id) !== undefined;

  /** A token that a person created for themselves is good as long as their account is. */
  function admitOwn(given: Parameters<RequestAuthenticator['authenticate']>[0]): Principal | Promise<Principal> {
    const principal = authenticator.authenticate(given);
    const user = userOf(principal);
    if (!user.startsWith(accountPrefix)) return principal;
    const checked = checks.admit(user);
    // The check may have found another role.
    return checked === undefined ? principal : checked.then(() => authenticator.authenticate(given));
  }

  return {
    authenticate(given) {
      const { authorization, path } = given;
      const token = tokens === undefined ? undefined : /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
      if (token !== undefined && tokens !== undefined && looksLikeJwt(token)) return admit(token, path, tokens);
      if (token?.startsWith(personPrefix)) return admitPerson(token);
      return admitOwn(given);
    },

    attend(principal) {
      const user = userOf(principal);
      return user.startsWith(accountPrefix) ? checks.attend(user) : () => undefined;
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
      if (issuer === undefined || tokens === undefined) return undefined;
      return {
        resource: tokens.resourceOf(path),
        authorization_servers: [issuer],
        bearer_methods_supported: ['header'],
        resource_name: 'MCP Aggregator',
        ...(required.length === 0 ? {} : { scopes_supported: required }),
      };
    },

    tokenFor: (principal, lifetimeMs = personMs) =>
      `${personPrefix}${tickets.issue(principal, Math.min(lifetimeMs, personMs), 'person')}`,
  };
}

/** Whether the end concerns the token is decided by when it was issued. */
async function ignoringEnd(checked: void | Promise<void>): Promise<void> {
  try {
    await checked;
  } catch (error) {
    if (!(error instanceof ExpiredToken)) throw error;
  }
}

export function signInRequired(baseUrl: string): AppError {
  const sign_in_url = `${baseUrl}/oauth/sign-in?lasting=1`;
  const problem = `Sign in to the aggregator first, so that it can tell when your account ends: ${sign_in_url}`;
  return new AppError('SIGN_IN_REQUIRED', problem, { context: { sign_in_url } });
}
