/**
 * Who may do what: {admin, caller, viewer} × {unbound, for servers, for a profile, from an identity provider} × every
 * route of the OpenAPI document and every MCP method. A route or a method without a row fails.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, suite, test } from 'node:test';
import { openSession, open as openStream, postModern, readEvents } from '../mcp/clients.ts';
import { type IdentityProvider, startIdentityProvider } from '../oauth/identity-provider.ts';
import { type Answer, anotherAddress, type Body, behindProxy, startApp, type TestApp } from '../support/app.ts';
import { modernRequest } from '../support/modern-request.ts';
import type { Document } from '../support/openapi.ts';
import { startFeatureServer } from '../support/servers/feature-server.ts';
import type { RunningServer } from '../support/servers/http-wire.ts';

const roles = ['admin', 'caller', 'viewer'] as const;
const kinds = ['unbound', 'for servers', 'for a profile', 'from an identity provider'] as const;
type Role = (typeof roles)[number];
type Kind = (typeof kinds)[number];

interface Who {
  role: Role;
  kind: Kind;
  token: string;
  isBound: boolean;
}

interface Ask {
  path?: string;
  body?: unknown;
  /** 200 unless it says otherwise. */
  status?: number;
}

interface Row {
  role: Role | 'public';
  /** Refused to tokens that are limited to servers or a profile. */
  unbound?: true;
  /** What everybody of that role may ask. */
  own: Ask | ((who: Who) => Ask | Promise<Ask>);
  /** The same about something that the bound tokens were not given. */
  foreign?: Ask | (() => Ask | Promise<Ask>);
}

const api = '/api/v1/aggregator';
const servers = `${api}/servers`;
const bounds = { servers: ['alpha', 'spare'] };

let app: TestApp;
let provider: IdentityProvider;
let document: Document;
let principals: Who[] = [];
const running: RunningServer[] = [];
/** Of the server, the profile, the token and the call that are none of a bound token's business. */
const hidden: string[] = ['beta', 'foreign'];
let foreignCall: string;

const rank = { viewer: 0, caller: 1, admin: 2, public: -1 };
const isRefused = ({ role, unbound }: Row, who: Who) =>
  rank[who.role] < rank[role] || (unbound === true && who.isBound);

async function newToken(role: Role, more: object = {}): Promise<{ id: string; token: string }> {
  const { status, body } = await app.api('POST', '/api/v1/tokens', { name: `${role} of a test`, role, ...more });
  assert.equal(status, 201, JSON.stringify(body));
  return body;
}

const boundsOf = ({ kind }: Who) =>
  kind === 'for servers' ? bounds : kind === 'for a profile' ? { profile: 'own' } : {};

/** A server that somebody may remove. */
async function spare(): Promise<Ask> {
  await app.api('DELETE', `${servers}/spare`);
  await app.register('spare', { command: 'true' }, { auto_connect: false });
  return { path: `${servers}/spare`, status: 204 };
}

const onServer = (role: Role, rest: string, more: Partial<Ask> = {}): Row => ({
  role,
  own: { path: `${servers}/alpha${rest}`, ...more },
  foreign: { path: `${servers}/beta${rest}`, ...more, status: 404 },
});
/** A login that everybody shares is an admin's to make; the route is open to callers for their own logins. */
const sharedLogin = (status: number): Row => ({
  role: 'caller',
  own: ({ role }) => ({ path: `${servers}/alpha/login`, status: role === 'admin' ? status : 403 }),
  foreign: { path: `${servers}/beta/login`, status: 404 },
});
/** The server asks for no keys. */
const onKeys = (rest: string, more: Partial<Ask> = {}): Row => ({
  role: 'caller',
  own: { path: `/api/v1/keys/alpha${rest}`, status: 409, ...more },
  foreign: { path: `/api/v1/keys/beta${rest}`, ...more, status: 404 },
});
const open = (status: number, path?: string, body?: unknown): Row => ({ role: 'public', own: { status, path, body } });
const registration = { name: 'spare', transport_type: 'STDIO', connection_config: { command: 'true' } };
const question = { query: 'who are you? say beta', limit: 5 };

const program = { port: '1', state: 's'.repeat(16), challenge: 'c'.repeat(43), name: 'none' };

const table: Record<string, Row> = {
  'GET /.well-known/oauth-protected-resource': open(200),
  'GET /.well-known/oauth-protected-resource/mcp': open(200),
  'GET /.well-known/oauth-protected-resource/mcp/servers/{name}': open(
    200,
    '/.well-known/oauth-protected-resource/mcp/servers/alpha',
  ),
  'GET /.well-known/oauth-protected-resource/mcp/profiles/{name}': open(
    200,
    '/.well-known/oauth-protected-resource/mcp/profiles/own',
  ),
  'GET /.well-known/oauth-protected-resource/sse': open(200),
  'GET /.well-known/oauth-protected-resource/messages': open(200),

  // People of an identity provider who never signed in to the aggregator create none; see access-colleagues.test.ts.
  'POST /api/v1/tokens': {
    role: 'viewer',
    own: (who) => ({
      body: { name: 'n', role: who.role, ...boundsOf(who) },
      status: who.role !== 'admin' && who.kind === 'from an identity provider' ? 403 : 201,
    }),
    foreign: { body: { name: 'n', role: 'viewer', servers: ['beta'], profile: 'foreign' }, status: 403 },
  },
  'GET /api/v1/tokens': { role: 'viewer', own: {} },
  'DELETE /api/v1/tokens/{id}': {
    role: 'viewer',
    own: async (who) => {
      const path = `/api/v1/tokens/${(await newToken('viewer', boundsOf(who))).id}`;
      return { path, status: who.role === 'admin' ? 204 : 404 };
    },
    foreign: async () => ({
      path: `/api/v1/tokens/${(await newToken('viewer', { servers: ['beta'] })).id}`,
      status: 404,
    }),
  },
  'GET /api/v1/aggregator/audit': { role: 'admin', own: { path: `${api}/audit?limit=1000` } },
  'GET /api/v1/aggregator/audit/verify': { role: 'admin', unbound: true, own: {} },
  'GET /api/v1/aggregator/audit/export': { role: 'admin', unbound: true, own: {} },
  'POST /api/v1/aggregator/identity': open(200, undefined, { nonce: 'n'.repeat(32) }),
  'GET /api/v1/accounts': { role: 'admin', unbound: true, own: {} },
  'DELETE /api/v1/accounts/{id}': { role: 'admin', unbound: true, own: { path: '/api/v1/accounts/none', status: 404 } },
  'GET /api/v1/keys': { role: 'viewer', own: {} },
  'POST /api/v1/keys/{server}/link': onKeys('/link'),
  'PUT /api/v1/keys/{server}/{name}': onKeys('/KEY', { body: { value: 'x' } }),
  'DELETE /api/v1/keys/{server}/{name}': onKeys('/KEY', { status: 404 }),
  'POST /api/v1/session/program': open(401, undefined, { code: 'none', verifier: 'v'.repeat(43) }),
  'POST /api/v1/session/device': open(404, undefined, { name: 'none' }),
  'POST /api/v1/session/device/token': open(404, undefined, { device_code: 'none' }),
  'GET /api/v1/session': open(200),
  'POST /api/v1/session': open(401, undefined, { code: 'none' }),
  'DELETE /api/v1/session': open(204),
  'GET /api/v1/session/ways': open(200),
  'POST /api/v1/session/links': { role: 'viewer', own: { status: 201 } },

  'POST /api/v1/aggregator/servers/{id}/login': sharedLogin(200),
  'GET /api/v1/aggregator/servers/{id}/login': onServer('viewer', '/login'),
  'DELETE /api/v1/aggregator/servers/{id}/login': sharedLogin(404),
  'GET /api/v1/aggregator/logins': { role: 'admin', own: {} },
  'DELETE /api/v1/aggregator/servers/{id}/logins/{principal}': onServer('admin', '/logins/nobody', { status: 404 }),
  'POST /api/v1/aggregator/servers': { role: 'admin', unbound: true, own: { body: registration, status: 409 } },
  'GET /api/v1/aggregator/servers': { role: 'viewer', own: { path: `${servers}?include_tools=true` } },
  'GET /api/v1/aggregator/servers/{id}': onServer('viewer', ''),
  'PATCH /api/v1/aggregator/servers/{id}': onServer('admin', '', { body: { description: 'changed' } }),
  'DELETE /api/v1/aggregator/servers/{id}': {
    role: 'admin',
    own: spare,
    foreign: { path: `${servers}/beta`, status: 404 },
  },
  'POST /api/v1/aggregator/servers/{id}/connect': onServer('admin', '/connect'),
  'POST /api/v1/aggregator/servers/{id}/disconnect': {
    role: 'admin',
    own: async () => ({ path: `${(await spare()).path}/disconnect` }),
    foreign: { path: `${servers}/beta/disconnect`, status: 404 },
  },
  'GET /api/v1/aggregator/servers/{id}/tools': onServer('viewer', '/tools'),
  'PATCH /api/v1/aggregator/servers/{id}/tools/{tool}': onServer('admin', '/tools/whoami', {
    body: { enabled: true },
  }),
  'POST /api/v1/aggregator/servers/{id}/tools/refresh': onServer('admin', '/tools/refresh', { status: 202 }),
  'GET /api/v1/aggregator/servers/{id}/output': onServer('viewer', '/output'),
  'GET /api/v1/aggregator/servers/{id}/processes': onServer('viewer', '/processes'),
  'GET /api/v1/aggregator/servers/{id}/history': onServer('viewer', '/history'),
  'POST /api/v1/aggregator/servers/import': {
    role: 'admin',
    unbound: true,
    own: { path: `${servers}/import?dry_run=true`, body: { mcpServers: {} } },
  },
  'GET /api/v1/aggregator/servers/import/found': { role: 'admin', unbound: true, own: {} },
  'POST /api/v1/aggregator/servers/import/found': {
    role: 'admin',
    unbound: true,
    own: { body: { path: '/nowhere' }, status: 404 },
  },
  'GET /api/v1/aggregator/servers/{id}/changes': onServer('viewer', '/changes'),
  'POST /api/v1/aggregator/servers/{id}/changes/{change_id}/approve': onServer('admin', '/changes/1/approve', {
    status: 404,
  }),
  'POST /api/v1/aggregator/servers/{id}/changes/{change_id}/reject': onServer('admin', '/changes/1/reject', {
    status: 404,
  }),

  'GET /oauth/client.json': open(200),
  'GET /oauth/connect/{server}': {
    role: 'public',
    own: (who) => ({ path: '/oauth/connect/alpha', status: who.role === 'admin' ? 409 : 403 }),
    foreign: { path: '/oauth/connect/beta', status: 404 },
  },
  'POST /oauth/connect/{server}': open(401, '/oauth/connect/alpha'),
  'GET /keys/{server}': {
    role: 'public',
    own: (who) => ({ path: '/keys/alpha', status: who.role === 'viewer' ? 403 : 409 }),
    foreign: { path: '/keys/beta', status: 404 },
  },
  'POST /keys/{server}': open(401, '/keys/alpha'),
  'POST /oauth/sign-in': open(401),
  'GET /oauth/sign-in': open(404),
  'GET /oauth/sign-in/callback': open(404),
  'GET /oauth/program': open(404, `/oauth/program?${new URLSearchParams(program)}`),
  'GET /oauth/program/confirm': open(403, '/oauth/program/confirm?request=none'),
  'POST /oauth/program/confirm': open(403, '/oauth/program/confirm?request=none'),
  'GET /oauth/callback': open(403),
  'GET /oauth/callback/{issuer}': open(403, '/oauth/callback/0123456789abcdef01234567'),
  'GET /oauth/client/{issuer}': open(200, '/oauth/client/0123456789abcdef01234567'),

  'POST /api/v1/tools/call': {
    role: 'caller',
    own: { body: { name: 'alpha.whoami' } },
    foreign: { body: { name: 'beta.whoami' }, status: 404 },
  },
  'POST /api/v1/query': {
    role: 'caller',
    own: { body: question },
    foreign: { body: { ...question, servers: ['beta'] }, status: 422 },
  },
  'GET /api/v1/aggregator/servers/{id}/query-strategy': onServer('viewer', '/query-strategy'),
  'GET /api/v1/query/rules': { role: 'viewer', own: {} },
  'PUT /api/v1/query/rules': {
    role: 'admin',
    unbound: true,
    own: { body: { serverRules: [{ pattern: 'who are you', servers: ['beta'] }] } },
  },
  'POST /api/v1/search': { role: 'viewer', own: { body: { query: 'who am I', tool_threshold: 0, limit: 100 } } },
  'GET /api/v1/search/quality': { role: 'viewer', own: {} },
  'GET /api/v1/skills': { role: 'viewer', own: {} },
  'GET /api/v1/skills/{id}': { role: 'viewer', own: { path: '/api/v1/skills/astronomy' } },
  'PUT /api/v1/skills/{id}': {
    role: 'admin',
    unbound: true,
    own: { path: '/api/v1/skills/astronomy', body: { name: 'Astronomy', description: 'Stars' } },
  },
  'DELETE /api/v1/skills/{id}': { role: 'admin', unbound: true, own: { path: '/api/v1/skills/nothing', status: 404 } },
  'GET /api/v1/aggregator/state': { role: 'viewer', own: {} },
  'GET /api/v1/aggregator/health': open(200),
  'GET /livez': open(200),
  'GET /readyz': open(200),
  'GET /api/v1/aggregator/events': { role: 'viewer', own: {} },
  'GET /api/v1/aggregator/activity': { role: 'viewer', own: {} },
  'GET /api/v1/aggregator/activity/calls/{call_id}': {
    role: 'admin',
    own: async () => ({ path: `${api}/activity/calls/${await lastCall('alpha')}` }),
    foreign: () => ({ path: `${api}/activity/calls/${foreignCall}`, status: 404 }),
  },
  'GET /api/v1/aggregator/calls': { role: 'viewer', own: {} },
  'DELETE /api/v1/aggregator/calls/{call_id}': {
    role: 'caller',
    own: { path: `${api}/calls/none`, status: 404 },
  },
  'GET /api/v1/aggregator/stats': { role: 'viewer', own: { path: `${api}/stats?by=tool` } },
  'GET /api/v1/aggregator/attention': { role: 'viewer', own: {} },
  'GET /api/v1/aggregator/tools': { role: 'viewer', own: {} },
  'GET /metrics': { role: 'viewer', own: {} },
  'GET /api/v1/profiles': { role: 'viewer', own: {} },
  'GET /api/v1/profiles/{name}': {
    role: 'viewer',
    own: { path: '/api/v1/profiles/own' },
    foreign: { path: '/api/v1/profiles/foreign', status: 404 },
  },
  'POST /api/v1/profiles/preview': { role: 'viewer', unbound: true, own: { body: {} } },
  'PUT /api/v1/profiles/{name}': {
    role: 'admin',
    unbound: true,
    own: { path: '/api/v1/profiles/own', body: bounds },
  },
  'DELETE /api/v1/profiles/{name}': {
    role: 'admin',
    unbound: true,
    own: { path: '/api/v1/profiles/none', status: 404 },
  },
  'GET /api/v1/aggregator/backup': { role: 'admin', unbound: true, own: {} },
  'POST /api/v1/aggregator/backup': { role: 'admin', unbound: true, own: { body: {}, status: 422 } },
  'POST /api/v1/aggregator/credentials/reseal': { role: 'admin', unbound: true, own: {} },
};

interface MethodRow {
  era: 'legacy' | 'modern';
  role: 'caller' | 'viewer';
  own: () => Record<string, unknown>;
  foreign?: () => Record<string, unknown>;
  /** Refused to everybody for another reason; what is looked at is who gets that far. */
  fails?: RegExp;
}

let foreignUri: string;
const nothing = () => ({});
const list: MethodRow = { era: 'modern', role: 'viewer', own: nothing };
const unknownTask: MethodRow = { era: 'modern', role: 'caller', own: () => ({ taskId: 'x' }), fails: /extension/ };
const ofPrompt = (server: string) => ({
  ref: { type: 'ref/prompt', name: `${server}.greeting` },
  argument: { name: 'tone', value: '' },
});

const withoutSkills: MethodRow = {
  era: 'modern',
  role: 'caller',
  own: () => ({ uri: foreignUri.replace('beta', 'alpha') }),
  foreign: () => ({ uri: foreignUri }),
  fails: /Method not found/,
};

const methods: Record<string, MethodRow> = {
  initialize: {
    era: 'legacy',
    role: 'viewer',
    own: () => ({ protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } }),
  },
  ping: { era: 'legacy', role: 'viewer', own: nothing },
  'logging/setLevel': { era: 'legacy', role: 'viewer', own: () => ({ level: 'info' }) },
  'resources/subscribe': {
    era: 'legacy',
    role: 'caller',
    own: () => ({ uri: foreignUri.replace('beta', 'alpha') }),
    foreign: () => ({ uri: foreignUri }),
  },
  'resources/unsubscribe': { era: 'legacy', role: 'viewer', own: () => ({ uri: 'x' }) },
  'server/discover': list,
  // What cannot be had is left out of the acknowledgement, see below.
  'subscriptions/listen': list,
  'tools/list': list,
  'prompts/list': list,
  'resources/list': list,
  'resources/templates/list': list,
  'tools/call': {
    era: 'modern',
    role: 'caller',
    own: () => ({ name: 'alpha.whoami', arguments: {} }),
    foreign: () => ({ name: 'beta.whoami', arguments: {} }),
  },
  'prompts/get': {
    era: 'modern',
    role: 'caller',
    own: () => ({ name: 'alpha.greeting', arguments: { name: 'x' } }),
    foreign: () => ({ name: 'beta.greeting', arguments: { name: 'x' } }),
  },
  'resources/read': {
    era: 'modern',
    role: 'caller',
    own: () => ({ uri: foreignUri.replace('beta', 'alpha') }),
    foreign: () => ({ uri: foreignUri }),
  },
  'skills/list': list,
  // The servers of this test have no skills: who may ask gets their answer.
  'skills/get': withoutSkills,
  'resources/directory/read': withoutSkills,
  'completion/complete': {
    era: 'modern',
    role: 'caller',
    own: () => ofPrompt('alpha'),
    foreign: () => ofPrompt('beta'),
  },
  'tasks/get': unknownTask,
  'tasks/update': unknownTask,
  'tasks/cancel': unknownTask,
  'tasks/list': { ...unknownTask, era: 'legacy', role: 'viewer', fails: /Method not found/ },
  'tasks/result': { ...unknownTask, era: 'legacy', role: 'viewer', fails: /Method not found/ },
};

suite('access matrix', () => {
  before(async () => {
    const machines = Object.fromEntries(roles.map((role) => [role, { groups: [role] }]));
    provider = await startIdentityProvider({ machines, jwtFor: 'http://127.0.0.1', scopes: 'mcp:use' });
    app = await startApp({
      ...behindProxy,
      MCP_AGGREGATOR_OIDC_ISSUER: provider.issuer,
      MCP_AGGREGATOR_OIDC_ROLE_CLAIM: 'groups',
      MCP_AGGREGATOR_OIDC_ROLES: roles.map((role) => `${role}=${role}`).join(','),
      MCP_AGGREGATOR_SHOW_PAYLOADS: 'true',
      MCP_AGGREGATOR_METRICS_TOOL_LABELS: 'true',
      HOME: '/nonexistent',
    });
    document = (await app.api('GET', '/openapi.json')).body;
    for (const name of ['alpha', 'beta']) {
      const upstream = await startFeatureServer({ transport: 'streamable-modern', label: name });
      running.push(upstream);
      const id = await app.add(name, { base_url: upstream.url });
      if (name === 'beta') hidden.push(id);
    }
    await app.register('spare', { command: 'true' }, { auto_connect: false });
    await app.api('PUT', '/api/v1/profiles/own', bounds);
    await app.api('PUT', '/api/v1/profiles/foreign', { servers: ['beta'] });
    await app.api('PUT', '/api/v1/skills/astronomy', { name: 'Astronomy', description: 'Stars' });
    await app.api('PUT', '/api/v1/query/rules', { serverRules: [{ pattern: 'who are you', servers: ['beta'] }] });
    hidden.push((await newToken('caller', { servers: ['beta'] })).id);
    await app.call('beta.whoami');
    foreignCall = await lastCall('beta');
    hidden.push(foreignCall);
    const { body } = await postModern(app, 'resources/list');
    foreignUri = body.result.resources.map(({ uri }: { uri: string }) => uri).find((uri: string) => /beta/.test(uri));
    principals = await Promise.all(roles.flatMap((role) => kinds.map((kind) => principalOf(role, kind))));
  });
  after(async () => {
    await app.close();
    await provider.close();
    for (const upstream of running) await upstream.close();
  });

  test('every route has a row, with the role and the limits that the document tells', () => {
    const described = Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.entries(operations as Record<string, Body>).map(([method, operation]) => ({
        key: `${method.toUpperCase()} ${path}`,
        role: operation['x-role'] ?? 'public',
        unbound: operation['x-unbound'] === true,
      })),
    );
    assert.deepEqual(described.map(({ key }) => key).toSorted(), Object.keys(table).toSorted());
    for (const { key, role, unbound } of described) {
      assert.equal(role, table[key]?.role, key);
      assert.equal(unbound, table[key]?.unbound === true, key);
    }
  });

  test('every MCP method has a row', () => {
    const named = ['methods', 'legacy', 'modern'].flatMap((file) => {
      const source = readFileSync(new URL(`../../src/mcp/${file}.ts`, import.meta.url), 'utf8');
      return [...source.matchAll(/'([a-z]+(?:\/[a-zA-Z]+)+|initialize|ping)'/g)].map(([, name = '']) => name);
    });
    const ofClients = /^(notifications|ref|sampling|elicitation|roots)\/|^(text|application)\//;
    const known = new Set(named.filter((name) => !ofClients.test(name)));
    assert.deepEqual([...known].toSorted(), Object.keys(methods).toSorted());
  });

  for (const [key, row] of Object.entries(table)) {
    test(key, async () => {
      for (const who of principals) {
        const label = `${who.role} ${who.kind}`;
        const own = typeof row.own === 'function' ? await row.own(who) : row.own;
        const answer = await ask(key, own, who);
        const expected = isRefused(row, who) ? 403 : (own.status ?? 200);
        assert.equal(answer.status, expected, `${label}: ${JSON.stringify(answer.body)}`);
        if (who.isBound && row.role !== 'public') assertNothingHidden(answer, label);
        if (!who.isBound || row.foreign === undefined) continue;
        const foreign = typeof row.foreign === 'function' ? await row.foreign() : row.foreign;
        const refused = await ask(key, foreign, who);
        const wanted = isRefused(row, who) ? 403 : foreign.status;
        assert.equal(refused.status, wanted, `${label}, beyond its limits: ${JSON.stringify(refused.body)}`);
      }
    });
  }

  for (const [method, row] of Object.entries(methods)) {
    test(`MCP ${method}`, async () => {
      for (const who of principals) {
        const label = `${who.role} ${who.kind}`;
        const message = await request(method, row, row.own(), who);
        const text = JSON.stringify(message);
        if (rank[who.role] < rank[row.role])
          assert.match(message.error?.message ?? '', /requires the role caller/, label);
        else if (row.fails !== undefined) assert.match(message.error?.message ?? '', row.fails, label);
        else assert.ok(message.result !== undefined, `${label}: ${text}`);
        if (who.isBound) assertNothingHidden({ body: message } as Answer, label);
        if (!who.isBound || row.foreign === undefined) continue;
        const refused = await request(method, row, row.foreign(), who);
        assert.ok(refused.error !== undefined, `${label}, beyond its limits: ${JSON.stringify(refused)}`);
      }
    });
  }

  test('the endpoint of another server or profile is closed to bound tokens', async () => {
    for (const who of principals.filter(({ isBound }) => isBound)) {
      const { token } = who;
      const other = await postModern(app, 'tools/list', {}, { token, path: '/mcp/servers/beta' });
      assert.ok(other.body.error !== undefined, JSON.stringify(other.body));
      const profile = await postModern(app, 'tools/list', {}, { token, path: '/mcp/profiles/foreign' });
      const tools = profile.body.result?.tools ?? [];
      assert.deepEqual(
        tools.filter(({ name }: { name: string }) => name.includes('beta')),
        [],
      );
    }
  });

  test('a bound admin cannot make its server another one', async () => {
    for (const who of principals.filter(({ isBound, role }) => isBound && role === 'admin')) {
      for (const body of [
        { transport_type: 'STDIO', connection_config: { command: 'id' } },
        { connection_config: { base_url: 'https://elsewhere.example', headers: { 'x-key': '${MCP_CREDENTIAL_KEY}' } } },
        { health_check_url: 'http://127.0.0.1:1/' },
      ]) {
        const { status, body: answer } = await app.api('PATCH', `${servers}/alpha`, body, { token: who.token });
        assert.equal(status, 403, JSON.stringify(answer));
        assert.match(
          answer.detail,
          /^Changing \w+ requires a token without limits; .* is limited to the (servers|profile)/,
        );
      }
    }
  });

  test('a bound admin creates no token beyond its limits', async () => {
    for (const who of principals.filter(({ isBound, role }) => isBound && role === 'admin')) {
      for (const more of [{}, { servers: ['beta'] }, { servers: ['alpha', 'beta'] }, { profile: 'foreign' }]) {
        const body = { name: 'n', role: 'viewer', ...more };
        const { status, body: answer } = await app.api('POST', '/api/v1/tokens', body, { token: who.token });
        assert.equal(status, 403, JSON.stringify([more, answer]));
      }
    }
  });

  test('bound tokens hear of their servers only', async () => {
    const bound = principals.filter(({ isBound }) => isBound);
    const streams = await Promise.all(bound.map(({ token }) => app.events(token)));
    const everything = await app.events();
    await app.api('POST', `${servers}/beta/tools/refresh`);
    await app.api('POST', `${servers}/beta/disconnect`, { force: true });
    await app.api('POST', `${servers}/beta/connect`);
    await everything.waitFor('catalog.changed');
    await app.call('alpha.whoami');
    for (const stream of streams) {
      await stream.waitFor('call.finished', (event) => event.server === 'alpha');
      for (const name of hidden) assert.ok(!JSON.stringify(stream.all).includes(name), JSON.stringify(stream.all));
    }
  });
});

async function principalOf(role: Role, kind: Kind): Promise<Who> {
  const isBound = kind === 'for servers' || kind === 'for a profile';
  const who = { role, kind, isBound, token: '' };
  const token =
    kind === 'from an identity provider'
      ? await provider.tokenFor(role, app.url)
      : (await newToken(role, boundsOf(who))).token;
  return { ...who, token };
}

async function lastCall(server: string): Promise<string> {
  await app.call(`${server}.whoami`);
  const { body } = await app.api('GET', `${api}/activity`);
  return body.recent_calls.find((call: { server: string }) => call.server === server).call_id;
}

/** Whatever the type of its body: some answers are pages, text or streams. */
async function ask(key: string, { path, body }: Ask, { token }: Who): Promise<Answer> {
  const [method = '', template = ''] = key.split(' ');
  const ended = new AbortController();
  const response = await fetch(`${app.url}${path ?? template}`, {
    method,
    redirect: 'manual',
    signal: ended.signal,
    headers: {
      authorization: `Bearer ${token}`,
      ...anotherAddress(),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    body: body === undefined ? null : JSON.stringify(body),
  });
  const { status, headers } = response;
  const isStream = headers.get('content-type')?.startsWith('text/event-stream') === true;
  const text = isStream ? '' : await response.text();
  ended.abort();
  return { status, headers, body: text };
}

async function request(
  method: string,
  { era }: MethodRow,
  params: Record<string, unknown>,
  { token }: Who,
): Promise<Body> {
  if (method === 'subscriptions/listen') return await firstOfStream(token);
  if (era === 'modern') {
    const answer = await postModern(app, method, params, { token, headers: anotherAddress() });
    return answer.body ?? answer.events.at(-1);
  }
  const session = await openSession(app, { token });
  const answer = await session.request(method, params);
  await fetch(`${app.url}/mcp`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${token}`, ...session.headers },
  });
  return answer.body ?? answer.events.at(-1);
}

/** What a subscription to resources of both servers acknowledges. */
async function firstOfStream(token: string): Promise<Body> {
  const resourceSubscriptions = [foreignUri, foreignUri.replace('beta', 'alpha')];
  const { message, headers } = modernRequest('subscriptions/listen', { notifications: { resourceSubscriptions } });
  const ended = new AbortController();
  const response = await openStream(app, 'POST', message, { token, headers, signal: ended.signal });
  const { value } = await readEvents(response).next();
  ended.abort();
  return { result: JSON.parse(value?.data ?? '{}') };
}

function assertNothingHidden({ body }: Pick<Answer, 'body'>, label: string): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  for (const name of hidden) {
    const at = text.indexOf(name);
    assert.equal(at, -1, `${label} is shown ${name}: …${text.slice(Math.max(0, at - 200), at + 200)}…`);
  }
}
