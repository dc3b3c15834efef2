/** Whose a session with a server is: one for all callers, one for each client, one for each principal. */
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, suite, test } from 'node:test';
import type { Client } from '@modelcontextprotocol/client';
import { startApp, type TestApp } from '../support/app.ts';
import { childServers, isAlive } from '../support/processes.ts';
import { type RunningServer, startFeatureServer, stdioFeatureServer } from '../support/servers/feature-server.ts';
import { until } from '../support/until.ts';
import {
  answering,
  everyCapability as capabilities,
  connectClient,
  createToken,
  messagesOf,
  open,
  openSession,
  postModern,
  type RawSession,
} from './clients.ts';

suite('sessions that belong to clients', () => {
  let app: TestApp;
  let http: RunningServer;

  before(async () => {
    app = await startApp({ MCP_AGGREGATOR_SESSION_IDLE: '1', MCP_AGGREGATOR_IDLE_TIMEOUT: '0' });
    await app.add('s', stdioFeatureServer('legacy', { label: 's' }), { options: { sessions: 'client' } });
    http = await startFeatureServer({ transport: 'streamable-legacy', label: 'http' });
  });
  after(async () => {
    await app.close();
    await http.close();
  });

  const whoami = { name: 's__whoami', arguments: {} };
  const gone = (pid: number) => !isAlive(pid);
  const uri = 'fixture://static';
  /** The addresses of resources that a stream says were updated, as they come. */
  const updatesOf = (stream: Response) => {
    const updates: string[] = [];
    const read = async () => {
      for await (const { method, params } of messagesOf(stream))
        if (method === 'notifications/resources/updated') updates.push(params.uri);
    };
    void read().catch(() => undefined); // ends with the app
    return updates;
  };
  const pidOf = async (session: RawSession): Promise<number> =>
    (await session.request('tools/call', whoami)).body.result.structuredContent.pid;
  const restPid = async (token?: string): Promise<number> =>
    (await app.call('s.whoami', {}, token === undefined ? {} : { token })).body.structuredContent.pid;

  test('MCP-020: each client has its own process, which ends with its session, whatever it can be asked', async () => {
    const shared = childServers();
    const [ada, bob, mute] = [
      await openSession(app, { capabilities }),
      await openSession(app, { capabilities }),
      await openSession(app),
    ];
    const token = await createToken(app, { role: 'caller' });
    const pids = await Promise.all([pidOf(ada), pidOf(bob), pidOf(mute), restPid(), restPid(token)]);
    assert.equal(new Set([...shared, ...pids]).size, shared.length + 5);
    assert.equal(await pidOf(mute), pids[2], 'the next call finds it again');
    assert.equal(await restPid(token), pids[4], 'a token finds its own again');
    assert.equal((await open(app, 'DELETE', undefined, { headers: ada.headers })).status, 200);
    await until(() => gone(pids[0]), 'DELETE ended its process');
    await until(() => pids.every(gone), 'idle ones ended');
    assert.ok(shared.every(isAlive));
  });

  test('calls of a client that wait for the server to come back share its process', async () => {
    const ada = await openSession(app, { capabilities });
    const mark = app.seen.all.length;
    for (const pid of childServers()) process.kill(pid, 'SIGKILL');
    await app.seen.waitFor('server.status', ({ name, status }) => name === 's' && status === 'ERROR', mark);
    const pids = await Promise.all([pidOf(ada), pidOf(ada), pidOf(ada)]);
    assert.equal(new Set(pids).size, 1);
    await open(app, 'DELETE', undefined, { headers: ada.headers });
    await until(() => gone(pids[0] ?? 0), 'its process ended');
  });

  test('a subscription does not bring one back for a client that left', async () => {
    const ada = await openSession(app, { capabilities });
    const followed = await ada.request('resources/subscribe', { uri: 'fixture://static' });
    assert.deepEqual(followed.body.result, {});
    assert.ok((await app.server('s')).client_sessions > 0);
    await open(app, 'DELETE', undefined, { headers: ada.headers });
    await until(async () => (await app.server('s')).client_sessions === 0, 'its session ended');
  });

  test('what a client follows it follows again when its process is lost, without asking', async () => {
    const ada = await openSession(app, { capabilities });
    const updates = updatesOf(await open(app, 'GET', undefined, { headers: ada.headers }));
    await ada.request('resources/subscribe', { uri });
    const own = await pidOf(ada);
    const sessions = async () => (await app.server('s')).client_sessions;
    process.kill(own, 'SIGKILL');
    await until(async () => (await sessions()) === 0, 'its process is known to be gone');
    const mark = app.seen.all.length;
    for (const pid of childServers()) process.kill(pid, 'SIGKILL');
    await app.seen.waitFor('server.status', ({ name, status }) => name === 's' && status === 'CONNECTED', mark);
    await until(async () => (await sessions()) > 0, 'the client has a session again');
    await ada.request('tools/call', { name: 's__touch_resource', arguments: { uri } });
    await until(() => updates.includes(uri), 'the update arrived');
    await open(app, 'DELETE', undefined, { headers: ada.headers });
  });

  test('and so it does when the server is changed', async (t) => {
    const server = await startFeatureServer({ transport: 'streamable-legacy', label: 'moving' });
    t.after(server.close);
    await app.add('moving', { base_url: server.url });
    const mute = await openSession(app, { path: '/mcp/servers/moving' });
    const updates = updatesOf(await open(app, 'GET', undefined, { headers: mute.headers }));
    await mute.request('resources/subscribe', { uri });
    const mark = app.seen.all.length;
    const connection_config = { base_url: server.url, headers: { 'x-changed': 'yes' } };
    await app.api('PATCH', '/api/v1/aggregator/servers/moving', { connection_config });
    await app.seen.waitFor('server.status', ({ name, status }) => name === 'moving' && status === 'CONNECTED', mark);
    await until(async () => {
      await app.call('moving.touch_resource', { uri });
      return updates.includes(uri);
    }, 'the update arrived');
  });

  test('one of an SSE client ends with its stream', async () => {
    const client = await connectClient(app, { revision: '2024-11-05', capabilities, prepare: answering('old') });
    const { structuredContent } = await client.callTool(whoami);
    const { pid } = structuredContent as { pid: number };
    assert.notEqual(pid, await restPid());
    await client.close();
    await until(() => gone(pid), 'its process ended');
  });

  test('with credentials of their own, clients hold sessions no longer than others do', async () => {
    const options = { credentials: 'per_principal', sessions: 'client' };
    await app.add('own', { base_url: http.url }, { options });
    const held = async () => (await app.server('own')).client_sessions;
    const own = { name: 'own__whoami', arguments: {} };
    const ada = await openSession(app, { capabilities });
    await Promise.all([ada.request('tools/call', own), ada.request('tools/call', own)]);
    assert.equal(await held(), 1);
    assert.equal((await open(app, 'DELETE', undefined, { headers: ada.headers })).status, 200);
    await until(async () => (await held()) === 0, 'the session of a client ended with it');

    await app.call('own.whoami');
    assert.equal(await held(), 1, "the principal's own");
    await until(async () => (await held()) === 0, 'which was no longer used');
    assert.equal((await app.call('own.whoami')).status, 200);
  });

  test('MCP-021: calls of one modern client share a session, also those in parallel', async () => {
    const modernPid = async (headers?: Record<string, string>, token?: string): Promise<number> =>
      (await postModern(app, 'tools/call', whoami, { capabilities: { sampling: {} }, headers, token })).body.result
        .structuredContent.pid;
    const pids = await Promise.all([modernPid(), modernPid(), modernPid(), modernPid()]);
    assert.equal(new Set([...pids, await modernPid()]).size, 1);
    const handle = { 'mcp-aggregator-client': 'another window' };
    const other = await Promise.all([modernPid(handle), modernPid(handle)]);
    assert.equal(new Set([...pids, ...other]).size, 2, 'a handle tells clients apart');
    const token = await createToken(app, { role: 'caller' });
    assert.notEqual(await modernPid(handle, token), other[0], 'the same handle of another token is another client');
    await until(() => [...pids, ...other].every(gone), 'its process ended when it was idle');
  });

  test('MCP-022: with sessions for principals, the clients of one token share one', async () => {
    await app.add('p', stdioFeatureServer('legacy', { label: 'p' }), { options: { sessions: 'principal' } });
    const other = await createToken(app, { role: 'caller' });
    const pid = async (token?: string): Promise<number> => {
      const session = await openSession(app, token === undefined ? {} : { token });
      return (await session.request('tools/call', { name: 'p__whoami', arguments: {} })).body.result.structuredContent
        .pid;
    };
    const [first, second, third] = [await pid(), await pid(), await pid(other)];
    assert.equal(first, second);
    assert.notEqual(first, third);
    const { sessions } = await app.server('p');
    assert.deepEqual([sessions.ownership, sessions.source], ['principal', 'setting']);
  });
});

suite('a shared session that turns out to belong to a client', () => {
  let app: TestApp;
  beforeEach(async () => {
    app = await startApp();
    await app.add('s', stdioFeatureServer('legacy', { label: 's' }));
  });
  afterEach(() => app.close());

  const whoami = { name: 's__whoami', arguments: {} };
  const pidOf = async (client: Client): Promise<number> =>
    ((await client.callTool(whoami)).structuredContent as { pid: number }).pid;
  const restPid = async (): Promise<number> => (await app.call('s.whoami')).body.structuredContent.pid;

  for (const revision of ['2025-11-25', '2026-07-28'] as const) {
    test(`MCP-025: a ${revision} client keeps the session in which it was asked first; others get another`, async (t) => {
      const connect = async (name: string) => {
        const client = await connectClient(app, { revision, name, capabilities, prepare: answering(name) });
        t.after(() => client.close());
        return client;
      };
      const [ada, bob] = [await connect('Ada'), await connect('Bob')];
      const shared = await restPid();
      assert.deepEqual([await pidOf(ada), await pidOf(bob)], [shared, shared]);
      const { structuredContent } = await ada.callTool({ name: 's__elicit', arguments: {} });
      assert.deepEqual(structuredContent, { form: { action: 'accept', content: { name: 'Ada' } } });
      assert.equal(await pidOf(ada), shared, 'the client that was asked keeps what its call began');
      const others = [await pidOf(bob), await restPid()];
      assert.equal(new Set([shared, ...others]).size, 3);
      const { sessions, status } = await app.server('s');
      assert.deepEqual([sessions.ownership, sessions.source, status], ['client', 'observed', 'CONNECTED']);
      assert.match(sessions.reason, /elicitation\/create/);
    });

    test(`MCP-026: a tool that a call of a ${revision} client enables is listed to that client and callable by it alone`, async (t) => {
      await app.api('PATCH', '/api/v1/aggregator/servers/s', { options: { sessions: 'client' } });
      await app.untilStatus('s', 'CONNECTED');
      const connect = async (name: string) => {
        const client = await connectClient(app, { revision, name });
        t.after(() => client.close());
        return client;
      };
      const [ada, bob] = [await connect('Ada'), await connect('Bob')];
      const isListed = async (client: Client) =>
        (await client.listTools()).tools.some(({ name }) => name === 's__appeared');
      const changed = Promise.withResolvers<void>();
      ada.setNotificationHandler('notifications/tools/list_changed', () => changed.resolve());
      const listening = revision === '2026-07-28' ? await ada.listen({ toolsListChanged: true }) : undefined;
      await ada.callTool({ name: 's__change_tools', arguments: {} });
      await changed.promise;
      assert.deepEqual([await isListed(ada), await isListed(bob)], [true, false]);
      const { content } = await ada.callTool({ name: 's__appeared', arguments: {} });
      assert.deepEqual(content, [{ type: 'text', text: 'here now' }]);
      await assert.rejects(bob.callTool({ name: 's__appeared', arguments: {} }), /not found/i);
      await listening?.close();
    });
  }
});

suite('notifications of no known revision', () => {
  let app: TestApp;
  before(async () => {
    app = await startApp();
    await app.add('s', stdioFeatureServer('legacy', { label: 's' }));
  });
  after(() => app.close());

  /** What arrives on the stream of a client. */
  async function newsOf(session: RawSession): Promise<unknown[]> {
    const news: unknown[] = [];
    const stream = await open(app, 'GET', undefined, { headers: session.headers });
    const read = async () => {
      for await (const { method, params } of messagesOf(stream))
        if (method === 'notifications/example/news') news.push(params);
    };
    void read().catch(() => undefined); // ends with the app
    return news;
  }

  test('MCP-027: reach every client of a shared session, and the owner alone of its own', async () => {
    const [ada, bob] = [await openSession(app), await openSession(app)];
    const [forAda, forBob] = [await newsOf(ada), await newsOf(bob)];
    const announce = { name: 's__announce', arguments: { ms: 50 } };
    await ada.request('tools/call', announce);
    await until(() => forAda.length === 1 && forBob.length === 1, 'both clients got it');
    assert.deepEqual(forBob, [{ from: 'fixture' }]);
    await app.api('PATCH', '/api/v1/aggregator/servers/s', { options: { sessions: 'client' } });
    await app.untilStatus('s', 'CONNECTED');
    await ada.request('tools/call', announce);
    await until(() => forAda.length === 2, 'the owner got it');
    assert.equal(forBob.length, 1);
  });
});
