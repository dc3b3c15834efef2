// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references as they stand in configs
/** Two replicas, and the keys of users. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Body, TestApp } from '../support/app.ts';
import { isAlive } from '../support/processes.ts';
import { keyedChild } from '../support/servers/keyed.ts';
import { until } from '../support/until.ts';
import { needsPostgres, startReplicas } from './deployment.ts';

const key = '/api/v1/keys/shell/KEY';

suite('keys that users entered at one replica', needsPostgres, () => {
  test('USER-006, USER-012: hold at both, and end the processes of both', async (t) => {
    const deployment = await startReplicas(2);
    t.after(() => deployment.close());
    const [one, two] = deployment.replicas as [TestApp, TestApp];
    await one.register('shell', keyedChild({ KEY: '${user:KEY}' }));
    await one.api('PUT', key, { value: 'key of the admin' });
    await Promise.all(
      deployment.replicas.map((app) =>
        until(async () => (await app.server('shell')).tool_count === 2, 'the tools are known'),
      ),
    );
    const { body: ada } = await one.api('POST', '/api/v1/tokens', { name: 'ada', role: 'caller' });
    assert.equal((await one.api('PUT', key, { value: 'first of ada' }, ada)).status, 204);
    const accountAt = async (app: TestApp): Promise<Body> => {
      const { body } = await app.call('shell.account', {}, ada);
      return body.structuredContent ?? {};
    };
    await until(async () => (await accountAt(two)).account === 'first of ada', 'the other replica has the key');
    const [here, there] = [await accountAt(one), await accountAt(two)];
    assert.notEqual(here.pid, there.pid);

    assert.equal((await two.api('PUT', key, { value: 'second of ada' }, ada)).status, 204);
    await until(() => !isAlive(here.pid) && !isAlive(there.pid), 'the processes with the former key have ended');
    for (const app of [one, two])
      await until(async () => (await accountAt(app)).account === 'second of ada', 'the new key is used');
    await one.api('DELETE', `/api/v1/tokens/${ada.id}`);
    const rows = async () => (await two.api('GET', '/api/v1/aggregator/backup')).body.user_keys;
    await until(async () => (await rows()).every((row: Body) => row.principal !== ada.id), 'the key is deleted');
  });
});
