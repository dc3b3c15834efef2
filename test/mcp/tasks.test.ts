/** The tasks extension of 2026-07-28: an id says whose the task is, and whoever follows one hears how it gets on. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { startFixtureServer } from '../conformance/fixture-server.ts';
import { type Body, startApp, type TestApp } from '../support/app.ts';
import { modernRequest } from '../support/modern-request.ts';
import { listenLocally, type RunningServer, readJson, sendJson } from '../support/servers/http-wire.ts';
import { createToken, open, postModern, readEvents } from './clients.ts';

const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } };

suite('tasks of several servers', () => {
  let app: TestApp;
  const servers: RunningServer[] = [];

  before(async () => {
    app = await startApp();
    for (const name of ['a', 'b']) {
      const server = await startFixtureServer({ era: 'modern' });
      servers.push(server);
      await app.add(name, { base_url: server.url });
    }
  });
  after(async () => {
    await app.close();
    for (const server of servers) await server.close();
  });

  const ask = async (method: string, params: Record<string, Body>, options = {}) =>
    (await postModern(app, method, params, { capabilities, ...options })).body;
  const start = async (server: string) => {
    const { result } = await ask('tools/call', { name: `${server}__confirm_delete`, arguments: { filename: 'x' } });
    assert.equal(result.resultType, 'task');
    return String(result.taskId);
  };
  const answer = async (taskId: string) => {
    const { result } = await ask('tasks/get', { taskId });
    assert.equal(result.status, 'input_required');
    const [key = ''] = Object.keys(result.inputRequests);
    const accepted = { action: 'accept', content: { confirm: true } };
    await ask('tasks/update', { taskId, inputResponses: { [key]: accepted } });
  };

  async function listen(taskIds: string[], options: { token?: string } = {}) {
    const controller = new AbortController();
    const { message, headers } = modernRequest('subscriptions/listen', { notifications: { taskIds } });
    const response = await open(app, 'POST', message, { headers, signal: controller.signal, ...options });
    const events = readEvents(response);
    const next = async () => JSON.parse((await events.next()).value?.data ?? 'null');
    const { params } = await next();
    return { honoured: params.notifications.taskIds, next, id: message.id, end: () => controller.abort() };
  }

  test('a task is found again by the id that its call gave', async () => {
    const [onA, onB] = [await start('a'), await start('b')];
    assert.match(onA, /^a:/);
    assert.match(onB, /^b:/);
    assert.equal((await ask('tasks/get', { taskId: onB })).result.taskId, onB);
    const unknown = await ask('tasks/get', { taskId: onB.replace('b:', 'a:') });
    assert.equal(unknown.error.message, 'Unknown task');
  });

  test('whoever follows a task hears its changes under the id they know, and no other task’s', async () => {
    const [followed, other] = [await start('a'), await start('b')];
    const stream = await listen([followed]);
    assert.deepEqual(stream.honoured, [followed]);
    await answer(other);
    await answer(followed);
    const heard: Body[] = [];
    while (heard.at(-1)?.params.status !== 'completed') heard.push(await stream.next());
    for (const { method, params } of heard) {
      assert.equal(method, 'notifications/tasks');
      assert.equal(params.taskId, followed);
      assert.equal(params._meta['io.modelcontextprotocol/subscriptionId'], stream.id);
    }
    stream.end();
  });

  test('two clients follow tasks of one server; one that leaves takes nothing from the other', async () => {
    const [first, second] = [await start('a'), await start('a')];
    const [leaving, staying] = [await listen([first]), await listen([second])];
    leaving.end();
    await answer(second);
    let last: Body;
    do last = await staying.next();
    while (last.params.status !== 'completed');
    assert.equal(last.params.taskId, second);
    staying.end();
  });

  test('a client that does not declare the extension is told so', async () => {
    const taskId = await start('a');
    const { body, status } = await postModern(app, 'tasks/get', { taskId });
    assert.equal(status, 400);
    assert.equal(body.error.code, -32_021);
    assert.deepEqual(body.error.data.requiredCapabilities, capabilities);
  });

  test('a task belongs to whoever began it, also at the endpoint of its server', async () => {
    const bob = { token: await createToken(app, { name: 'bob', role: 'caller' }) };
    const task = await start('a');
    const known = task.split(':').slice(2).join(':');
    for (const path of ['/mcp', '/mcp/servers/a']) {
      assert.equal((await ask('tasks/get', { taskId: task }, { path })).result.taskId, task);
      for (const taskId of [task, known, `a::${known}`, `a:${known}`]) {
        const guessed = await ask('tasks/get', { taskId }, { path, ...bob });
        assert.equal(guessed.error.message, 'Unknown task', taskId);
      }
    }
    const stream = await listen([task], bob);
    assert.deepEqual(stream.honoured, []);
    stream.end();
  });

  test('a task of a server that the token may not see is not honoured', async () => {
    const task = await start('a');
    const token = await createToken(app, { name: 'only-b', role: 'caller', servers: ['b'] });
    const stream = await listen([task, 'nobody:1', 'nonsense'], { token });
    assert.deepEqual(stream.honoured, []);
    stream.end();
  });
});

test('Mcp-Param headers that nobody here knows reach the server; what the body says of the known ones stands', async (t) => {
  const seen: Record<string, unknown>[] = [];
  const inputSchema = { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } };
  const server = await listenLocally('/mcp', 0, () => ({
    close: () => undefined,
    async handle(request, response) {
      const { id, method }: Body = await readJson(request);
      const results: Record<string, object> = {
        'server/discover': { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } },
        'tools/list': { tools: [{ name: 'place', inputSchema }] },
        'tools/call': { content: [] },
      };
      if (method === 'tools/call') seen.push(request.headers);
      const own = results[method];
      if (own === undefined)
        return sendJson(response, 404, { jsonrpc: '2.0', id, error: { code: -32_601, message: 'no such method' } });
      const result = { resultType: 'complete', ttlMs: 0, cacheScope: 'private', ...own };
      sendJson(response, 200, { jsonrpc: '2.0', id, result });
    },
  }));
  t.after(() => server.close());
  const app = await startApp();
  t.after(() => app.close());
  await app.add('s', { base_url: server.url });
  const sent = { name: 's__place', arguments: { region: 'north' } };
  const headers = { 'mcp-param-region': 'north', 'mcp-param-tenant': 'blue' };
  const { body } = await postModern(app, 'tools/call', sent, { headers });
  assert.deepEqual(body.result.content, []);
  assert.equal(seen[0]?.['mcp-param-region'], 'north');
  assert.equal(seen[0]?.['mcp-param-tenant'], 'blue');
});
