import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { createParser } from 'eventsource-parser';
import { runCommand } from '../cli/command-line.ts';
import { type Body, startApp, type TestApp } from '../support/app.ts';
import {
  createDocumentation,
  createOddDocumentation,
  manuals,
  startDocumentation,
  stdioDocumentation,
} from '../support/servers/documentation.ts';
import type { RunningServer } from '../support/servers/http-wire.ts';
import { text } from '../support/servers/program.ts';
import { entryEnd, type SizedFace, sizedStdio, startSizedServer } from '../support/servers/sized-answers.ts';
import { until, untilSeen } from '../support/until.ts';

const queryName = 'mcp__proxy__aggregator__query';
const question = 'how are failed requests retried';
const memory = new URL('../../node_modules/@modelcontextprotocol/server-memory/dist/index.js', import.meta.url)
  .pathname;

suite('one question to five servers', () => {
  let app: TestApp;
  let client: Client;
  const running: RunningServer[] = [];
  const calls: string[] = [];
  const directory = mkdtempSync(join(tmpdir(), 'query-journey-'));

  before(async () => {
    app = await startApp();
    const handbook = await startDocumentation(createDocumentation('handbook', calls));
    const hanging = await startDocumentation(
      createOddDocumentation('hanging', { search: () => new Promise(() => undefined) }),
    );
    const failing = await startDocumentation(
      createOddDocumentation('failing', { search: () => ({ ...text('the index is being rebuilt'), isError: true }) }),
    );
    running.push(handbook, hanging, failing);
    await app.add('handbook', { base_url: handbook.url });
    await app.add('manual', stdioDocumentation('manual'));
    await app.add('hanging', { base_url: hanging.url });
    await app.add('failing', { base_url: failing.url });
    await app.add('memory', {
      command: process.execPath,
      args: [memory],
      env: { MEMORY_FILE_PATH: join(directory, 'memory.jsonl') },
    });
    const entities = [
      ['nightly import', 'job', ['Its requests are retried by hand when they failed', 'Runs at two in the morning']],
      ['billing', 'service', ['Owned by the payments team', 'Never retried automatically']],
      ['garden', 'place', ['Has apple trees']],
    ].map(([name, entityType, observations]) => ({ name, entityType, observations }));
    await app.call('memory.create_entities', { entities });
    client = await connect(app);
  });
  after(async () => {
    await client.close();
    await app.close();
    for (const server of running) await server.close();
    rmSync(directory, { recursive: true, force: true });
  });

  /** With the whole account of how the answer came about, however small the answer is. */
  const ask = async (body: object, token?: string, headers?: Record<string, string>) =>
    await app.api('POST', '/api/v1/query', { compact: false, ...body }, { token, headers });

  async function askLive(body: object): Promise<{ name: string; data: Body }[]> {
    const response = await fetch(`${app.url}/api/v1/query`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${app.adminToken}`,
        'content-type': 'application/json',
        accept: 'text/event-stream',
      },
      body: JSON.stringify({ compact: false, ...body }),
    });
    assert.equal(response.headers.get('content-type'), 'text/event-stream');
    const told: { name: string; data: Body }[] = [];
    const parser = createParser({
      onEvent: ({ event: name = '', data }) => void told.push({ name, data: JSON.parse(data) }),
    });
    parser.feed(await response.text());
    return told;
  }

  test('Q-006, Q-007, Q-009, Q-010, API-024: partial results within 5 s, ranked, merged with all sources, with metadata that adds up', async () => {
    const { status, body } = await ask({ query: question });
    assert.equal(status, 200, JSON.stringify(body));
    const { results, metadata } = body;

    assert.deepEqual(
      results.map(({ rank }: Body) => rank),
      results.map((_: unknown, place: number) => place + 1),
    );
    const scores = results.map(({ relevanceScore }: Body) => relevanceScore);
    assert.deepEqual(
      scores,
      scores.toSorted((a: number, b: number) => b - a),
    );
    assert.ok(scores.every((score: number) => score >= 0 && score <= 1));

    assert.equal(results[0].title, 'Retries');
    assert.deepEqual(serversOf(results[0]), ['handbook', 'manual'], 'near the same: one result, both sources');
    const timeouts = results.find(({ title }: Body) => title === 'Timeouts');
    assert.deepEqual(serversOf(timeouts), ['handbook', 'manual'], 'letter by letter the same');
    assert.ok(results.some(({ server, content }: Body) => server === 'memory' && content.includes('nightly import')));
    assert.ok(!JSON.stringify(results).includes('apple trees'), 'what has no word of the query is not found');

    const byServer = new Map(metadata.servers.map((report: Body) => [report.server, report]));
    assert.deepEqual([...byServer.keys()].toSorted(), ['failing', 'handbook', 'hanging', 'manual', 'memory']);
    assert.equal((byServer.get('hanging') as Body).error, 'timeout after 3s');
    assert.equal((byServer.get('failing') as Body).error, 'the index is being rebuilt');
    checkSums(body);
    assert.deepEqual([metadata.serversQueried, metadata.serversSucceeded, metadata.serverDiversity], [5, 3, 0.6]);
    assert.ok(metadata.totalResultsDedup < metadata.totalResultsRaw);
  });

  test('API-024: as a stream it tells the plan, each server as it answers or fails, and the result', async () => {
    const told = await askLive({ query: question });
    const names = told.map(({ name }) => name);
    assert.deepEqual(names, ['plan', 'server', 'server', 'server', 'server', 'server', 'result']);
    const [plan, result] = [told[0]?.data, told.at(-1)?.data];
    assert.deepEqual(plan.results, []);
    assert.deepEqual(plan.plan.map(({ server }: Body) => server).toSorted(), [
      ...['failing', 'handbook', 'hanging', 'manual', 'memory'],
    ]);
    const reports = told.filter(({ name }) => name === 'server').map(({ data }) => data);
    assert.deepEqual([reports.at(-1).server, reports.at(-1).error], ['hanging', 'timeout after 3s']);
    const byName = (a: Body, b: Body) => (a.server < b.server ? -1 : 1);
    assert.deepEqual(reports.toSorted(byName), result.metadata.servers.toSorted(byName));
    assert.equal(result.results[0].title, 'Retries');
  });

  test('a stream that cannot begin is refused like a question without one; one that fails says so at its end', async () => {
    const refused = await ask({ query: '' }, undefined, { accept: 'text/event-stream' });
    assert.equal(refused.status, 422);
    const told = await askLive({ query: question, servers: ['failing'] });
    assert.deepEqual(
      told.map(({ name }) => name),
      ['plan', 'server', 'error'],
    );
    const { status, context } = told.at(-1)?.data ?? {};
    assert.deepEqual([status, context.errors], [503, ['failing: the index is being rebuilt']]);
  });

  test('Q-008: the same call twice gives the same ranking', async () => {
    const body = { query: question, servers: ['manual', 'handbook', 'memory'] };
    const [first, second] = [await ask(body), await ask({ ...body, servers: body.servers.toReversed() })];
    const shown = ({ body: { results } }: Body) =>
      results.map(({ timestamp: _, ...rest }: Body) => ({ ...rest, sources: rest.sources.length }));
    assert.deepEqual(
      shown(first).map(({ content, relevanceScore }: Body) => [content, relevanceScore]),
      shown(await ask(body)).map(({ content, relevanceScore }: Body) => [content, relevanceScore]),
    );
    assert.equal(second.status, 200);
  });

  test('Q-001, Q-002: over MCP: listed by its exact name with its schemas; text and structured content say the same', async () => {
    const { tools } = await client.listTools();
    const own = tools.find(({ name }) => name === queryName);
    assert.deepEqual(own?.inputSchema.required, ['query']);
    const { query, maxResults, servers } = (own?.inputSchema.properties ?? {}) as Body;
    assert.deepEqual([query.minLength, query.maxLength], [1, 10_000]);
    assert.deepEqual([maxResults.minimum, maxResults.maximum, maxResults.default], [10, 100, 30]);
    assert.deepEqual([servers.type, servers.items], ['array', { type: 'string' }]);
    assert.deepEqual(own?.outputSchema?.required, ['results', 'metadata']);
    assert.ok(!tools.some(({ name }) => name.endsWith('context_aggregator')), 'listed only with a model key');

    const answer: Body = await client.callTool({
      name: queryName,
      arguments: { query: question, servers: ['handbook', 'manual'], compact: false },
    });
    assert.deepEqual(JSON.parse(answer.content[0].text), answer.structuredContent);
    checkSums(answer.structuredContent);
    assert.equal(answer.structuredContent.results[0].title, 'Retries');

    const compact: Body = await client.callTool({
      name: queryName,
      arguments: { query: question, servers: ['handbook', 'manual'] },
    });
    const { results, metadata } = compact.structuredContent;
    assert.deepEqual([results[0].server, serversOf(results[0])], ['handbook', ['manual']]);
    assert.deepEqual([metadata.servers, metadata.serversQueried, results[0].timestamp], [undefined, 2, undefined]);
    assert.ok(compact.content[0].text.length < 0.75 * answer.content[0].text.length, 'a model pays for every token');
  });

  test('Q-003: over MCP: a bad parameter is -32602 with field and reason', async () => {
    const bad: [object, string, RegExp][] = [
      [{}, 'query', /required/],
      [{ query: '' }, 'query', /between 1 and 10000 characters, got 0/],
      [{ query: ' ' }, 'query', /white space/],
      [{ query: 'x'.repeat(10_001) }, 'query', /got 10001/],
      [{ query: 7 }, 'query', /a string, got 7/],
      [{ query: 'x', maxResults: 500 }, 'maxResults', /^Must be between 10 and 100, got 500$/],
      [{ query: 'x', maxResults: 9 }, 'maxResults', /between 10 and 100, got 9/],
      [{ query: 'x', maxResults: 10.5 }, 'maxResults', /integer/],
      [{ query: 'x', maxResults: '20' }, 'maxResults', /integer/],
      [{ query: 'x', servers: 'handbook' }, 'servers', /an array/],
      [{ query: 'x', servers: ['handbook', 3] }, 'servers', /Entry 2: Must be a string/],
      [{ query: 'x', servers: ['handbook', 'nobody'] }, 'servers', /^Unknown server "nobody"$/],
      [{ query: 'x', max_tokens: 5 }, 'max_tokens', /between 100 and 200000, got 5/],
      [{ query: 'x', rerank: 'magic' }, 'rerank', /"local", "model"/],
      [{ query: 'x', explain: 'yes' }, 'explain', /true or false/],
      [{ query: 'x', full: 1 }, 'full', /true or false/],
    ];
    for (const [args, field, reason] of bad) {
      const error: Body = await client.callTool({ name: queryName, arguments: { ...args } }).then(
        () => assert.fail(JSON.stringify(args)),
        (thrown: unknown) => thrown,
      );
      assert.equal(error.code, -32602, JSON.stringify(args));
      assert.match(error.message, /Invalid query parameters$/);
      assert.equal(error.data.field, field);
      assert.match(error.data.reason, reason);
      const rest = await ask(args);
      assert.equal(rest.status, 422);
      assert.deepEqual(rest.body.detail[0].loc, ['body', field]);
      assert.equal(rest.body.detail[0].msg, error.data.reason);
    }
  });

  test('Q-004: over MCP: when every server fails it is -32603 with who was tried and why', async () => {
    const args = { query: question, servers: ['hanging', 'failing'] };
    const error: Body = await client.callTool({ name: queryName, arguments: args }).catch((thrown: unknown) => thrown);
    assert.equal(error.code, -32603);
    assert.match(error.message, /Aggregation failed: all servers unavailable$/);
    assert.deepEqual(error.data, {
      attemptedServers: ['hanging', 'failing'],
      errors: ['hanging: timeout after 3s', 'failing: the index is being rebuilt'],
    });
    const rest = await ask(args);
    assert.equal(rest.status, 503);
    assert.deepEqual(rest.body.context, error.data);
  });

  test('Q-007: a server that is not connected is a failure with its reason, the others answer', async () => {
    const gone = await startDocumentation(createDocumentation('manual'));
    const id = await app.add('gone', { base_url: gone.url });
    await app.api('POST', `/api/v1/aggregator/servers/${id}/disconnect`);
    await app.untilStatus(id, 'DISCONNECTED');
    await gone.close();
    const { body } = await ask({ query: question, servers: ['gone', 'handbook'] });
    assert.equal(
      body.metadata.servers.find(({ server }: Body) => server === 'gone').error,
      'not connected: DISCONNECTED',
    );
    assert.ok(body.results.length > 0);
    checkSums(body);
    await app.api('DELETE', `/api/v1/aggregator/servers/${id}`);
  });

  test('explain returns the strategy of each server and its first calls, and calls nothing', async () => {
    calls.length = 0;
    const { body } = await ask({ query: question, servers: ['handbook', 'memory'], explain: true });
    assert.deepEqual([calls, body.results, body.metadata.serversQueried], [[], [], 0]);
    const [handbook, graph] = body.plan;
    assert.deepEqual(handbook.strategy, [
      'Searches with search_docs, with the question and its keywords.',
      'Lists entries with list_pages, then reads the matching ones with get_page.',
    ]);
    assert.deepEqual(handbook.calls, [
      { tool: 'search_docs', arguments: { query: question }, reason: 'takes the words of the question' },
      { tool: 'list_pages', arguments: {}, reason: 'lists what there is' },
    ]);
    assert.deepEqual(handbook.leftOut, [
      { tool: 'delete_page', reason: 'its name implies that it changes something ("delete")' },
    ]);
    assert.ok(graph.calls.some(({ tool, arguments: args }: Body) => tool === 'search_nodes' && args.query === 'retr'));
    assert.ok(graph.leftOut.some(({ tool }: Body) => tool === 'create_entities'));
  });

  test('Q-015: each server says in words how it is asked and what is never called', async () => {
    const path = (server: string) => `/api/v1/aggregator/servers/${server}/query-strategy`;
    const { body } = await app.api('GET', path('memory'));
    assert.match(body.strategy[0], /^Searches with search_nodes, /);
    const never = body.never_called.map(({ tool }: Body) => tool).toSorted();
    assert.deepEqual(
      never.filter((tool: string) => /^(create|add|delete)_/.test(tool)),
      [
        'add_observations',
        'create_entities',
        'create_relations',
        'delete_entities',
        'delete_observations',
        'delete_relations',
      ],
    );
    assert.equal((await app.api('GET', path('nobody'))).status, 404);
  });

  test('API-017, MCP-006: our own tools are called over REST as internal tools', async () => {
    const call = async (args: object) =>
      await app.api('POST', '/api/v1/tools/call', { name: queryName, arguments: args });
    const { status, body } = await call({ query: question, servers: ['handbook'] });
    assert.equal(status, 200, JSON.stringify(body));
    assert.match(JSON.stringify(body), /retry\.limit/);
    const refused = await call({ query: '' });
    assert.equal(refused.status, 422);
    assert.match(JSON.stringify(refused.body), /"query"/);
  });

  test('query_tools of a server replace the plan, with a second step and tools that write', async () => {
    const options = {
      query_tools: [
        { tool: 'list_pages', follow_up: { tool: 'get_page', arguments: { id: '{{id}}' }, take: 2 } },
        { tool: 'delete_page', arguments: { query: 'about {{keywords}}' } },
      ],
    };
    assert.equal((await app.api('PATCH', '/api/v1/aggregator/servers/handbook', { options })).status, 200);
    calls.length = 0;
    const { body } = await ask({ query: question, servers: ['handbook'] });
    assert.deepEqual(calls.toSorted(), [
      'delete_page about failed requests retried',
      'get_page retries',
      'get_page timeouts',
      'list_pages',
    ]);
    assert.ok(body.results.some(({ content }: Body) => content === manuals.handbook.retries.content));
    for (const wrong of [
      [{}],
      [{ tool: '' }],
      [{ tool: 'x', follow_up: { tool: 'y' } }],
      [{ tool: 'x', follow_up: { tool: 'y', arguments: {}, take: 9 } }],
      [{ tool: 'x', other: 1 }],
      'x',
    ]) {
      const answer = await app.api('PATCH', '/api/v1/aggregator/servers/handbook', { options: { query_tools: wrong } });
      assert.equal(answer.status, 422, JSON.stringify(wrong));
    }
    await app.api('PATCH', '/api/v1/aggregator/servers/handbook', { options: {} });
  });

  test('Q-013: serverRules decide, are edited by REST while running, and wrong ones are refused', async () => {
    const rules = (serverRules: unknown, token?: string) =>
      app.api('PUT', '/api/v1/query/rules', { serverRules }, { token });
    assert.equal((await rules([{ pattern: 'retr(y|ied)', servers: ['manual'] }])).status, 200);
    const { metadata } = (await ask({ query: question })).body;
    assert.deepEqual([metadata.chosenBy, metadata.pattern, metadata.serversQueried], ['rule', 'retr(y|ied)', 1]);
    assert.equal((await ask({ query: question, servers: ['handbook'] })).body.metadata.chosenBy, 'call');
    assert.equal((await rules([{ pattern: '.*', servers: ['manual', 'nobody'] }])).status, 200);
    const { body } = await ask({ query: question });
    assert.match(body.metadata.servers.find(({ server }: Body) => server === 'nobody').error, /named by a rule/);
    checkSums(body);
    for (const wrong of [[{ pattern: '(', servers: ['manual'] }], [{ pattern: 'x', servers: [] }], [{}], 'x'])
      assert.equal((await rules(wrong)).status, 422, JSON.stringify(wrong));
    const viewer = await tokenOf(app, { role: 'caller' });
    assert.equal((await rules([], viewer)).status, 403);
    assert.equal((await app.api('GET', '/api/v1/query/rules')).body.serverRules[0].pattern, '.*');
    await rules([]);
  });

  test('a token for some servers asks only those, and does not learn of the others', async () => {
    const token = await tokenOf(app, { role: 'caller', servers: ['manual'] });
    const { body } = await ask({ query: question }, token);
    assert.deepEqual(
      body.metadata.servers.map(({ server }: Body) => server),
      ['manual'],
    );
    const other = await ask({ query: question, servers: ['handbook'] }, token);
    assert.deepEqual([other.status, other.body.detail[0].msg], [422, 'Unknown server "handbook"']);
    assert.equal((await ask({ query: question }, await tokenOf(app, { role: 'viewer' }))).status, 403);
  });

  test('Q-011: maxResults and max_tokens bound what is returned', async () => {
    const { body } = await ask({ query: question, servers: ['handbook', 'manual'], max_tokens: 150 });
    assert.ok(body.metadata.tokensReturned <= 150 && body.metadata.resultsReturned >= 1, JSON.stringify(body.metadata));
    checkSums(body);
  });

  test('mcp-aggregator query prints results for people and the whole answer for programs', async () => {
    const env = { MCP_AGGREGATOR_URL: app.url, MCP_AGGREGATOR_TOKEN: app.adminToken };
    const words = ['query', ...question.split(' '), '--servers', 'handbook,manual'];
    const { code, stdout, stderr } = await runCommand(words, { env });
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^1\. Retries +\[handbook, manual\] +0\.\d+\n/);
    assert.match(stdout, /`retry\.limit`/);
    assert.match(stderr, /2 of 2 servers/);
    const answer = JSON.parse((await runCommand([...words, '--json', '--max-results', '10'], { env })).stdout);
    assert.equal(answer.results[0].title, 'Retries');
    const plan = await runCommand([...words, '--explain'], { env });
    assert.match(plan.stdout, /^handbook\n {2}Searches with search_docs, with the question and its keywords\.\n/);
    assert.match(plan.stdout, /First calls:\n {4}search_docs \{"query":"how are failed requests retried"\}/);
    assert.match(
      plan.stdout,
      /Never called:\n {4}delete_page: its name implies that it changes something \("delete"\)/,
    );
    const wrong = await runCommand(['query', 'x', '--servers', 'nobody'], { env });
    assert.deepEqual([wrong.code, wrong.stdout], [4, '']);
    assert.match(wrong.stderr, /Server not found: nobody/);
    const failed = await runCommand(['query', 'x', '--servers', 'failing'], { env });
    assert.equal(failed.code, 3);
    assert.match(failed.stderr, /failing: the index is being rebuilt/);
  });
});

suite('answers larger than a query may hold', () => {
  const limit = 12 * 2 ** 20;
  /** More than a query may hold, and much more than the server may send. */
  const large = 15_000_000;
  const tooLarge = 2 * limit;
  const running: RunningServer[] = [];
  let roomy: TestApp;
  let narrow: TestApp;

  before(async () => {
    roomy = await startApp();
    narrow = await startApp({ MCP_AGGREGATOR_MAX_MESSAGE_BYTES: String(limit) });
    const plain = await startDocumentation(
      createOddDocumentation('plain', { search: () => text('Requests that failed are retried twice.') }),
    );
    running.push(plain);
    for (const app of [roomy, narrow]) await app.add('plain', { base_url: plain.url });
  });
  after(async () => {
    await roomy.close();
    await narrow.close();
    for (const server of running) await server.close();
  });

  async function addSized(app: TestApp, name: string, bytes: number, face: SizedFace): Promise<void> {
    if (face === 'stdio') return void (await app.add(name, sizedStdio(bytes)));
    const server = await startSizedServer(bytes, face);
    running.push(server);
    await app.add(name, { base_url: server.url });
  }
  async function ask(app: TestApp, name: string, query = question) {
    const request = { query, servers: [name, 'plain'], full: true, compact: false };
    // On a busy machine so many bytes take longer than a server is given; this is about what is done with them.
    const { status, body } = await untilSeen(
      () => app.api('POST', '/api/v1/query', request),
      (answer) => !JSON.stringify(answer.body.metadata?.servers ?? '').includes('timeout after'),
      'the bytes arrive in time',
    );
    assert.equal(status, 200, JSON.stringify(body).slice(0, 500));
    checkSums(body);
    const plain = body.metadata.servers.find(({ server }: Body) => server === 'plain');
    const [{ count, error }] = plain.calls;
    assert.deepEqual([plain.ok, error, plain.items], [true, undefined, count], 'the other server is not affected');
    return { body, report: body.metadata.servers.find(({ server }: Body) => server === name) };
  }
  function assertCut({ body, report }: Awaited<ReturnType<typeof ask>>): void {
    assert.deepEqual([report.ok, report.error], [true, undefined]);
    assert.equal(body.metadata.truncated, true);
    assert.deepEqual(
      report.calls.map(({ truncated }: Body) => truncated),
      [true],
    );
    assert.ok(report.items > 100);
    const own = body.results.filter(({ server }: Body) => server !== 'plain');
    assert.ok(own.length > 0);
    for (const { content } of own) assert.ok(content.endsWith(entryEnd), content.slice(-80));
  }

  for (const face of ['stdio', 'json', 'event stream'] as const) {
    const name = face.replace(' ', '-');
    test(`Q-014: 15 MB over ${face} are cut after a whole item, and the answer says so`, async () => {
      await addSized(roomy, name, large, face);
      assertCut(await ask(roomy, name));
    });

    test(`a message over ${face} of all the bytes that a server may send is cut, one byte more is refused with the limit`, async () => {
      // What frames an event counts: its field names and line ends.
      const framing = face === 'event stream' ? 'event: message\nid: 1\ndata: \n\n'.length : 0;
      await addSized(narrow, `${name}-at-limit`, limit - framing, face);
      assertCut(await ask(narrow, `${name}-at-limit`));
      await addSized(narrow, `${name}-beyond`, limit - framing + 1, face);
      await addSized(narrow, `${name}-far-beyond`, tooLarge, face);
      for (const refused of [`${name}-beyond`, `${name}-far-beyond`]) {
        const { body, report } = await ask(narrow, refused);
        assert.equal(report.ok, false);
        const problem = `${refused}: the server sent a message of more than ${limit} bytes (MCP_AGGREGATOR_MAX_MESSAGE_BYTES)`;
        assert.ok(report.error.startsWith(problem), report.error);
        assert.equal(body.metadata.truncated, false);
        await narrow.untilStatus(refused, 'CONNECTED');
        const { report: next } = await ask(narrow, refused, 'brief briefing');
        assert.deepEqual(
          [next.ok, next.calls.map(({ error }: Body) => error)],
          [true, [undefined]],
          'it answers again',
        );
      }
    });
  }
});

suite('answers that are hard to use', () => {
  let app: TestApp;
  const running: RunningServer[] = [];
  before(async () => {
    app = await startApp();
    const odd = {
      binary: text('\u0000\u0001\u0002\ufffd'.repeat(5_000)),
      image: { content: [{ type: 'image', mimeType: 'image/png', data: 'A'.repeat(100_000) }] },
      nothing: { content: [] },
      plain: text('Requests that failed are retried twice.'),
    };
    for (const [name, answer] of Object.entries(odd)) {
      const server = await startDocumentation(createOddDocumentation(name, { search: () => answer }));
      running.push(server);
      await app.add(name, { base_url: server.url });
    }
  });
  after(async () => {
    await app.close();
    for (const server of running) await server.close();
  });
  const ask = (servers: string[]) => app.api('POST', '/api/v1/query', { query: question, servers });

  test('binary answers are described, not returned', async () => {
    const { body } = await ask(['binary', 'image', 'nothing', 'plain']);
    assert.equal(body.metadata.serversSucceeded, 4);
    checkSums(body);
    const ofBinary = body.results.filter(({ server }: Body) => server === 'binary' || server === 'image');
    for (const { content } of ofBinary) assert.match(content, /^\(.*not shown\)$/);
    assert.equal(body.results[0].server, 'plain');
    assert.ok(JSON.stringify(body).length < 10_000);
  });

  test('a client that goes away ends the calls to the servers', async () => {
    const aborted = Promise.withResolvers<void>();
    const slow = await startDocumentation(
      createOddDocumentation('slow', {
        search: ({ signal }) =>
          new Promise((_, reject) =>
            signal.addEventListener('abort', () => {
              aborted.resolve();
              reject(new Error('cancelled'));
            }),
          ),
      }),
    );
    running.push(slow);
    await app.add('slow', { base_url: slow.url });
    const ended = new AbortController();
    const asking = app.api('POST', '/api/v1/query', { query: question, servers: ['slow'] }, { signal: ended.signal });
    await app.seen.waitFor('call.started', ({ server }) => server === 'slow').catch(() => undefined);
    ended.abort();
    await assert.rejects(asking);
    await aborted.promise;
  });
});

test('serverRules in the config file hold from the start and follow the file', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'query-rules-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const file = join(directory, 'servers.json');
  const write = (pattern: string) =>
    writeFileSync(
      file,
      JSON.stringify({
        mcpServers: { docs: { ...stdioDocumentation('manual') } },
        serverRules: [{ pattern, servers: ['docs'] }],
      }),
    );
  write('first');
  const app = await startApp({ MCP_AGGREGATOR_CONFIG: file });
  t.after(() => app.close());
  const patterns = async () =>
    (await app.api('GET', '/api/v1/query/rules')).body.serverRules.map(({ pattern }: Body) => pattern);
  assert.deepEqual(await patterns(), ['first']);
  write('second');
  await until(async () => (await patterns())[0] === 'second', 'the file was read again');
  write('(');
  await until(() => app.log.some((line) => line.includes('invalid serverRules')), 'the mistake was logged');
  assert.deepEqual(await patterns(), ['second']);
});

function serversOf(result: Body): string[] {
  return [...new Set<string>(result.sources.map(({ server }: Body) => server))].toSorted();
}

/** */
function checkSums({ results, metadata }: Body): void {
  assert.equal(metadata.resultsReturned, results.length);
  assert.equal(metadata.serversQueried, metadata.servers.length);
  assert.equal(metadata.serversSucceeded, metadata.servers.filter(({ ok }: Body) => ok).length);
  const items = metadata.servers.reduce((sum: number, { items }: Body) => sum + items, 0);
  assert.equal(metadata.totalResultsRaw, items);
  assert.ok(metadata.totalResultsDedup <= metadata.totalResultsRaw);
  if (metadata.totalResultsDedup <= 30 && metadata.tokensReturned > 200)
    assert.equal(metadata.resultsReturned, metadata.totalResultsDedup);
  const contributing = new Set(results.flatMap(serversOf));
  assert.equal(metadata.serverDiversity, Number((contributing.size / metadata.serversQueried).toFixed(4)));
  for (const { items, calls, ok, error } of metadata.servers) {
    assert.equal(
      items,
      calls.reduce((sum: number, call: Body) => sum + call.items, 0),
    );
    assert.equal(ok, error === undefined);
  }
}

async function connect(app: TestApp): Promise<Client> {
  const client = new Client({ name: 'journey', version: '1.0.0' });
  const requestInit = { headers: { authorization: `Bearer ${app.adminToken}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${app.url}/mcp`), { requestInit }));
  return client;
}

async function tokenOf(app: TestApp, body: object): Promise<string> {
  return (await app.api('POST', '/api/v1/tokens', { name: 'journey', ...body })).body.token;
}
