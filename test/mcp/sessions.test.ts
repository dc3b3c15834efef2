/** Sessions of the legacy revisions, and who may use what. */
import assert from 'node:assert/strict';
import { after, before, mock, suite, test } from 'node:test';
import { type Body, startApp, type TestApp } from '../support/app.ts';
import { modernRequest } from '../support/modern-request.ts';
import { startFeatureServer } from '../support/servers/feature-server.ts';
import { listenLocally, type RunningServer, readJson, sendJson } from '../support/servers/http-wire.ts';
import { until } from '../support/until.ts';
import {
  connectClient,
  createToken,
  open,
  openSession,
  post,
  postModern,
  type RawAnswer,
  readEvents,
} from './clients.ts';

let app: TestApp;
let server: RunningServer;

before(async () => {
  app = await startApp({ MCP_AGGREGATOR_REQUEST_TIMEOUT: '60' });
  server = await startFeatureServer({ transport: 'streamable-legacy', label: 'sessions' });
  await app.add('s', { base_url: server.url });
});
after(async () => {
  await app.close();
  await server.close();
});

/** Of the legacy revisions, as the metrics count them. */
async function openSessions(of: TestApp): Promise<number> {
  const metrics = await (await open(of, 'GET', undefined, { path: '/metrics' })).text();
  return Number(/^mcp_aggregator_sessions\{.*era="legacy".*\} (\d+)$/m.exec(metrics)?.[1]);
}

const pausing = (n: number) => ({ name: 's__pausing', arguments: { n } });
const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };

suite('finding a session', () => {
  test('an unknown one is 404, a missing one 400', async () => {
    const unknown = await post(app, ping, { headers: { 'mcp-session-id': 'no-such-session' } });
    assert.equal(unknown.status, 404);
    assert.equal(unknown.body.error.code, -32_001);
    const missing = await post(app, ping);
    assert.equal(missing.status, 400);
    assert.equal(missing.body.error.code, -32_600);
    assert.equal((await open(app, 'DELETE', undefined)).status, 400);
    assert.equal((await open(app, 'DELETE', undefined, { headers: { 'mcp-session-id': 'none' } })).status, 404);
  });

  test('a client that says very much of itself gets a session with an id of a usual length', async () => {
    const long = 'x'.repeat(1_000_000);
    const usual = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
    for (const more of [
      { capabilities: { roots: { listChanged: true, more: long }, elicitation: { form: {} }, [long]: {} } },
      { clientInfo: { name: long, version: long, icons: [{ src: long }] } },
      { protocolVersion: long },
    ]) {
      const { status, headers } = await post(app, { ...ping, method: 'initialize', params: { ...usual, ...more } });
      const id = headers.get('mcp-session-id') ?? '';
      assert.deepEqual([status, id.length > 0 && id.length < 6_000], [200, true]);
      assert.deepEqual((await post(app, ping, { headers: { 'mcp-session-id': id } })).body.result, {});
    }
  });

  test('a request that says very much of its client is refused', async () => {
    const capabilities = { roots: {}, more: 'x'.repeat(100_000) };
    const { status, body } = await postModern(app, 'tools/list', {}, { capabilities });
    assert.equal(status, 400);
    assert.match(body.error.message, /the client has more than 65536 bytes/);
  });

  test('an address that is longer than any is not followed', async () => {
    const session = await openSession(app);
    const { body } = await session.request('resources/subscribe', { uri: `x:${'y'.repeat(10_000)}` });
    assert.match(body.error.message, /at most 8192 characters/);
  });

  test("another principal's is not there", async () => {
    const session = await openSession(app);
    const token = await createToken(app, { role: 'admin' });
    assert.equal((await session.request('ping', {}, { token })).status, 404);
    const stolen = await open(app, 'GET', undefined, { token, headers: session.headers });
    assert.equal(stolen.status, 404);
    assert.equal((await open(app, 'DELETE', undefined, { token, headers: session.headers })).status, 404);
    assert.equal((await session.request('ping')).status, 200);
  });

  test('DELETE ends it', async () => {
    const session = await openSession(app);
    assert.equal((await open(app, 'DELETE', undefined, { headers: session.headers })).status, 200);
    assert.equal((await session.request('ping')).status, 404);
  });

  test('the server of a session can be removed while the session is open', async (t) => {
    const gone = await startFeatureServer({ transport: 'streamable-legacy', label: 'gone' });
    t.after(gone.close);
    await app.add('gone', { base_url: gone.url });
    const path = '/mcp/servers/gone';
    const session = await openSession(app, { path });
    assert.equal((await app.api('DELETE', '/api/v1/aggregator/servers/gone')).status, 204);
    const { body } = await session.request('tools/list', {}, { path });
    assert.match(body.error.message, /Server not found: gone/);
  });

  test('GET without a session is 405, and so are other methods', async () => {
    const get = await open(app, 'GET', undefined);
    assert.equal(get.status, 405);
    assert.equal(get.headers.get('allow'), 'POST');
    assert.equal((await open(app, 'PUT', ping)).status, 405);
    const modern = { 'mcp-protocol-version': '2026-07-28' };
    assert.equal((await open(app, 'GET', undefined, { headers: modern })).status, 405);
    assert.equal((await open(app, 'DELETE', undefined, { headers: modern })).status, 405);
  });

  test('MCP-001: the revision asked for is spoken, an unknown one is answered with our newest', async () => {
    for (const [asked, spoken] of [
      ['2024-11-05', '2024-11-05'],
      ['2025-03-26', '2025-03-26'],
      ['2025-06-18', '2025-06-18'],
      ['2099-01-01', '2025-11-25'],
    ]) {
      const params = { protocolVersion: asked, capabilities: {}, clientInfo: { name: 'x', version: '1' } };
      const { body } = await post(app, { jsonrpc: '2.0', id: 1, method: 'initialize', params });
      assert.equal(body.result.protocolVersion, spoken);
    }
    const session = await openSession(app);
    const wrong = await session.request('ping', {}, { headers: { 'mcp-protocol-version': '1999-01-01' } });
    assert.equal(wrong.status, 400);
  });
});

suite('batches', () => {
  const batch = [
    { jsonrpc: '2.0', id: 'a', method: 'ping' },
    { jsonrpc: '2.0', method: 'notifications/roots/list_changed' },
    { jsonrpc: '2.0', id: 'b', method: 'tools/call', params: { name: 's__add', arguments: { a: 1, b: 2 } } },
  ];

  test('are answered together in 2025-03-26', async () => {
    const session = await openSession(app, { revision: '2025-03-26' });
    const { body } = await post(app, batch, { headers: session.headers });
    assert.deepEqual(
      body.map(({ id, result }: Body) => [id, result.structuredContent ?? result]),
      [
        ['a', {}],
        ['b', { sum: 3 }],
      ],
    );
    const notices = await post(app, [batch[1]], { headers: session.headers });
    assert.equal(notices.status, 202);
  });

  test('are refused elsewhere, and empty ones everywhere', async () => {
    const session = await openSession(app, { revision: '2025-06-18' });
    assert.equal((await post(app, batch, { headers: session.headers })).status, 400);
    assert.equal((await post(app, [], { headers: session.headers })).status, 400);
  });

  test('may hold a hundred messages', async () => {
    const { headers } = await openSession(app, { revision: '2025-03-26' });
    const pings = Array.from({ length: 101 }, (_, id) => ({ ...ping, id }));
    assert.equal((await post(app, pings.slice(1), { headers })).body.length, 100);
    const refused = await post(app, pings, { headers });
    assert.equal(refused.status, 400);
    assert.match(refused.body.error.message, /1 to 100 messages/);
  });
});

suite('streams', () => {
  test('one that the server pauses is paused for the client, too, which comes back for its answer', async () => {
    const session = await openSession(app);
    const call = { jsonrpc: '2.0', id: 'paused', method: 'tools/call', params: pausing(2) };
    const streams: Response[] = [await open(app, 'POST', call, { headers: session.headers })];
    const events: Body[] = [];
    let last: string | undefined;
    for (const stream of streams) {
      assert.equal(stream.status, 200);
      for await (const { id, data } of readEvents(stream)) {
        last = id ?? last;
        if (data !== '') events.push(JSON.parse(data));
      }
      if (events.length > 0) break;
      streams.push(
        await open(app, 'GET', undefined, { headers: { ...session.headers, 'last-event-id': String(last) } }),
      );
    }
    assert.equal(streams.length, 3);
    assert.deepEqual(
      events.map(({ id, result }) => [id, result.content[0].text]),
      [['paused', 'paused 2 times']],
    );
  });

  test("the SDK's client comes back by itself", async (t) => {
    const client = await connectClient(app);
    t.after(() => client.close());
    assert.deepEqual((await client.callTool(pausing(1))).content, [{ type: 'text', text: 'paused 1 times' }]);
  });

  test('one that the server pauses often is one answer for clients that cannot come back', async () => {
    const older = await openSession(app, { revision: '2025-06-18' });
    const answers = await Promise.all([
      older.request('tools/call', pausing(7)),
      postModern(app, 'tools/call', pausing(7)),
      app.call('s.pausing', { n: 7 }),
    ]);
    for (const { body } of answers) assert.equal((body.result ?? body).content[0].text, 'paused 7 times');
  });

  test('one that was cut is resumed with Last-Event-ID', async () => {
    const session = await openSession(app);
    const params = { name: 's__slow', arguments: { ms: 300 }, _meta: { progressToken: 'p' } };
    const cut = new AbortController();
    const request = { jsonrpc: '2.0', id: 'long', method: 'tools/call', params };
    const response = await open(app, 'POST', request, { headers: session.headers, signal: cut.signal });
    let last: string | undefined;
    for await (const { id, data } of readEvents(response)) {
      last = id;
      if (data !== '') break; // the first progress
    }
    cut.abort();

    const resumed = await open(app, 'GET', undefined, {
      headers: { ...session.headers, 'last-event-id': String(last) },
    });
    const events: Body[] = [];
    for await (const { data } of readEvents(resumed)) if (data !== '') events.push(JSON.parse(data));
    assert.deepEqual(
      events.map(({ id }) => id),
      ['long'],
    );
    assert.equal(events[0].result.content[0].text, 'waited 300 ms');

    const again = await open(app, 'GET', undefined, { headers: { ...session.headers, 'last-event-id': String(last) } });
    assert.match(await again.text(), /waited 300 ms/);
  });

  test('a second stream for unsolicited messages is 409, and what came between two is not lost', async () => {
    const session = await openSession(app);
    const first = new AbortController();
    const headers = { ...session.headers, accept: 'text/event-stream' };
    const stream = await open(app, 'GET', undefined, { headers, signal: first.signal });
    assert.equal((await open(app, 'GET', undefined, { headers })).status, 409);
    const events = readEvents(stream);
    const heard = events.next();
    await app.call('s.change_tools');
    const { id, data } = (await heard).value ?? {};
    assert.equal(JSON.parse(String(data)).method, 'notifications/tools/list_changed');
    first.abort();
    const from = app.seen.all.length;
    await app.call('s.change_tools');
    await app.seen.waitFor('server.discovered', undefined, from);
    const second = await open(app, 'GET', undefined, { headers: { ...headers, 'last-event-id': String(id) } });
    const next = await readEvents(second).next();
    assert.equal(JSON.parse(String(next.value?.data)).method, 'notifications/tools/list_changed');
  });

  test('comments keep quiet ones open', async (t) => {
    const session = await openSession(app);
    const ended = new AbortController();
    t.after(() => ended.abort());
    mock.timers.enable({ apis: ['setInterval'] });
    t.after(() => mock.timers.reset());
    const headers = { ...session.headers, accept: 'text/event-stream' };
    const stream = await open(app, 'GET', undefined, { headers, signal: ended.signal });
    const commented = Promise.withResolvers<string>();
    void readEvents(stream, commented.resolve)
      .next()
      .catch(() => undefined); // ended by the test
    mock.timers.tick(15_000);
    assert.match(await commented.promise, /still here/);
  });

  test('an answer is JSON where nothing streams, and a stream where something does', async () => {
    const session = await openSession(app);
    const plain = await session.request('tools/call', { name: 's__add', arguments: { a: 1, b: 1 } });
    assert.match(plain.headers.get('content-type') ?? '', /^application\/json/);
    const params = { name: 's__progress', arguments: { n: 2 }, _meta: { progressToken: 'p' } };
    const streamed = await session.request('tools/call', params);
    assert.match(streamed.headers.get('content-type') ?? '', /^text\/event-stream/);
    assert.equal(streamed.headers.get('x-accel-buffering'), 'no');
    assert.deepEqual(
      streamed.events.map(({ params, result }: Body) => params?.progressToken ?? result.content[0].text),
      ['p', 'p', '2 steps'],
    );
  });

  test('MCP-031: a client that names streams first gets one for each answer, and can resume it', async () => {
    const session = await openSession(app);
    const accept = 'text/event-stream, application/json';
    const call = {
      jsonrpc: '2.0',
      id: 'slow',
      method: 'tools/call',
      params: { name: 's__slow', arguments: { ms: 50 } },
    };
    const cut = new AbortController();
    const stream = await open(app, 'POST', call, { headers: { ...session.headers, accept }, signal: cut.signal });
    const { value: primer } = await readEvents(stream).next();
    assert.equal(primer?.data, '');
    cut.abort();
    const lastEventId = String(primer?.id);
    const resumed = await open(app, 'GET', undefined, {
      headers: { ...session.headers, 'last-event-id': lastEventId },
    });
    const answers: Body[] = [];
    for await (const { data } of readEvents(resumed)) answers.push(JSON.parse(data));
    assert.deepEqual(
      answers.map(({ id, result }) => [id, result.content[0].text]),
      [['slow', 'waited 50 ms']],
    );

    const modern = await postModern(app, 'tools/list', {}, { headers: { accept } });
    assert.match(modern.headers.get('content-type') ?? '', /^text\/event-stream/);
    assert.equal(modern.events.length, 1);
    const refused = await postModern(app, 'no/such/method', {}, { headers: { accept } });
    assert.deepEqual([refused.status, refused.body.error.code], [404, -32_601]);
  });
});

suite('who may do what', () => {
  test('SEC-007: foreign hosts and origins are refused with 403', async () => {
    const origin = await open(app, 'POST', ping, { headers: { origin: 'https://evil.example' } });
    assert.equal(origin.status, 403);
    const { message, headers } = { message: ping, headers: { host: 'evil.example' } };
    const { request } = await import('node:http');
    const { hostname, port } = new URL(app.url);
    const status = await new Promise((resolve, reject) => {
      const sent = request({ hostname, port, path: '/mcp', method: 'POST', headers }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      });
      sent.on('error', reject);
      sent.end(JSON.stringify(message));
    });
    assert.equal(status, 403);
  });

  test('no token is 401 with a challenge', async () => {
    for (const token of [null, 'not-a-token']) {
      const refused = await post(app, ping, { token });
      assert.equal(refused.status, 401);
      assert.match(refused.headers.get('www-authenticate') ?? '', /^Bearer/);
    }
  });

  test('a viewer lists, but nothing of what it asks for reaches a server', async () => {
    const token = await createToken(app, { role: 'viewer' });
    const session = await openSession(app, { token });
    const uri = 'fixture://static';
    for (const list of ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list']) {
      assert.ok((await session.request(list)).body.result, list);
      assert.ok((await postModern(app, list, {}, { token })).body.result, list);
    }
    for (const [method, params] of [
      ['tools/call', { name: 's__add', arguments: { a: 1, b: 1 } }],
      ['prompts/get', { name: 's__greet' }],
      ['resources/read', { uri }],
      ['completion/complete', { ref: { type: 'ref/resource', uri }, argument: { name: 'a', value: '' } }],
    ] as const) {
      const { body: legacy } = await session.request(method, params);
      assert.equal(legacy.error?.data.error_code, 'FORBIDDEN', method);
      const { body: modern } = await postModern(app, method, params, { token });
      assert.equal(modern.error?.data.error_code, 'FORBIDDEN', method);
    }
    const { body } = await session.request('resources/subscribe', { uri });
    assert.equal(body.error.data.error_code, 'FORBIDDEN');
    const unknown = await postModern(app, 'extension/list', {}, { token, path: '/mcp/servers/s' });
    assert.equal(unknown.body.error.data.error_code, 'FORBIDDEN');
  });

  test('with a token that is revoked end the sessions and streams that it opened, and no others', async () => {
    const created = (await app.api('POST', '/api/v1/tokens', { name: 'leaving', role: 'caller' })).body;
    const beginAll = async (token: string) => {
      const { headers } = await openSession(app, { token });
      const listen = modernRequest('subscriptions/listen', { notifications: { toolsListChanged: true } });
      const streams = await Promise.all([
        open(app, 'GET', undefined, { token, headers }),
        open(app, 'GET', undefined, { token, path: '/sse' }),
        open(app, 'POST', listen.message, { token, headers: listen.headers }),
        open(app, 'GET', undefined, { token, path: '/api/v1/aggregator/events' }),
      ]);
      for (const stream of streams) assert.equal(stream.status, 200);
      return streams;
    };
    const theirs = await beginAll(created.token);
    const others = await beginAll(await createToken(app, { role: 'caller' }));
    const before = await openSessions(app);
    assert.equal((await app.api('DELETE', `/api/v1/tokens/${created.id}`)).status, 204);
    await Promise.all(theirs.map((stream) => stream.text()));
    assert.equal(await openSessions(app), before - 2);
    for (const stream of others) {
      const ended = await Promise.race([stream.text().then(() => true), openSessions(app).then(() => false)]);
      assert.equal(ended, false);
    }
  });

  test("SEC-009: a client's token is never passed on to a server", async (t) => {
    const seen: Body[] = [];
    const spy = await listenLocally('/mcp', 0, () => ({
      close: () => undefined,
      handle: async (request, response) => {
        const body: Body = request.method === 'POST' ? await readJson(request) : undefined;
        seen.push({ headers: request.headers, body });
        if (body?.id === undefined) return void response.writeHead(request.method === 'POST' ? 202 : 405).end();
        sendJson(response, 200, { jsonrpc: '2.0', id: body.id, result: resultOf(body.method) });
      },
    }));
    t.after(spy.close);
    await app.add('spy', { base_url: spy.url, headers: { 'x-own': 'of the server' } });
    const token = await createToken(app, { role: 'caller' });
    await postModern(app, 'tools/call', { name: 'spy__look', arguments: {} }, { token, headers: { cookie: 'c=1' } });
    const session = await openSession(app, { token });
    await session.request('tools/call', { name: 'spy__look', arguments: {} });
    assert.ok(seen.some(({ body }) => body?.method === 'tools/call'));
    assert.ok(seen.every(({ headers }) => headers['x-own'] === 'of the server'));
    assert.doesNotMatch(JSON.stringify(seen), new RegExp(`${token}|${app.adminToken}|c=1|authorization`));
  });
});

function resultOf(method: string): Body {
  if (method === 'initialize') {
    return { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'spy', version: '1' } };
  }
  if (method === 'server/discover') return {};
  return method === 'tools/list' ? { tools: [{ name: 'look', inputSchema: { type: 'object' } }] } : { content: [] };
}

suite('bounds', () => {
  test('the session idle longest makes room, within a principal and in all', async (t) => {
    const small = await startApp({
      MCP_AGGREGATOR_MAX_SESSIONS: '4',
      MCP_AGGREGATOR_MAX_SESSIONS_PER_PRINCIPAL: '2',
    });
    t.after(small.close);
    const first = await openSession(small);
    const second = await openSession(small);
    const third = await openSession(small);
    assert.equal(await openSessions(small), 2);
    for (const session of [first, second, third]) assert.equal((await session.request('ping')).status, 200);
    assert.equal(await openSessions(small), 2, 'one that made room takes the place of another when it goes on');

    const tokens = await Promise.all([1, 2].map(() => createToken(small, { role: 'caller' })));
    for (const token of tokens) await openSession(small, { token });
    await openSession(small, { token: tokens[0] });
    assert.equal(await openSessions(small), 4, 'the oldest of all made room');
  });

  test('an idle session expires', async (t) => {
    const brief = await startApp({ MCP_AGGREGATOR_SESSION_IDLE: '1' });
    t.after(brief.close);
    const session = await openSession(brief);
    await until(async () => (await openSessions(brief)) === 0, 'the session expired');
    assert.equal((await session.request('ping')).status, 200, 'and goes on when its client does');
  });

  test('a session whose client listens does not expire, and one whose client left does', async (t) => {
    const brief = await startApp({ MCP_AGGREGATOR_SESSION_IDLE: '1' });
    t.after(brief.close);
    const session = await openSession(brief);
    const left = new AbortController();
    const headers = { ...session.headers, accept: 'text/event-stream' };
    await open(brief, 'GET', undefined, { headers, signal: left.signal });
    await openSession(brief);
    assert.equal(await openSessions(brief), 2);
    await until(async () => (await openSessions(brief)) === 1, 'the other session expired');
    await openSession(brief);
    assert.equal(await openSessions(brief), 2);
    await until(async () => (await openSessions(brief)) === 1, 'one more expired');
    assert.equal((await session.request('ping')).status, 200);
    left.abort();
    await until(async () => (await openSessions(brief)) === 0, 'the session expired');
  });

  test('a client that listens makes room after those that left, and one that waits for an answer never', async (t) => {
    const small = await startApp({ MCP_AGGREGATOR_MAX_SESSIONS_PER_PRINCIPAL: '2' });
    t.after(small.close);
    await small.add('s', { base_url: server.url });
    const listening = await openSession(small);
    const headers = { ...listening.headers, accept: 'text/event-stream' };
    const stream = await open(small, 'GET', undefined, { headers });
    await openSession(small);
    const waiting = await openSession(small);
    assert.equal(await openSessions(small), 2);
    assert.equal((await listening.request('ping')).status, 200);

    const slow = waiting.request('tools/call', { name: 's__slow', arguments: { ms: 1_000 } });
    await openSession(small);
    await stream.text();
    assert.equal((await slow).body.result.content[0].text, 'waited 1000 ms');
  });

  test('a session with a call in progress does not expire', async (t) => {
    const brief = await startApp({ MCP_AGGREGATOR_SESSION_IDLE: '1' });
    t.after(brief.close);
    await brief.add('s', { base_url: server.url });
    const session = await openSession(brief);
    const slow = await session.request('tools/call', { name: 's__slow', arguments: { ms: 2_200 } });
    assert.equal(slow.body.result.content[0].text, 'waited 2200 ms');
  });

  test('so are the streams of the newest revision', async (t) => {
    const small = await startApp({ MCP_AGGREGATOR_MAX_SESSIONS_PER_PRINCIPAL: '2' });
    t.after(small.close);
    const listen = async () => {
      const left = new AbortController();
      const { message, headers } = modernRequest('subscriptions/listen', { notifications: {} });
      const response = await open(small, 'POST', message, { headers, signal: left.signal });
      const type = String(response.headers.get('content-type'));
      if (type.startsWith('text/event-stream')) return { left };
      const { error }: Body = await response.json();
      return { left, error };
    };
    const first = await listen();
    await listen();
    assert.equal((await listen()).error.data.error_code, 'RATE_LIMITED');
    first.left.abort();
    await until(async () => (await listen()).error === undefined, 'there was room again');
  });

  test('a session may follow a thousand resources', async () => {
    const session = await openSession(app);
    const uris = Array.from({ length: 1_000 }, (_, number) => `fixture://item/${number}`);
    const more = 'fixture://item/more';
    const waiting = [...uris, ...uris.slice(0, 10), more];
    const answers: RawAnswer[] = [];
    const subscribeNext = async () => {
      for (let uri = waiting.shift(); uri !== undefined; uri = waiting.shift())
        answers.push(await session.request('resources/subscribe', { uri }));
    };
    await Promise.all(Array.from({ length: 20 }, subscribeNext));
    const refused = answers.filter(({ body }) => body.error !== undefined);
    assert.equal(refused.length, 1);
    assert.match(refused[0]?.body.error.message, /Too many subscriptions in this session \(limit: 1000\)/);
    await session.request('resources/unsubscribe', { uri: uris[0] });
    assert.deepEqual((await session.request('resources/subscribe', { uri: 'fixture://item/x' })).body.result, {});
    await open(app, 'DELETE', undefined, { headers: session.headers });
  });

  test('and so may a stream of the newest revision', async () => {
    const resourceSubscriptions = Array.from({ length: 1_005 }, (_, number) => `fixture://item/${number}`);
    const { message, headers } = modernRequest('subscriptions/listen', { notifications: { resourceSubscriptions } });
    const left = new AbortController();
    const response = await open(app, 'POST', message, { headers, signal: left.signal });
    for await (const { data } of readEvents(response)) {
      if (data === '') continue;
      assert.equal(JSON.parse(data).params.notifications.resourceSubscriptions.length, 1_000);
      break;
    }
    left.abort();
  });

  test('closing an SSE stream ends its session', async () => {
    const ended = new AbortController();
    const stream = await open(app, 'GET', undefined, { path: '/sse', signal: ended.signal });
    const { value } = await readEvents(stream).next();
    const path = String(value?.data);
    assert.match(path, /^\/messages\?sessionId=/);
    assert.equal((await open(app, 'POST', ping, { path })).status, 202);
    ended.abort();
    await until(async () => (await open(app, 'POST', ping, { path })).status === 404, 'the session ended');
  });
});
