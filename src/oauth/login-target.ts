/** Which login a request to a server uses, and with whom it may be shared. */
import { AppError } from '../errors.ts';
import type { Server } from '../registry/registry.ts';
import type { Connection, OauthConfig } from '../registry/server.ts';
import type { AuthorizationTarget } from './discovery.ts';
import { type Trust, trustIn } from './guarded-fetch.ts';
import type { OauthClient } from './token-endpoint.ts';

/** A server, where it is, how it wants its tokens, and for whom. */
export interface LoginTarget {
  server: Server;
  url: string;
  oauth: OauthConfig;
  /** Empty: shared by everybody. */
  principal: string;
  /** Of its login among all of them. */
  key: string;
}

/** What a login asks for, and of which issuer. */
export interface LoginPlan extends AuthorizationTarget {
  scope: string | undefined;
  trust: Trust;
}

export function isPerPrincipal(server: Server): boolean {
  return server.options.credentials === 'per_principal';
}

/** A key that an admin put into the headers is the server's credential; OAuth would only get in its way. */
export function toTarget(server: Server, connection: Connection, principal: string): LoginTarget | undefined {
  if (connection.transport_type === 'STDIO') return undefined;
  const { headers = {}, oauth } = connection.connection_config;
  const hasKey = Object.keys(headers).some((name) => name.toLowerCase() === 'authorization');
  if (hasKey && oauth === undefined) return undefined;
  const url =
    'url' in connection.connection_config ? connection.connection_config.url : connection.connection_config.base_url;
  return { server, url, oauth: oauth ?? {}, ...loginOf(server, principal) };
}

export const keyOf = (serverId: string, principal: string) => `${serverId} ${principal}`;
export const loginOf = (server: Pick<Server, 'id'>, principal: string) => ({
  principal,
  key: keyOf(server.id, principal),
});

/**
 * The client that an admin registered. A server names whichever issuer it likes, so the secret goes only to the one that
 * the admin named, or to one at the server's own address.
 */
export function configuredClient(
  { server, url, oauth }: Pick<LoginTarget, 'server' | 'url' | 'oauth'>,
  issuer: string,
): OauthClient | undefined {
  const { client_id, client_secret, private_key, signing_algorithm } = oauth;
  if (client_id === undefined) return undefined;
  const isNamed = oauth.issuer === issuer || new URL(issuer).origin === new URL(url).origin;
  if (client_secret !== undefined && !isNamed) {
    throw new AppError(
      'SERVER_CONNECTION_FAILED',
      `${server.name} names the authorization server ${issuer}, which is not configured, so oauth.client_secret is not ` +
        'sent to it; if it is correct, set oauth.issuer in connection_config to it',
    );
  }
  return { client_id, client_secret, private_key, signing_algorithm };
}

export function trustOf({ url, oauth }: Pick<LoginTarget, 'url' | 'oauth'>): Trust {
  return trustIn(oauth.issuer === undefined ? [url] : [url, oauth.issuer]);
}
