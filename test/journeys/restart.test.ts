/** A restart of the aggregator that its clients do not notice. */
import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { connectClient, messagesOf, open, openSession, post, readEvents } from '../mcp/clients.ts';
import { type Body, startApp, type TestApp } from '../support/app.ts';
import { createTestDatabase } from '../support/databases.ts';
import { freePort } from '../support/ports.ts';
import { stdioFeatureServer } from '../support/servers/feature-server.ts';
import { until } from '../support/until.ts';

/** An app that can be started again at the same address, with the same data. */
async function startRestartable(t: TestContext): Promise<{ app: TestApp; restart(): Promise<TestApp> }> {
  const database = await createTestDatabase();
  const settings = {
    MCP_AGGREGATOR_PORT: String(await freePort()),
    MCP_AGGREGATOR_ADMIN_TOKEN: 'admin-token-that-stays-the-same',
    MCP_AGGREGATOR_EXPOSURE: 'all',
  };
  let app = await startApp(settings, { database });
  t.after(async () => {
    await app.close();
    await database.close();
  });
  await app.add('s', stdioFeatureServer('legacy', { label: 's' }));
  return {
    app,
    async restart() {
      await app.close();
      app = await startApp(settings, { database });
      return app;
    },
  };
}

const echo = { name: 's__echo', arguments: { text: 'hello' } };
const uri = 'fixture://static';

suite('a restart', () => {
  test('MCP-028: clients of both SDKs and of every revision go on without a new initialize', async (t) => {
    const { app, restart } = await startRestartable(t);
    const clients = await Promise.all(
      (['2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'] as const).map((revision) =>
        connectClient(app, { revision: revision as '2025-06-18' }),
      ),
    );
    const v1 = new ClientV1({ name: 'v1', version: '1' });
    const authorization = { authorization: `Bearer ${app.adminToken}` };
    await v1.connect(new TransportV1(new URL(`${app.url}/mcp`), { requestInit: { headers: authorization } }));
    t.after(() => Promise.all([...clients, v1].map((client) => client.close())));
    const callAll = () => Promise.all([...clients, v1].map(async (client) => (await client.callTool(echo)).isError));
    await callAll();
    await restart();
    assert.deepEqual(await callAll(), [undefined, undefined, undefined, undefined, undefined]);
  });

  test('MCP-028: what the client set and follows holds; it is told that lists may have changed', async (t) => {
    const { app, restart } = await startRestartable(t);
    const session = await openSession(app);
    await session.request('resources/subscribe', { uri });
    await session.request('logging/setLevel', { level: 'error' });
    const again = await restart();
    const stream = await open(again, 'GET', undefined, { headers: session.headers });
    const seen: string[] = [];
    const read = async () => {
      for await (const { method } of messagesOf(stream)) seen.push(method);
    };
    void read().catch(() => undefined); // ends with the app
    await until(() => seen.includes('notifications/tools/list_changed'), 'the client is told');
    await until(async () => {
      await again.call('s.touch_resource', { uri });
      return seen.includes('notifications/resources/updated');
    }, 'the resource is followed again');
    const { events } = await session.request('tools/call', { name: 's__log', arguments: {} });
    const levels = events.flatMap(({ method, params }: Body) =>
      method === 'notifications/message' ? [params.level] : [],
    );
    assert.deepEqual(levels, ['error']);
  });

  test('MCP-028: a call that was in progress gets an error that says so', async (t) => {
    const { app, restart } = await startRestartable(t);
    const session = await openSession(app);
    const slow = {
      jsonrpc: '2.0',
      id: 'slow-1',
      method: 'tools/call',
      params: { name: 's__slow', arguments: { ms: 60_000 }, _meta: { progressToken: 1 } },
    };
    const response = await open(app, 'POST', slow, { headers: session.headers });
    let lastEventId = '';
    for await (const { id, data } of readEvents(response)) {
      lastEventId = id ?? lastEventId;
      if (data !== '') break;
    }
    const again = await restart();
    const resumed = await open(again, 'GET', undefined, {
      headers: { ...session.headers, 'last-event-id': lastEventId },
    });
    const answers: Body[] = [];
    for await (const message of messagesOf(resumed)) answers.push(message);
    assert.equal(answers.length, 1);
    assert.equal(answers[0].id, 'slow-1');
    assert.match(answers[0].error.message, /restarted.*may have been executed/);
  });

  test('MCP-028: a session that was ended, or is of another token, cannot be opened again', async (t) => {
    const { app, restart } = await startRestartable(t);
    const [ended, kept] = [await openSession(app), await openSession(app)];
    assert.equal((await open(app, 'DELETE', undefined, { headers: ended.headers })).status, 200);
    const again = await restart();
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
    assert.equal((await post(again, ping, { headers: ended.headers })).status, 404);
    const { body } = await again.api('POST', '/api/v1/tokens', { name: 'other', role: 'caller' });
    assert.equal((await post(again, ping, { headers: kept.headers, token: body.token })).status, 404);
    const tampered = { ...kept.headers, 'mcp-session-id': `${kept.id.slice(0, -2)}xx` };
    assert.equal((await post(again, ping, { headers: tampered })).status, 404);
    assert.equal((await post(again, ping, { headers: kept.headers })).status, 200);
  });
});
