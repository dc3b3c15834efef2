/** A real OpenID provider on loopback: the authorization server of a server, or the identity provider in front of us. */
import { generateKeyPairSync, randomBytes, randomUUID, sign } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import Provider, { type StoredToken } from 'oidc-provider';

export interface IdentityProvider {
  readonly issuer: string;
  readonly port: number;
  /** Grants so far, by type. */
  readonly grants: Record<string, number>;
  /** Whose token this is, if it is good for the resource. */
  accountOf(token: string, resource: string): Promise<string | undefined>;
  /** A machine's access token for a resource. */
  tokenFor(client: string, resource: string, scope?: string): Promise<string>;
  /** Any claims, signed with the provider's own key. */
  sign(claims: Record<string, unknown>): string;
  /** Every refresh token, and the access tokens that came with them. */
  revokeEverything(): Promise<void>;
  /** As an administrator of the provider does: no more tokens for this person, and the refresh tokens are void. */
  disable(login: string): void;
  enable(login: string): void;
  /** From now on nothing is answered. */
  goAway(): void;
  comeBack(): void;
  /** Access tokens stop working before their time; refresh tokens stay. */
  dropAccessTokens(): Promise<void>;
  close(): Promise<void>;
}

export interface ProviderOptions {
  /** How long the token endpoint thinks about every request. */
  tokenDelayMs?: number;
  port?: number;
  accessTokenSeconds?: number;
  /** Resources whose tokens are JWTs; the others get opaque ones. */
  jwtFor?: string;
  scopes?: string;
  /** Machines with a secret, and the claims that their tokens carry beside the usual. */
  machines?: Record<string, Record<string, unknown>>;
  /** Where people may be sent back to, for the client `pages`. */
  redirectUri?: string;
  /** What is said of somebody beside their login, in the id token and, unless told otherwise, in access tokens. */
  people?: Record<string, Record<string, unknown>>;
  inAccessTokens?: Record<string, Record<string, unknown>>;
  /** What access tokens are for where nobody says it. */
  defaultResource?: string;
  /** A public client `command-line`, for programs on people's machines. */
  commandLine?: boolean;
  /** The client `pages` is given refresh tokens, whether the person is asked or not, and signs people in by device. */
  lasting?: boolean;
  /** Below its address, as with providers of many organisations: `/realms/example`. */
  path?: string;
  /** Clients register themselves; false: only those above. */
  registration?: boolean;
  /** What a token tells about its scopes and its user differs between providers. */
  accessTokenClaims?: (person: {
    login: string;
    scope: string;
    claims: Record<string, unknown>;
  }) => Record<string, unknown>;
  /** The claims of an access token as this provider writes them. */
  asJwt?: (claims: Record<string, unknown>) => Record<string, unknown>;
  /** Another name of this machine makes another site of us. */
  hostname?: 'localhost' | '127.0.0.1';
}

const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';

export async function startIdentityProvider(options: ProviderOptions = {}): Promise<IdentityProvider> {
  const { accessTokenSeconds = 3_600, scopes = 'mcp:use', jwtFor, machines = {}, redirectUri } = options;
  const {
    tokenDelayMs = 0,
    people = {},
    inAccessTokens = people,
    defaultResource,
    commandLine = false,
    lasting = false,
    path = '',
    hostname = '127.0.0.1',
  } = options;
  const disabled = new Set<string>();
  let isAway = false;
  const server = createServer().listen(options.port ?? 0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const issuer = `http://${hostname}:${address.port}${path}`;
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  const key = {
    ...privateKey.export({ format: 'jwk' }),
    kid: randomBytes(8).toString('hex'),
    use: 'sig',
    alg: 'RS256',
  };

  const provider = new Provider(issuer, {
    clients: [
      ...Object.keys(machines).map((client_id) => ({
        client_id,
        client_secret: 'secret',
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
      })),
      ...(redirectUri === undefined
        ? []
        : [
            {
              client_id: 'pages',
              client_secret: 'secret',
              redirect_uris: [redirectUri],
              application_type: 'native',
              ...(lasting && { grant_types: ['authorization_code', 'refresh_token', deviceGrant] }),
            },
          ]),
      ...(commandLine
        ? [
            {
              client_id: 'command-line',
              token_endpoint_auth_method: 'none',
              // Native clients may come back on any port of loopback (RFC 8252, 7.3).
              redirect_uris: ['http://127.0.0.1/callback'],
              application_type: 'native',
              grant_types: ['authorization_code', 'refresh_token'],
            },
          ]
        : []),
    ],
    extraTokenClaims(_context: unknown, token: { clientId: string; accountId?: string; scope?: string }) {
      const { clientId, accountId = '', scope = '' } = token;
      if (machines[clientId] !== undefined) return machines[clientId];
      const claims = inAccessTokens[accountId] ?? {};
      return options.accessTokenClaims?.({ login: accountId, scope, claims }) ?? claims;
    },
    findAccount: (_context: unknown, accountId: string) =>
      disabled.has(accountId) ? undefined : { accountId, claims: () => ({ sub: accountId, ...people[accountId] }) },
    ...(lasting && {
      issueRefreshToken: async (_context: unknown, client: { clientId: string }) => client.clientId === 'pages',
    }),
    claims: { openid: ['sub', ...new Set(Object.values(people).flatMap(Object.keys))] },
    conformIdTokenClaims: false,
    jwks: { keys: [key] },
    cookies: { keys: [randomBytes(16).toString('hex')] },
    scopes: ['openid', 'offline_access', ...scopes.split(' ')],
    pkce: { required: () => true },
    features: {
      devInteractions: { enabled: true },
      registration: { enabled: options.registration ?? true },
      deviceFlow: { enabled: lasting },
      revocation: { enabled: true },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        defaultResource: () => defaultResource,
        getResourceServerInfo: (_context: unknown, resource: string) => ({
          scope: scopes,
          audience: resource,
          accessTokenTTL: accessTokenSeconds,
          accessTokenFormat: jwtFor !== undefined && resource.startsWith(jwtFor) ? 'jwt' : 'opaque',
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
    ttl: { AccessToken: accessTokenSeconds, ClientCredentials: accessTokenSeconds, RefreshToken: 86_400 },
    rotateRefreshToken: true,
    ...(options.asJwt && {
      formats: {
        customizers: {
          jwt(_context: unknown, _token: unknown, parts: { payload: Record<string, unknown> }) {
            parts.payload = options.asJwt?.(parts.payload) ?? parts.payload;
          },
        },
      },
    }),
  });
  const grants: Record<string, number> = {};
  const refreshGrants = new Set<string>();
  const accessTokens = new Set<StoredToken>();
  provider.on('grant.success', ({ oidc }) => {
    const type = oidc.params?.grant_type ?? '';
    grants[type] = (grants[type] ?? 0) + 1;
  });
  provider.on('access_token.saved', (token) => accessTokens.add(token));
  provider.on('refresh_token.saved', ({ grantId }) => refreshGrants.add(grantId));
  // Its page says no more than that something went wrong.
  provider.on('server_error', (_context, error) => console.error(error));
  const answer = provider.callback();
  server.on('request', (request, response) => {
    if (isAway) return void request.socket.destroy();
    if (path !== '') {
      // As behind a proxy that takes the path off.
      if (request.url?.startsWith(path) !== true) return void response.writeHead(404).end();
      Object.assign(request, { originalUrl: request.url, baseUrl: path });
      request.url = request.url.slice(path.length);
    }
    if (tokenDelayMs > 0 && request.url === '/token') setTimeout(answer, tokenDelayMs, request, response);
    else answer(request, response);
  });

  return {
    issuer,
    port: address.port,
    grants,
    async accountOf(token, resource) {
      const found = await provider.AccessToken.find(token);
      if (found === undefined || found.isExpired) return undefined;
      return [found.aud].flat().includes(resource) ? found.accountId : undefined;
    },
    async tokenFor(client, resource, scope = scopes) {
      const response = await fetch(`${issuer}/token`, {
        method: 'POST',
        headers: { authorization: `Basic ${Buffer.from(`${client}:secret`).toString('base64')}` },
        body: new URLSearchParams({ grant_type: 'client_credentials', resource, scope }),
      });
      const body = (await response.json()) as { access_token?: string };
      if (body.access_token === undefined) throw new Error(JSON.stringify(body));
      return body.access_token;
    },
    sign(claims) {
      const now = Math.floor(Date.now() / 1_000);
      const full = { iss: issuer, sub: 'somebody', iat: now, exp: now + 60, jti: randomUUID(), ...claims };
      const unsigned = [{ alg: 'RS256', kid: key.kid }, full]
        .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
        .join('.');
      return `${unsigned}.${sign('sha256', Buffer.from(unsigned), privateKey).toString('base64url')}`;
    },
    async revokeEverything() {
      for (const grant of refreshGrants) {
        await provider.RefreshToken.revokeByGrantId(grant);
        await provider.AccessToken.revokeByGrantId(grant);
      }
      refreshGrants.clear();
    },
    disable: (login) => void disabled.add(login),
    enable: (login) => void disabled.delete(login),
    goAway() {
      isAway = true;
      server.closeAllConnections();
    },
    comeBack() {
      isAway = false;
    },
    async dropAccessTokens() {
      for (const token of accessTokens) await token.destroy();
      accessTokens.clear();
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
