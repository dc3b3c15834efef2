import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { Body, TestApp } from '../support/app.ts';
import { startFeatureServer, stdioFeatureServer } from '../support/servers/feature-server.ts';
import { until, untilSeen } from '../support/until.ts';
import { type Deployment, needsPostgres, startReplicas } from './deployment.ts';

suite('what is changed on one replica holds on the others', needsPostgres, () => {
  let deployment: Deployment;
  let a: TestApp;
  let b: TestApp;
  const servers = '/api/v1/aggregator/servers';

  before(async () => {
    deployment = await startReplicas(2);
    [a, b] = deployment.replicas as [TestApp, TestApp];
  });
  after(() => deployment.close());

  test('a registered server can be called through the other one; both show what each says of it', async () => {
    const upstream = await startFeatureServer({ transport: 'streamable-legacy', label: 'one' });
    const id = await a.register('one', { base_url: upstream.url });
    await until(async () => (await b.call('one.echo', { text: 'hello' })).status === 200);
    const { body } = await b.call('one.echo', { text: 'hello' });
    assert.equal(body.structuredContent.arguments.text, 'hello');

    const { status } = await untilSeen(
      () => b.server(id),
      ({ replicas }) =>
        replicas.length === 2 && replicas.every((one: { status: string }) => one.status === 'CONNECTED'),
      'both replicas are connected',
    );
    assert.equal(status, 'CONNECTED');
    await upstream.close();
  });

  test('a changed server is changed, a disconnected one disconnected, a removed one removed', async () => {
    const id = await a.add('two', stdioFeatureServer('legacy', { label: 'two' }));
    await until(async () => (await b.call('two.whoami')).status === 200);

    await a.api('PATCH', `${servers}/${id}`, {
      description: 'another',
      connection_config: stdioFeatureServer('legacy', { label: 'two again' }),
    });
    await until(async () => {
      const { status, body } = await b.call('two.whoami');
      return status === 200 && JSON.stringify(body).includes('two again');
    });
    assert.equal((await b.server(id)).description, 'another');

    await b.api('POST', `${servers}/${id}/disconnect`, { force: true });
    await until(async () => (await a.call('two.whoami')).status === 503);
    // While the old child is still ending, this is refused: try again when it is done.
    await until(async () => (await a.api('POST', `${servers}/${id}/connect`)).status !== 409);
    await until(async () => (await b.call('two.whoami')).status === 200);

    await b.api('DELETE', `${servers}/${id}`);
    await until(async () => (await a.api('GET', `${servers}/${id}`)).status === 404);
    assert.equal((await a.call('two.whoami')).status, 404);
  });

  test('a server that is wanted again while a replica still answers its last calls is connected afterwards', async () => {
    const id = await a.add('busy', stdioFeatureServer('legacy', { label: 'busy' }));
    await until(async () => (await b.call('busy.whoami')).status === 200);
    const mark = b.seen.all.length;
    const last = b.call('busy.slow', { ms: 2_000 });
    await b.seen.waitFor('call.started', ({ tool }) => tool === 'busy.slow', mark);
    await a.api('POST', `${servers}/${id}/disconnect`, { force: true });
    const isBusy = ({ server_id, status }: Body) => server_id === id && status === 'DISCONNECTING';
    await b.seen.waitFor('server.status', isBusy, mark);
    assert.equal((await a.api('POST', `${servers}/${id}/connect`)).status, 200);
    assert.equal((await last).status, 200);
    await until(async () => (await b.call('busy.whoami')).status === 200);
    await a.api('DELETE', `${servers}/${id}`);
  });

  test('tokens, profiles, skills and rules', async () => {
    const { body: created } = await a.api('POST', '/api/v1/tokens', { name: 'somebody', role: 'viewer' });
    const asThem = { token: created.token };
    await until(async () => (await b.api('GET', servers, undefined, asThem)).status === 200);
    await b.api('DELETE', `/api/v1/tokens/${created.id}`);
    await until(async () => (await a.api('GET', servers, undefined, asThem)).status === 401);

    await a.api('PUT', '/api/v1/profiles/work', { servers: ['one'] });
    await until(async () => (await b.api('GET', '/api/v1/profiles/work')).status === 200);
    await b.api('DELETE', '/api/v1/profiles/work');
    await until(async () => (await a.api('GET', '/api/v1/profiles/work')).status === 404);

    await a.api('PUT', '/api/v1/skills/astronomy', { name: 'Astronomy', description: 'Stars and planets' });
    await until(async () => (await b.api('GET', '/api/v1/skills/astronomy')).status === 200);

    const serverRules = [{ pattern: 'weather', servers: ['one'] }];
    await a.api('PUT', '/api/v1/query/rules', { serverRules });
    const hasRules = async () => (await b.api('GET', '/api/v1/query/rules')).body.serverRules.length === 1;
    await until(hasRules);
  });

  test('one replica discovers and classifies; both list, find and label the tools alike', async () => {
    const id = await b.register('three', stdioFeatureServer('legacy', { label: 'three', extraTools: 5 }));
    const toolsOn = async (app: TestApp) => (await app.api('GET', `${servers}/${id}/tools`)).body;
    await until(async () => (await toolsOn(a)).total > 5 && (await toolsOn(b)).total > 5);
    await until(async () => (await toolsOn(a)).classified > 0);
    await until(async () => JSON.stringify(await toolsOn(a)) === JSON.stringify(await toolsOn(b)));

    const { body: history } = await a.api('GET', `${servers}/${id}/history`);
    const discoveries = history.history.filter((entry: { event_type: string }) => entry.event_type === 'DISCOVERED');
    assert.equal(discoveries.length, 1);
    const search = (app: TestApp) => app.api('POST', '/api/v1/search', { query: 'add two numbers' });
    await until(async () => (await search(a)).body.tools.length > 0 && (await search(b)).body.tools.length > 0);
  });

  test('the status is the best of the living replicas, and each one shows its own', async () => {
    const third = await deployment.start({ ONLY_HERE: 'a value' });
    const { command, args } = stdioFeatureServer('legacy', { label: 'four' });
    const id = await a.register('four', { command, args, env: { VALUE: '${ONLY_HERE}' } });
    await until(async () => (await third.call('four.echo')).status === 200);
    await until(async () => {
      const { status, replicas } = await a.server(id);
      const errors = replicas.filter((replica: { status: string }) => replica.status === 'ERROR');
      return status === 'CONNECTED' && replicas.length === 3 && errors.length === 2;
    });
    const { error_message, replicas } = await a.server(id);
    assert.equal(error_message, null);
    const [failed] = replicas.filter((replica: { status: string }) => replica.status === 'ERROR');
    assert.match(failed.error, /ONLY_HERE/);
    await until(async () => {
      const { body } = await b.api('GET', `${servers}?status=CONNECTED`);
      return body.servers.some((server: { name: string }) => server.name === 'four');
    });
    // The one that can connect discovers for all of them.
    await until(async () => (await a.api('GET', `${servers}/${id}/tools`)).body.total > 0);

    await third.close();
    deployment.replicas.splice(deployment.replicas.indexOf(third), 1);
    await until(async () => (await a.server(id)).status === 'ERROR');
    await until(async () => (await b.server(id)).replicas.length === 2);
  });
});
