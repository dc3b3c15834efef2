/** Servers and authorization servers that mean harm. */
import assert from 'node:assert/strict';
import { generateKeyPairSync, sign } from 'node:crypto';
import { suite, type TestContext, test } from 'node:test';
import { startApp, type TestApp } from '../support/app.ts';
import { openBrowser } from './browser.ts';
import { goodToken, type Script, type ScriptedServer, startScriptedServer } from './scripted-server.ts';

const servers = '/api/v1/aggregator/servers';

async function start(t: TestContext, settings: Record<string, string> = {}): Promise<TestApp> {
  const app = await startApp(settings);
  t.after(app.close);
  return app;
}

async function scripted(t: TestContext, script?: Partial<Script>): Promise<ScriptedServer> {
  const server = await startScriptedServer(script);
  t.after(server.close);
  return server;
}

const machine = { grant: 'client_credentials', client_id: 'robot', client_secret: 'the-secret-of-the-robot' };

suite("a machine's credentials", () => {
  test('a token stays with the address that it was made for', async (t) => {
    const [honest, evil] = [await scripted(t), await scripted(t)];
    const app = await start(t);
    await app.add('notes', { base_url: honest.url, oauth: { ...machine, issuer: honest.origin } });
    assert.ok(honest.seen.includes(`Bearer ${goodToken}`));
    await app.api('PATCH', `${servers}/notes`, {
      connection_config: { base_url: evil.url, oauth: { ...machine, issuer: honest.origin } },
    });
    await app.untilStatus('notes', 'ERROR');
    assert.deepEqual(evil.seen, []);
    assert.deepEqual(evil.tokenRequests, []);
  });

  test('a configured secret goes to the issuer that an admin named, or to the server itself', async (t) => {
    const [evil, collector] = [await scripted(t), await scripted(t)];
    evil.says.issuer = collector.origin;
    const app = await start(t);
    await app.register('notes', { base_url: evil.url, oauth: machine });
    const { error_message } = await app.untilStatus('notes', 'ERROR');
    assert.match(error_message, /set oauth\.issuer/);
    assert.deepEqual(collector.tokenRequests, []);

    const plain = await scripted(t);
    await app.add('plain', { base_url: plain.url, oauth: machine });
    assert.equal(plain.tokenRequests.length, 1);
  });

  test('nor does it follow a server that names another issuer later', async (t) => {
    const [server, collector] = [await scripted(t), await scripted(t)];
    const app = await start(t);
    await app.add('notes', { base_url: server.url, oauth: machine });
    server.says.issuer = collector.origin;
    server.says.token = { access_token: 'another-token-that-works' };
    const { body } = await app.call('notes.hello');
    assert.match(JSON.stringify(body), /set oauth\.issuer/);
    assert.deepEqual(collector.tokenRequests, []);
  });
});

/** Our page, before anybody agreed to anything. */
async function openPage(app: TestApp, name = 'notes') {
  const browser = openBrowser();
  const { body } = await app.api('POST', `${servers}/${name}/login`);
  return { browser, page: await browser.open(body.login_url) };
}

/** Agrees, and stops where the browser would leave us: the address of the authorization server. */
async function agree(app: TestApp, name = 'notes') {
  const { browser, page } = await openPage(app, name);
  const left = await browser.submit(page);
  return { browser, left: new URL(left.url) };
}

suite('the page of an authorization server', () => {
  for (const page of [
    'ms-calculator:run',
    'file:///etc/passwd',
    'http://example.com/login',
    'https://google.com@evil.example/',
  ]) {
    test(`${page} is not opened`, async (t) => {
      const server = await scripted(t, { metadata: { authorization_endpoint: page } });
      const app = await start(t);
      await app.register('notes', { base_url: server.url });
      const { error_message } = await app.untilStatus('notes', 'ERROR');
      assert.match(error_message, /authorization_endpoint must be https, or loopback, without user info/);
    });
  }

  test('is shown before, and is no other afterwards', async (t) => {
    const [server, evil] = [await scripted(t), await scripted(t)];
    const app = await start(t);
    await app.register('notes', { base_url: server.url });
    await app.untilStatus('notes', 'ERROR');
    const { browser, page } = await openPage(app);
    assert.ok(page.text.includes(`<dd>${server.origin}/authorize</dd>`));
    server.says.issuer = evil.origin;
    await app.api('PATCH', `${servers}/notes`, { description: 'whatever makes us look again' });
    const next = await browser.submit(page);
    assert.equal(next.status, 409);
    assert.match(next.text, /open the link again/);
  });
});

suite('an answer of one authorization server', () => {
  test('is not taken for that of another, though it does not say whose it is', async (t) => {
    const [honest, evil] = [await scripted(t), await scripted(t)];
    const app = await start(t);
    for (const [name, { url }] of Object.entries({ honest, evil })) {
      await app.register(name, { base_url: url });
      await app.untilStatus(name, 'ERROR');
    }
    const { left: atHonest } = await agree(app, 'honest');
    const { browser, left } = await agree(app, 'evil');
    const [ours, theirs] = [atHonest, left].map(({ searchParams }) => searchParams.get('redirect_uri') ?? '');
    assert.notEqual(ours, theirs);
    assert.deepEqual(
      honest.registrations.flatMap(({ redirect_uris }) => redirect_uris),
      [ours],
    );
    // The honest server sends people only where its client registered: with the state of evil's login.
    const mixedUp = new URLSearchParams({ code: 'of-the-honest-one', state: left.searchParams.get('state') ?? '' });
    const back = await browser.open(`${ours}?${mixedUp}`);
    assert.equal(back.status, 403);
    assert.deepEqual(evil.tokenRequests, []);
  });
});

test('a token that lives longer than dates reach is taken for one that lives long', async (t) => {
  const server = await scripted(t, { token: { expires_in: 1e300, refresh_token: 'r' } });
  const app = await start(t);
  await app.register('notes', { base_url: server.url });
  await app.untilStatus('notes', 'ERROR');
  const { browser, left } = await agree(app);
  const query = new URLSearchParams({ code: 'x', state: left.searchParams.get('state') ?? '' });
  const back = await browser.open(`${left.searchParams.get('redirect_uri')}?${query}`);
  assert.equal(back.status, 200);
  assert.match(back.text, /You are logged in to/);
  await app.untilStatus('notes', 'CONNECTED');
});

test('keys that we cannot use do not keep out those who sign with another', async (t) => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const good = { ...publicKey.export({ format: 'jwk' }), kid: 'good' };
  const keys = [{ kty: 'EC', crv: 'brainpoolP256r1', x: 'AA', y: 'AA' }, { kty: 'RSA' }, 'x', { kid: 7 }, good];
  const provider = await scripted(t, { keys });
  const app = await start(t, { MCP_AGGREGATOR_OIDC_ISSUER: provider.origin, MCP_AGGREGATOR_OIDC_AUDIENCE: 'us' });
  const claims = { iss: provider.origin, sub: 'ada', aud: 'us', exp: Math.floor(Date.now() / 1_000) + 60 };
  const unsigned = [{ alg: 'ES256', kid: 'good' }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  const signature = sign('sha256', Buffer.from(unsigned), { key: privateKey, dsaEncoding: 'ieee-p1363' });
  const token = `${unsigned}.${signature.toString('base64url')}`;
  const { status, body } = await app.api('GET', servers, undefined, { token });
  assert.equal(status, 200, JSON.stringify(body));
});
