/** An aggregator with an identity provider, and people who sign in to its dashboard. */
import assert from 'node:assert/strict';
import { type Answer, type Body, startApp, type TestApp } from '../support/app.ts';
import { openBrowser } from './browser.ts';
import { type IdentityProvider, type ProviderOptions, startIdentityProvider } from './identity-provider.ts';

export interface Person {
  /** Of the dashboard's session. */
  cookie: string;
  body: Body;
  /** What the dashboard's own page asks, at this aggregator or at another one. */
  ask(method: string, path: string, body?: unknown, by?: TestApp): Promise<{ status: number; body: Body }>;
  /** A token of the person's own, for a client. */
  newToken(wanted?: Record<string, unknown>): Promise<{ id: string; token: string }>;
}

export interface Situation {
  app: TestApp;
  provider: IdentityProvider;
  signIn(login: string): Promise<Person>;
}

export const environmentOf = ({ issuer }: IdentityProvider, more: Record<string, string> = {}) => ({
  MCP_AGGREGATOR_OIDC_ISSUER: issuer,
  MCP_AGGREGATOR_OIDC_CLIENT_ID: 'pages',
  MCP_AGGREGATOR_OIDC_CLIENT_SECRET: 'secret',
  ...more,
});

/** The sign-in page of the provider, up to the last page. */
export const open = (app: TestApp, login: string, query = '') =>
  openBrowser().logIn(`${app.url}/oauth/sign-in${query}`, { login, password: 'x' });

export async function signIn(app: TestApp, login: string, query = ''): Promise<Person> {
  const page = await open(app, login, query);
  const code = /[?&]code=([^&]+)/.exec(new URL(page.url).hash)?.[1];
  const answer = await app.api('POST', '/api/v1/session', { code }, { token: null });
  assert.equal(answer.status, 200, `${JSON.stringify(answer.body)} ${page.text}`);
  const cookie = answer.headers.get('set-cookie') ?? '';
  const [, value = ''] = /=([^;]*)/.exec(cookie) ?? [];

  async function ask(method: string, path: string, body?: unknown, { url } = app) {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        // The name of the cookie tells aggregators on one host apart.
        cookie: `mcp_aggregator_${new URL(url).port}=${value}`,
        origin: url,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await response.text();
    return { status: response.status, body: text === '' ? undefined : (JSON.parse(text) as Body) };
  }

  return {
    cookie,
    body: answer.body,
    ask,
    async newToken(wanted = {}) {
      const created = await ask('POST', '/api/v1/tokens', { name: `a client of ${login}`, ...wanted });
      assert.equal(created.status, 201, JSON.stringify(created.body));
      return created.body;
    },
  };
}

/** Closed by `close`, in the order of a program that ends. */
export async function startSituation(
  options: ProviderOptions = {},
  environment: Record<string, string> = {},
  given?: Parameters<typeof startApp>[1],
): Promise<Situation & { close(): Promise<void> }> {
  const provider = await startIdentityProvider({
    redirectUri: 'http://127.0.0.1/oauth/sign-in/callback',
    lasting: true,
    ...options,
  });
  const app = await startApp(environmentOf(provider, environment), given);
  return {
    app,
    provider,
    signIn: (login) => signIn(app, login),
    async close() {
      await app.close();
      await provider.close();
    },
  };
}

/** What a request with this token is answered. */
export const asked = (app: TestApp, token: string): Promise<Answer> =>
  app.api('GET', '/api/v1/aggregator/servers', undefined, { token });
