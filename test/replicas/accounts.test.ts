/** People of an identity provider in front of several replicas: which one answers them is chance. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { type IdentityProvider, startIdentityProvider } from '../oauth/identity-provider.ts';
import { asked, environmentOf, signIn } from '../oauth/people.ts';
import type { TestApp } from '../support/app.ts';
import { until } from '../support/until.ts';
import { type Deployment, needsPostgres, startReplicas } from './deployment.ts';

suite('accounts at two replicas', needsPostgres, () => {
  let provider: IdentityProvider;
  let deployment: Deployment;
  let one: TestApp;
  let two: TestApp;

  before(async () => {
    const redirectUri = 'http://127.0.0.1/oauth/sign-in/callback';
    // A refresh takes a while, and the provider takes a refresh token that comes twice for stolen.
    provider = await startIdentityProvider({ redirectUri, lasting: true, tokenDelayMs: 50 });
    deployment = await startReplicas(2, environmentOf(provider, { MCP_AGGREGATOR_OIDC_CHECK_INTERVAL: '0.3' }));
    [one, two] = deployment.replicas as [TestApp, TestApp];
  });
  after(async () => {
    await deployment.close();
    await provider.close();
  });

  const statuses = async (token: string) => {
    const answers = await Promise.all([one, two, one, two].map((app) => asked(app, token)));
    return [...new Set(answers.map(({ status }) => status))];
  };

  test('USER-004: one replica at a time checks an account, and both know when it has ended', async () => {
    const ada = await signIn(one, 'ada');
    const { token } = await ada.newToken();
    await until(async () => (await asked(two, token)).status === 200, 'the other replica knows the token');
    const before = provider.grants.refresh_token ?? 0;
    while ((provider.grants.refresh_token ?? 0) < before + 4) assert.deepEqual(await statuses(token), [200]);

    const events = await two.events(token);
    provider.disable('ada');
    await until(async () => (await statuses(token)).join() === '401', 'both refuse');
    events.close();
    const list = async (app: TestApp) => (await app.api('GET', '/api/v1/accounts')).body.accounts;
    assert.equal((await list(one))[0].state, 'ended');
    assert.equal((await list(two))[0].state, 'ended');

    provider.enable('ada');
    await signIn(two, 'ada');
    await until(async () => (await statuses(token)).join() === '200', 'both admit her again');
  });

  test('USER-003: a token that is revoked at one is refused at the other, and so is a user who is ended', async () => {
    const bob = await signIn(two, 'bob');
    const [first, second] = [await bob.newToken(), await bob.newToken()];
    await until(async () => (await asked(one, second.token)).status === 200);
    assert.equal((await bob.ask('DELETE', `/api/v1/tokens/${first.id}`, undefined, two)).status, 204);
    await until(async () => (await asked(one, first.token)).status === 401);
    const { accounts } = (await one.api('GET', '/api/v1/accounts')).body;
    const { id } = accounts.find(({ name }: { name: string }) => name === 'bob');
    await one.api('DELETE', `/api/v1/accounts/${id}`);
    await until(async () => (await asked(two, second.token)).status === 401);
    await until(async () => (await bob.ask('GET', '/api/v1/session')).status === 204, 'the session is over');
  });
});
