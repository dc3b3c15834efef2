/** Two replicas, one login. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { openBrowser } from '../oauth/browser.ts';
import { type IdentityProvider, type ProviderOptions, startIdentityProvider } from '../oauth/identity-provider.ts';
import { type ProtectedServer, startProtectedServer } from '../oauth/protected-server.ts';
import type { TestApp } from '../support/app.ts';
import { type Deployment, needsPostgres, startReplicas } from './deployment.ts';

// The provider takes a refresh token that comes twice for stolen, and ends the whole login.
suite('a login made at one replica serves both', needsPostgres, () => {
  test('tokens that end every few seconds: whoever refreshes, nobody notices', async () => {
    await withLogin({ accessTokenSeconds: 3 }, async ({ provider, callBoth }) => {
      while ((provider.grants.refresh_token ?? 0) < 4) await callBoth(4);
    });
  });

  test('a token that both find refused is refreshed once; the other waits for the new one', async () => {
    await withLogin({ tokenDelayMs: 500 }, async ({ provider, server, callBoth }) => {
      for (let round = 1; round <= 3; round += 1) {
        await provider.dropAccessTokens();
        await callBoth(10);
        assert.equal(provider.grants.refresh_token, round);
      }
      assert.equal(new Set(server.seen).size, 4, 'the first token, and one of each refresh');
    });
  });

  test('a refresh that is refused ends the login at both', async () => {
    await withLogin({ tokenDelayMs: 200 }, async ({ replicas, provider }) => {
      await provider.revokeEverything();
      const answers = await Promise.all(replicas.map((replica) => replica.call('notes.whoami')));
      for (const { body } of answers) {
        assert.equal(body.error_code, 'LOGIN_REQUIRED', JSON.stringify(body));
        assert.equal(body.context.login, 'expired');
      }
    });
  });
});

interface Situation {
  replicas: TestApp[];
  provider: IdentityProvider;
  server: ProtectedServer;
  /** So many calls at the same time, by turns at both replicas; all must be ada's. */
  callBoth(count: number): Promise<void>;
}

async function withLogin(options: ProviderOptions, check: (situation: Situation) => Promise<void>): Promise<void> {
  const provider = await startIdentityProvider(options);
  const server = await startProtectedServer(provider);
  let deployment: Deployment | undefined;
  try {
    deployment = await startReplicas(2);
    const { replicas } = deployment;
    const [one] = replicas as [TestApp, TestApp];
    await one.register('notes', { base_url: server.url });
    // The status over REST is the best of both, so each replica's own is awaited.
    const own = (app: TestApp, wanted: string) => app.seen.waitFor('server.status', ({ status }) => status === wanted);
    await Promise.all(replicas.map((replica) => own(replica, 'ERROR')));
    const { body } = await one.api('POST', '/api/v1/aggregator/servers/notes/login');
    await openBrowser().logIn(body.login_url, { login: 'ada', password: 'x' });
    await Promise.all(replicas.map((replica) => own(replica, 'CONNECTED')));
    await Promise.all(replicas.map((replica) => replica.seen.waitFor('server.discovered')));

    const callBoth = async (count: number) => {
      const callers = Array.from({ length: count }, (_, at) => replicas[at % replicas.length] ?? one);
      const answers = await Promise.all(callers.map((app) => app.call('notes.whoami')));
      for (const { body } of answers) assert.equal(body.content?.[0].text, 'ada', JSON.stringify(body));
    };
    await check({ replicas, provider, server, callBoth });
  } finally {
    await deployment?.close();
    await server.close();
    await provider.close();
  }
}
