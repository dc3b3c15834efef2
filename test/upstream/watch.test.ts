/** What servers tell without being asked, when the stream on which they do is cut. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { type TestContext, test } from 'node:test';
import { open, openSession, readEvents } from '../mcp/clients.ts';
import { type Body, startApp } from '../support/app.ts';
import { modernRequest } from '../support/modern-request.ts';
import { listenLocally, openEventStream, readJson, sendJson, writeEvent } from '../support/servers/http-wire.ts';
import { until } from '../support/until.ts';

for (const era of ['modern', 'legacy'] as const) {
  test(`${era}: what changed meanwhile is found when the stream is open again`, async (t) => {
    const app = await startApp();
    t.after(app.close);
    const server = await startServer(t, era);
    await app.add('changing', { base_url: server.url });
    const stream = await server.stream;
    const mark = app.seen.all.length;
    server.tools.push('two');
    stream.destroy();
    await app.seen.waitFor('server.discovered', ({ added }) => added.includes('changing.two'), mark);
  });
}

test('modern: resources that are followed in one moment are one request to the server', async (t) => {
  const app = await startApp();
  t.after(app.close);
  const server = await startServer(t, 'modern');
  await app.add('many', { base_url: server.url });
  await server.stream;
  const { message, headers } = modernRequest('subscriptions/listen', {
    notifications: { resourceSubscriptions: uris },
  });
  const leaving = new AbortController();
  const response = await open(app, 'POST', message, { headers, signal: leaving.signal });
  const { value } = await readEvents(response).next();
  assert.deepEqual(JSON.parse(value?.data ?? '').params.notifications.resourceSubscriptions, uris);
  const follows = () => server.listens.map(({ resourceSubscriptions = [] }) => resourceSubscriptions.length);
  assert.deepEqual(follows(), [0, uris.length]);
  leaving.abort();
  await until(() => server.listens.length > 2, 'the server was told of the end');
  assert.deepEqual(follows(), [0, uris.length, 0]);
});

test('legacy: a resource that cannot be followed after reconnecting is logged', async (t) => {
  const app = await startApp();
  t.after(app.close);
  const server = await startServer(t, 'legacy');
  await app.add('forgetful', { base_url: server.url });
  const session = await openSession(app);
  const { body } = await session.request('resources/subscribe', { uri: uris[0] });
  assert.deepEqual(body.result, {});
  server.refused.add('resources/subscribe');
  await app.api('POST', '/api/v1/aggregator/servers/forgetful/disconnect');
  await app.api('POST', '/api/v1/aggregator/servers/forgetful/connect');
  const lines = () =>
    app.log.map((line) => JSON.parse(line)).filter(({ msg }) => /could not restore a resource subscription/.test(msg));
  await until(() => lines().length > 0, 'the failure was logged');
  assert.deepEqual(
    lines().map(({ level, server: name, uri }) => ({ level, name, uri })),
    [{ level: 'warn', name: 'forgetful', uri: uris[0] }],
  );
});

/** The least of a server, with its stream for what nobody asked for. */
async function startServer(t: TestContext, era: 'modern' | 'legacy') {
  const tools = ['one'];
  const refused = new Set<string>();
  const listens: { resourceSubscriptions?: string[] }[] = [];
  const stream = Promise.withResolvers<ServerResponse>();
  const { url, close } = await listenLocally('/mcp', 0, () => ({
    close: () => undefined,
    async handle(request, response) {
      if (request.method === 'GET' && era === 'legacy') {
        openEventStream(response);
        return stream.resolve(response);
      }
      if (request.method !== 'POST') return void response.writeHead(405).end();
      const { id, method, params }: Body = await readJson(request);
      if (id === undefined) return void response.writeHead(202).end();
      const result = refused.has(method) ? undefined : answers[era][method]?.(tools);
      if (result !== undefined) return sendJson(response, 200, { jsonrpc: '2.0', id, result });
      if (method !== 'subscriptions/listen' || era === 'legacy')
        return sendJson(response, 404, { jsonrpc: '2.0', id, error: { code: -32_601, message: 'Method not found' } });
      listens.push(params.notifications);
      openEventStream(response);
      writeEvent(response, { data: JSON.stringify(acknowledgement(id)) });
      stream.resolve(response);
    },
  }));
  t.after(close);
  return { url, tools, refused, listens, stream: stream.promise };
}

const capabilities = { tools: { listChanged: true }, resources: { subscribe: true } };
const uris = Array.from({ length: 50 }, (_, number) => `least://${number}`).toSorted();
const modern = { resultType: 'complete', ttlMs: 0, cacheScope: 'public' };
const listOf = (tools: string[]) => ({ tools: tools.map((name) => ({ name, inputSchema: { type: 'object' } })) });

const answers: Record<'modern' | 'legacy', Record<string, (tools: string[]) => Body>> = {
  modern: {
    'server/discover': () => ({ ...modern, supportedVersions: ['2026-07-28'], capabilities }),
    'tools/list': (tools) => ({ ...modern, ...listOf(tools) }),
    'resources/list': () => ({ ...modern, resources: uris.map((uri) => ({ uri, name: uri })) }),
  },
  legacy: {
    initialize: () => ({ protocolVersion: '2025-11-25', capabilities, serverInfo: { name: 'least', version: '1' } }),
    'tools/list': listOf,
    'resources/list': () => ({ resources: uris.map((uri) => ({ uri, name: uri })) }),
    'resources/subscribe': () => ({}),
  },
};

const acknowledgement = (id: unknown) => ({
  jsonrpc: '2.0',
  method: 'notifications/subscriptions/acknowledged',
  params: { notifications: {}, _meta: { 'io.modelcontextprotocol/subscriptionId': id } },
});
