/** Where the eras meet: servers that ask in the middle of a call. */
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, suite, type TestContext, test } from 'node:test';
import type { Client } from '@modelcontextprotocol/client';
import { type Body, startApp, type TestApp } from '../support/app.ts';
import { createTestDatabase } from '../support/databases.ts';
import { modernRequest } from '../support/modern-request.ts';
import { startFeatureServer, stdioFeatureServer } from '../support/servers/feature-server.ts';
import { startHttpProgram } from '../support/servers/http-program.ts';
import { listenLocally, type RunningServer, readJson, sendJson } from '../support/servers/http-wire.ts';
import { createProgram, InputRequired, structured, text } from '../support/servers/program.ts';
import { until } from '../support/until.ts';
import {
  answering,
  connectClient,
  createToken,
  everyCapability,
  messagesOf,
  open,
  openSession,
  post,
  postModern,
  readEvents,
} from './clients.ts';

const capabilities = everyCapability;
const accepted = { action: 'accept', content: { name: 'Ada' } };

suite('a modern client and a legacy server that asks', () => {
  let app: TestApp;
  let server: RunningServer;

  before(async () => {
    app = await startApp();
    server = await startFeatureServer({ transport: 'streamable-legacy', label: 'legacy' });
    await app.add('s', { base_url: server.url });
  });
  after(async () => {
    await app.close();
    await server.close();
  });

  const elicit = { name: 's__elicit', arguments: { a: 1 } };
  const call = async (params: Record<string, Body>, options = {}) => {
    const { body, events } = await postModern(app, 'tools/call', params, { capabilities, ...options });
    return body ?? events.at(-1);
  };
  const begin = async (params = elicit, options = {}) => {
    const { result } = await call(params, options);
    assert.equal(result.resultType, 'input_required');
    const [key = ''] = Object.keys(result.inputRequests);
    return {
      result,
      key,
      retry: { ...params, inputResponses: { [key]: accepted }, requestState: result.requestState },
    };
  };

  test('the retry resumes the call that waits', async () => {
    const { result, key, retry } = await begin();
    assert.equal(result.inputRequests[key].method, 'elicitation/create');
    assert.match(result.inputRequests[key].params.message, /^\[s\] Who are you\?$/);
    const answer = await call(retry);
    assert.deepEqual(answer.result.structuredContent, { form: accepted });
    assert.equal(answer.result.resultType, 'complete');
  });

  test('a retry without the answer is asked again', async () => {
    const { result, key, retry } = await begin();
    const again = await call({ ...retry, inputResponses: {} });
    assert.deepEqual(Object.keys(again.result.inputRequests), [key]);
    assert.ok(result.requestState);
    assert.deepEqual((await call({ ...retry, requestState: again.result.requestState })).result.structuredContent, {
      form: accepted,
    });
  });

  test('a state that was tampered with, or is of another call, is refused', async () => {
    const { retry } = await begin();
    const state: string = retry.requestState;
    const middle = Math.floor(state.length / 2);
    const flipped = state.slice(0, middle) + (state[middle] === 'A' ? 'B' : 'A') + state.slice(middle + 1);
    for (const wrong of [flipped, '', 'x', 7, {}, state.slice(0, -4)]) {
      const { error } = await call({ ...retry, requestState: wrong });
      assert.equal(error.code, -32_602, String(wrong));
    }
    assert.equal((await call({ ...retry, arguments: { a: 2 } })).error.code, -32_602, 'other arguments');
    assert.equal((await call({ ...retry, name: 's__sample' })).error.code, -32_602, 'another tool');
    const token = await createToken(app, { role: 'caller' });
    assert.equal((await call(retry, { token })).error.code, -32_602, 'another principal');
    assert.deepEqual((await call(retry)).result.structuredContent, { form: accepted }, 'and nothing was lost');
  });

  test('a state that was used is used up', async () => {
    const { retry } = await begin();
    assert.ok((await call(retry)).result);
    const { error } = await call(retry);
    assert.equal(error.code, -32_602);
    assert.match(error.message, /call of this requestState has ended/);
  });

  test('a state expires', async (t) => {
    const { retry } = await begin();
    const later = Date.now() + 301_000;
    t.mock.method(Date, 'now', () => later);
    const { error } = await call(retry);
    t.mock.restoreAll();
    assert.equal(error.code, -32_602);
    assert.match(error.message, /expired/);
    assert.ok((await call(retry)).result);
  });

  test('a client that cannot be asked gets the error that says so', async () => {
    const { error } = await call(elicit, { capabilities: {} });
    assert.equal(error.code, -32_021);
    assert.deepEqual(error.data, { requiredCapabilities: { elicitation: {} } });
  });

  test('many calls run at once, but only so many may wait for answers', async () => {
    const busy = await Promise.all(Array.from({ length: 40 }, () => call({ name: 's__slow', arguments: { ms: 50 } })));
    assert.ok(busy.every(({ result }) => result.content[0].text === 'waited 50 ms'));
    const token = await createToken(app, { role: 'caller' });
    const asked = await Promise.all(Array.from({ length: 20 }, () => call(elicit, { token })));
    const waiting = asked.filter(({ result }) => result?.resultType === 'input_required');
    assert.equal(waiting.length, 16);
    assert.match(asked.find(({ error }) => error)?.error.message, /Too many calls are waiting/);
  });

  test('a client that hangs up cancels its call, and only its own', async () => {
    const other = await begin();
    const before = (await app.call('s.cancelled_count')).body.structuredContent.cancelled;
    const hungUp = new AbortController();
    const params = { name: 's__slow', arguments: { ms: 60_000 }, _meta: { progressToken: 1 } };
    const { message, headers } = modernRequest('tools/call', params);
    const response = await open(app, 'POST', message, { headers, signal: hungUp.signal });
    await readEvents(response).next(); // it has begun
    hungUp.abort();
    const cancelled = async () => (await app.call('s.cancelled_count')).body.structuredContent.cancelled;
    await until(async () => (await cancelled()) === before + 1, 'the cancellation arrived');
    assert.ok((await call(other.retry)).result);
  });

  test('URL elicitation: by request, and by the error of 2025-11-25', async (t) => {
    const { result, key } = await begin({ name: 's__elicit_url', arguments: { a: 1 } });
    assert.equal(result.inputRequests[key].params.url, 'https://example.com/login');

    const elicitations = [{ mode: 'url', elicitationId: 'e1', url: 'https://example.com/connect', message: 'Connect' }];
    let connected = false;
    const refusing = await legacyServer((method) => {
      if (method !== 'tools/call' || connected) return { content: [{ type: 'text', text: 'connected' }] };
      return new RefusedWith({ code: -32_042, message: 'Open this first', data: { elicitations } });
    });
    t.after(refusing.close);
    await app.add('refusing', { base_url: refusing.url });
    const params = { name: 'refusing__connect', arguments: {} };
    const first = await call(params);
    assert.deepEqual(Object.values(first.result.inputRequests), [
      {
        method: 'elicitation/create',
        params: { mode: 'url', url: 'https://example.com/connect', message: '[refusing] Connect' },
      },
    ]);
    connected = true;
    const inputResponses = { 'url-1': { action: 'accept' } };
    const second = await call({ ...params, inputResponses, requestState: first.result.requestState });
    assert.equal(second.result.content[0].text, 'connected');
  });

  test('the official client goes through the whole of it by itself', async (t) => {
    const client = await connectClient(app, { revision: '2026-07-28', capabilities, prepare: answering('eve') });
    t.after(() => client.close());
    const { structuredContent } = await client.callTool({ name: 's__elicit', arguments: {} });
    assert.deepEqual(structuredContent, { form: { action: 'accept', content: { name: 'eve' } } });
  });
});

suite('a modern client and a modern server that asks', () => {
  /** As stateless servers do it: what it has to know later is in the state. */
  const bank = createProgram({
    info: { name: 'bank', version: '1.0.0' },
    tools: [
      {
        definition: { name: 'transfer', description: 'Asks first', inputSchema: { type: 'object' } },
        call: ({ requestState, inputResponses }, { to }) => {
          if (requestState !== undefined) return structured({ to: JSON.parse(requestState).to, inputResponses });
          const params = { message: 'Your bank password please', requestedSchema: { type: 'object', properties: {} } };
          throw new InputRequired({ form: { method: 'elicitation/create', params } }, JSON.stringify({ to }));
        },
      },
    ],
  });

  const start = async (t: TestContext) => {
    const app = await startApp();
    const server = await startHttpProgram(bank, { transport: 'streamable-modern' });
    t.after(server.close);
    t.after(app.close);
    await app.add('bank', { base_url: server.url });
    return app;
  };
  const params = { name: 'bank__transfer', arguments: { to: 'ann' } };

  test('the question names its server, and the state is sealed for whoever was asked', async (t) => {
    const app = await start(t);
    const call = async (given: Record<string, Body>, options = {}) =>
      (await postModern(app, 'tools/call', given, { capabilities, ...options })).body;
    const { result } = await call(params);
    assert.equal(result.inputRequests.form.params.message, '[bank] Your bank password please');
    assert.doesNotMatch(result.requestState, /ann/);
    const retry = { ...params, inputResponses: { form: accepted }, requestState: result.requestState };
    const token = await createToken(app, { role: 'caller' });
    assert.equal((await call(retry, { token })).error.code, -32_602, 'another principal');
    assert.equal((await call({ ...retry, arguments: { to: 'eve' } })).error.code, -32_602, 'other arguments');
    assert.equal((await call({ ...retry, requestState: '{"to":"eve"}' })).error.code, -32_602, 'made up');
    const done = await call(retry);
    assert.deepEqual(done.result.structuredContent, { to: 'ann', inputResponses: { form: accepted } });
  });

  test("the same at the server's own endpoint, where its name is known", async (t) => {
    const app = await start(t);
    const own = { ...params, name: 'transfer' };
    const options = { capabilities, path: '/mcp/servers/bank' };
    const { result } = (await postModern(app, 'tools/call', own, options)).body;
    assert.equal(result.inputRequests.form.params.message, 'Your bank password please');
    assert.doesNotMatch(result.requestState, /ann/);
    const retry = { ...own, inputResponses: { form: accepted }, requestState: result.requestState };
    const done = (await postModern(app, 'tools/call', retry, options)).body;
    assert.equal(done.result.structuredContent.to, 'ann');
  });
});

test('a legacy client hears which server wants an address opened', async (t) => {
  const app = await startApp();
  t.after(app.close);
  const elicitations = [{ mode: 'url', elicitationId: 'e1', url: 'https://example.com/connect', message: 'Connect' }];
  const refusing = await legacyServer(
    () => new RefusedWith({ code: -32_042, message: 'Open this first', data: { elicitations } }),
  );
  t.after(refusing.close);
  await app.add('refusing', { base_url: refusing.url });
  const session = await openSession(app, { capabilities });
  const { body } = await session.request('tools/call', { name: 'refusing__connect', arguments: {} });
  assert.equal(body.error.code, -32_042);
  assert.equal(body.error.message, '[refusing] Open this first');
  assert.deepEqual(body.error.data.elicitations, [{ ...elicitations[0], message: '[refusing] Connect' }]);
});

test('after a restart a state is refused, not misunderstood', async (t) => {
  const server = await startFeatureServer({ transport: 'streamable-legacy' });
  const database = await createTestDatabase();
  t.after(async () => {
    await server.close();
    await database.close();
  });
  const first = await startApp({ MCP_AGGREGATOR_ADMIN_TOKEN: 'the-same-admin-token' }, { database });
  await first.add('s', { base_url: server.url });
  const params = { name: 's__elicit', arguments: {} };
  const { result } = (await postModern(first, 'tools/call', params, { capabilities })).body;
  await first.close();

  const second = await startApp({ MCP_AGGREGATOR_ADMIN_TOKEN: 'the-same-admin-token' }, { database });
  t.after(() => second.close());
  const [question = ''] = Object.keys(result.inputRequests);
  const retry = { ...params, inputResponses: { [question]: accepted }, requestState: result.requestState };
  const { error } = (await postModern(second, 'tools/call', retry, { capabilities })).body;
  assert.equal(error.code, -32_602);
  assert.match(error.message, /call of this requestState has ended/);
});

suite('a legacy client and a modern server that asks', () => {
  test('gets the questions as requests on the stream of the call that caused them', async (t) => {
    const app = await startApp();
    const server = await startFeatureServer({ transport: 'streamable-modern', label: 'modern' });
    t.after(server.close);
    t.after(app.close);
    await app.add('s', { base_url: server.url });
    const session = await openSession(app, { capabilities });
    const asked = await Promise.all(
      ['s__elicit', 's__elicit_url'].map(async (name) => {
        const request = { jsonrpc: '2.0', id: name, method: 'tools/call', params: { name, arguments: {} } };
        const seen: Body[] = [];
        const response = await open(app, 'POST', request, { headers: session.headers });
        for await (const { data } of readEvents(response)) {
          const message: Body = data === '' ? {} : JSON.parse(data);
          if (message.method === undefined) continue;
          seen.push(message.params);
          await post(app, { jsonrpc: '2.0', id: message.id, result: accepted }, { headers: session.headers });
        }
        return seen;
      }),
    );
    assert.equal(asked[0]?.length, 1);
    assert.match(asked[0]?.[0].message, /Who are you/);
    assert.equal(asked[1]?.length, 1);
    assert.equal(asked[1]?.[0].mode, 'url');
    assert.equal(typeof asked[1]?.[0].elicitationId, 'string', 'which 2025-11-25 requires');
  });
});

suite('a question that nobody needs an answer to any more is withdrawn from the client', () => {
  const params = { mode: 'form', message: 'Who are you?', requestedSchema: { type: 'object', properties: {} } };
  /** Asks with so much patience, in milliseconds. */
  const asking = createProgram({
    info: { name: 'asking', version: '1.0.0' },
    tools: [
      {
        definition: { name: 'ask', description: 'Asks', inputSchema: { type: 'object' } },
        call: (exchange, { patience }) =>
          exchange
            .ask({ form: { method: 'elicitation/create', params } }, AbortSignal.timeout(Number(patience)))
            .then(structured, () => text('never mind')),
      },
    ],
  });

  for (const transport of ['streamable-legacy', 'sse'] as const) {
    const start = async (t: TestContext, patience: number) => {
      const app = await startApp();
      const server = await startHttpProgram(asking, { transport });
      t.after(server.close);
      t.after(app.close);
      await app.add('s', transport === 'sse' ? { url: server.url } : { base_url: server.url });
      const session = await openSession(app, { capabilities });
      const call = { name: 's__ask', arguments: { patience } };
      const request = { jsonrpc: '2.0', id: 'call', method: 'tools/call', params: call };
      const seen = messagesOf(await open(app, 'POST', request, { headers: session.headers }));
      const question = (await seen.next()).value;
      assert.equal(question.method, 'elicitation/create');
      return { app, session, seen, question };
    };

    test(`by the server, ${transport}`, async (t) => {
      const { seen, question } = await start(t, 200);
      const { value: withdrawn } = await seen.next();
      assert.deepEqual([withdrawn.method, withdrawn.params.requestId], ['notifications/cancelled', question.id]);
      assert.equal((await seen.next()).value.result.content[0].text, 'never mind');
    });

    test(`with the call, ${transport}`, async (t) => {
      const { app, session, seen, question } = await start(t, 60_000);
      await post(
        app,
        { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'call' } },
        { headers: session.headers },
      );
      const { value: withdrawn } = await seen.next();
      assert.deepEqual([withdrawn.method, withdrawn.params.requestId], ['notifications/cancelled', question.id]);
    });
  }
});

test('a client that has a hundred questions to answer is asked no more', async (t) => {
  const params = { mode: 'form', message: 'Who are you?', requestedSchema: { type: 'object', properties: {} } };
  const asking = createProgram({
    info: { name: 'asking', version: '1.0.0' },
    tools: [
      {
        definition: { name: 'ask', description: 'Asks so often', inputSchema: { type: 'object' } },
        call: (exchange, { times }) => {
          const ask = () => exchange.ask({ form: { method: 'elicitation/create', params } });
          return Promise.all(Array.from({ length: Number(times) }, ask)).then(
            () => text('all answered'),
            (error) => text(error.message),
          );
        },
      },
    ],
  });
  const app = await startApp();
  const server = await startHttpProgram(asking, { transport: 'streamable-legacy' });
  t.after(server.close);
  t.after(app.close);
  await app.add('s', { base_url: server.url });
  const session = await openSession(app, { capabilities });
  const call = { name: 's__ask', arguments: { times: 101 } };
  const request = { jsonrpc: '2.0', id: 'call', method: 'tools/call', params: call };
  const seen: Body[] = [];
  for await (const message of messagesOf(await open(app, 'POST', request, { headers: session.headers })))
    seen.push(message);
  assert.equal(seen.filter(({ method }) => method === 'elicitation/create').length, 100);
  assert.match(seen.at(-1).result.content[0].text, /Too many unanswered requests to the client/);
});

class RefusedWith {
  readonly error: { code: number; message: string; data: unknown };

  constructor(error: RefusedWith['error']) {
    this.error = error;
  }
}

/** The least of a legacy server: whatever the function says is its answer. */
function legacyServer(answer: (method: string) => Body): Promise<RunningServer> {
  return listenLocally('/mcp', 0, () => ({
    close: () => undefined,
    handle: async (request, response) => {
      if (request.method !== 'POST') return void response.writeHead(405).end();
      const { id, method }: Body = await readJson(request);
      if (id === undefined) return void response.writeHead(202).end();
      const result = handshake[method] ?? answer(method);
      if (result === null) return void response.writeHead(400).end();
      const body = result instanceof RefusedWith ? { error: result.error } : { result };
      sendJson(response, 200, { jsonrpc: '2.0', id, ...body });
    },
  }));
}

const handshake: Record<string, Body> = {
  'server/discover': {},
  initialize: {
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'refusing', version: '1' },
  },
  'tools/list': { tools: [{ name: 'connect', inputSchema: { type: 'object' } }] },
};

suite('the first question of a shared server', () => {
  let app: TestApp;
  beforeEach(async () => {
    app = await startApp();
    await app.add('s', stdioFeatureServer('legacy', { label: 's' }));
  });
  afterEach(() => app.close());

  async function connect(t: TestContext, name: string): Promise<Client> {
    const client = await connectClient(app, { capabilities, prepare: answering(name) });
    t.after(() => client.close());
    return client;
  }
  async function inProgress(calls: number): Promise<void> {
    const line = `active_calls{server="s"} ${calls}`;
    const seen = async () => (await (await open(app, 'GET', undefined, { path: '/metrics' })).text()).includes(line);
    await until(seen, 'the other call is in progress');
  }
  const slow = { name: 's__slow', arguments: { ms: 1_500 } };
  const elicit = { name: 's__elicit', arguments: {} };
  const filledBy = (name: string) => ({ form: { action: 'accept', content: { name } } });

  test('goes to the one caller that can answer it', async (t) => {
    const mute = await openSession(app);
    const ada = await connect(t, 'Ada');
    const other = mute.request('tools/call', slow);
    await inProgress(1);
    assert.deepEqual((await ada.callTool(elicit)).structuredContent, filledBy('Ada'));
    assert.equal((await other).body.result.isError, undefined);
  });

  test('waits for the calls of others who could answer it', async (t) => {
    const [ada, bob] = [await connect(t, 'Ada'), await connect(t, 'Bob')];
    const other = bob.callTool(slow);
    await inProgress(1);
    assert.deepEqual((await ada.callTool(elicit)).structuredContent, filledBy('Ada'));
    assert.equal((await other).isError, undefined);
  });

  test('goes to nobody else when its caller gives up', async (t) => {
    const ada = await connect(t, 'Ada');
    const asked: unknown[] = [];
    const prepare = (client: Client) =>
      client.setRequestHandler('elicitation/create', ({ params }) => {
        asked.push(params);
        return { action: 'decline' };
      });
    const bob = await connectClient(app, { capabilities, prepare });
    t.after(() => bob.close());
    const other = bob.callTool(slow);
    await inProgress(1);
    const cancel = new AbortController();
    const given = ada.callTool(elicit, { signal: cancel.signal });
    await inProgress(2);
    setTimeout(() => cancel.abort(), 300);
    await assert.rejects(given);
    await other;
    assert.deepEqual(asked, []);
  });

  test('is answered by its own caller even where several ask at once, or not at all', async (t) => {
    const names = ['Ada', 'Bob', 'Eve'];
    const clients = await Promise.all(names.map((name) => connect(t, name)));
    const answers = await Promise.all(clients.map((client) => client.callTool(elicit).catch(() => undefined)));
    answers.forEach((answer, i) => {
      if (answer !== undefined && answer.isError !== true)
        assert.deepEqual(answer.structuredContent, filledBy(names[i] ?? ''));
    });
    assert.ok(
      answers.some((answer) => answer !== undefined && answer.isError !== true),
      'one is left in the end',
    );
    const again = await Promise.all(clients.map((client) => client.callTool(elicit)));
    assert.deepEqual(
      again.map(({ structuredContent }) => structuredContent),
      names.map(filledBy),
    );
  });
});
