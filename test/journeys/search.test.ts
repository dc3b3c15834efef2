import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { suite, type TestContext, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { type Body, startApp, type TestApp } from '../support/app.ts';
import { createTestDatabase } from '../support/databases.ts';
import { startHttpProgram } from '../support/servers/http-program.ts';
import type { RunningServer } from '../support/servers/http-wire.ts';
import { createProgram, type Program, text } from '../support/servers/program.ts';
import { untilSeen } from '../support/until.ts';

const verbs = ['create', 'list', 'update', 'delete', 'search', 'export', 'archive', 'copy'];
const things = ['invoice', 'customer', 'calendar event', 'photo', 'repository', 'weather report', 'recipe', 'shipment'];

/** So many different tools, worded like real ones. */
function manyTools(count: number, name = 'many'): Program {
  return createProgram({
    info: { name, version: '1.0.0' },
    pageSize: 200,
    tools: Array.from({ length: count }, (_, n) => {
      const verb = verbs[n % verbs.length] ?? '';
      const thing = things[Math.floor(n / verbs.length) % things.length] ?? '';
      return {
        definition: {
          name: `${verb}_${thing.replaceAll(' ', '_')}_${n}`,
          description: `${verb[0]?.toUpperCase()}${verb.slice(1)} a ${thing} of department ${n}.`,
          inputSchema: { type: 'object', properties: { id: { type: 'string' } } },
        },
        call: () => text('done'),
      };
    }),
  });
}

const toolOf = (name: string, description: string) => ({
  definition: { name, description, inputSchema: { type: 'object', properties: {} } },
  call: () => text('done'),
});

const small = (name: string, tools: [string, string][]) =>
  createProgram({ info: { name, version: '1.0.0' }, tools: tools.map(([tool, says]) => toolOf(tool, says)) });

const mailTools: [string, string][] = [
  ['send_email', 'Send an email message to one or more recipients.'],
  ['search_email', 'Search the mailbox for email messages.'],
];
const weatherTools: [string, string][] = [['get_forecast', 'Get the weather forecast of a city for the next days.']];

async function serve(t: TestContext, program: Program): Promise<RunningServer> {
  const server = await startHttpProgram(program, { transport: 'streamable-legacy' });
  t.after(() => server.close());
  return server;
}

/** A database that outlives the apps on it, whatever becomes of the test. */
async function createStorage(t: TestContext) {
  const database = await createTestDatabase();
  const apps: TestApp[] = [];
  t.after(async () => {
    for (const app of apps) await app.close();
    await database.close();
  });
  return async (env: Record<string, string> = {}): Promise<TestApp> => {
    const app = await startApp(env, { database });
    apps.push(app);
    return app;
  };
}

async function start(t: TestContext, env: Record<string, string> = {}): Promise<TestApp> {
  const app = await startApp(env);
  t.after(() => app.close());
  return app;
}

const find = async (app: TestApp, query: string, more: object = {}, token?: string) =>
  (await app.api('POST', '/api/v1/search', { query, tool_threshold: 0, ...more }, { token })).body;

const names = ({ tools }: Body): string[] => tools.map(({ name }: Body) => name);

/** With an MCP client to which only our own tools are listed. */
async function startSearching(t: TestContext) {
  const app = await start(t, { MCP_AGGREGATOR_EXPOSURE: 'search' });
  await app.add('mail', { base_url: (await serve(t, small('mail', mailTools))).url });
  await app.add('weather', { base_url: (await serve(t, small('weather', weatherTools))).url });
  await untilClassified(app);
  const client = new Client({ name: 'journey', version: '1.0.0' });
  const requestInit = { headers: { authorization: `Bearer ${app.adminToken}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${app.url}/mcp`), { requestInit }));
  t.after(() => client.close());
  return { app, client };
}

/** Looks until it is so: search and skills follow discovery in the background. */
const until = <T>(look: () => Promise<T>, isSo: (seen: T) => boolean): Promise<T> => untilSeen(look, isSo, 'it is so');

const state = async (app: TestApp) => (await app.api('GET', '/api/v1/aggregator/state')).body;
const untilClassified = (app: TestApp) =>
  until(
    () => state(app),
    ({ indexing_tools: indexing, classifying_tools: classifying, classified_tools: done, total_tools: all }) =>
      indexing === 0 && classifying === 0 && all > 0 && done > 0,
  );

/** What makes a database refuse to store skills, and what ends that. */
const refusals = {
  sqlite: [
    "create trigger refuse before update of skill_ids on tools begin select raise(abort, 'not now'); end",
    'drop trigger refuse',
  ],
  postgres: [
    `create function refuse() returns trigger language plpgsql as $$ begin raise 'not now'; end $$;
     create trigger refuse before update of skill_ids on mcp.tools for each row execute function refuse()`,
    'drop trigger refuse on mcp.tools',
  ],
} as const;

suite('search follows the servers', () => {
  test('BR-004: 1,000 tools are discovered, embedded, indexed and classified within 5 s, and the progress shows', async (t) => {
    const app = await start(t);
    const server = await serve(t, manyTools(1_000));
    const began = performance.now();
    await app.register('many', { base_url: server.url });
    const seen: Body[] = [];
    await until(
      async () => {
        const now = await state(app);
        seen.push(now);
        return now;
      },
      ({ total_tools: all, classified_tools: done, unclassified_tools: not, indexing_tools, classifying_tools }) =>
        all === 1_000 && indexing_tools === 0 && classifying_tools === 0 && done + not === 1_000 && done > 0,
    );
    const ms = performance.now() - began;
    t.diagnostic(`${Math.round(ms)} ms, ${seen.at(-1).classified_tools} tools are classified`);
    assert.ok(
      seen.some(({ indexing_tools: indexing, classifying_tools: classifying }) => indexing > 0 || classifying > 0),
    );
    const { tools, metadata } = await find(app, 'list an invoice of department 65');
    assert.equal(tools[0].name, 'many.list_invoice_65');
    assert.equal(metadata.external_tools_count, 1_000);
    assert.ok(tools[0].skill_ids.length >= 1 && tools[0].skill_ids.length <= 3);
    assert.equal(tools[0].primary_skill_id, 'payments');
    assert.equal(tools[0].skill_ids[0], 'payments');
  });

  test('BR-007: a disconnected server leaves search at once; BR-002: reconnected it is back as it was', async (t) => {
    const app = await start(t);
    await app.add('mail', { base_url: (await serve(t, small('mail', mailTools))).url });
    const id = await app.add('weather', { base_url: (await serve(t, small('weather', weatherTools))).url });
    await untilClassified(app);
    const before = await find(app, 'weather forecast');
    assert.equal(names(before)[0], 'weather.get_forecast');
    await app.api('POST', `/api/v1/aggregator/servers/${id}/disconnect`, { force: true });
    assert.ok(!names(await find(app, 'weather forecast')).includes('weather.get_forecast'));
    await app.api('POST', `/api/v1/aggregator/servers/${id}/connect`);
    await app.untilStatus(id, 'CONNECTED');
    const after = await find(app, 'weather forecast');
    const plain = ({ tools }: Body) => tools.map(({ name, score, skill_ids: ids }: Body) => [name, score, ids]);
    assert.deepEqual(plain(after), plain(before));
  });

  test('BR-004: skills that the database refuses for a while are counted as under way and stored afterwards', async (t) => {
    const app = await start(t);
    const [refuse, allow] = app.database.url === undefined ? refusals.sqlite : refusals.postgres;
    await app.database.execute(refuse);
    await app.add('mail', { base_url: (await serve(t, small('mail', mailTools))).url });
    await until(
      async () => app.log,
      (lines) => lines.some((line) => line.includes('could not store skills')),
    );
    const { classifying_tools: classifying, classified_tools: classified } = await state(app);
    assert.deepEqual({ classifying, classified }, { classifying: mailTools.length, classified: 0 });
    await app.database.execute(allow);
    await untilClassified(app);
    assert.equal((await state(app)).unclassified_tools, 0);
  });

  test('BR-003: tools that a server adds, changes and removes come, change and go', async (t) => {
    const app = await start(t);
    const program = small('mail', mailTools);
    await app.add('mail', { base_url: (await serve(t, program)).url });
    await until(
      () => find(app, 'send an email'),
      (found) => names(found)[0] === 'mail.send_email',
    );
    const beans = toolOf('sow_beans', 'Sow beans in the garden.');
    program.tools.set('sow_beans', beans);
    program.announce('notifications/tools/list_changed');
    await until(
      () => find(app, 'sow beans'),
      (found) => names(found)[0] === 'mail.sow_beans',
    );
    program.tools.set('sow_beans', { ...beans, ...toolOf('sow_beans', 'Translate a text into Latin.') });
    program.announce('notifications/tools/list_changed');
    await until(
      () => find(app, 'translate a text into Latin'),
      (found) => names(found)[0] === 'mail.sow_beans',
    );
    program.tools.delete('sow_beans');
    program.announce('notifications/tools/list_changed');
    await until(
      () => find(app, 'sow beans'),
      (found) => !names(found).includes('mail.sow_beans'),
    );
  });

  test('BR-008: a removed server takes its tools out of search and its weight out of the skills', async (t) => {
    const app = await start(t);
    await app.add('mail', { base_url: (await serve(t, small('mail', mailTools))).url });
    await untilClassified(app);
    const counts = async () =>
      Object.fromEntries(
        (await app.api('GET', '/api/v1/skills')).body.skills.map(({ id, tool_count: count }: Body) => [id, count]),
      );
    const before = await counts();
    const skillsBefore = (await find(app, 'weather forecast')).matched_skills;
    await app.add('weather', { base_url: (await serve(t, small('weather', weatherTools))).url });
    const [tool] = (
      await until(
        () => find(app, 'weather forecast'),
        ({ tools }) => tools[0]?.skill_ids.length > 0 && tools[0].name === 'weather.get_forecast',
      )
    ).tools;
    assert.equal((await counts())[tool.primary_skill_id], before[tool.primary_skill_id] + 1);
    await app.api('DELETE', '/api/v1/aggregator/servers/weather');
    const after = await find(app, 'weather forecast');
    assert.ok(!names(after).some((name) => name.startsWith('weather.')));
    assert.deepEqual(await counts(), before);
    assert.deepEqual(after.matched_skills, skillsBefore, 'an empty skill is its description again');
  });

  test('FIND-002: what a server says of itself is evidence for its tools, from the moment it is said', async (t) => {
    const app = await start(t);
    for (const name of ['north', 'south'])
      await app.add(name, { base_url: (await serve(t, small(name, mailTools))).url });
    const describe = async (server: string, description: string | null) =>
      assert.equal((await app.api('PATCH', `/api/v1/aggregator/servers/${server}`, { description })).status, 200);
    const about = 'Mailboxes of the greenhouse team: orders of seedlings, watering plans, deliveries of soil.';
    const query = 'send an email about the seedlings and the watering plans';
    const first = async () => names(await find(app, query, { strategy: 'direct' }))[0];
    await describe('south', about);
    assert.equal(await first(), 'south.send_email');
    await describe('south', null);
    await describe('north', about);
    assert.equal(await first(), 'north.send_email');
  });

  test('after a restart the index is filled from the store, with the same answers', async (t) => {
    const startAgain = await createStorage(t);
    const server = await serve(t, small('mail', mailTools));
    const first = await startAgain();
    await first.add('mail', { base_url: server.url });
    await untilClassified(first);
    const before = await find(first, 'send an email');
    await first.close();
    const second = await startAgain();
    await second.untilStatus('mail', 'CONNECTED');
    const after = await find(second, 'send an email');
    assert.deepEqual(after.tools, before.tools);
    assert.deepEqual(after.matched_skills, before.matched_skills);
  });
});

suite('what can be asked for', () => {
  test('API-016: filters, thresholds, schemas and reasons; the same question gets the same answer', async (t) => {
    const app = await start(t);
    await app.add('mail', { base_url: (await serve(t, small('mail', mailTools))).url });
    await app.add('post', { base_url: (await serve(t, small('post', mailTools))).url });
    await app.add('weather', { base_url: (await serve(t, small('weather', weatherTools))).url });
    await untilClassified(app);
    const query = 'send an email message';

    const all = await find(app, query);
    assert.deepEqual((await find(app, query)).tools, all.tools);
    assert.ok(all.tools.every(({ score }: Body) => score >= 0 && score <= 1));
    const [best] = all.tools;
    assert.match(best.name, /\.send_email$/);
    const both = await find(app, 'send an email message and get the weather forecast', { limit: 3 });
    assert.ok(names(both).includes('weather.get_forecast'), 'each part of a request gets its tools');
    assert.equal(best.source_server.status, 'CONNECTED');
    assert.equal(best.input_schema.type, 'object');

    const filtered = await find(app, query, { server_filter: ['weather'] });
    assert.deepEqual([names(filtered), filtered.metadata.servers_searched], [['weather.get_forecast'], 1]);
    assert.deepEqual(names(await find(app, query, { server_filter: ['nobody'] })), []);
    const internal = await find(app, query, { include_external: false });
    assert.deepEqual(names(internal).toSorted(), [
      ...['call_tool', 'describe_tools', 'mcp__proxy__aggregator__query', 'search_tools'],
    ]);
    assert.deepEqual(
      internal.tools.map(({ source_server: server }: Body) => server),
      [null, null, null, null],
    );
    assert.deepEqual(names(await find(app, query, { limit: 1 })).length, 1);
    assert.deepEqual(names(await find(app, 'zzz qqq xxx', { tool_threshold: 0.9 })), []);
    assert.deepEqual((await find(app, query, { skill_threshold: 1 })).matched_skills, []);
    const lexical = await find(app, query, { strategy: 'lexical' });
    assert.deepEqual([lexical.metadata.strategy_used, lexical.matched_skills], ['lexical', []]);
    assert.equal((await find(app, query, { strategy: 'direct' })).metadata.strategy_used, 'direct');
    const explained = (await find(app, query, { include_reasons: true, include_schemas: false })).tools[0];
    assert.ok(explained.reasons.matched_words.includes('email'));
    assert.equal(explained.input_schema, undefined);

    for (const wrong of [
      { query: '' },
      { query: '  ' },
      {},
      { query: 'x', limit: 0 },
      { query: 'x', limit: 101 },
      { query: 'x', tool_threshold: 2 },
      { query: 'x', skill_threshold: -1 },
      { query: 'x', strategy: 'vector' },
      { query: 'x', other: 1 },
      { query: 'x'.repeat(10_001) },
    ])
      assert.equal((await app.api('POST', '/api/v1/search', wrong)).status, 422, JSON.stringify(wrong).slice(0, 80));

    const { token } = (await app.api('POST', '/api/v1/tokens', { name: 'few', role: 'viewer', servers: ['post'] }))
      .body;
    const limited = await find(app, query, {}, token);
    assert.ok(limited.tools.length > 0);
    assert.ok(!JSON.stringify(limited).includes('mail.send_email'), 'not even as an alternative');
    assert.equal((await app.api('POST', '/api/v1/search', { query }, { token: null })).status, 401);
  });

  test('FIND-001: one search for all steps, over REST and MCP', async (t) => {
    const { app, client } = await startSearching(t);
    const queries = ['weather forecast of a city', 'zzz qqq xxx'];
    const { body } = await app.api('POST', '/api/v1/search', { queries, strategy: 'auto' });
    assert.equal(body.query, undefined);
    assert.deepEqual(body.steps[1], { query: 'zzz qqq xxx', tools: [] });
    assert.equal(body.steps[0].tools[0], 'weather.get_forecast');
    assert.deepEqual([body.tools[0].name, body.tools[0].steps], ['weather.get_forecast', [0]]);

    const call = async (args: object): Promise<Body> =>
      await client.callTool({ name: 'search_tools', arguments: { ...args } });
    const found = await call({ queries: [...queries, 'the forecast for tomorrow'] });
    assert.deepEqual(found.structuredContent.tools[0].steps, [0, 2]);
    const lines = found.content[0].text.split('\n');
    assert.equal(lines[0], 'Step 1: weather forecast of a city');
    assert.match(lines[1], /^weather__get_forecast\(\) — Get the weather forecast/);
    assert.deepEqual(lines.slice(lines.indexOf('Step 2: zzz qqq xxx')).slice(1, 4), [
      'No tool fits this step.',
      'Step 3: the forecast for tomorrow',
      'weather__get_forecast (see above)',
    ]);

    for (const [wrong, field] of [
      [{}, 'query'],
      [{ queries: [] }, 'queries'],
      [{ queries: ['x', ' '] }, 'queries[1]'],
      [{ queries: ['x'.repeat(2_001)] }, 'queries[0]'],
      [{ queries: Array.from({ length: 13 }, () => 'x') }, 'queries'],
      [{ queries: 'x' }, 'queries'],
    ] as const) {
      const { status, body: refused } = await app.api('POST', '/api/v1/search', wrong);
      assert.equal(status, 422);
      assert.ok(
        JSON.stringify(refused).includes(`"${field.replace(/\[.*/, '')}"`),
        `${field}: ${JSON.stringify(refused)}`,
      );
      await assert.rejects(call(wrong), (error: Body) => error.data?.field === field);
    }
  });

  test('MCP-006: search_tools, describe_tools and call_tool of the MCP endpoint find the same', async (t) => {
    const { app, client } = await startSearching(t);
    const call = async (name: string, args: object): Promise<Body> =>
      await client.callTool({ name, arguments: { ...args } });
    const found = await call('search_tools', { query: 'weather forecast of a city' });
    const [first] = found.structuredContent.tools;
    assert.equal(first.name, 'weather__get_forecast');
    const rest = (await find(app, 'weather forecast of a city', { strategy: 'auto' })).tools[0];
    assert.ok(Math.abs(first.score - rest.score) < 0.001);
    assert.match(found.content[0].text, /^weather__get_forecast\(\) — Get the weather forecast/);
    const described = await call('describe_tools', { names: [first.name, 'nobody'] });
    assert.equal(described.structuredContent.tools[0].description, weatherTools[0]?.[1]);
    assert.match(described.structuredContent.tools[1].error, /not found/);
    assert.equal((await call('call_tool', { name: first.name })).content[0].text, 'done');
    const nothing = await call('search_tools', { query: 'zzz qqq xxx' });
    assert.equal(nothing.content[0].text, 'No tool fits this task.');
  });

  test('search_tools answers within its budget, however much a tool has to say', async (t) => {
    const { app, client } = await startSearching(t);
    const wordy = (n: number) => ({
      definition: {
        name: `tides_${n}`,
        description: 'Tell the tides of a harbour.',
        inputSchema: {
          type: 'object',
          properties: Object.fromEntries(
            Array.from({ length: 300 }, (_, at) => [`parameter_${at}`, { type: 'string' }]),
          ),
        },
      },
      call: () => text('done'),
    });
    const program = createProgram({ info: { name: 'tides', version: '1' }, tools: [1, 2, 3, 4].map(wordy) });
    await app.add('tides', { base_url: (await serve(t, program)).url });
    const search = async (more: object): Promise<Body> =>
      await client.callTool({ name: 'search_tools', arguments: { query: 'tides of a harbour', ...more } });
    await until(
      () => search({}),
      ({ structuredContent }) => structuredContent.tools.length > 0,
    );
    for (const budget of [100, 500, 5_000]) {
      const { content, structuredContent } = await search({ max_tokens: budget });
      assert.ok(content[0].text.length <= 4 * budget + 60, `${budget}: ${content[0].text.length} characters`);
      assert.ok(structuredContent.tools.length >= 1);
    }
    assert.match((await search({ max_tokens: 100 })).content[0].text, /\(3 more; raise max_tokens to see them\)$/);
  });

  test('a call that follows a search says in the audit what it was chosen for, and only there', async (t) => {
    const { app, client } = await startSearching(t);
    const lastCall = async (): Promise<Body> =>
      (await app.api('GET', '/api/v1/aggregator/audit?event=tool.called&limit=1')).body.audit[0].details;

    await app.call('mail.send_email');
    assert.deepEqual(Object.keys(await lastCall()), ['tool', 'outcome', 'duration_ms'], 'nobody searched');

    const query = `send an email message with the code ${app.adminToken}`;
    const before = names(await find(app, query));
    const rank = before.indexOf('mail.send_email') + 1;
    await app.call('mail.send_email');
    const { tool, outcome, chosen_for: chosenFor } = await lastCall();
    assert.deepEqual([tool, outcome], ['mail.send_email', 'ok']);
    assert.deepEqual(chosenFor, { query: 'send an email message with the code ***', rank });
    assert.deepEqual(names(await find(app, query)), before, 'nothing was learnt from it');

    const { structuredContent }: Body = await client.callTool({
      name: 'search_tools',
      arguments: { query: 'weather forecast of a city' },
    });
    assert.equal(structuredContent.tools[0].name, 'weather__get_forecast');
    await client.callTool({ name: 'call_tool', arguments: { name: 'weather__get_forecast' } });
    assert.deepEqual((await lastCall()).chosen_for, { query: 'weather forecast of a city', rank: 1 });
    await client.callTool({ name: 'weather__get_forecast', arguments: {} });
    assert.equal((await lastCall()).chosen_for.rank, 1);

    await app.call('weather.get_forecast');
    assert.match((await lastCall()).chosen_for.query, /^send an email/, 'a session has its own searches');
    const query_tools = [{ tool: 'search_email', arguments: {} }];
    await app.api('PATCH', '/api/v1/aggregator/servers/mail', { options: { query_tools } });
    await app.api('POST', '/api/v1/query', { query: 'search email messages', servers: ['mail'] });
    const asked = await lastCall();
    assert.deepEqual([asked.tool, asked.chosen_for], ['mail.search_email', undefined], 'that was our own choice');
  });
});

interface Service {
  url: string;
  /** What it was asked, in order. */
  asked: Body[];
  /** How it answers from now on: as it should, with a status, with a body of our own, or never. */
  mode: 'well' | 'hang' | number | { body: unknown };
  /** Requests that wait for an answer that never comes. */
  hanging: number;
}

async function startService(t: TestContext, answer: (body: Body) => unknown): Promise<Service> {
  const service: Service = { url: '', asked: [], mode: 'well', hanging: 0 };
  const server = createServer(async (request, response) => {
    const body = await json(request);
    service.asked.push(body);
    const { mode } = service;
    if (mode === 'hang') {
      service.hanging += 1;
      response.on('close', () => {
        service.hanging -= 1;
      });
      return;
    }
    response.writeHead(typeof mode === 'number' ? mode : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(typeof mode === 'object' ? mode.body : answer(body)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  service.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return service;
}

/** Vectors in which texts that share words are alike. */
const startEmbeddings = (t: TestContext) =>
  startService(t, ({ input }) => ({
    data: input.map((text: string, index: number) => {
      const embedding = Array.from({ length: 64 }, () => 0.01);
      for (const word of text.toLowerCase().match(/[a-z]+/g) ?? []) {
        let hash = 7;
        for (const letter of word) hash = (hash * 31 + letter.charCodeAt(0)) % 64;
        embedding[hash] = (embedding[hash] ?? 0) + 1;
      }
      return { index, embedding };
    }),
  }));

// They wait for seconds until the service is asked again, so they wait together.
suite('another model embeds', { concurrency: true }, () => {
  const model = (service: Service) => `test-model@${new URL(service.url).host}:64`;
  const env = (service: Service) => ({
    MCP_AGGREGATOR_EMBEDDINGS_URL: `${service.url}/v1`,
    MCP_AGGREGATOR_EMBEDDINGS_MODEL: 'test-model',
    MCP_AGGREGATOR_EMBEDDINGS_API_KEY: 'a-key-for-embeddings',
  });
  const untilUsed = (app: TestApp, service: Service) =>
    until(
      () => find(app, 'weather forecast'),
      ({ metadata }) => metadata.embedding_model === model(service),
    );

  test('its vectors are used, stored, and not asked for again after a reconnection or a restart', async (t) => {
    const service = await startEmbeddings(t);
    const startAgain = await createStorage(t);
    const weather = await serve(t, small('weather', weatherTools));
    const mail = await serve(t, small('mail', mailTools));
    const first = await startAgain(env(service));
    const id = await first.add('weather', { base_url: weather.url });
    await first.add('mail', { base_url: mail.url });
    await untilUsed(first, service);
    // Came after search moved over.
    const late = small('late', [['send_fax', 'Send a message by email and read email messages.']]);
    await first.add('late', { base_url: (await serve(t, late)).url });
    await until(
      () => find(first, 'send a fax', { include_reasons: true }),
      ({ tools }) => tools[0]?.name === 'late.send_fax' && tools[0].reasons.similarity > 0,
    );
    await untilClassified(first);
    assert.equal((await state(first)).unclassified_tools, 0, 'skills are given in the space of the built-in model');
    assert.equal((await first.api('GET', '/api/v1/search/quality')).status, 200);

    const texts = () => service.asked.flatMap(({ input }) => input).filter((text) => text.includes('get_forecast'));
    const sent = texts().length;
    await first.api('POST', `/api/v1/aggregator/servers/${id}/disconnect`, { force: true });
    await first.api('POST', `/api/v1/aggregator/servers/${id}/connect`);
    await first.untilStatus(id, 'CONNECTED');
    assert.equal(names(await find(first, 'weather forecast'))[0], 'weather.get_forecast');
    assert.equal(texts().length, sent);
    await first.close();

    const second = await startAgain(env(service));
    await second.untilStatus('weather', 'CONNECTED');
    await untilUsed(second, service);
    assert.equal(texts().length, sent);
  });

  test('until it has embedded everything the old vectors answer; down at the start it is asked again', async (t) => {
    const service = await startEmbeddings(t);
    service.mode = 503;
    const app = await start(t, env(service));
    await app.add('weather', { base_url: (await serve(t, small('weather', weatherTools))).url });
    const meanwhile = await find(app, 'weather forecast');
    assert.equal(names(meanwhile)[0], 'weather.get_forecast');
    assert.notEqual(meanwhile.metadata.embedding_model, model(service));
    assert.equal(meanwhile.metadata.warnings, undefined);
    service.mode = 'well';
    await untilUsed(app, service);
    const keys = app.log.filter((line) => line.includes('a-key-for-embeddings'));
    assert.deepEqual(keys, []);
  });

  for (const [how, mode] of [
    ['down', 503],
    ['refusing', 401],
    ['answering nonsense', { body: { data: 'none' } }],
    ['answering too few vectors', { body: { data: [] } }],
    ['slow', 'hang'],
  ] as const) {
    test(`while it is ${how}, search goes by words within seconds, with a warning; back again, it is used again`, async (t) => {
      const service = await startEmbeddings(t);
      const app = await start(t, env(service));
      await app.add('weather', { base_url: (await serve(t, small('weather', weatherTools))).url });
      await app.add('mail', { base_url: (await serve(t, small('mail', mailTools))).url });
      await untilUsed(app, service);
      service.mode = mode;
      const degraded = await find(app, 'the forecast for tomorrow');
      // A search waits 2 s for its vector; the service itself is given 20.
      if (mode === 'hang') assert.ok(service.hanging > 0, 'the search waited for the service');
      assert.equal(names(degraded)[0], 'weather.get_forecast');
      assert.equal(degraded.metadata.strategy_used, 'lexical');
      assert.match(degraded.metadata.warnings[0], /embeddings unavailable, lexical search only/);
      const asked = service.asked.length;
      await find(app, 'another forecast');
      assert.equal(service.asked.length, asked, 'an outage costs one slow search, not every one');
      service.mode = 'well';
      await until(
        () => find(app, 'the forecast for tomorrow'),
        ({ metadata }) => metadata.warnings === undefined && metadata.embedding_model === model(service),
      );
    });
  }
});

suite('a model classifies', () => {
  /** Gives every tool the skill whose id is in its description, in the form that was asked for. */
  const startModel = (t: TestContext) =>
    startService(t, ({ messages }) => ({
      stop_reason: 'tool_use',
      content: [
        {
          type: 'tool_use',
          id: 'u1',
          name: 'assign_skills',
          input: {
            tools: JSON.parse(messages[0].content).map(({ tool, description }: Body) => ({
              tool,
              skills: [
                { skill_id: /weather/.test(description) ? 'weather' : 'email', confidence: 0.9 },
                { skill_id: 'no_such_skill', confidence: 1 },
                { skill_id: 'databases', confidence: 0.2 },
              ],
            })),
          },
        },
      ],
      usage: { input_tokens: 1, output_tokens: 1 },
    }));
  const env = (service: Service) => ({ ANTHROPIC_API_KEY: 'a-key-for-the-model', ANTHROPIC_BASE_URL: service.url });
  const toolsOf = async (app: TestApp, server: string): Promise<Body[]> =>
    (await app.api('GET', `/api/v1/aggregator/servers/${server}/tools`)).body.tools;
  const skillsIn = (tools: Body[]) => tools.flatMap(({ skill_ids: ids }) => ids);

  async function withSkills(app: TestApp): Promise<void> {
    for (const id of ['weather', 'email', 'databases'])
      await app.api('PUT', `/api/v1/skills/${id}`, { name: id, description: `About ${id}` });
  }

  test('BR-004: batches of ten at most, unknown skills and small confidences dropped', async (t) => {
    const service = await startModel(t);
    const app = await start(t, env(service));
    await withSkills(app);
    const program = manyTools(48);
    const { url } = await serve(t, program);
    await app.add('many', { base_url: url });
    const tools = await until(
      () => toolsOf(app, 'many'),
      (all) => all.every(({ is_classified: done }) => done),
    );
    assert.deepEqual([...new Set(skillsIn(tools))].toSorted(), ['email', 'weather']);
    const sizes = service.asked.map(({ messages }) => JSON.parse(messages[0].content).length);
    assert.ok(sizes.every((size) => size <= 10));
    assert.equal(
      sizes.reduce((sum, size) => sum + size, 0),
      48,
    );
    assert.ok(service.asked.every(({ tool_choice: choice }) => choice.name === 'assign_skills'));

    assert.ok(!app.log.some((line) => line.includes('a-key-for-the-model')));
  });

  test('BR-004: what a model was told before it is not told again: a server that comes back, another one, a restart', async (t) => {
    const service = await startModel(t);
    const startAgain = await createStorage(t);
    const told = () => service.asked.flatMap(({ messages }) => JSON.parse(messages[0].content));
    const classified = (app: TestApp, server: string) =>
      until(
        () => toolsOf(app, server),
        (all) => all.length > 0 && all.every(({ is_classified: done }) => done),
      );
    const first = await startAgain(env(service));
    await withSkills(first);
    const { url } = await serve(t, manyTools(12));
    await first.add('many', { base_url: url });
    const before = (await classified(first, 'many')).map(({ skill_ids: ids, primary_skill_id: id }) => [ids, id]);
    assert.equal(told().length, 12);

    await first.api('DELETE', '/api/v1/aggregator/servers/many');
    await first.add('many', { base_url: url });
    const again = (await classified(first, 'many')).map(({ skill_ids: ids, primary_skill_id: id }) => [ids, id]);
    assert.deepEqual(again, before);
    await first.add('twin', { base_url: url });
    await classified(first, 'twin');
    assert.equal(told().length, 12, 'the same definitions under another name cost nothing');
    await first.api('DELETE', '/api/v1/aggregator/servers/many');
    await first.close();

    const second = await startAgain(env(service));
    await second.add('late', { base_url: url });
    await classified(second, 'late');
    assert.equal(told().length, 12, 'nor do they after a restart');

    const changed = small('many', [['create_invoice_0', 'Create an invoice; the weather is in it, too.']]);
    await second.add('changed', { base_url: (await serve(t, changed)).url });
    assert.deepEqual(skillsIn(await classified(second, 'changed')), ['weather']);
    assert.deepEqual(
      told()
        .slice(12)
        .map(({ name }) => name),
      ['create_invoice_0'],
    );
    await second.api('PUT', '/api/v1/skills/databases', { name: 'databases', description: 'Tables and rows' });
    await until(
      async () => told().length,
      (count) => count === 13 + 13,
    );
    await untilClassified(second);
    assert.equal(told().length, 26, 'another taxonomy is another question, asked once for both servers');
    await second.close();

    const other = await startAgain({ ...env(service), MCP_AGGREGATOR_MODEL: 'another-model' });
    await other.add('later', { base_url: url });
    await classified(other, 'later');
    assert.equal(told().length, 38, 'what one model said is not what another would');
  });

  for (const [how, mode] of [
    ['down', 529],
    ['answering nonsense', { body: { content: [{ type: 'text', text: 'I would rather not.' }] } }],
  ] as const) {
    test(`EC-009: while the model is ${how}, tools are unclassified and found; back again, they are classified`, async (t) => {
      const service = await startModel(t);
      service.mode = mode;
      const app = await start(t, env(service));
      await withSkills(app);
      await app.add('weather', { base_url: (await serve(t, small('weather', weatherTools))).url });
      await until(
        () => Promise.resolve(service.asked.length),
        (count) => count > 0,
      );
      const [tool] = await toolsOf(app, 'weather');
      assert.deepEqual([tool.is_classified, tool.skill_ids], [false, []]);
      assert.equal(names(await find(app, 'weather forecast'))[0], 'weather.get_forecast');
      assert.equal((await state(app)).classifying_tools, 1, 'it waits for its next try');
      service.mode = 'well';
      const [later] = await until(
        () => toolsOf(app, 'weather'),
        ([first]) => first.is_classified,
      );
      assert.deepEqual(later.skill_ids, ['weather']);
    });
  }

  test('EC-009: a slow model holds up neither discovery nor search nor the stop', async (t) => {
    const service = await startModel(t);
    service.mode = 'hang';
    const app = await startApp(env(service));
    await app.add('weather', { base_url: (await serve(t, small('weather', weatherTools))).url });
    assert.equal(names(await find(app, 'weather forecast'))[0], 'weather.get_forecast');
    await until(
      () => Promise.resolve(service.asked.length),
      (count) => count > 0,
    );
    assert.ok(service.hanging > 0);
    await app.close();
    await until(
      () => Promise.resolve(service.hanging),
      (count) => count === 0,
    );
  });

  test('EC-009: what was not classified before a restart is classified after it', async (t) => {
    const service = await startModel(t);
    const startAgain = await createStorage(t);
    service.mode = 529;
    const first = await startAgain(env(service));
    await withSkills(first);
    await first.add('weather', { base_url: (await serve(t, small('weather', weatherTools))).url });
    await until(
      () => Promise.resolve(service.asked.length),
      (count) => count > 0,
    );
    await first.close();
    service.mode = 'well';
    const second = await startAgain(env(service));
    const [tool] = await until(
      () => toolsOf(second, 'weather'),
      ([found]) => found?.is_classified,
    );
    assert.deepEqual(tool.skill_ids, ['weather']);
  });
});
