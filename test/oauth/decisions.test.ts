/** What is decided without a network: addresses, challenges, scopes, issuers, roles. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { suite, test } from 'node:test';
import { checkIssuer } from '../../src/oauth/authorization-request.ts';
import { parseChallenge, toChallenge } from '../../src/oauth/challenge.ts';
import { covers } from '../../src/oauth/discovery.ts';
import { checkAddress, createGuardedFetch, isPrivate, trustIn } from '../../src/oauth/guarded-fetch.ts';
import { roleOf } from '../../src/oauth/identity-claims.ts';
import { chooseScopes } from '../../src/oauth/refusals.ts';
import { authMethod } from '../../src/oauth/token-endpoint.ts';

const stranger = trustIn(['https://mcp.example.com/mcp']);
const neighbour = trustIn(['http://127.0.0.1:3000/mcp']);

suite('addresses that a server names', () => {
  for (const url of [
    'http://example.com/x',
    'ftp://example.com/x',
    'https://127.0.0.1/x',
    'https://localhost/x',
    'https://10.1.2.3/x',
    'https://169.254.169.254/latest/meta-data',
    'https://192.168.1.1/x',
    'https://[::1]/x',
    'https://[fd00::1]/x',
    'https://[::ffff:10.0.0.1]/x',
    'https://[fe80::1]/x',
    'https://user:pass@example.com/x',
    'nothing',
  ]) {
    test(`${url} is not asked`, () =>
      assert.throws(() => checkAddress(url, stranger), /^AppError: Request to .* blocked: /));
  }

  test('what an admin configured may be private; a server on this machine has its friends there', () => {
    assert.equal(checkAddress('https://example.com/x', stranger), 'strict');
    assert.equal(checkAddress('https://mcp.example.com/x', stranger), 'trusted');
    assert.equal(checkAddress('https://10.0.0.5/x', trustIn(['https://10.0.0.5/mcp'])), 'trusted');
    assert.equal(checkAddress('http://localhost:9000/x', neighbour), 'trusted');
    assert.throws(() => checkAddress('https://10.1.2.3/x', neighbour));
    assert.throws(() => checkAddress('http://example.com/x', neighbour));
  });

  test('a name that leads to a private address is not connected to', async () => {
    const fetch = createGuardedFetch();
    // `localhost.` with its dot is not among the names that we know, but it resolves to this machine.
    await assert.rejects(fetch('https://localhost./x', stranger), /private network|ENOTFOUND|EAI_AGAIN/);
    await fetch.close();
  });

  test('a redirect to a private address is not followed', async () => {
    const server = createServer((_request, response) => {
      response.writeHead(302, { location: 'https://169.254.169.254/latest/meta-data' }).end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const fetch = createGuardedFetch();
    await assert.rejects(fetch(`http://127.0.0.1:${port}/`, neighbour), /Request to 169\.254\.169\.254 blocked/);
    await fetch.close();
    server.closeAllConnections();
    server.close();
  });

  test('public addresses are public', () => {
    for (const address of ['8.8.8.8', '172.32.0.1', '2606:4700::1111']) assert.equal(isPrivate(address), false);
  });
});

suite('challenges', () => {
  test('are read with quotes, commas and other schemes around', () => {
    const header =
      'Basic realm="a, b", Bearer realm="x", error="insufficient_scope", scope="a b", resource_metadata="https://h/x?a=\\"1\\""';
    assert.deepEqual(parseChallenge(header), {
      error: 'insufficient_scope',
      scope: 'a b',
      resourceMetadata: 'https://h/x?a="1"',
    });
    assert.deepEqual(parseChallenge(undefined), {});
    assert.deepEqual(parseChallenge('Basic realm="x"'), {});
  });

  test('are written so that they are read back', () => {
    const written = toChallenge({ realm: 'a "b"', scope: 'x y', error: undefined });
    assert.equal(written, 'Bearer realm="a \\"b\\"", scope="x y"');
    assert.equal(parseChallenge(written).scope, 'x y');
  });
});

test('a resource covers itself and what is below it, on its own origin', () => {
  const server = 'https://h.example/mcp/a';
  for (const resource of [
    server,
    'https://h.example',
    'https://h.example/',
    'https://h.example/mcp',
    'https://h.example/mcp/',
  ]) {
    assert.ok(covers(resource, server), resource);
  }
  for (const resource of [
    'https://evil.example/mcp/a',
    'http://h.example/mcp/a',
    'https://h.example/mc',
    'https://h.example/mcp/a/b',
  ]) {
    assert.ok(!covers(resource, server), resource);
  }
});

test('scopes: the demanded ones, else those of the metadata, else none; with what was there before', () => {
  const issuer = { issuer: 'https://as' };
  const found = { resource: 'https://h', scopesSupported: ['a', 'b'], issuer };
  const choose = (more: Partial<Parameters<typeof chooseScopes>[0]>) =>
    chooseScopes({ oauth: {}, challenge: {}, before: [], found, ...more });
  assert.deepEqual(choose({ challenge: { scope: 'c' } }), ['c']);
  assert.deepEqual(choose({}), ['a', 'b']);
  assert.deepEqual(choose({ found: { ...found, scopesSupported: undefined } }), []);
  assert.deepEqual(choose({ before: ['a'], challenge: { scope: 'c' } }), ['a', 'c']);
  assert.deepEqual(choose({ oauth: { scopes: ['z'] }, challenge: { scope: 'c' } }), ['z']);
  const offline = { ...found, issuer: { ...issuer, scopes_supported: ['offline_access'] } };
  assert.deepEqual(choose({ found: offline }), ['a', 'b', 'offline_access']);
});

test('RFC 9207: the issuer of an answer is compared as text', () => {
  const silent = { issuer: 'https://as.example' };
  const promised = { ...silent, authorization_response_iss_parameter_supported: true };
  checkIssuer('https://as.example', promised);
  checkIssuer(null, silent);
  for (const [iss, issuer] of [
    [null, promised],
    ['https://as.example/', promised],
    ['https://AS.example', silent],
    ['https://evil.example', silent],
  ] as const) {
    assert.throws(() => checkIssuer(iss, issuer), /does not come from/);
  }
});

test('how we prove ourselves: what was agreed, if it is still supported', () => {
  const issuer = (...methods: string[]) => ({ issuer: 'https://as', token_endpoint_auth_methods_supported: methods });
  const client = { client_id: 'a', client_secret: 's' };
  assert.equal(authMethod({ client_id: 'a' }, issuer('client_secret_basic')), 'none');
  assert.equal(authMethod(client, issuer('none')), 'none');
  assert.equal(authMethod(client, issuer('client_secret_post', 'client_secret_basic')), 'client_secret_basic');
  const agreed = { ...client, token_endpoint_auth_method: 'client_secret_post' };
  assert.equal(authMethod(agreed, issuer('client_secret_post', 'client_secret_basic')), 'client_secret_post');
  assert.equal(authMethod(client, { issuer: 'https://as' }), 'client_secret_basic');
  assert.equal(authMethod({ client_id: 'a', private_key: 'k' }, issuer('none')), 'private_key_jwt');
});

test('roles come from the claim, nested or listed; the highest counts', () => {
  const claims = { iss: 'i', sub: 's', exp: 0, realm_access: { roles: ['audit', 'boss'] }, groups: 'users staff' };
  const mapping = (oidcRoleClaim: string, ...oidcRoles: string[]) => ({ oidcRoleClaim, oidcRoles });
  assert.equal(roleOf(claims, mapping('realm_access.roles', 'viewer=audit', 'admin=boss')), 'admin');
  assert.equal(roleOf(claims, mapping('realm_access.roles', 'viewer=audit')), 'viewer');
  assert.equal(roleOf(claims, mapping('groups', 'admin=staff')), 'admin');
  assert.equal(roleOf(claims, mapping('roles', 'admin=boss')), 'caller');
  assert.throws(() => roleOf(claims, mapping('roles', 'caller=users')), /no role/);
});
