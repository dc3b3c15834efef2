/** A person's login to a server: out to the authorization server with a state that is good once, and back. */
import { createHash } from 'node:crypto';
import type { Changes } from '../changes.ts';
import { AppError } from '../errors.ts';
import type { Registry, Server } from '../registry/registry.ts';
import type { Vault } from '../security/credentials.ts';
import type { Database } from '../store/database.ts';
import {
  deleteOauthClient,
  findOauthClient,
  insertOauthFlow,
  takeOauthFlow,
  upsertOauthClient,
} from '../store/oauth.ts';
import { authorizationPage, codeIn, randomSecret } from './authorization-request.ts';
import { type OurClients, registerClient, takesDocument } from './client-registration.ts';
import type { IssuerMetadata } from './discovery.ts';
import type { GuardedFetch } from './guarded-fetch.ts';
import { configuredClient, type LoginPlan, type LoginTarget, trustOf } from './login-target.ts';
import type { Logins } from './logins.ts';
import { type OauthClient, requestToken, TokenRefused } from './token-endpoint.ts';

export interface LoginFlow {
  /** What the person is asked to agree to. */
  preview(server: Server, principal: string): Promise<LoginPreview>;
  /** The authorization server's page, if it is still what the person agreed to. */
  begin(server: Server, principal: string, agreed: string): Promise<string>;
  /** The person is back, at this path, with a code or with a refusal. */
  finish(path: string, parameters: URLSearchParams, principal: string): Promise<Server>;
}

interface LoginPreview {
  issuer: string;
  /** Where the browser goes: not always the issuer's own address. */
  page: string;
  scopes: string[];
  redirectUri: string;
  /** Stands for all of it. */
  digest: string;
}

interface FlowDependencies {
  db: Database;
  vault: Vault;
  registry: Registry;
  logins: Logins;
  fetch: GuardedFetch;
  ours: OurClients;
  changes: Changes;
}

interface BegunLogin {
  verifier: string;
  redirectUri: string;
  client: OauthClient;
  plan: Pick<LoginPlan, 'resource' | 'scope' | 'scopesSupported'> & { issuer: IssuerMetadata };
  url: string;
}

const flowLifetimeMs = 600_000;

/** What a registered client's secret is sealed for. */
export const clientContextOf = (serverId: string, issuer: string) => `oauth-client:${serverId}:${issuer}`;

export function createLoginFlow(deps: FlowDependencies): LoginFlow {
  const { db, vault, registry, changes, logins, fetch } = deps;

  async function clientAt(target: LoginTarget, { issuer, trust }: LoginPlan): Promise<OauthClient> {
    const configured = configuredClient(target, issuer.issuer);
    if (configured !== undefined) return configured;
    const ours = deps.ours.for(issuer);
    if (takesDocument(issuer, ours) && ours.metadataUrl !== undefined) return { client_id: ours.metadataUrl };

    const row = await findOauthClient(db, target.server.id, issuer.issuer);
    const context = clientContextOf(target.server.id, issuer.issuer);
    const isGood =
      row?.redirect_uri === ours.redirectUri && (row.expires_at === null || Date.parse(row.expires_at) > Date.now());
    if (row !== undefined && isGood) return vault.open(row.sealed, context) as OauthClient;

    const { expiresAt, ...client } = await registerClient(fetch, issuer, ours, trust);
    await upsertOauthClient(db, {
      server_id: target.server.id,
      issuer: issuer.issuer,
      redirect_uri: ours.redirectUri,
      sealed: vault.seal(client, context),
      expires_at: expiresAt === undefined ? null : new Date(expiresAt).toISOString(),
    });
    return client;
  }

  function previewOf({ issuer, scope, resource }: LoginPlan): LoginPreview {
    const shown = {
      issuer: issuer.issuer,
      page: issuer.authorization_endpoint ?? issuer.issuer,
      scopes: scope?.split(' ') ?? [],
      redirectUri: deps.ours.for(issuer).redirectUri,
    };
    return { ...shown, digest: hash(JSON.stringify([shown, resource, issuer.token_endpoint])) };
  }

  async function begin(server: Server, principal: string, agreed: string): Promise<string> {
    const target = await logins.target(server, principal);
    const plan = await logins.plan(target);
    if (previewOf(plan).digest !== agreed) {
      throw new AppError(
        'SERVER_STATE_CONFLICT',
        `The login for ${server.name} has changed since this page was shown; open the link again to review it`,
      );
    }
    const { issuer } = plan;
    if (issuer.code_challenge_methods_supported?.includes('S256') !== true) {
      throw new AppError('SERVER_CONNECTION_FAILED', `${issuer.issuer} does not support PKCE with S256`);
    }
    const client = await clientAt(target, plan);
    const [verifier, state] = [randomSecret(), randomSecret()];
    const { redirectUri } = deps.ours.for(issuer);
    const { resource, scope, scopesSupported } = plan;
    const page = authorizationPage(issuer, verifier, {
      client_id: client.client_id,
      redirect_uri: redirectUri,
      state,
      resource,
      scope,
    });
    const begun: BegunLogin = {
      verifier,
      redirectUri,
      client,
      plan: { resource, scope, scopesSupported, issuer },
      url: target.url,
    };
    await insertOauthFlow(db, {
      state_hash: hash(state),
      server_id: server.id,
      principal,
      sealed: vault.seal(begun, `oauth-flow:${hash(state)}`),
      expires_at: new Date(Date.now() + flowLifetimeMs).toISOString(),
    });
    return page;
  }

  async function finish(path: string, parameters: URLSearchParams, principal: string): Promise<Server> {
    const state = parameters.get('state') ?? '';
    const row = await takeOauthFlow(db, hash(state));
    if (row === undefined || Date.parse(row.expires_at) < Date.now()) {
      throw new AppError('NOT_FOUND', 'This login is unknown, already used or expired; start again');
    }
    if (row.principal !== principal) {
      throw new AppError('FORBIDDEN', 'This login was started by another user. Start your own.');
    }
    const server = registry.get(row.server_id);
    const { verifier, redirectUri, client, plan, url } = vault.open(
      row.sealed,
      `oauth-flow:${row.state_hash}`,
    ) as BegunLogin;
    if (new URL(redirectUri).pathname !== path) {
      throw new AppError('FORBIDDEN', 'The response does not come from the expected authorization server');
    }
    const target = await logins.target(server, principal);
    if (target.url !== url) {
      throw new AppError('SERVER_STATE_CONFLICT', 'The address of the server changed during the login; start again');
    }
    const code = codeIn(parameters, plan.issuer);
    const trust = trustOf(target);
    const answer = await requestToken(
      fetch,
      { issuer: plan.issuer, client, trust },
      {
        grant_type: 'authorization_code',
        code,
        redirect_uri: redirectUri,
        code_verifier: verifier,
        resource: plan.resource,
      },
    ).catch(async (error: unknown) => {
      if (!(error instanceof TokenRefused)) throw error;
      // A registration that the server forgot is made anew with the next login.
      if (error.error === 'invalid_client') await deleteOauthClient(db, server.id, plan.issuer.issuer);
      throw new AppError('FORBIDDEN', error.message, { cause: error });
    });
    await logins.save(target, { ...plan, trust }, client, answer);
    changes.publish('server.logged_in', { server_id: server.id });
    changes.publish('server.stored', { server_id: server.id });
    return server;
  }

  return {
    preview: async (server, principal) => previewOf(await logins.plan(await logins.target(server, principal))),
    begin,
    finish,
  };
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
