/** Servers that start when they are needed and end when they are not. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { openSession, postModern } from '../mcp/clients.ts';
import { type Body, startApp, type TestApp } from '../support/app.ts';
import { createTestDatabase } from '../support/databases.ts';
import { childServers } from '../support/processes.ts';
import { startFeatureServer, stdioFeatureServer } from '../support/servers/feature-server.ts';
import { until } from '../support/until.ts';

const servers = '/api/v1/aggregator/servers';
const children = () => childServers().length;
const isParked = async (app: TestApp, name: string) => (await app.server(name)).parked;
const pidOf = async (app: TestApp, name: string): Promise<number> =>
  (await app.call(`${name}.whoami`)).body.structuredContent.pid;

suite('servers that start on demand', () => {
  let app: TestApp;

  before(async () => {
    app = await startApp({
      MCP_AGGREGATOR_IDLE_TIMEOUT: '0.4',
      MCP_AGGREGATOR_HEALTH_INTERVAL: '0.2',
      MCP_AGGREGATOR_EXPOSURE: 'all',
    });
    await app.add('s', stdioFeatureServer('legacy', { label: 's' }));
  });
  after(() => app.close());

  test('ST-004: an idle server is parked: no process, still CONNECTED, listed and found', async () => {
    await until(() => isParked(app, 's'), 'the server is parked');
    await until(() => children() === 0, 'its process has ended');
    const row = await app.server('s');
    assert.deepEqual([row.status, row.error_message, row.tool_count > 10], ['CONNECTED', null, true]);
    const { tools } = (await postModern(app, 'tools/list')).body.result;
    assert.ok(tools.some(({ name }: Body) => name === 's__whoami'));
    const found = await app.api('POST', '/api/v1/search', { query: 'add two numbers' });
    assert.ok(found.body.tools.some(({ name }: Body) => name === 's.add'));
    const { body } = await app.api('GET', '/api/v1/aggregator/health');
    assert.deepEqual([body.status, body.servers.connected], ['healthy', 1]);
  });

  test('ST-004: the first calls wait for one start, and health checks start nothing', async () => {
    await until(() => isParked(app, 's'), 'the server is parked');
    const mark = app.seen.all.length;
    const pids = await Promise.all([pidOf(app, 's'), pidOf(app, 's'), pidOf(app, 's')]);
    assert.equal(new Set(pids).size, 1);
    assert.equal(await isParked(app, 's'), false);
    await until(() => isParked(app, 's'), 'it is parked again');
    const { body } = await app.api('GET', `${servers}/s/history`);
    const types = body.history.map(({ event_type }: Body) => event_type);
    assert.ok(types.includes('STARTED') && types.includes('PARKED'), types.join(' '));
    const statuses = app.seen.all.slice(mark).filter(({ name }) => name === 'server.status');
    assert.deepEqual(statuses, [], 'it was CONNECTED all the time');
  });

  test('ST-004: a refresh starts it, an admin can disconnect and connect it', async () => {
    await until(() => isParked(app, 's'), 'the server is parked');
    const mark = app.seen.all.length;
    assert.equal((await app.api('POST', `${servers}/s/tools/refresh`)).status, 202);
    await app.seen.waitFor('server.discovered', ({ name }) => name === 's', mark);
    await until(() => isParked(app, 's'), 'the server is parked again');
    await app.api('POST', `${servers}/s/disconnect`);
    assert.equal((await app.call('s.whoami')).status, 503);
    assert.equal((await app.server('s')).parked, false);
    await app.api('POST', `${servers}/s/connect`);
    await app.untilStatus('s', 'CONNECTED');
    assert.equal((await app.call('s.whoami')).status, 200);
  });

  test('ST-004: what a client follows keeps the server running', async () => {
    const session = await openSession(app);
    await until(() => isParked(app, 's'), 'the server is parked');
    const followed = await session.request('resources/subscribe', { uri: 'fixture://static' });
    assert.deepEqual(followed.body.result, {});
    const pid = await pidOf(app, 's');
    const checked = (await app.server('s')).last_health_check;
    await until(async () => (await app.server('s')).last_health_check > checked, 'time passes');
    await until(async () => (await app.server('s')).last_health_check > checked, 'and more');
    assert.equal(await pidOf(app, 's'), pid);
    await session.request('resources/unsubscribe', { uri: 'fixture://static' });
    await until(() => isParked(app, 's'), 'the server is parked when it is followed no longer');
  });

  test('ST-004: a server that is to run always does', async () => {
    await app.add('always', stdioFeatureServer('legacy', { label: 'always' }), { options: { start: 'always' } });
    const pid = await pidOf(app, 'always');
    await pidOf(app, 's');
    await until(() => isParked(app, 's'), 'the other one is parked');
    assert.equal(await pidOf(app, 'always'), pid);
    await app.api('DELETE', `${servers}/always`);
  });

  test('ST-004: over HTTP it is parked where that is wanted', async (t) => {
    const upstream = await startFeatureServer({ transport: 'streamable-legacy', label: 'http' });
    t.after(upstream.close);
    await app.add('http', { base_url: upstream.url }, { options: { start: 'on_demand' } });
    await until(() => isParked(app, 'http'), 'the server is parked');
    assert.equal((await app.call('http.whoami')).body.structuredContent.label, 'http');
    await app.api('DELETE', `${servers}/http`);
  });
});

test('ST-004: after a restart nothing runs until it is called, and what changed meanwhile is discovered then', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'mcp-aggregator-package-'));
  const file = join(directory, 'server.mjs');
  const feature = new URL('../support/servers/stdio-legacy.ts', import.meta.url).href;
  const publish = (extraTools: number) =>
    writeFileSync(
      file,
      `process.argv[2] = ${JSON.stringify(JSON.stringify({ extraTools }))}; await import(${JSON.stringify(feature)});`,
    );
  publish(0);
  const database = await createTestDatabase();
  const first = await startApp({}, { database });
  await first.add('s', { command: process.execPath, args: [file] });
  await first.close();
  publish(1);
  const second = await startApp({}, { database });
  t.after(async () => {
    await second.close();
    await database.close();
    rmSync(directory, { recursive: true });
  });
  const { body } = await second.api('GET', '/api/v1/aggregator/state');
  assert.deepEqual([body.connected_servers, children()], [1, 0]);
  const names = async () => (await second.api('GET', `${servers}/s/tools`)).body.tools.map(({ name }: Body) => name);
  assert.ok((await names()).includes('s.whoami'));
  assert.equal((await second.call('s.whoami')).status, 200);
  await until(async () => (await names()).includes('s.extra_0'), 'the new tool is listed');
});

test('ST-004: a call to a parked server that cannot start is answered with the reason', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'mcp-aggregator-package-'));
  const file = join(directory, 'server.mjs');
  const feature = new URL('../support/servers/stdio-legacy.ts', import.meta.url).href;
  writeFileSync(file, `process.argv[2] = '{}'; await import(${JSON.stringify(feature)});`);
  const app = await startApp({ MCP_AGGREGATOR_IDLE_TIMEOUT: '0.2' });
  t.after(async () => {
    await app.close();
    rmSync(directory, { recursive: true });
  });
  await app.add('s', { command: process.execPath, args: [file] });
  await until(() => isParked(app, 's'), 'the server is parked');
  writeFileSync(file, 'console.error("the licence has expired"); process.exit(3);');
  const { status, body } = await app.call('s.whoami');
  assert.equal(status, 503);
  assert.match(JSON.stringify(body), /the licence has expired/);
  const row = await app.server('s');
  assert.ok(['ERROR', 'CONNECTING'].includes(row.status), row.status);
  assert.equal(row.parked, false);
});
