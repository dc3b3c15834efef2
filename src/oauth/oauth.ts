/** Builds the OAuth module. */
import type { Changes } from '../changes.ts';
import type { Config } from '../config/config.ts';
import type { Logger } from '../log.ts';
import { isLoopback } from '../loopback.ts';
import type { Registry, Server } from '../registry/registry.ts';
import type { Accounts } from '../security/accounts.ts';
import type { Authenticator, Principal } from '../security/auth.ts';
import type { Vault } from '../security/credentials.ts';
import type { Secrets } from '../security/secrets.ts';
import type { Database } from '../store/database.ts';
import { insertSpentPass } from '../store/sign-in.ts';
import { type AccountChecks, createAccountChecks } from './account-checks.ts';
import { type BrowserSessions, createBrowserSessions } from './browser-session.ts';
import { issuerKey, type OurClient, type OurClients } from './client-registration.ts';
import { createDeviceSignIn, type DeviceSignIn } from './device-sign-in.ts';
import { createLoginFlow, type LoginFlow } from './flow.ts';
import { createGuardedFetch } from './guarded-fetch.ts';
import { accountPrefix } from './identity-claims.ts';
import { createLogins, type Logins } from './logins.ts';
import { type PageGoal, pathOf } from './pages.ts';
import { createProgramSignIn, type ProgramSignIn } from './program-sign-in.ts';
import { createProviderClient } from './provider-client.ts';
import { createProviderTokens } from './provider-tokens.ts';
import { createRequestAuthenticator, type ResourceAuthenticator } from './request-authenticator.ts';
import { createSealedTickets } from './sealed-tickets.ts';
import { createSignIn, type SignIn } from './sign-in.ts';

interface OauthDependencies {
  config: Config;
  db: Database;
  vault: Vault;
  secrets: Secrets;
  registry: Registry;
  changes: Changes;
  log: Logger;
  authenticator: Authenticator;
  accounts: Accounts;
  /** Our address; known once we listen. */
  baseUrl: () => string;
}

export interface Oauth {
  logins: Logins;
  flow: LoginFlow;
  sessions: BrowserSessions;
  ours: OurClients;
  /** Our page where the principal logs in to the server. */
  loginLink: (server: Server, principal: Principal) => string;
  /** Our page where the principal enters its keys for the server. */
  keyLink: (server: Server, principal: Principal) => string;
  requestAuthenticator: ResourceAuthenticator;
  signIn: SignIn | undefined;
  deviceSignIn: DeviceSignIn | undefined;
  programSignIn: ProgramSignIn;
  checks: AccountChecks;
  /** What people need to know to sign in with it; undefined where none is configured. */
  identityProvider: () => IdentityProviderView | undefined;
  close(): Promise<void>;
}

export interface IdentityProviderView {
  issuer: string;
  /** Where a browser begins; null where we have no client for it. */
  dashboard: string | null;
  command_line: { client_id: string; resource: string; scopes: string[] } | null;
}

export async function createOauth(deps: OauthDependencies): Promise<Oauth> {
  const { config, authenticator, accounts, vault, baseUrl } = deps;
  const fetch = createGuardedFetch();
  // What is stored for the people of an identity provider outlasts the end of their access: they may come back.
  const isEnded = (id: string) =>
    id !== '' && !id.startsWith(accountPrefix) && authenticator.findPrincipal(id) === undefined;
  const logins = await createLogins({ ...deps, fetch, isEnded });
  const tokens =
    config.oidcIssuer === undefined ? undefined : createProviderTokens(config.oidcIssuer, { config, fetch, baseUrl });
  const client = tokens && createProviderClient({ config, fetch, tokens });
  const checks = createAccountChecks({ ...deps, client });
  const tickets = createSealedTickets({
    vault,
    config,
    findPrincipal: (id) => authenticator.findPrincipal(id),
    isEnded: (id) => (accounts.find(id)?.row.ended_at ?? null) !== null,
  });
  const requestAuthenticator = createRequestAuthenticator({ ...deps, checks, tokens, tickets });
  const spend = ({ id, expires }: { id: string; expires: number }) =>
    insertSpentPass(deps.db, { id, expires_at: new Date(expires).toISOString() });
  const sessions = createBrowserSessions({
    tickets,
    spend,
    isSecure: () => baseUrl().startsWith('https:'),
  });

  function identityProvider(): IdentityProviderView | undefined {
    const metadata = requestAuthenticator.metadata('');
    if (config.oidcIssuer === undefined || metadata === undefined) return undefined;
    const { resource, scopes_supported: scopes = [] } = metadata;
    // A command line keeps no secret, so a client that has one is not for it.
    const client_id =
      config.oidcCliClientId ?? (config.oidcClientSecret === undefined ? config.oidcClientId : undefined);
    return {
      issuer: config.oidcIssuer,
      dashboard: config.oidcClientId === undefined ? null : '/oauth/sign-in',
      command_line: client_id === undefined ? null : { client_id, resource, scopes },
    };
  }

  function at(key: string): OurClient {
    const base = baseUrl();
    const own = base.startsWith('https:') && !isLoopback(new URL(base).hostname);
    return {
      metadataUrl: own ? `${base}/oauth/client/${key}` : undefined,
      redirectUri: `${base}/oauth/callback/${key}`,
    };
  }

  function linkTo(goal: PageGoal, principal: Principal): string {
    const page = `${baseUrl()}${pathOf(goal)}`;
    // Reachable from this machine only, so the link may sign in the person who opens it.
    const vouches = isLoopback(config.host) && config.publicUrl === undefined;
    return vouches ? `${page}?ticket=${encodeURIComponent(sessions.createTicket(principal))}` : page;
  }

  const ours: OurClients = {
    at,
    for(issuer) {
      // A document that is kept elsewhere names one address for all, so its issuers must say who answers (RFC 9207).
      const says = issuer.authorization_response_iss_parameter_supported === true;
      const isShared = config.clientMetadataUrl !== undefined && issuer.client_id_metadata_document_supported === true;
      if (isShared && says) return ours.everywhere();
      return { ...at(issuerKey(issuer.issuer)), ...(config.clientMetadataUrl && { metadataUrl: undefined }) };
    },
    everywhere: () => ({
      metadataUrl: config.clientMetadataUrl ?? `${baseUrl()}/oauth/client.json`,
      redirectUri: `${baseUrl()}/oauth/callback`,
    }),
  };

  return {
    logins,
    sessions,
    ours,
    requestAuthenticator,
    identityProvider,
    signIn: client && createSignIn({ client, vault, checks, spend, baseUrl }),
    deviceSignIn: client && createDeviceSignIn({ client, vault, checks }),
    programSignIn: createProgramSignIn(deps),
    checks,
    flow: createLoginFlow({ ...deps, logins, fetch, ours }),
    loginLink: ({ name }, principal) => linkTo({ page: 'login', server: name }, principal),
    keyLink: ({ name }, principal) => linkTo({ page: 'keys', server: name }, principal),
    async close() {
      await checks.close();
      await logins.close();
    },
  };
}
