/** People of an identity provider: tokens of their own, and the end of everything with their account. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, suite, test } from 'node:test';
import { openSession, open as openStream } from '../mcp/clients.ts';
import { startApp } from '../support/app.ts';
import { createTestDatabase } from '../support/databases.ts';
import { startFeatureServer } from '../support/servers/feature-server.ts';
import { until } from '../support/until.ts';
import { asked, environmentOf, open, type Situation, startSituation } from './people.ts';

const accounts = '/api/v1/accounts';
const soon = { MCP_AGGREGATOR_OIDC_CHECK_INTERVAL: '0.2' };
const closers: (() => Promise<void>)[] = [];
after(async () => {
  for (const close of closers.reverse()) await close();
});

async function start(...given: Parameters<typeof startSituation>): Promise<Situation> {
  const situation = await startSituation(...given);
  closers.push(situation.close);
  return situation;
}

suite('tokens of their own', () => {
  test('USER-001: people create, list and revoke theirs within their role, with an end; admins see all', async () => {
    const people = { ada: { roles: ['staff'] }, bob: { roles: ['staff'] } };
    const roles = { MCP_AGGREGATOR_OIDC_ROLES: 'caller=staff', MCP_AGGREGATOR_OWN_TOKEN_DAYS: '30' };
    const { app, signIn } = await start({ people }, roles);
    const [ada, bob] = [await signIn('ada'), await signIn('bob')];

    const created = await ada.ask('POST', '/api/v1/tokens', { name: 'cursor' });
    assert.equal(created.status, 201);
    const { token, id, role, expires_at, owner, own } = created.body;
    assert.deepEqual([role, owner.name, own], ['caller', 'ada', true]);
    const days = (Date.parse(expires_at) - Date.now()) / 86_400_000;
    assert.ok(days > 29.9 && days <= 30, `${days} days`);
    const who = await app.api('GET', '/api/v1/session', undefined, { token });
    assert.deepEqual([who.body.name, who.body.role], ['ada (cursor)', 'caller']);

    const tooMuch = await ada.ask('POST', '/api/v1/tokens', { name: 'x', role: 'admin' });
    assert.equal(tooMuch.status, 403);
    assert.match(tooMuch.body.detail, /your tokens cannot have the role admin/);
    const tooLong = await ada.ask('POST', '/api/v1/tokens', { name: 'x', expires_at: '2099-01-01T00:00:00Z' });
    assert.equal(tooLong.status, 422);
    assert.deepEqual(tooLong.body.detail[0].loc, ['body', 'expires_at']);
    const forOthers = await ada.ask('POST', '/api/v1/tokens', { name: 'x', own: false });
    assert.equal(forOthers.status, 403);

    const lists = async () => (await ada.ask('GET', '/api/v1/tokens')).body;
    assert.deepEqual(
      (await lists()).tokens.map((one: { id: string }) => one.id),
      [id],
    );
    assert.deepEqual((await lists()).creation, { allowed: true, reason: null, sign_in_url: null, max_days: 30 });
    assert.deepEqual((await bob.ask('GET', '/api/v1/tokens')).body.tokens, []);
    assert.equal((await bob.ask('DELETE', `/api/v1/tokens/${id}`)).status, 404);
    const all = (await app.api('GET', '/api/v1/tokens')).body.tokens;
    assert.deepEqual(
      all.map((one: { id: string; own: boolean }) => [one.id, one.own]),
      [[id, false]],
    );

    assert.equal((await ada.ask('DELETE', `/api/v1/tokens/${id}`)).status, 204);
    assert.equal((await asked(app, token)).status, 401);
    const audit = (await app.api('GET', '/api/v1/aggregator/audit?contains=token')).body.audit;
    assert.deepEqual(
      audit.map((one: { event: string; actor: string }) => [one.event, one.actor]),
      [
        ['token.revoked', 'ada'],
        ['token.created', 'ada'],
      ],
    );
    const byAdmin = await ada.newToken();
    assert.equal((await app.api('DELETE', `/api/v1/tokens/${byAdmin.id}`)).status, 204);
    assert.equal((await asked(app, byAdmin.token)).status, 401);
  });

  test('USER-002: a token for a client creates and shows no others, and ends with the token that created it', async () => {
    const { app, signIn } = await start();
    const given = await app.api('POST', '/api/v1/tokens', { name: 'carl', role: 'caller', servers: ['alpha'] });
    const as = { token: given.body.token };
    const client = await app.api('POST', '/api/v1/tokens', { name: 'cursor' }, as);
    assert.equal(client.status, 201);
    assert.deepEqual([client.body.servers, client.body.owner.id], [['alpha'], given.body.id]);
    const beyond = await app.api('POST', '/api/v1/tokens', { name: 'x', servers: ['beta'] }, as);
    assert.equal(beyond.status, 403);

    const ada = await signIn('ada');
    for (const { token, id } of [client.body, await ada.newToken()]) {
      const refused = await app.api('POST', '/api/v1/tokens', { name: 'x' }, { token });
      assert.equal(refused.status, 403, JSON.stringify(refused.body));
      const seen = await app.api('GET', '/api/v1/tokens', undefined, { token });
      assert.deepEqual(
        seen.body.tokens.map((one: { id: string }) => one.id),
        [id],
      );
      assert.equal(seen.body.creation.allowed, false);
    }
    await app.api('DELETE', `/api/v1/tokens/${given.body.id}`);
    assert.equal((await asked(app, client.body.token)).status, 401);
    assert.equal((await app.api('GET', '/api/v1/tokens')).body.total, 1, 'that of ada');
  });

  test('USER-001: whoever only shows access tokens of the provider is told to sign in first', async () => {
    const { app, provider } = await start();
    const token = provider.sign({ sub: 'ada', aud: app.url });
    const refused = await app.api('POST', '/api/v1/tokens', { name: 'x' }, { token });
    assert.equal(refused.status, 403);
    assert.equal(refused.body.error_code, 'SIGN_IN_REQUIRED');
    assert.equal(refused.body.context.sign_in_url, `${app.url}/oauth/sign-in?lasting=1`);
    const { creation } = (await app.api('GET', '/api/v1/tokens', undefined, { token })).body;
    assert.equal(creation.sign_in_url, refused.body.context.sign_in_url);
  });
});

suite('the end of an account', () => {
  test('USER-004: a disabled account loses its tokens, its session, its access tokens and its streams', async () => {
    const upstream = await startFeatureServer({ transport: 'streamable-modern', label: 'alpha' });
    closers.push(upstream.close);
    const { app, provider, signIn } = await start({}, soon);
    await app.add('alpha', { base_url: upstream.url });
    const [ada, bob] = [await signIn('ada'), await signIn('bob')];
    const [adas, bobs] = [await ada.newToken(), await bob.newToken()];
    const jwt = provider.sign({ sub: 'ada', aud: app.url });
    const mcp = await openSession(app, { token: adas.token });
    const stream = await openStream(app, 'GET', undefined, { token: adas.token, headers: mcp.headers });
    const events = await app.events(adas.token);
    assert.equal((await asked(app, jwt)).status, 200);
    assert.equal((await app.call('alpha.whoami', {}, { token: adas.token })).status, 200);

    provider.disable('ada');
    await until(async () => (await asked(app, adas.token)).status === 401, 'the token is refused');
    const { body } = await asked(app, adas.token);
    assert.match(body.detail, /must sign in again|ended your access/);
    assert.equal((await asked(app, jwt)).status, 401, 'issued before the end');
    assert.equal((await ada.ask('GET', '/api/v1/session')).status, 204, 'nobody');
    assert.equal((await app.call('alpha.whoami', {}, { token: adas.token })).status, 401);
    const list = await mcp.request('tools/list', {}).catch((error: unknown) => ({ body: { error: String(error) } }));
    assert.ok(list.body.error !== undefined, 'the session is closed');
    for await (const _rest of stream.body ?? []); // ends
    await app.call('alpha.whoami');
    await app.seen.waitFor('call.finished');
    assert.ok(!events.all.some(({ name, payload }) => name === 'call.finished' && payload.principal === 'admin'));

    assert.equal((await asked(app, bobs.token)).status, 200, 'others notice nothing');
    const known = (await app.api('GET', accounts)).body.accounts;
    assert.deepEqual(
      known.map((one: { name: string; state: string }) => [one.name, one.state]),
      [
        ['ada', 'ended'],
        ['bob', 'active'],
      ],
    );
    provider.enable('ada');
    assert.equal((await asked(app, adas.token)).status, 401, 'until she signs in');
    await signIn('ada');
    assert.equal((await asked(app, adas.token)).status, 200);
  });

  test('USER-004: whoever only listens is checked, too', async () => {
    const { app, provider, signIn } = await start({}, soon);
    const ada = await signIn('ada');
    const { token } = await ada.newToken();
    const stream = await fetch(`${app.url}/api/v1/aggregator/events`, {
      headers: { authorization: `Bearer ${token}` },
    });
    provider.disable('ada');
    for await (const _rest of stream.body ?? []); // ends without any request of hers
    const [account] = (await app.api('GET', accounts)).body.accounts;
    assert.equal(account.state, 'ended');
  });

  test('USER-005: a role that was taken away or given at the provider counts at once', async () => {
    const people: Record<string, Record<string, unknown>> = { ada: { roles: ['admins'] } };
    const { app, signIn } = await start(
      { people },
      { ...soon, MCP_AGGREGATOR_OIDC_ROLES: 'admin=admins,caller=staff' },
    );
    const ada = await signIn('ada');
    const { token } = await ada.newToken({ role: 'admin', own: true });
    const roleOf = async () => (await app.api('GET', '/api/v1/session', undefined, { token })).body?.role;
    assert.equal(await roleOf(), 'admin');
    people.ada = { roles: ['staff'] };
    await until(async () => (await roleOf()) === 'caller', 'the role follows');
    people.ada = { roles: ['admins'] };
    await until(async () => (await roleOf()) === 'admin', 'and back');
    people.ada = { roles: [] };
    await until(async () => (await asked(app, token)).status === 401, 'without a role there is no access');
  });

  test('USER-004: while the provider is away, what it said last holds, for a while', async () => {
    const { app, provider, signIn } = await start({}, soon);
    const { token } = await (await signIn('ada')).newToken();
    const strict = { ...soon, MCP_AGGREGATOR_OIDC_CHECK_GRACE: '0' };
    const other = await start({ port: 0 }, strict);
    const impatient = await (await other.signIn('ada')).newToken();
    provider.goAway();
    other.provider.goAway();
    await until(async () => (await asked(other.app, impatient.token)).status === 503);
    const { body } = await asked(other.app, impatient.token);
    assert.equal(body.error_code, 'IDENTITY_PROVIDER_UNAVAILABLE');
    assert.equal((await asked(app, token)).status, 200);
    other.provider.comeBack();
    await until(async () => (await asked(other.app, impatient.token)).status === 200);
  });

  test('USER-003: an admin ends a user: tokens are gone, and the access tokens of before are refused', async () => {
    const { app, provider, signIn } = await start();
    const ada = await signIn('ada');
    const { token } = await ada.newToken();
    const jwt = provider.sign({ sub: 'ada', aud: app.url });
    const [{ id, tokens }] = (await app.api('GET', accounts)).body.accounts;
    assert.equal(tokens, 1);
    assert.equal((await app.api('DELETE', `${accounts}/${id}`)).status, 204);
    assert.equal((await app.api('DELETE', `${accounts}/nobody`)).status, 404);
    assert.deepEqual([(await asked(app, token)).status, (await asked(app, jwt)).status], [401, 401]);
    assert.equal((await ada.ask('GET', '/api/v1/session')).status, 204);
    const again = await signIn('ada');
    assert.deepEqual((await again.ask('GET', '/api/v1/tokens')).body.tokens, []);
    const [{ event, details }] = (await app.api('GET', '/api/v1/aggregator/audit?event=account.ended')).body.audit;
    assert.deepEqual([event, details.name, details.tokens], ['account.ended', 'ada', 1]);
  });

  test('USER-004: access tokens of people who never signed in can be refused', async () => {
    const { app, provider, signIn } = await start({}, { ...soon, MCP_AGGREGATOR_OIDC_REQUIRE_SIGN_IN: 'true' });
    const jwt = provider.sign({ sub: 'ada', aud: app.url });
    const refused = await asked(app, jwt);
    assert.deepEqual([refused.status, refused.body.error_code], [403, 'SIGN_IN_REQUIRED']);
    await signIn('ada');
    assert.equal((await asked(app, jwt)).status, 200);
    provider.disable('ada');
    await until(async () => (await asked(app, jwt)).status === 401);
  });

  test('a restart keeps who is signed in, and a changed mapping counts', async () => {
    const database = await createTestDatabase();
    const given = { database, dataDir: database.dataDirectory };
    const people = { ada: { roles: ['staff'] } };
    const { app, provider, signIn } = await start({ people }, soon, given);
    const { token } = await (await signIn('ada')).newToken();
    await app.close();
    const stricter = environmentOf(provider, { ...soon, MCP_AGGREGATOR_OIDC_ROLES: 'viewer=staff' });
    const next = await startApp(stricter, given);
    const who = await next.api('GET', '/api/v1/session', undefined, { token });
    assert.equal(who.body.role, 'viewer');
    provider.disable('ada');
    await until(async () => (await asked(next, token)).status === 401);
    await next.close();
    await database.close();
  });

  test('USER-009: what accounts are checked with is sealed with the new key, and a backup brings people along', async () => {
    const database = await createTestDatabase();
    const given = { database, dataDir: database.dataDirectory };
    const key = () => randomBytes(32).toString('base64');
    const [old, fresh] = [key(), key()];
    const { app, provider, signIn } = await start({}, { ...soon, MCP_CREDENTIAL_KEY: old }, given);
    const { token } = await (await signIn('ada')).newToken();
    await app.close();

    const both = { ...soon, MCP_CREDENTIAL_KEY: fresh, MCP_CREDENTIAL_KEY_PREVIOUS: old };
    const during = await startApp(environmentOf(provider, both), given);
    await until(async () => (await during.api('POST', '/api/v1/aggregator/credentials/reseal')).body.left === 0);
    await during.close();
    const after = await startApp(environmentOf(provider, { ...soon, MCP_CREDENTIAL_KEY: fresh }), given);
    const refreshed = provider.grants.refresh_token ?? 0;
    assert.equal((await asked(after, token)).status, 200);
    await until(() => (provider.grants.refresh_token ?? 0) > refreshed, 'the provider is still asked');
    await after.close();
    // It asks the provider nothing, so that what is in the backup stays the newest.
    const idle = { MCP_AGGREGATOR_OIDC_CHECK_INTERVAL: '3600', MCP_CREDENTIAL_KEY: fresh };
    const exporting = await startApp(environmentOf(provider, idle), given);
    const { body: backup } = await exporting.api('GET', '/api/v1/aggregator/backup');
    assert.ok(!JSON.stringify(backup).includes('refresh_token'));
    await exporting.close();
    await database.close();

    const other = await startApp(environmentOf(provider, { ...soon, MCP_CREDENTIAL_KEY: fresh }));
    const imported = await other.api('POST', '/api/v1/aggregator/backup', backup);
    assert.deepEqual(imported.body.left_out, []);
    assert.equal((await asked(other, token)).status, 200);
    await other.close();
  });

  test('a provider that gives no refresh token signs people in, but not for tokens of their own', async () => {
    const { app, signIn } = await start({ lasting: false });
    const ada = await signIn('ada');
    assert.equal((await ada.ask('GET', '/api/v1/session')).body.name, 'ada');
    const refused = await ada.ask('POST', '/api/v1/tokens', { name: 'x' });
    assert.deepEqual([refused.status, refused.body.error_code], [403, 'SIGN_IN_REQUIRED']);
    const [{ state }] = (await app.api('GET', accounts)).body.accounts;
    assert.equal(state, 'unchecked');
  });
});

test('USER-005: a group decides the profile, and what it does not show cannot be called', async () => {
  const people = { ada: { groups: ['eng'] }, bob: { groups: ['sales'] }, eve: { groups: ['root'] } };
  const { app, signIn } = await start(
    { people },
    {
      MCP_AGGREGATOR_OIDC_ROLE_CLAIM: 'groups',
      MCP_AGGREGATOR_OIDC_ROLES: 'admin=root',
      MCP_AGGREGATOR_OIDC_PROFILES: 'engineering=eng,basics=*',
    },
  );
  for (const name of ['alpha', 'beta']) {
    const upstream = await startFeatureServer({ transport: 'streamable-modern', label: name });
    closers.push(upstream.close);
    await app.add(name, { base_url: upstream.url });
  }
  await app.api('PUT', '/api/v1/profiles/engineering', { servers: ['alpha'] });
  await app.api('PUT', '/api/v1/profiles/basics', { servers: ['beta'] });
  const expected = { ada: 'engineering', bob: 'basics', eve: null };
  for (const [login, profile] of Object.entries(expected)) {
    const person = await signIn(login);
    assert.equal(person.body.profile, profile, login);
    const { token } = await person.newToken({ own: true });
    const call = async (tool: string) => (await app.call(tool, {}, { token })).status;
    assert.equal(await call('alpha.whoami'), profile === 'basics' ? 404 : 200, login);
    assert.equal(await call('beta.whoami'), profile === 'engineering' ? 404 : 200, login);
    if (profile === null) continue;
    const other = await person.ask('POST', '/api/v1/tokens', { name: 'x', profile: 'other' });
    assert.equal(other.status, 403);
  }
  assert.equal((await open(app, 'ada')).status, 200);
});
