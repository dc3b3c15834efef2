/** People of an identity provider, at an address that others reach as well: their own logins to servers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startApp } from '../support/app.ts';
import { freePort } from '../support/ports.ts';
import { openBrowser } from './browser.ts';
import { startIdentityProvider } from './identity-provider.ts';
import { startProtectedServer } from './protected-server.ts';

test('a person signs in to our page with the identity provider and logs in to a server', async () => {
  const port = await freePort();
  const base = `http://127.0.0.1:${port}`;
  const provider = await startIdentityProvider({ redirectUri: `${base}/oauth/sign-in/callback` });
  const server = await startProtectedServer(provider);
  const app = await startApp({
    MCP_AGGREGATOR_PORT: String(port),
    MCP_AGGREGATOR_PUBLIC_URL: base,
    MCP_AGGREGATOR_OIDC_ISSUER: provider.issuer,
    MCP_AGGREGATOR_OIDC_CLIENT_ID: 'pages',
    MCP_AGGREGATOR_OIDC_CLIENT_SECRET: 'secret',
  });
  try {
    await app.register('notes', { base_url: server.url }, { options: { credentials: 'per_principal' } });
    await app.untilStatus('notes', 'ERROR');
    const token = provider.sign({ sub: 'ada', aud: base });

    const { body } = await app.api('POST', '/api/v1/aggregator/servers/notes/login', undefined, { token });
    assert.equal(body.login_url, `${base}/oauth/connect/notes`, 'nothing in the link vouches for anybody');
    const page = await openBrowser().open(body.login_url);
    assert.match(page.text, /Sign in with/);
    const href = /href="([^"]*sign-in[^"]*)"/.exec(page.text)?.[1] ?? '';

    const stranger = openBrowser();
    const elsewhere = await stranger.open(`${base}/oauth/sign-in/callback?code=x&state=made-up`);
    assert.equal(elsewhere.status, 403);

    const done = await openBrowser().logIn(new URL(href, base).href, { login: 'ada', password: 'x' });
    assert.match(done.text, /You are logged in to/);
    await app.seen.waitFor('server.discovered');
    const answer = await app.call('notes.whoami', {}, { token });
    assert.equal(answer.body.content[0].text, 'ada');
    const other = await app.call('notes.whoami', {}, { token: provider.sign({ sub: 'bob', aud: base }) });
    assert.equal(other.body.error_code, 'LOGIN_REQUIRED');
  } finally {
    await app.close();
    await server.close();
    await provider.close();
  }
});
