import assert from 'node:assert/strict';
import { after, before, suite, type TestContext, test } from 'node:test';
import { startApp, type TestApp } from '../support/app.ts';
import { createTestDatabase } from '../support/databases.ts';
import { createFeatureProgram, type FeatureOptions } from '../support/servers/feature-program.ts';
import { startFeatureServer, stdioFeatureServer } from '../support/servers/feature-server.ts';
import { type HttpTransport, startHttpProgram } from '../support/servers/http-program.ts';
import { RpcError } from '../support/servers/json-rpc.ts';
import { createProgram, type Program, type ProgramParts, type Tool, text } from '../support/servers/program.ts';
import { until } from '../support/until.ts';

const servers = '/api/v1/aggregator/servers';

suite('discovery', () => {
  let app: TestApp;
  before(async () => {
    app = await startApp();
  });
  after(() => app.close());

  async function add(t: TestContext, name: string, program: Program, transport: HttpTransport = 'streamable-legacy') {
    const upstream = await startHttpProgram(program, { transport });
    t.after(upstream.close);
    return await app.add(name, { base_url: upstream.url });
  }

  const toolsOf = async (server: string) => (await app.api('GET', `${servers}/${server}/tools`)).body;
  const namesOf = async (server: string): Promise<string[]> =>
    (await toolsOf(server)).tools.map((tool: { original_name: string }) => tool.original_name);
  const historyOf = async (server: string) => (await app.api('GET', `${servers}/${server}/history`)).body.history;

  test('BR-003, API-012: tools are namespaced, keep their own names and the order of their server', async (t) => {
    await add(t, 'plain', program({ tools: [tool('zeta'), tool('alpha'), tool('Mixed_Case-1')] }));
    const { tools, total, classified, unclassified } = await toolsOf('plain');
    assert.deepEqual(
      tools.map((entry: { name: string; original_name: string }) => [entry.name, entry.original_name]),
      [
        ['plain.zeta', 'zeta'],
        ['plain.alpha', 'alpha'],
        ['plain.Mixed_Case-1', 'Mixed_Case-1'],
      ],
    );
    assert.equal(total, 3);
    assert.equal(classified + unclassified, 3);
    assert.equal(tools[0].description, 'Does zeta');
    assert.deepEqual(tools[0].input_schema, { type: 'object', properties: {} });
    assert.equal((await app.server('plain')).tool_count, 3);
  });

  test('BR-003: pages are followed to the end', async (t) => {
    const paged: FeatureOptions = { label: 'paged', extraTools: 45, pageSize: 7 };
    await add(t, 'paged', createFeatureProgram(paged));
    const names = await namesOf('paged');
    assert.equal(names.filter((name) => name.startsWith('extra_')).length, 45);
    assert.equal(new Set(names).size, names.length);
  });

  test('BR-003: a cursor that repeats does not keep us for ever', async (t) => {
    const endless = program({
      methods: { 'tools/list': () => ({ tools: [definition('only')], nextCursor: 'again' }) },
    });
    await add(t, 'endless', endless);
    assert.deepEqual(await namesOf('endless'), ['only']);
  });

  test('BR-003: a name that is listed twice is one tool, with the later definition', async (t) => {
    const twice = program({
      methods: { 'tools/list': () => ({ tools: [definition('same', 'first'), definition('same', 'second')] }) },
    });
    await add(t, 'twice', twice);
    const { tools } = await toolsOf('twice');
    assert.equal(tools.length, 1);
    assert.equal(tools[0].description, 'second');
  });

  test('BR-003: an empty list is a warning, not an error', async (t) => {
    await add(t, 'empty', program({ tools: [] }));
    assert.equal((await app.server('empty')).tool_count, 0);
    assert.equal((await app.server('empty')).status, 'CONNECTED');
    assert.ok(app.log.some((line) => line.includes('"warn"') && line.includes('"empty"') && line.includes('no tools')));
  });

  test('BR-003: entries without a name are left out, whatever else they are', async (t) => {
    const odd = [null, 7, 'text', {}, { name: '' }, { name: 3 }, definition('good')];
    await add(t, 'odd', program({ methods: { 'tools/list': () => ({ tools: odd }) } }));
    assert.deepEqual(await namesOf('odd'), ['good']);
  });

  test('BR-003: definitions that are strange are stored and shown as they are', async (t) => {
    const strange = {
      name: 'strange',
      description: 'nul \u0000, lone \ud800, emoji 🙂, quote " and \\',
      inputSchema: { type: 'object', properties: { 'a\u0000b': {}, __proto__: {} } },
      unknown: { future: [1, null] },
    };
    await add(t, 'strange', program({ tools: [{ definition: strange, call: () => text('ok') }] }));
    const { tools } = await toolsOf('strange');
    assert.equal(tools.length, 1);
    assert.match(tools[0].description, /emoji 🙂/);
    assert.equal((await app.call('strange.strange')).status, 200);
  });

  for (const transport of ['streamable-legacy', 'streamable-modern'] as const) {
    test(`BR-003: list_changed on ${transport} adds what came and removes what vanished`, async (t) => {
      const name = `changing-${transport}`;
      await add(t, name, createFeatureProgram({ label: name }), transport);
      const heard = (change: 'added' | 'removed') =>
        app.seen.waitFor(
          'server.discovered',
          (event) => event.name === name && event[change].includes(`${name}.appeared`),
        );
      await app.call(`${name}.change_tools`);
      await heard('added');
      assert.equal((await app.call(`${name}.appeared`)).status, 200);
      await app.call(`${name}.change_tools`);
      await heard('removed');
      const gone = await app.call(`${name}.appeared`);
      assert.equal(gone.status, 404);
      assert.equal(gone.body.error_code, 'TOOL_NOT_FOUND');
      assert.ok(!(await namesOf(name)).includes('appeared'));
    });
  }

  test('BR-003: a server that says list_changed all the time is asked ever less often, and the last change is found', async (t) => {
    const listedAt: number[] = [];
    const restless = program({
      tools: [tool('first')],
      methods: {
        'tools/list': () => {
          listedAt.push(performance.now());
          return { tools: [...restless.tools.values()].map((entry) => entry.definition) };
        },
      },
    });
    await add(t, 'restless', restless);
    const saying = setInterval(() => restless.announce('notifications/tools/list_changed'), 10);
    t.after(() => clearInterval(saying));
    await until(() => listedAt.length === 9, 'it was asked eight times more');
    clearInterval(saying);
    // The first one is that of the connection, the next five are prompt. A timer may fire a millisecond early.
    const pauses = listedAt.slice(2).map((at, place) => at - (listedAt[place + 1] ?? 0));
    for (const [place, pause] of pauses.entries())
      assert.ok(pause >= 0.9 * 100 * 2 ** Math.max(0, place - 3), `${pauses}`);
    restless.tools.set('last', tool('last'));
    restless.announce('notifications/tools/list_changed');
    await app.seen.waitFor('server.discovered', ({ added }) => added.includes('restless.last'));
  });

  test('BR-003: list_changed on stdio is heard too', async () => {
    await app.add('changing-stdio', stdioFeatureServer('legacy'));
    await app.call('changing-stdio.change_tools');
    await app.seen.waitFor('server.discovered', (event) => event.added.includes('changing-stdio.appeared'));
    assert.equal((await app.call('changing-stdio.appeared')).status, 200);
  });

  test('BR-003, API-013, API-019: what changed in a definition is in the history, and the tool keeps its id', async (t) => {
    const changing = program({ tools: [tool('shape'), tool('other')] });
    await add(t, 'shifting', changing);
    const before = (await toolsOf('shifting')).tools[0];
    changing.tools.set('shape', { ...tool('shape'), definition: definition('shape', 'Now does more') });
    const refresh = await app.api('POST', `${servers}/shifting/tools/refresh`);
    assert.equal(refresh.status, 202);
    const id = (await app.server('shifting')).id;
    assert.deepEqual(refresh.body, { server_id: id, status: 'REFRESHING', message: 'Tool discovery initiated' });
    await app.seen.waitFor('server.discovered', (event) => event.changed.includes('shifting.shape'));
    const after = (await toolsOf('shifting')).tools[0];
    assert.equal(after.id, before.id);
    assert.equal(after.description, 'Now does more');
    const entry = (await historyOf('shifting')).find(
      (one: { event_type: string }) => one.event_type === 'TOOL_CHANGED',
    );
    assert.deepEqual(entry.details, {
      tool: 'shifting.shape',
      changes: [{ member: 'description', before: 'Does shape', after: 'Now does more' }],
    });
  });

  test('BR-003: a server that cannot list its prompts still has its tools', async (t) => {
    const broken = program({
      tools: [tool('works')],
      methods: {
        'prompts/list': () => {
          throw new RpcError(-32603, 'prompts are broken');
        },
      },
    });
    await add(t, 'half', broken);
    assert.equal((await app.call('half.works')).status, 200);
    await app.seen.waitFor('server.updated', ({ name }) => name === 'half');
    assert.match((await app.server('half')).error_message, /discovery failed: prompts are broken/);
    assert.equal((await app.server('half')).status, 'CONNECTED');
  });

  test('BR-003, API-013: only a connected server can be refreshed', async () => {
    await app.register('away', { command: 'true' }, { auto_connect: false });
    const answer = await app.api('POST', `${servers}/away/tools/refresh`);
    assert.equal(answer.status, 503);
    assert.equal(answer.body.error_code, 'SERVER_UNAVAILABLE');
    assert.equal(answer.body.server.status, 'DISCONNECTED');
  });

  test('EC-006: a thousand tools of one server are discovered', async (t) => {
    const many = program({ tools: Array.from({ length: 1_000 }, (_, number) => tool(`tool_${number}`)) });
    await add(t, 'large', many);
    assert.equal((await toolsOf('large')).total, 1_000);
    assert.equal((await namesOf('large'))[999], 'tool_999');
    assert.equal((await app.call('large.tool_999')).status, 200);
  });

  test('BR-004, EC-009: a tool that nobody classified yet is listed and callable', async (t) => {
    await add(t, 'fresh', program({ tools: [tool('unclassified')] }));
    const [entry] = (await toolsOf('fresh')).tools;
    assert.equal(typeof entry.is_classified, 'boolean');
    assert.ok(Array.isArray(entry.skill_ids));
    assert.equal((await app.call('fresh.unclassified')).status, 200);
  });

  test('the same list twice is the same, servers by name', async () => {
    const first = (await app.api('GET', `${servers}?include_tools=true&limit=1000`)).body;
    const second = (await app.api('GET', `${servers}?include_tools=true&limit=1000`)).body;
    assert.deepEqual(toolNames(first.servers), toolNames(second.servers));
    const names = first.servers.map((server: { name: string }) => server.name);
    assert.deepEqual(names, [...names].sort());
  });
});

test('BR-003: tools survive a restart and answer before their server is back', async (t) => {
  const upstream = await startFeatureServer({ transport: 'streamable-legacy', label: 'kept' });
  const database = await createTestDatabase();
  const first = await startApp({}, { database });
  await first.add('kept', { base_url: upstream.url });
  const before = (await first.api('GET', `${servers}/kept/tools`)).body;
  await first.close();
  await upstream.close();

  const second = await startApp({}, { database });
  t.after(async () => {
    await second.close();
    await database.close();
  });
  const after = (await second.api('GET', `${servers}/kept/tools`)).body;
  assert.deepEqual(toolNames([after]), toolNames([before]));
  assert.ok(after.total > 10);
  assert.notEqual((await second.server('kept')).status, 'CONNECTED');
});

/** What never changes by itself: skills are found out in the background. */
function toolNames(lists: { tools: { id: string; name: string; input_schema: object }[] }[]) {
  return lists.map(({ tools }) => tools.map(({ id, name, input_schema }) => ({ id, name, input_schema })));
}

function definition(name: string, description = `Does ${name}`) {
  return { name, description, inputSchema: { type: 'object', properties: {} } };
}

function tool(name: string): Tool {
  return { definition: definition(name), call: () => text(name) };
}

function program(parts: Partial<ProgramParts>): Program {
  return createProgram({ info: { name: 'fixture', version: '1' }, tools: [], ...parts });
}
