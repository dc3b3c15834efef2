/** People at the dashboard of a deployment: which replica answers them is chance. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { TestApp } from '../support/app.ts';
import { until } from '../support/until.ts';
import { type Deployment, needsPostgres, startReplicas } from './deployment.ts';
import { type RoundRobin, startRoundRobin } from './round-robin.ts';

const path = '/api/v1/session';

suite('signing in to the dashboard of several replicas', needsPostgres, () => {
  let deployment: Deployment;
  let proxy: RoundRobin;
  let one: TestApp;
  let two: TestApp;

  before(async () => {
    deployment = await startReplicas(2);
    [one, two] = deployment.replicas as [TestApp, TestApp];
    proxy = await startRoundRobin([one.url]);
  });
  after(async () => {
    await proxy.close();
    await deployment.close();
  });

  /** All by the same address, as behind a load balancer; who answers is said. */
  function ask(by: TestApp, method: string, { cookie = '', body }: { cookie?: string; body?: unknown } = {}) {
    proxy.targets.splice(0, proxy.targets.length, by.url);
    return fetch(`${proxy.url}${path}`, {
      method,
      headers: { origin: proxy.url, 'content-type': 'application/json', ...(cookie === '' ? {} : { cookie }) },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  }

  const isSignedIn = async (by: TestApp, cookie: string) => (await ask(by, 'GET', { cookie })).status === 200;

  async function createCode(by: TestApp): Promise<string> {
    const { body } = await by.api('POST', `${path}/links`);
    return /code=(.+)$/.exec(body.path)?.[1] ?? '';
  }

  async function signIn(by: TestApp): Promise<string> {
    const answer = await ask(by, 'POST', { body: { code: await createCode(by) } });
    return answer.headers.get('set-cookie')?.split(';')[0] ?? '';
  }

  test('a link made by one works at the other, and once', async () => {
    const code = await createCode(one);
    const answers = await Promise.all([two, one, two].map((by) => by.api('POST', path, { code }, { token: null })));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 401, 401]);
    assert.equal((await two.api('POST', path, { code: await createCode(one) }, { token: null })).body.role, 'admin');
  });

  test('a session of one is good at the other; signed out at one, it is over at both', async () => {
    const cookie = await signIn(one);
    assert.ok(await isSignedIn(two, cookie));
    assert.equal((await ask(two, 'DELETE', { cookie })).status, 204);
    assert.equal(await isSignedIn(two, cookie), false);
    await until(async () => !(await isSignedIn(one, cookie)));

    const late = await deployment.start();
    assert.equal(await isSignedIn(late, cookie), false, 'who comes later knows it, too');
  });
});
