/** Servers that demand a login, with a real authorization server and a browser. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, suite, test } from 'node:test';
import { createMcpCaller } from '../conformance/client-caller.ts';
import { startApp, type TestApp } from '../support/app.ts';
import { createTestDatabase } from '../support/databases.ts';
import { openBrowser } from './browser.ts';
import { type IdentityProvider, startIdentityProvider } from './identity-provider.ts';
import { type ProtectedServer, startProtectedServer } from './protected-server.ts';
import { logInWithRealBrowser } from './real-browser.ts';

const servers = '/api/v1/aggregator/servers';
const closers: (() => Promise<void>)[] = [];
after(async () => {
  for (const close of closers.reverse()) await close();
});

async function start(options: { accessTokenSeconds?: number } = {}): Promise<[IdentityProvider, ProtectedServer]> {
  const provider = await startIdentityProvider(options);
  closers.push(provider.close);
  const server = await startProtectedServer(provider);
  closers.push(server.close);
  return [provider, server];
}

async function startOwn(...given: Parameters<typeof startApp>): Promise<TestApp> {
  const app = await startApp(...given);
  closers.push(app.close);
  return app;
}

async function loginLink(app: TestApp, token?: string): Promise<string> {
  const { body } = await app.api('POST', `${servers}/notes/login`, undefined, { token: token ?? app.adminToken });
  return body.login_url;
}

async function newToken(app: TestApp, name: string): Promise<string> {
  return (await app.api('POST', '/api/v1/tokens', { name, role: 'caller' })).body.token;
}

suite('logging in to servers', () => {
  test('register, log in, call, refresh, revoke, log in again', { timeout: 120_000 }, async () => {
    const [provider, server] = await start({ accessTokenSeconds: 3 });
    const app = await startOwn();
    await app.register('notes', { base_url: server.url });

    const waiting = await app.untilStatus('notes', 'ERROR');
    assert.equal(waiting.login, 'required');
    assert.match(waiting.error_message, /login required/);
    const { body: list } = await app.api('GET', servers);
    assert.equal(list.servers[0].login, 'required');

    const from = app.seen.all.length;
    const done = await logInWithRealBrowser(await loginLink(app), 'ada');
    assert.match(done, /You are logged in to .*notes/);
    await app.seen.waitFor('server.discovered', () => true, from);
    assert.equal((await app.untilStatus('notes', 'CONNECTED')).login, null);
    const call = async () => (await app.call('notes.whoami')).body;
    assert.equal((await call()).content[0].text, 'ada');

    // The token lives three seconds; nobody notices that it ends.
    while ((provider.grants.refresh_token ?? 0) < 2) assert.equal((await call()).content[0].text, 'ada');

    await provider.revokeEverything();
    const refused = await app.call('notes.whoami');
    assert.equal(refused.status, 503);
    assert.equal(refused.body.error_code, 'LOGIN_REQUIRED');
    assert.equal(refused.body.context.login, 'expired');
    assert.match(refused.body.context.login_url, /\/oauth\/connect\/notes\?ticket=/);
    const expired = await app.untilStatus('notes', 'ERROR');
    assert.equal(expired.login, 'expired');

    // Tools stay listed from the last known state; each client hears in its own way where to log in.
    const client = createMcpCaller(`${app.url}/mcp`, app.adminToken);
    const { tools } = await client.request('tools/list', {});
    assert.deepEqual(
      (tools as { name: string }[]).map(({ name }) => name).filter((name) => name.startsWith('notes')),
      ['notes__whoami'],
    );
    const link = await client.callTool({ name: 'notes__whoami', arguments: {} });
    assert.match(String(link), /\/oauth\/connect\/notes/);

    const page = await openBrowser().logIn(String(link), { login: 'ada', password: 'x' });
    assert.match(page.text, /You are logged in to/);
    await app.untilStatus('notes', 'CONNECTED');
    assert.equal((await call()).content[0].text, 'ada');

    const secrets = server.seen.map((header) => header.replace('Bearer ', ''));
    assert.ok(secrets.length > 0);
    for (const line of app.log) assert.ok(!secrets.some((secret) => line.includes(secret)), 'no token in the log');
    assert.ok(!server.seen.includes(`Bearer ${app.adminToken}`), "the client's token is never passed on");
  });

  test('legacy clients are told with -32042 or with a text, as their revision has it', async () => {
    const [, server] = await start();
    const app = await startOwn();
    await app.register('notes', { base_url: server.url });
    await app.untilStatus('notes', 'ERROR');
    await openBrowser().logIn(await loginLink(app));
    await app.seen.waitFor('server.discovered');
    await app.api('DELETE', `${servers}/notes/login`);
    await app.untilStatus('notes', 'ERROR');

    const legacyCall = async (protocolVersion: string, capabilities: Record<string, unknown>) => {
      const headers = {
        authorization: `Bearer ${app.adminToken}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      };
      const post = (body: unknown, session?: string) =>
        fetch(`${app.url}/mcp`, {
          method: 'POST',
          headers: session === undefined ? headers : { ...headers, 'mcp-session-id': session },
          body: JSON.stringify(body),
        });
      const clientInfo = { name: 'old', version: '1' };
      const opened = await post({
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: { protocolVersion, capabilities, clientInfo },
      });
      await opened.text();
      const session = opened.headers.get('mcp-session-id') ?? '';
      const params = { name: 'notes__whoami', arguments: {} };
      const answer = await post({ jsonrpc: '2.0', id: 2, method: 'tools/call', params }, session);
      const text = await answer.text();
      return JSON.parse(/\{.*\}/s.exec(text)?.[0] ?? '{}').error;
    };
    const withUrl = await legacyCall('2025-11-25', { elicitation: { url: {} } });
    assert.equal(withUrl.code, -32_042);
    assert.match(withUrl.data.elicitations[0].url, /\/oauth\/connect\/notes/);
    const plain = await legacyCall('2025-06-18', {});
    assert.match(plain.message, /Login required: notes: open http/);
  });

  test('principals with credentials of their own never see those of others', async () => {
    const [, server] = await start();
    const app = await startOwn();
    await app.register('notes', { base_url: server.url }, { options: { credentials: 'per_principal' } });
    await app.untilStatus('notes', 'ERROR');
    const ada = await newToken(app, 'ada');
    const bob = await newToken(app, 'bob');

    const adaBrowser = openBrowser();
    await adaBrowser.logIn(await loginLink(app, ada), { login: 'ada', password: 'x' });
    await app.seen.waitFor('server.discovered');
    const refused = await app.call('notes.whoami', {}, { token: bob });
    assert.equal(refused.body.error_code, 'LOGIN_REQUIRED');
    await openBrowser().logIn(await loginLink(app, bob), { login: 'bob', password: 'x' });

    const answers = await Promise.all(
      [ada, bob, ada, bob].map(async (token) => (await app.call('notes.whoami', {}, { token })).body),
    );
    assert.deepEqual(
      answers.map(({ content }) => content[0].text),
      ['ada', 'bob', 'ada', 'bob'],
    );
    // Not even an admin borrows them.
    assert.equal((await app.call('notes.whoami')).body.error_code, 'LOGIN_REQUIRED');
  });

  test('a login is bound to who began it, its state is good once, and a shared one needs an admin', async () => {
    const [, server] = await start();
    const app = await startOwn();
    await app.register('notes', { base_url: server.url }, { options: { credentials: 'per_principal' } });
    await app.register('team', { base_url: server.url });
    await app.untilStatus('notes', 'ERROR');
    const ada = await newToken(app, 'ada');
    const bob = await newToken(app, 'bob');
    const shared = await app.api('POST', `${servers}/team/login`, undefined, { token: ada });
    assert.equal(shared.status, 403);

    // Ada's own link, opened by Bob's browser on its way back: nothing is stored for either.
    const adas = openBrowser();
    const consent = await adas.open(await loginLink(app, ada));
    const atProvider = await adas.submit(consent);
    const bobs = openBrowser();
    await bobs.open(await loginLink(app, bob));
    const loggedIn = await adas.submit(atProvider, { login: 'ada', password: 'x' });
    const back = await adas.submit(loggedIn);
    assert.match(back.text, /You are logged in to/);
    const replayed = await adas.open(back.url);
    assert.equal(replayed.status, 404);
    const stolen = await bobs.open(back.url);
    assert.equal(stolen.status, 404);

    // Without a session the page asks who is there, and a ticket opens it once.
    const link = await loginLink(app, ada);
    await openBrowser().open(link);
    const second = await openBrowser().open(link);
    assert.match(second.text, /Sign in with your token/);
    const signedIn = await adas.submit(second, { token: bob });
    assert.match(signedIn.text, /Log in to notes/);
    // Whoever is signed in to the dashboard is known here.
    const session = await fetch(`${app.url}/api/v1/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ token: bob }),
    });
    const cookie = session.headers.getSetCookie()[0]?.split(';')[0] ?? '';
    const known = await fetch(`${app.url}/oauth/connect/notes`, { headers: { cookie } });
    assert.match(await known.text(), /<dt>Signed in as<\/dt><dd>bob<\/dd>/);
    const wrong = await openBrowser().submit(second, { token: 'mcpa_nobody_nothing' });
    assert.equal(wrong.status, 401);
  });

  test('restart and key rotation keep every login; removal revokes it', { timeout: 60_000 }, async () => {
    const [provider, server] = await start();
    const database = await createTestDatabase();
    closers.push(database.close);
    const [first, second] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')];
    const one = await startOwn({ MCP_CREDENTIAL_KEY: first }, { database });
    await one.register('notes', { base_url: server.url });
    await one.untilStatus('notes', 'ERROR');
    await openBrowser().logIn(await loginLink(one), { login: 'ada', password: 'x' });
    await one.untilStatus('notes', 'CONNECTED');
    await one.close();

    const rotated = { MCP_CREDENTIAL_KEY: second, MCP_CREDENTIAL_KEY_PREVIOUS: first };
    const two = await startOwn(rotated, { database });
    await two.untilStatus('notes', 'CONNECTED');
    assert.equal((await two.call('notes.whoami')).body.content[0].text, 'ada');
    assert.equal(provider.grants.authorization_code, 1);
    const token = server.seen.at(-1)?.replace('Bearer ', '') ?? '';
    assert.equal(await provider.accountOf(token, server.url), 'ada');
    await two.api('DELETE', `${servers}/notes`);
    await two.close();
    assert.equal(await provider.accountOf(token, server.url), undefined);
  });
});
