/** The recipes of docs/identity-providers.md, against issuers that write tokens as Keycloak, Entra ID and Okta do. */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { openSession } from '../mcp/clients.ts';
import { startFeatureServer } from '../support/servers/feature-server.ts';
import { until } from '../support/until.ts';
import { openBrowser } from './browser.ts';
import type { ProviderOptions } from './identity-provider.ts';
import { type Situation, startSituation } from './people.ts';

interface Recipe {
  name: string;
  provider: ProviderOptions;
  /** As in the recipe, with the placeholders of the page filled in. */
  settings: Record<string, string>;
  /** What an MCP client asks for. */
  scope: string;
}

const others = (claims: Record<string, unknown>, ...dropped: string[]) =>
  Object.fromEntries(Object.entries(claims).filter(([name]) => !dropped.includes(name)));

const entraApi = 'api://5c2b1f5e-0000-4000-8000-aggregator00';
const editors = 'f0e1d2c3-0000-4000-8000-editors00000';

const recipes: Recipe[] = [
  {
    // Roles are nested, groups are paths, and the audience is what a mapper of the client scope writes.
    name: 'Keycloak',
    provider: {
      path: '/realms/example',
      scopes: 'profile email mcp',
      people: {
        ada: {
          preferred_username: 'ada',
          realm_access: { roles: ['mcp-user', 'offline_access'] },
          groups: ['/editors'],
        },
        eve: { preferred_username: 'eve', realm_access: { roles: ['offline_access'] } },
      },
      asJwt: (claims) => ({ ...claims, aud: ['mcp-aggregator', 'account'], typ: 'Bearer', azp: claims.client_id }),
    },
    settings: {
      MCP_AGGREGATOR_OIDC_AUDIENCE: 'mcp-aggregator',
      MCP_AGGREGATOR_OIDC_ROLE_CLAIM: 'realm_access.roles',
      MCP_AGGREGATOR_OIDC_ROLES: 'admin=mcp-admin,caller=mcp-user',
      MCP_AGGREGATOR_OIDC_PROFILE_CLAIM: 'groups',
      MCP_AGGREGATOR_OIDC_PROFILES: 'writing=/editors',
    },
    scope: 'openid mcp offline_access',
  },
  {
    // `sub` is another one for each application, scopes are in `scp` without the address of the application.
    name: 'Entra ID',
    provider: {
      path: '/tenant/v2.0',
      scopes: `profile email ${entraApi}/mcp.use`,
      people: {
        ada: { oid: '0a0a', preferred_username: 'ada@example.com', roles: ['mcp-user'], groups: [editors] },
        eve: { oid: '0e0e', preferred_username: 'eve@example.com', groups: [editors] },
      },
      asJwt: (claims) => ({
        ...others(claims, 'scope', 'client_id'),
        sub: createHash('sha256').update(`${claims.client_id} ${claims.sub}`).digest('base64url'),
        aud: entraApi,
        azp: claims.client_id,
        scp: 'mcp.use',
        ver: '2.0',
      }),
    },
    settings: {
      MCP_AGGREGATOR_OIDC_AUDIENCE: entraApi,
      MCP_AGGREGATOR_OIDC_REQUIRED_SCOPES: `${entraApi}/mcp.use`,
      MCP_AGGREGATOR_OIDC_USER_CLAIM: 'oid',
      MCP_AGGREGATOR_OIDC_ROLE_CLAIM: 'roles',
      MCP_AGGREGATOR_OIDC_ROLES: 'admin=mcp-admin,caller=mcp-user',
      MCP_AGGREGATOR_OIDC_PROFILE_CLAIM: 'groups',
      MCP_AGGREGATOR_OIDC_PROFILES: `writing=${editors}`,
    },
    scope: `openid offline_access ${entraApi}/mcp.use`,
  },
  {
    // `sub` is the id in ID tokens and the login in access tokens; scopes are a list.
    name: 'Okta',
    provider: {
      path: '/oauth2/default',
      scopes: 'profile email mcp:use',
      people: {
        ada: { uid: '00uada', preferred_username: 'ada@example.com', groups: ['mcp-users', 'editors'] },
        eve: { uid: '00ueve', preferred_username: 'eve@example.com', groups: ['Everyone'] },
      },
      asJwt: (claims) => ({
        ...others(claims, 'scope', 'client_id'),
        sub: claims.preferred_username,
        aud: 'api://default',
        cid: claims.client_id,
        scp: String(claims.scope).split(' '),
      }),
    },
    settings: {
      MCP_AGGREGATOR_OIDC_AUDIENCE: 'api://default',
      MCP_AGGREGATOR_OIDC_REQUIRED_SCOPES: 'mcp:use',
      MCP_AGGREGATOR_OIDC_USER_CLAIM: 'uid',
      MCP_AGGREGATOR_OIDC_ROLE_CLAIM: 'groups',
      MCP_AGGREGATOR_OIDC_ROLES: 'admin=mcp-admins,caller=mcp-users',
      MCP_AGGREGATOR_OIDC_PROFILES: 'writing=editors',
    },
    scope: 'openid offline_access mcp:use',
  },
];

const closers: (() => unknown)[] = [];
after(async () => {
  for (const close of closers.reverse()) await close();
});

async function start({ provider, settings }: Recipe): Promise<Situation> {
  const situation = await startSituation(
    {
      ...provider,
      commandLine: true,
      registration: false,
      // They issue tokens for what the scopes belong to, whatever `resource` says.
      defaultResource: 'urn:of-the-scopes',
      jwtFor: '',
    },
    { ...settings, MCP_AGGREGATOR_OIDC_CHECK_INTERVAL: '0.3', MCP_AGGREGATOR_EXPOSURE: 'all' },
  );
  closers.push(situation.close);
  const { app } = situation;
  for (const label of ['notes', 'secret']) {
    const server = await startFeatureServer({ transport: 'streamable-modern', label });
    closers.push(() => server.close());
    await app.add(label, { base_url: server.url });
  }
  await app.api('PUT', '/api/v1/profiles/writing', { servers: ['notes'] });
  return situation;
}

/** As an MCP client does without dynamic registration: from the 401 to a token, with a client id of its configuration. */
async function authorize({ app }: Situation, { scope }: Recipe, login: string): Promise<string> {
  const refused = await fetch(`${app.url}/mcp`, { method: 'POST', body: '{}' });
  assert.equal(refused.status, 401);
  const [, metadataUrl = ''] = /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate') ?? '') ?? [];
  const resource = (await (await fetch(metadataUrl)).json()) as { authorization_servers: string[] };
  const [issuer = ''] = resource.authorization_servers;
  const metadata = (await (await fetch(`${issuer}/.well-known/openid-configuration`)).json()) as Record<string, string>;
  assert.equal(metadata.registration_endpoint, undefined, 'no client registers itself');

  const verifier = randomBytes(32).toString('base64url');
  const listener = createServer((_request, response) => void response.end('done')).listen(0, '127.0.0.1');
  closers.push(() => listener.close());
  await once(listener, 'listening');
  const address = listener.address();
  const redirect_uri = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/callback`;
  const parameters = {
    ...{ client_id: 'command-line', response_type: 'code', redirect_uri, scope, prompt: 'consent' },
    ...{ code_challenge: createHash('sha256').update(verifier).digest('base64url'), code_challenge_method: 'S256' },
  };
  const page = `${metadata.authorization_endpoint}?${new URLSearchParams(parameters)}`;
  const last = await openBrowser().logIn(page, { login, password: 'x' });
  const code = new URL(last.url).searchParams.get('code') ?? '';
  const given = { grant_type: 'authorization_code', code, redirect_uri, code_verifier: verifier };
  const answer = await fetch(metadata.token_endpoint ?? '', {
    method: 'POST',
    body: new URLSearchParams({ ...given, client_id: 'command-line' }),
  });
  const { access_token: token } = (await answer.json()) as { access_token?: string };
  assert.ok(token, `${answer.status} ${last.text}`);
  return token;
}

for (const recipe of recipes) {
  suite(`as with ${recipe.name}`, () => {
    test('USER-005: an MCP client with a configured client id comes in as the person of the dashboard', async () => {
      const situation = await start(recipe);
      const { app, provider, signIn } = situation;
      const ada = await signIn('ada');
      assert.equal(ada.body.role, 'caller');
      const token = await authorize(situation, recipe, 'ada');
      const session = await openSession(app, { token });
      const { tools } = (await session.request('tools/list', {})).body.result;
      const names = tools.map(({ name }: { name: string }) => name);
      assert.ok(names.includes('notes__whoami') && !names.includes('secret__whoami'), names.join());
      const { accounts } = (await app.api('GET', '/api/v1/accounts')).body;
      assert.deepEqual(
        accounts.map(({ role, profile }: { role: string; profile: string }) => [role, profile]),
        [['caller', 'writing']],
        'one person',
      );
      const own = await ada.newToken();
      assert.equal((await app.call('notes.whoami', {}, own)).status, 200);

      provider.disable('ada');
      const asksWith = (one: string) => app.api('GET', '/api/v1/aggregator/servers', undefined, { token: one });
      await until(async () => (await asksWith(own.token)).status === 401, 'the token of ada is refused');
      await until(async () => (await asksWith(token)).status === 401, 'the access token, too');
    });

    test('USER-005: a person without a role is refused everywhere', async () => {
      const situation = await start(recipe);
      const token = await authorize(situation, recipe, 'eve');
      const { status, body } = await situation.app.api('GET', '/api/v1/aggregator/servers', undefined, { token });
      assert.deepEqual([status, /assigns you no role/.test(body.detail)], [403, true], JSON.stringify(body));
      const page = await openBrowser().logIn(`${situation.app.url}/oauth/sign-in`, { login: 'eve', password: 'x' });
      assert.equal(page.status, 403);
    });

    test('the page shows the settings that are tried here', () => {
      const page = readFileSync(join(import.meta.dirname, '../../docs/identity-providers.md'), 'utf8');
      const section = page.split(/^## /m).find((one) => one.startsWith(recipe.name)) ?? '';
      for (const name of Object.keys(recipe.settings)) assert.ok(section.includes(name), `${recipe.name}: ${name}`);
    });
  });
}
