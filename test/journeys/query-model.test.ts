import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { after, before, suite, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { type Body, startApp, type TestApp } from '../support/app.ts';
import { createDocumentation, startDocumentation } from '../support/servers/documentation.ts';
import type { RunningServer } from '../support/servers/http-wire.ts';

const contextName = 'mcp__proxy__aggregator__context_aggregator';
const question = 'how are failed requests retried';
const usage = { input_tokens: 100, output_tokens: 20 };

/** A loopback server that speaks the Messages API; `reply` is what it says, or a status, or never anything. */
async function startModel() {
  const model = {
    url: '',
    asked: [] as { headers: IncomingHttpHeaders; body: Body }[],
    reply: (_body: Body): unknown => 500,
    close: () => {},
  };
  const server = createServer(async (request, response) => {
    const body: Body = await json(request);
    // Skills are none of this suite's business.
    if (body.tools.some(({ name }: Body) => name === 'assign_skills')) return void response.writeHead(503).end();
    model.asked.push({ headers: request.headers, body });
    const answer = model.reply(body);
    if (answer === 'never') return;
    response.writeHead(typeof answer === 'number' ? answer : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  model.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  model.close = () => {
    server.closeAllConnections();
    server.close();
  };
  return model;
}

const uses = (...calls: [name: string, input: unknown][]) => ({
  content: calls.map(([name, input], n) => ({ type: 'tool_use', id: `u${n}`, name, input })),
  stop_reason: 'tool_use',
  usage,
});

suite('a model at work', () => {
  let app: TestApp;
  let client: Client;
  let model: Awaited<ReturnType<typeof startModel>>;
  let docs: RunningServer;
  const calls: string[] = [];

  before(async () => {
    model = await startModel();
    app = await startApp({ ANTHROPIC_API_KEY: 'a-key-for-the-model', ANTHROPIC_BASE_URL: model.url });
    docs = await startDocumentation(createDocumentation('handbook', calls));
    await app.add('docs', { base_url: docs.url });
    client = new Client({ name: 'journey', version: '1.0.0' });
    const requestInit = { headers: { authorization: `Bearer ${app.adminToken}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(`${app.url}/mcp`), { requestInit }));
  });
  after(async () => {
    await client.close();
    await app.close();
    await docs.close();
    model.close();
  });

  const ask = async (more: object = {}): Promise<Body> =>
    (await app.api('POST', '/api/v1/query', { query: question, compact: false, ...more })).body;
  const collect = async (): Promise<Body> =>
    await client.callTool({ name: contextName, arguments: { query: question } });

  test('Q-016: rerank: "model" reorders and condenses, and says so; the key is sent and never logged', async () => {
    const local = await ask();
    const last = local.results.length;
    model.reply = () =>
      uses([
        'rank_results',
        { ranking: [{ id: last }, { id: 1, condensed: 'Failed requests are retried three times' }] },
      ]);
    const { results, metadata } = await ask({ rerank: 'model' });
    assert.equal(metadata.ranking, 'model');
    assert.equal(results[0].title, local.results.at(-1).title);
    assert.deepEqual([results[1].condensed, results[1].content], [true, 'Failed requests are retried three times']);
    assert.equal(results.length, 2, 'what the model left out stays out');
    const { headers, body } = model.asked.at(-1) as { headers: IncomingHttpHeaders; body: Body };
    assert.equal(headers.authorization, 'Bearer a-key-for-the-model');
    assert.deepEqual(body.tool_choice, { type: 'tool', name: 'rank_results' });
    assert.ok(!app.log.some((line) => line.includes('a-key-for-the-model')));
  });

  test('Q-016: a model that is configured ranks nothing unless the caller asks for it', async () => {
    const rankings = () => model.asked.filter(({ body }) => (body as Body).tool_choice?.name === 'rank_results').length;
    const before = rankings();
    const { results, metadata } = await ask();
    assert.ok(results.length > 0);
    assert.equal(metadata.ranking, 'local');
    assert.equal(rankings(), before);
  });

  for (const [how, reply, reason] of [
    ['is down', 503, /answered 503/],
    ['answers outside the protocol', { hello: 'world' }, /invalid response/],
    ['names a result that does not exist', uses(['rank_results', { ranking: [{ id: 99 }] }]), /does not exist/],
    ['names one twice', uses(['rank_results', { ranking: [{ id: 1 }, { id: 1 }] }]), /twice/],
    ['says something', { content: [{ type: 'text', text: 'no' }], usage }, /not a ranking/],
    [
      'makes something up',
      uses(['rank_results', { ranking: [{ id: 1, condensed: 'Send all your money to this address' }] }]),
      /rewritten/,
    ],
  ] as const) {
    test(`Q-016: rerank: "model" falls back to the local order when the model ${how}`, async () => {
      model.reply = () => reply;
      const { results, metadata } = await ask({ rerank: 'model' });
      assert.equal(metadata.ranking, 'local');
      assert.match(metadata.warnings[0], reason);
      assert.deepEqual(
        results.map(({ content }: Body) => content),
        (await ask()).results.map(({ content }: Body) => content),
      );
    });
  }

  test('rerank: "model" does not wait longer than a query may take', async () => {
    model.reply = () => 'never';
    const { metadata } = await ask({ rerank: 'model' });
    assert.match(metadata.warnings[0], /no answer within/);
  });

  test('Q-017: the agent is listed, searches, reads, and returns a context with citations and a trace', async () => {
    assert.ok((await client.listTools()).tools.some(({ name }) => name === contextName));
    const replies = [
      uses(['search_tools', { query: 'search documentation' }]),
      uses(
        ['call_tool', { server: 'docs', tool: 'search_docs', arguments: { query: 'retries' } }],
        ['call_tool', { server: 'docs', tool: 'delete_page', arguments: { query: 'retries' } }],
      ),
      uses(['give_context', { context: 'Failed requests are retried three times [S1]. Nobody knows why [S77].' }]),
    ];
    model.asked.length = 0;
    calls.length = 0;
    model.reply = () => replies[model.asked.length - 1] ?? 500;
    const { structuredContent, content } = await collect();
    assert.deepEqual(JSON.parse(content[0].text), structuredContent);
    const { context, citations, metadata } = structuredContent;
    assert.equal(context, 'Failed requests are retried three times [S1]. Nobody knows why .');
    assert.deepEqual(citations, [
      { source: 'S1', server: 'docs', tool: 'search_docs', title: 'Retries', link: 'https://handbook.test/retries' },
    ]);
    assert.deepEqual(calls, ['search_docs retries'], 'what is not read-only is never called');
    assert.deepEqual([metadata.rounds, metadata.calls, metadata.endedBy], [3, 1, 'answer']);
    assert.deepEqual(metadata.trace.map(({ action }: Body) => action).toSorted(), [
      'answer',
      'call_tool',
      'refused',
      'search_tools',
    ]);
    const rest = await app.api('POST', '/api/v1/query/context', { query: '' });
    assert.deepEqual([rest.status, rest.body.detail[0].loc], [422, ['body', 'query']]);
  });

  test('the agent fails as an error when the model goes on without end, breaks off or is down', async () => {
    const read = uses(['call_tool', { server: 'docs', tool: 'search_docs', arguments: { query: 'retries' } }]);
    model.asked.length = 0;
    calls.length = 0;
    model.reply = () => read;
    await assert.rejects(collect(), { code: -32603, data: { error_code: 'MODEL_UNAVAILABLE' } });
    assert.deepEqual([model.asked.length, calls.length], [7, 6], 'six rounds, then the answer is demanded');
    assert.deepEqual(model.asked.at(-1)?.body.tool_choice, { type: 'tool', name: 'give_context' });

    model.asked.length = 0;
    model.reply = () => (model.asked.length > 1 ? 529 : read);
    await assert.rejects(collect(), /the model API answered 529/);

    model.reply = () => 503;
    const { status, body } = await app.api('POST', '/api/v1/query/context', { query: question });
    assert.deepEqual([status, body.error_code], [502, 'MODEL_UNAVAILABLE']);
    assert.match(body.detail, /the model API answered 503/);
  });
});
