/** Tools that run as tasks of 2025-11-25 only, with the reference server of the protocol. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { answering, clientRevisions, connectClient, everyCapability, openSession } from '../mcp/clients.ts';
import { type Body, startApp, type TestApp } from '../support/app.ts';
import { startHttpProgram } from '../support/servers/http-program.ts';
import { createProgram, text } from '../support/servers/program.ts';
import { until } from '../support/until.ts';

const everything = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'));
const research = 'everything__simulate-research-query';

suite('a tool that runs as a task only', () => {
  let app: TestApp;
  before(async () => {
    // The task takes four seconds.
    app = await startApp({ MCP_AGGREGATOR_REQUEST_TIMEOUT: '3' });
    await app.add('everything', { command: process.execPath, args: [everything, 'stdio'] });
  });
  after(() => app.close());

  for (const revision of clientRevisions.slice(1)) {
    test(`MCP-008: a ${revision} client calls it like any other, and is asked what the task asks`, async (t) => {
      const prepare = (client: Parameters<ReturnType<typeof answering>>[0]) => {
        answering(revision)(client);
        client.setRequestHandler('elicitation/create', () => ({
          action: 'accept',
          content: { interpretation: 'technical' },
        }));
      };
      const client = await connectClient(app, { revision, capabilities: everyCapability, prepare });
      t.after(() => client.close());
      const { tools } = await client.listTools();
      assert.equal(tools.find(({ name }) => name === research)?.execution, undefined);
      const args = { topic: 'gateways', ambiguous: true };
      const { content, _meta } = await client.callTool({ name: research, arguments: args });
      assert.match((content as { text: string }[])[0]?.text ?? '', /Research Report: gateways \(technical\)/);
      assert.equal(_meta?.['io.modelcontextprotocol/related-task'], undefined);
    });
  }

  test('MCP-008: over REST', async () => {
    const { status, body } = await app.call('everything.simulate-research-query', { topic: 'gateways' });
    assert.equal(status, 200);
    assert.match(body.content[0].text, /Research Report: gateways/);
  });
});

suite('tasks of 2025-11-25', () => {
  test('MCP-008: what a client says of them is ignored; a call that is cancelled cancels its task', async (t) => {
    const heard: { method: string; params: Body }[] = [];
    const task = { taskId: 'task-1', status: 'working', ttl: null, pollInterval: 200 };
    const program = createProgram({
      info: { name: 'tasks', version: '1' },
      tools: [
        {
          definition: { name: 'plain', inputSchema: { type: 'object' }, execution: { taskSupport: 'optional' } },
          call: ({ params }) => text(`task: ${JSON.stringify(params.task)}`),
        },
        {
          definition: { name: 'long', inputSchema: { type: 'object' }, execution: { taskSupport: 'required' } },
          call: ({ params }) => (params.task === undefined ? text('no task') : { task }),
        },
      ],
      methods: {
        'tasks/get': ({ method, params }) => {
          heard.push({ method, params });
          return task;
        },
        'tasks/result': () => new Promise(() => undefined),
        'tasks/cancel': ({ method, params }) => {
          heard.push({ method, params });
          return { ...task, status: 'cancelled' };
        },
      },
    });
    const server = await startHttpProgram(program, { transport: 'streamable-legacy' });
    t.after(server.close);
    const app = await startApp({ MCP_AGGREGATOR_REQUEST_TIMEOUT: '1' });
    t.after(app.close);
    await app.add('s', { base_url: server.url });
    const session = await openSession(app);
    const { body } = await session.request('tools/call', { name: 's__plain', arguments: {}, task: { ttl: 1_000 } });
    assert.equal(body.result.content[0].text, 'task: undefined');
    const single = await openSession(app, { path: '/mcp/servers/s' });
    for (const { request } of [session, single])
      for (const method of ['tasks/get', 'tasks/list', 'tasks/result', 'tasks/cancel'])
        assert.equal((await request(method, { taskId: 'task-1' })).body.error.code, -32_601, method);

    const running = app.api('POST', '/api/v1/tools/call', { name: 's.long', arguments: {} });
    await until(() => heard.filter(({ method }) => method === 'tasks/get').length >= 8, 'longer than the timeout');
    const { body: list } = await app.api('GET', '/api/v1/aggregator/calls');
    const [{ call_id }] = list.running;
    await app.api('DELETE', `/api/v1/aggregator/calls/${call_id}`);
    assert.equal((await running).body.error_code, 'CALL_CANCELLED');
    await until(
      () => heard.some(({ method, params }) => method === 'tasks/cancel' && params.taskId === 'task-1'),
      'it',
    );
  });
});
