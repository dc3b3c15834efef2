/** What MCP clients see of a server whose connection is gone. */
import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { postModern } from '../mcp/clients.ts';
import { type Body, startApp, type TestApp } from '../support/app.ts';
import { createTestDatabase } from '../support/databases.ts';
import { startFeatureServer } from '../support/servers/feature-server.ts';
import { until } from '../support/until.ts';

const settings = { MCP_AGGREGATOR_EXPOSURE: 'all', MCP_AGGREGATOR_HEALTH_INTERVAL: '0.2' };
const servers = '/api/v1/aggregator/servers';

suite('grace for lists', () => {
  test('ST-003: the tools of a lost server stay listed, out of search, until an admin disconnects it', async (t) => {
    const app = await startApp({ ...settings, MCP_AGGREGATOR_LIST_GRACE: '3600' });
    t.after(app.close);
    await addAndLose(t, app);
    assert.ok(await isListed(app));
    const found = await app.api('POST', '/api/v1/search', { query: 'who am I', tool_threshold: 0 });
    assert.ok(!JSON.stringify(found.body.tools).includes('lost.whoami'), 'search leaves it out at once');
    await app.api('POST', `${servers}/lost/disconnect`);
    assert.ok(!(await isListed(app)));
    assert.ok((await app.api('GET', `${servers}/lost/tools`)).body.total > 0, 'its tools stay stored');
  });

  test('ST-003: the grace ends after its time', async (t) => {
    const app = await startApp({ ...settings, MCP_AGGREGATOR_LIST_GRACE: '0.1' });
    t.after(app.close);
    await addAndLose(t, app);
    await until(async () => !(await isListed(app)), 'the tools of the lost server are not listed');
    assert.ok((await app.api('GET', `${servers}/lost/tools`)).body.total > 0, 'its tools stay stored');
  });

  test('ST-003: after a restart a server stays listed until its first connection attempts have failed', async (t) => {
    const upstream = await startFeatureServer({ transport: 'streamable-legacy' });
    const database = await createTestDatabase();
    const first = await startApp(settings, { database });
    await first.add('lost', { base_url: upstream.url });
    await first.close();
    await upstream.close();

    const second = await startApp({ ...settings, MCP_AGGREGATOR_LIST_GRACE: '3600' }, { database });
    t.after(async () => {
      await second.close();
      await database.close();
    });
    assert.ok(await isListed(second));
    await second.untilStatus('lost', 'ERROR');
    assert.ok(!(await isListed(second)), 'it was never connected since the start');
  });
});

/** A server that was connected and is in ERROR, because nothing listens at its address any more. */
async function addAndLose(t: TestContext, app: TestApp): Promise<void> {
  const upstream = await startFeatureServer({ transport: 'streamable-legacy' });
  t.after(upstream.close);
  await app.add('lost', { base_url: upstream.url });
  assert.ok(await isListed(app));
  const mark = app.seen.all.length;
  await upstream.close();
  await app.seen.waitFor('server.status', ({ name, status }) => name === 'lost' && status === 'ERROR', mark);
}

async function isListed(app: TestApp): Promise<boolean> {
  const { body } = await postModern(app, 'tools/list');
  return body.result.tools.some(({ name }: Body) => name === 'lost__whoami');
}
