/** An identity provider in front of us: which tokens open the MCP endpoint and REST, and what the others are told. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { openSession } from '../mcp/clients.ts';
import { anotherAddress, behindProxy, startApp, type TestApp } from '../support/app.ts';
import { type IdentityProvider, startIdentityProvider } from './identity-provider.ts';

const machines = { worker: {}, boss: { groups: ['mcp-admins'] } };
const provide = (port?: number) =>
  startIdentityProvider({ port, machines, jwtFor: 'http://127.0.0.1', scopes: 'mcp:use mcp:more' });

let provider: IdentityProvider;
let stranger: IdentityProvider;
let app: TestApp;

before(async () => {
  provider = await provide();
  stranger = await provide();
  app = await startApp({
    ...behindProxy,
    MCP_AGGREGATOR_OIDC_ISSUER: provider.issuer,
    MCP_AGGREGATOR_OIDC_REQUIRED_SCOPES: 'mcp:use,mcp:more',
    MCP_AGGREGATOR_OIDC_ROLE_CLAIM: 'groups',
    MCP_AGGREGATOR_OIDC_ROLES: 'admin=mcp-admins,viewer=mcp-readers',
  });
});

after(async () => {
  await app.close();
  await provider.close();
  await stranger.close();
});

interface Face {
  name: string;
  /** The canonical URI of the endpoint. */
  resource: () => string;
  metadata: () => string;
  ask: (token: string | undefined) => Promise<Response>;
}

const faces: Face[] = [
  {
    name: '/mcp',
    resource: () => `${app.url}/mcp`,
    metadata: () => `${app.url}/.well-known/oauth-protected-resource/mcp`,
    ask: (token) =>
      fetch(`${app.url}/mcp`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...bearer(token) },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'initialize',
          params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
        }),
      }),
  },
  {
    name: 'REST',
    resource: () => app.url,
    metadata: () => `${app.url}/.well-known/oauth-protected-resource`,
    ask: (token) => fetch(`${app.url}/api/v1/aggregator/servers`, { headers: bearer(token) }),
  },
];

const bearer = (token: string | undefined): Record<string, string> =>
  token === undefined ? {} : { authorization: `Bearer ${token}`, ...anotherAddress() };

interface Case {
  name: string;
  token: (resource: string) => Promise<string | undefined> | string | undefined;
  status: number;
  challenge?: RegExp;
  says?: RegExp;
}

const scope = 'mcp:use mcp:more';
const invalid = /error="invalid_token"/;
const cases: Case[] = [
  { name: 'the right token', token: (resource) => provider.tokenFor('worker', resource), status: 200 },
  { name: 'our own token beside it', token: () => app.adminToken, status: 200 },
  { name: 'none', says: /a token is required/, token: () => undefined, status: 401, challenge: /^((?!error=).)*$/ },
  {
    name: 'another audience',
    says: /another audience/,
    token: () => provider.tokenFor('worker', 'http://127.0.0.1:1/mcp'),
    status: 401,
    challenge: invalid,
  },
  {
    name: 'no audience',
    says: /another audience/,
    token: () => provider.sign({ scope }),
    status: 401,
    challenge: invalid,
  },
  {
    name: 'another issuer',
    says: /another issuer/,
    token: (resource) => stranger.tokenFor('worker', resource),
    status: 401,
    challenge: invalid,
  },
  {
    name: "another issuer's key under our issuer's name",
    says: /signature/,
    token: (resource) => stranger.sign({ iss: provider.issuer, aud: resource, scope }),
    status: 401,
    challenge: invalid,
  },
  {
    name: 'expired',
    says: /expired/,
    token: (resource) => provider.sign({ aud: resource, scope, exp: Math.floor(Date.now() / 1_000) - 60 }),
    status: 401,
    challenge: invalid,
  },
  {
    name: 'not valid yet',
    says: /not valid yet/,
    token: (resource) => provider.sign({ aud: resource, scope, nbf: Math.floor(Date.now() / 1_000) + 600 }),
    status: 401,
    challenge: invalid,
  },
  {
    name: 'unsigned',
    says: /not a supported JWT/,
    token: (resource) => {
      const claims = provider.sign({ aud: resource, scope }).split('.')[1];
      return `${Buffer.from('{"alg":"none"}').toString('base64url')}.${claims}.AA`;
    },
    status: 401,
    challenge: invalid,
  },
  {
    name: 'a scope missing',
    says: /lacks the scope mcp:more/,
    token: (resource) => provider.tokenFor('worker', resource, 'mcp:use'),
    status: 403,
    challenge: /error="insufficient_scope".*scope="mcp:use mcp:more"/,
  },
];

suite('tokens of an identity provider', () => {
  for (const face of faces) {
    for (const { name, token, status, challenge, says = /./ } of cases) {
      test(`${face.name}: ${name} → ${status}`, async () => {
        const response = await face.ask(await token(face.resource()));
        const said = await response.text();
        const header = response.headers.get('www-authenticate') ?? '';
        assert.equal(response.status, status, said);
        assert.match(said, says);
        if (challenge === undefined) return;
        assert.match(header, challenge);
        assert.ok(header.includes(`resource_metadata="${face.metadata()}"`), header);
        assert.ok(header.includes(`scope="${scope}"`), header);
      });
    }

    test(`${face.name}: its metadata name the resource and the issuer`, async () => {
      const metadata = (await (await fetch(face.metadata())).json()) as Record<string, unknown>;
      assert.equal(metadata.resource, face.resource());
      assert.deepEqual(metadata.authorization_servers, [provider.issuer]);
      assert.deepEqual(metadata.scopes_supported, ['mcp:use', 'mcp:more']);
    });
  }

  test('a token for one endpoint does not open another', async () => {
    const token = await provider.tokenFor('worker', `${app.url}/mcp/servers/notes`);
    for (const face of faces) assert.equal((await face.ask(token)).status, 401);
  });

  test('the claim decides the role; without it nobody is an admin', async () => {
    const register = async (machine: string) => {
      const token = await provider.tokenFor(machine, app.url);
      return (await app.api('GET', '/api/v1/aggregator/audit', undefined, { token })).status;
    };
    assert.equal(await register('worker'), 403);
    assert.equal(await register('boss'), 200);
  });

  test('a role that changes, changes in a session that is open, too', async () => {
    const tokenOf = (groups: string[]) => provider.sign({ aud: app.url, sub: 'ada', scope, groups });
    const session = await openSession(app, { token: tokenOf([]) });
    const call = async (groups: string[]) => {
      const params = { name: 'search_tools', arguments: { query: 'anything' } };
      return (await session.request('tools/call', params, { token: tokenOf(groups) })).body;
    };
    assert.ok((await call([])).result);
    assert.equal((await call(['mcp-readers'])).error.data.error_code, 'FORBIDDEN');
    assert.ok((await call([])).result);
  });

  test('a rotated key: new tokens are accepted, those of the old key are not', async () => {
    const [, rest] = faces;
    assert.ok(rest);
    const old = () => provider.sign({ aud: app.url, scope });
    assert.equal((await rest.ask(old())).status, 200);
    const signedBefore = old();
    const { port } = provider;
    await provider.close();
    provider = await provide(port);
    const fresh = provider.sign({ aud: app.url, scope });
    // Unknown keys are looked up at most once a second.
    const deadline = Date.now() + 30_000;
    let { status } = await rest.ask(fresh);
    while (status !== 200 && Date.now() < deadline) ({ status } = await rest.ask(fresh));
    assert.equal(status, 200);
    assert.equal((await rest.ask(signedBefore)).status, 401);
  });
});
