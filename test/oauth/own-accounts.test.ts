/** Servers where everybody has an account of their own. */
import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { open, openSession, readEvents } from '../mcp/clients.ts';
import { type Body, startApp, type TestApp } from '../support/app.ts';
import { until } from '../support/until.ts';
import { openBrowser } from './browser.ts';
import { startIdentityProvider } from './identity-provider.ts';
import { startProtectedServer } from './protected-server.ts';

const servers = '/api/v1/aggregator/servers';
const closers: (() => Promise<void>)[] = [];
after(async () => {
  for (const close of closers.reverse()) await close();
});

async function start() {
  const provider = await startIdentityProvider();
  closers.push(provider.close);
  const server = await startProtectedServer(provider);
  closers.push(server.close);
  const app = await startApp();
  closers.push(app.close);
  await app.register('notes', { base_url: server.url }, { options: { credentials: 'per_principal' } });
  await app.untilStatus('notes', 'ERROR');
  return { provider, server, app };
}

async function person(app: TestApp, name: string): Promise<{ id: string; token: string }> {
  const { body } = await app.api('POST', '/api/v1/tokens', { name, role: 'caller' });
  return { id: body.id, token: body.token };
}

async function logIn(app: TestApp, token: string, login: string): Promise<void> {
  const { body } = await app.api('POST', `${servers}/notes/login`, undefined, { token });
  const page = await openBrowser().logIn(body.login_url, { login, password: 'x' });
  assert.match(page.text, /You are logged in to/);
}

suite('accounts of their own', () => {
  test('a subscription uses the account of whoever subscribes, and tells nobody else', async () => {
    const { server, app } = await start();
    const ada = await person(app, 'ada');
    const bob = await person(app, 'bob');
    await logIn(app, ada.token, 'ada');
    await app.untilStatus('notes', 'CONNECTED');
    const path = '/mcp/servers/notes';
    const uri = 'notes://ada/diary';
    const subscribe = async ({ token }: { token: string }) => {
      const session = await openSession(app, { token, path });
      const heard: Body[] = [];
      const stream = await open(app, 'GET', undefined, { token, path, headers: session.headers });
      void (async () => {
        for await (const { data } of readEvents(stream)) if (data !== '') heard.push(JSON.parse(data));
      })().catch(() => undefined); // ends with the app
      const { body } = await session.request('resources/subscribe', { uri });
      return { body, heard };
    };
    const adas = await subscribe(ada);
    assert.deepEqual(adas.body.result, {});
    const bobs = await subscribe(bob);
    assert.match(bobs.body.error?.message ?? '', /Login required/);
    assert.deepEqual(server.subscriptions, [{ account: 'ada', uri }]);

    await logIn(app, bob.token, 'bob');
    const again = await subscribe(bob);
    assert.deepEqual(again.body.result, {});
    assert.deepEqual(server.subscriptions.at(-1), { account: 'bob', uri });
    server.subscriptions.pop();
    server.update(uri);
    await until(() => adas.heard.length > 0, 'ada hears of the change');
    assert.equal(adas.heard[0].method, 'notifications/resources/updated');
    assert.deepEqual([bobs.heard, again.heard], [[], []]);
  });

  test('a login ends with its principal, and an admin can list and end them', async () => {
    const { provider, server, app } = await start();
    const ada = await person(app, 'ada');
    const bob = await person(app, 'bob');
    await logIn(app, ada.token, 'ada');
    await app.untilStatus('notes', 'CONNECTED');
    await logIn(app, bob.token, 'bob');
    const list = async () => (await app.api('GET', '/api/v1/aggregator/logins')).body.logins;
    const active = (await list()).filter(({ state }: Body) => state === 'active');
    assert.deepEqual(
      active.map(({ server: name, principal, principal_name }: Body) => [name, principal, principal_name]).sort(),
      [
        ['notes', ada.id, 'ada'],
        ['notes', bob.id, 'bob'],
      ].sort(),
    );
    assert.equal((await app.api('GET', '/api/v1/aggregator/logins', undefined, { token: bob.token })).status, 403);

    await app.call('notes.whoami', {}, { token: ada.token });
    const adas = server.seen.at(-1)?.replace('Bearer ', '') ?? '';
    assert.equal(await provider.accountOf(adas, server.url), 'ada');
    await app.api('DELETE', `/api/v1/tokens/${ada.id}`);
    await until(async () => (await provider.accountOf(adas, server.url)) === undefined, 'the token is revoked');
    assert.ok((await list()).every(({ principal }: Body) => principal !== ada.id));

    const path = `${servers}/notes/logins/${bob.id}`;
    assert.equal((await app.api('DELETE', path)).status, 204);
    assert.equal((await app.api('DELETE', path)).status, 404);
    assert.equal((await app.call('notes.whoami', {}, { token: bob.token })).body.error_code, 'LOGIN_REQUIRED');
  });

  test("another page signs nobody in, and somebody's link makes nobody else of its reader unasked", async () => {
    const { app } = await start();
    const [ada, bob] = [await person(app, 'ada'), await person(app, 'bob')];
    const signIn = (origin: string) =>
      fetch(`${app.url}/oauth/sign-in`, {
        method: 'POST',
        redirect: 'manual',
        headers: { 'content-type': 'application/x-www-form-urlencoded', origin },
        body: new URLSearchParams({ next: 'notes', token: bob.token }).toString(),
      });
    const foreign = await signIn('http://127.0.0.1:1');
    assert.equal(foreign.status, 403);
    assert.deepEqual(foreign.headers.getSetCookie(), []);
    assert.equal((await signIn(app.url)).status, 303);

    const linkOf = async (token: string) =>
      (await app.api('POST', `${servers}/notes/login`, undefined, { token })).body.login_url;
    const browser = openBrowser();
    assert.match((await browser.open(await linkOf(ada.token))).text, /<dd>ada<\/dd>/);
    const asked = await browser.open(await linkOf(bob.token));
    assert.match(asked.text, /You are signed in as <b>ada<\/b>\. This link signs you in as <b>bob<\/b>/);
    assert.match((await browser.open(`${app.url}/oauth/connect/notes`)).text, /<dd>ada<\/dd>/);
    assert.match((await browser.submit(asked)).text, /<dd>bob<\/dd>/);
  });
});
