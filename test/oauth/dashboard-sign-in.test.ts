/** The dashboard's session from an identity provider: the same cookie that tokens get, with the role of the claims. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { startApp, type TestApp } from '../support/app.ts';
import { createTestDatabase } from '../support/databases.ts';
import { openBrowser, type Page } from './browser.ts';
import { type IdentityProvider, type ProviderOptions, startIdentityProvider } from './identity-provider.ts';

const session = '/api/v1/session';
const adminsOnly = '/api/v1/aggregator/audit';
const people = { ada: { roles: ['mcp-admins'], email: 'ada@example.com' }, bob: { roles: ['staff'] }, eve: {} };

suite('signing in to the dashboard with an identity provider', () => {
  test('the page is told of it; without a client for it there is nothing to offer', async (t) => {
    await withProvider({}, {}, async ({ app, provider }) => {
      const { body } = await app.api('GET', `${session}/ways`, undefined, { token: null });
      const { issuer } = provider;
      assert.deepEqual(body, { identity_provider: { issuer, dashboard: '/oauth/sign-in', command_line: null } });
    });
    const app = await startApp();
    t.after(() => app.close());
    assert.deepEqual((await app.api('GET', `${session}/ways`, undefined, { token: null })).body, {
      identity_provider: null,
    });
    const nothing = await fetch(`${app.url}/oauth/sign-in`);
    assert.equal(nothing.status, 404);
    assert.match(await nothing.text(), /No identity provider/);
  });

  test('the claims decide the role; nobody is an admin unless the mapping says so', async () => {
    await withProvider({ people }, {}, async ({ signIn }) => {
      const { name, role } = (await signIn('ada')).body;
      assert.deepEqual({ name, role }, { name: 'ada@example.com', role: 'caller' });
    });
    const roles = { MCP_AGGREGATOR_OIDC_ROLES: 'admin=mcp-admins,caller=staff' };
    await withProvider({ people }, roles, async ({ app, begin, signIn, asPage }) => {
      const ada = await signIn('ada');
      assert.equal(ada.body.role, 'admin');
      assert.match(ada.cookie, /; HttpOnly; SameSite=Strict$/);
      assert.equal((await asPage(ada.cookie, 'GET', adminsOnly)).status, 200);
      const bob = await signIn('bob');
      assert.equal(bob.body.role, 'caller');
      assert.equal((await asPage(bob.cookie, 'GET', adminsOnly)).status, 403);
      const refused = await begin('eve');
      assert.equal(refused.status, 403);
      assert.match(refused.text, /assigns you no role in this aggregator/);
      assert.equal((await app.api('GET', adminsOnly)).status, 200, 'our own tokens work as before');
    });
  });

  test('an access token that is for us decides as it would in a request', async () => {
    const options = {
      people: { ada: { roles: ['mcp-admins'] } },
      inAccessTokens: { ada: { roles: ['auditors'] } },
      defaultResource: 'api://us',
      jwtFor: 'api://',
    };
    const environment = {
      MCP_AGGREGATOR_OIDC_AUDIENCE: 'api://us',
      MCP_AGGREGATOR_OIDC_ROLES: 'admin=mcp-admins,viewer=auditors',
    };
    await withProvider(options, environment, async ({ signIn }) => {
      assert.equal((await signIn('ada')).body.role, 'viewer');
    });
    const foreign = { ...environment, MCP_AGGREGATOR_OIDC_AUDIENCE: 'api://others' };
    await withProvider(options, foreign, async ({ signIn }) => {
      assert.equal((await signIn('ada')).body.role, 'admin', 'one for somebody else says nothing; the id token does');
    });
  });

  test('scopes that every token must have are asked for, and missed', async () => {
    const asked = { MCP_AGGREGATOR_OIDC_REQUIRED_SCOPES: 'mcp:use' };
    await withProvider({ people, defaultResource: 'api://others' }, asked, async ({ signIn }) => {
      assert.equal((await signIn('ada')).body.role, 'caller');
    });
    const missing = { MCP_AGGREGATOR_OIDC_REQUIRED_SCOPES: 'mcp:admin' };
    await withProvider({ people }, missing, async ({ begin }) => {
      const page = await begin('ada');
      assert.equal(page.status, 403, 'the provider does not know it');
      assert.match(page.text, /lacks the scope mcp:admin/);
    });
  });

  test('the answer counts once, in the browser that began, from the issuer that was asked', async () => {
    await withProvider({ people }, {}, async ({ app, provider }) => {
      const browser = openBrowser();
      const { location } = await follow(`${app.url}/oauth/sign-in`);
      assert.match(location, /code_challenge_method=S256/);
      assert.match(location, /[?&]nonce=/);
      const answers: string[] = [];
      const done = await browser.logIn(`${app.url}/oauth/sign-in`, { login: 'ada', password: 'x' }, answers);
      assert.match(done.url, /#\/sign-in\?code=/);
      const [answer = ''] = answers.filter((url) => url.includes('/oauth/sign-in/callback'));
      assert.equal(new URL(answer).searchParams.get('iss'), provider.issuer);

      const elsewhere = await openBrowser().open(answer);
      assert.equal(elsewhere.status, 403);
      assert.match(elsewhere.text, /another browser/);
      const cookie = 'mcp-aggregator-sign-in=guess';
      const guessed = await fetch(answer, { headers: { cookie }, redirect: 'manual' });
      assert.equal(guessed.status, 403);

      const held: string[] = [];
      const other = openBrowser();
      await other.logIn(`${app.url}/oauth/sign-in`, { login: 'ada', password: 'x' }, held, '/oauth/sign-in/callback');
      const [fresh = ''] = held.filter((url) => url.includes('/oauth/sign-in/callback'));
      const wrong = new URL(fresh);
      wrong.searchParams.set('iss', 'https://login.example.com');
      const mixed = await other.open(wrong.href);
      assert.equal(mixed.status, 403);
      assert.match(mixed.text, /does not come from the expected authorization server/);
      const again = await other.open(fresh);
      assert.equal(again.status, 403);
      assert.match(again.text, /already used/);
    });
  });

  test('the session ends when somebody signs out, and when the mapping of roles changes', async () => {
    const database = await createTestDatabase();
    const given = { database, dataDir: database.dataDirectory };
    const check = async ({ app, provider, signIn, asPage }: Situation) => {
      const { cookie } = await signIn('ada');
      const kept = await signIn('ada');
      assert.equal((await asPage(cookie, 'GET', session)).status, 200);
      assert.equal((await asPage(cookie, 'DELETE', session)).status, 204);
      assert.equal((await asPage(cookie, 'GET', session)).status, 204, 'nobody');

      await app.close();
      const environment = environmentOf(provider, {});
      const same = await startApp(environment, given);
      assert.equal((await asPage(kept.cookie, 'GET', session, same)).status, 200, 'a restart changes nothing');
      assert.equal((await asPage(cookie, 'GET', session, same)).status, 204, 'not for those who signed out, either');
      await same.close();
      const stricter = await startApp({ ...environment, MCP_AGGREGATOR_OIDC_ROLES: 'viewer=mcp-admins' }, given);
      assert.equal((await asPage(kept.cookie, 'GET', session, stricter)).status, 204);
      await stricter.close();
    };
    await withProvider({ people }, {}, check, given);
    await database.close();
  });

  test('a link that a person makes signs in as that person', async () => {
    await withProvider({ people }, {}, async ({ app, signIn, asPage }) => {
      const { cookie } = await signIn('bob');
      const { path } = (await (await asPage(cookie, 'POST', `${session}/links`)).json()) as { path: string };
      const code = /code=(.+)$/.exec(path)?.[1];
      assert.equal((await app.api('POST', session, { code }, { token: null })).body.name, 'bob');
    });
  });

  test('another name of this machine is left for the one that the provider knows', async () => {
    await withProvider({ people }, {}, async ({ app }) => {
      const byName = app.url.replace('127.0.0.1', 'localhost');
      const { location } = await follow(`${byName}/oauth/sign-in?place=tools`);
      assert.equal(location, `${app.url}/oauth/sign-in?place=tools&moved=1`);
      const { location: onwards } = await follow(`${byName}/oauth/sign-in?place=tools&moved=1`);
      assert.match(onwards, /\/auth\?/, 'and no further');
    });
  });

  test('a provider that is away is said so, on a page', async () => {
    await withProvider({}, {}, async ({ app, provider }) => {
      await provider.close();
      const answer = await fetch(`${app.url}/oauth/sign-in`, { redirect: 'manual' });
      assert.equal(answer.status, 502);
      assert.match(await answer.text(), /does not respond.*Back to the dashboard/s);
    });
  });
});

async function follow(url: string): Promise<{ status: number; location: string }> {
  const { status, headers } = await fetch(url, { redirect: 'manual' });
  return { status, location: headers.get('location') ?? '' };
}

interface Situation {
  app: TestApp;
  provider: IdentityProvider;
  /** As somebody, up to the page where it ends. */
  begin(login: string): Promise<Page>;
  // biome-ignore lint/suspicious/noExplicitAny: an answer's shape is what a test asserts, not what it assumes
  signIn(login: string): Promise<{ body: any; cookie: string }>;
  /** What the dashboard's own page would ask. */
  asPage(cookie: string, method: string, path: string, by?: TestApp): Promise<Response>;
}

function environmentOf(provider: IdentityProvider, more: Record<string, string>): Record<string, string> {
  return {
    MCP_AGGREGATOR_OIDC_ISSUER: provider.issuer,
    MCP_AGGREGATOR_OIDC_CLIENT_ID: 'pages',
    MCP_AGGREGATOR_OIDC_CLIENT_SECRET: 'secret',
    ...more,
  };
}

async function withProvider(
  options: ProviderOptions,
  environment: Record<string, string>,
  check: (situation: Situation) => Promise<void>,
  given?: Parameters<typeof startApp>[1],
): Promise<void> {
  const provider = await startIdentityProvider({
    redirectUri: 'http://127.0.0.1/oauth/sign-in/callback',
    ...options,
  });
  const app = await startApp(environmentOf(provider, environment), given);
  const begin = (login: string) => openBrowser().logIn(`${app.url}/oauth/sign-in`, { login, password: 'x' });
  try {
    await check({
      app,
      provider,
      begin,
      async signIn(login) {
        const { url } = await begin(login);
        const code = /[?&]code=([^&]+)/.exec(new URL(url).hash)?.[1];
        const { body, status, headers } = await app.api('POST', session, { code }, { token: null });
        assert.equal(status, 200, JSON.stringify(body));
        return { body, cookie: headers.get('set-cookie') ?? '' };
      },
      asPage(cookie, method, path, { url } = app) {
        const [, value = ''] = /=([^;]*)/.exec(cookie) ?? [];
        // The name of the cookie tells aggregators on one host apart.
        const own = `mcp_aggregator_${new URL(url).port}=${value}`;
        return fetch(`${url}${path}`, { method, headers: { cookie: own, origin: url } });
      },
    });
  } finally {
    await app.close();
    await provider.close();
  }
}
