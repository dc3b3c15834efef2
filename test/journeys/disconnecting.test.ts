import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { startApp, type TestApp } from '../support/app.ts';
import { createTestDatabase } from '../support/databases.ts';
import { isAlive, untilGone } from '../support/processes.ts';
import { startFeatureServer, stdioFeatureServer } from '../support/servers/feature-server.ts';

const servers = '/api/v1/aggregator/servers';

suite('disconnecting', () => {
  let app: TestApp;
  before(async () => {
    app = await startApp({ MCP_AGGREGATOR_DRAIN_TIMEOUT: '2' });
  });
  after(() => app.close());

  /** It ignores the end of its input, so it has to be ended. */
  const saysItsPidAndHangs = 'console.error("pid", process.pid); setInterval(() => {}, 1e6)';
  async function pidSaid(server: string): Promise<number> {
    for (;;) {
      const said = /pid (\d+)/.exec((await app.server(server)).stderr_tail ?? '')?.[1];
      if (said !== undefined) return Number(said);
    }
  }

  test('BR-007, API-009, API-010, API-018: a disconnected server keeps its tools, and calls get 503 with the server', async () => {
    const id = await app.add('idle', stdioFeatureServer('legacy'));
    const { pid } = (await app.call('idle.whoami')).body.structuredContent;
    const answer = await app.api('POST', `${servers}/idle/disconnect`, { force: false });
    assert.deepEqual(answer.body, {
      server_id: id,
      status: 'DISCONNECTED',
      pending_requests: 0,
      message: 'Server disconnected successfully',
    });
    await untilGone(pid);
    assert.ok((await app.api('GET', `${servers}/idle/tools`)).body.total > 0);
    const refused = await app.call('idle.whoami');
    assert.equal(refused.status, 503);
    assert.deepEqual(refused.body, {
      detail: 'Server unavailable: idle',
      error_code: 'SERVER_UNAVAILABLE',
      server: { id, name: 'idle', status: 'DISCONNECTED' },
    });
    const again = await app.api('POST', `${servers}/idle/disconnect`);
    assert.equal(again.body.message, 'Server already disconnected');
    assert.equal((await app.api('POST', `${servers}/idle/connect`)).body.message, 'Connection initiated');
    await app.untilStatus('idle', 'CONNECTED');
    assert.equal((await app.call('idle.whoami')).status, 200);
  });

  test('BR-007, API-009, API-010: pending calls are waited for, new ones get 503 meanwhile', async () => {
    await app.add('draining', stdioFeatureServer('legacy'));
    const mark = app.seen.all.length;
    const pending = app.call('draining.slow', { ms: 700 });
    await app.seen.waitFor('call.started', undefined, mark);
    const answer = await app.api('POST', `${servers}/draining/disconnect`);
    assert.equal(answer.body.status, 'DISCONNECTING');
    assert.equal(answer.body.pending_requests, 1);
    assert.equal(answer.body.message, 'Waiting for 1 pending request to complete');
    assert.equal((await app.server('draining')).status, 'DISCONNECTING');
    const refused = await app.call('draining.whoami');
    assert.equal(refused.status, 503);
    assert.equal(refused.body.server.status, 'DISCONNECTING');
    assert.equal((await app.api('POST', `${servers}/draining/connect`)).status, 409);
    assert.equal((await pending).status, 200);
    await app.untilStatus('draining', 'DISCONNECTED');
  });

  test('BR-007: what is still pending when the time is up gets 503', async () => {
    await app.add('stubborn', stdioFeatureServer('legacy'));
    const mark = app.seen.all.length;
    const pending = app.call('stubborn.slow', { ms: 60_000 });
    await app.seen.waitFor('call.started', undefined, mark);
    await app.api('POST', `${servers}/stubborn/disconnect`);
    const answer = await pending;
    assert.equal(answer.status, 503);
    assert.equal(answer.body.detail, 'Server unavailable: stubborn was disconnected during the call');
    assert.equal(answer.body.context.in_progress.name, 'slow');
    await app.untilStatus('stubborn', 'DISCONNECTED');
  });

  for (const transport of ['stdio', 'streamable-legacy', 'streamable-modern', 'sse'] as const) {
    test(`BR-007: force cancels at once on ${transport}, also while others are being waited for`, async (t) => {
      const name = `forced-${transport}`;
      if (transport === 'stdio') {
        await app.add(name, stdioFeatureServer('modern'));
      } else {
        const upstream = await startFeatureServer({ transport });
        t.after(upstream.close);
        await app.add(name, transport === 'sse' ? { url: upstream.url } : { base_url: upstream.url });
      }
      const mark = app.seen.all.length;
      const pending = app.call(`${name}.slow`, { ms: 60_000 });
      await app.seen.waitFor('call.started', undefined, mark);
      await app.api('POST', `${servers}/${name}/disconnect`);
      const forced = await app.api('POST', `${servers}/${name}/disconnect`, { force: true });
      assert.equal(forced.body.status, 'DISCONNECTED');
      const { status, body } = await pending;
      assert.equal(status, 503);
      assert.equal(body.detail, `Server unavailable: ${name} was disconnected during the call`);
      assert.equal(body.context.executed, 'unknown');
    });
  }

  test('BR-007: a server that is trying to connect can be disconnected, and stays so', async () => {
    await app.register('trying', { command: process.execPath, args: ['-e', saysItsPidAndHangs] });
    const pid = await pidSaid('trying');
    const answer = await app.api('POST', `${servers}/trying/disconnect`);
    assert.equal(answer.body.status, 'DISCONNECTED');
    assert.ok(!isAlive(pid), 'its process is gone when the answer says so');
    assert.equal((await app.server('trying')).status, 'DISCONNECTED');
  });

  test('BR-007: a call that waits for a lost server does not bring back one that was disconnected', async (t) => {
    const upstream = await startFeatureServer({ transport: 'streamable-modern' });
    t.after(upstream.close);
    await app.add('waited-for', { base_url: upstream.url });
    await upstream.close();
    const waiting = app.call('waited-for.whoami');
    await app.untilStatus('waited-for', 'ERROR');
    await app.api('POST', `${servers}/waited-for/disconnect`);
    assert.equal((await waiting).status, 503);
    assert.equal((await app.server('waited-for')).status, 'DISCONNECTED');
  });

  test('BR-008, API-007, API-011: a removed server is gone with its tools, history and process', async () => {
    const id = await app.add('removed', stdioFeatureServer('legacy'));
    const { pid } = (await app.call('removed.whoami')).body.structuredContent;
    const answer = await app.api('DELETE', `${servers}/${id}`);
    assert.equal(answer.status, 204);
    assert.equal(answer.body, undefined);
    await untilGone(pid);
    for (const path of ['', '/tools', '/history']) {
      const gone = await app.api('GET', `${servers}/${id}${path}`);
      assert.equal(gone.status, 404);
      assert.deepEqual(gone.body, { detail: `Server not found: ${id}`, error_code: 'SERVER_NOT_FOUND' });
    }
    assert.equal((await app.call('removed.whoami')).status, 404);
    assert.equal((await app.api('DELETE', `${servers}/${id}`)).status, 404);
    await app.seen.waitFor('server.removed', (event) => event.server_id === id);
    await app.add('removed', stdioFeatureServer('modern'));
  });

  test('BR-008: a server is removed while it works: its call gets 503', async () => {
    await app.add('busy', stdioFeatureServer('legacy'));
    const mark = app.seen.all.length;
    const pending = app.call('busy.slow', { ms: 60_000 });
    await app.seen.waitFor('call.started', undefined, mark);
    assert.equal((await app.api('DELETE', `${servers}/busy`)).status, 204);
    assert.equal((await pending).status, 503);
  });

  test('a server that is changed in mid-call answers from its new connection and leaves none behind', async () => {
    await app.add('replaced', stdioFeatureServer('legacy', { label: 'old' }));
    const { pid } = (await app.call('replaced.whoami')).body.structuredContent;
    const mark = app.seen.all.length;
    const pending = app.call('replaced.slow', { ms: 60_000 });
    await app.seen.waitFor('call.started', undefined, mark);
    const connection_config = stdioFeatureServer('legacy', { label: 'new' });
    await app.api('PATCH', `${servers}/replaced`, { connection_config });
    assert.equal((await pending).status, 503);
    await untilGone(pid);
    await app.untilStatus('replaced', 'CONNECTED');
    const pids = new Set<number>();
    for (let call = 0; call < 5; call += 1) {
      const { structuredContent } = (await app.call('replaced.whoami')).body;
      assert.equal(structuredContent.label, 'new');
      pids.add(structuredContent.pid);
    }
    assert.equal(pids.size, 1);
  });
});

test('MON-005: MCP_AGGREGATOR_ENABLED=false: nothing is connected, what is stored stays readable', async (t) => {
  const upstream = await startFeatureServer({ transport: 'streamable-modern' });
  const database = await createTestDatabase();
  const first = await startApp({}, { database });
  await first.add('off', { base_url: upstream.url });
  await first.close();
  const app = await startApp({ MCP_AGGREGATOR_ENABLED: 'false' }, { database });
  t.after(async () => {
    await app.close();
    await database.close();
    await upstream.close();
  });
  assert.ok((await app.api('GET', `${servers}/off/tools`)).body.total > 0);
  assert.equal((await app.call('off.whoami')).status, 503);
  assert.equal((await app.server('off')).status, 'DISCONNECTED');
  const answer = await app.api('POST', `${servers}/off/connect`);
  assert.equal(answer.status, 409);
  assert.match(answer.body.detail, /MCP_AGGREGATOR_ENABLED/);
});
