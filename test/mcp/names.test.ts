/** Names on the wire, resources that collide, profiles, exposure, and our own tools. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { toWireName } from '../../src/catalog/tool-name.ts';
import { type Body, startApp, type TestApp } from '../support/app.ts';
import { startFeatureServer } from '../support/servers/feature-server.ts';
import { startHttpProgram } from '../support/servers/http-program.ts';
import type { RunningServer } from '../support/servers/http-wire.ts';
import { createProgram, text } from '../support/servers/program.ts';
import { createToken, openSession, postModern, type RawOptions } from './clients.ts';
import { createRandom, pick } from './random-json.ts';

suite('wire names', () => {
  const legal = /^[A-Za-z0-9_-]{1,50}$/;

  test('BR-009, MCP-002: are short, legal, stable, and no two tools share one', () => {
    const random = createRandom(9);
    const pieces = [
      'a',
      'b',
      '_',
      '__',
      '-',
      '.',
      ' ',
      '/',
      'é',
      '工具',
      'tool',
      'get',
      '0',
      '_0abcdefg',
      'x'.repeat(40),
    ];
    const word = (length: number) => Array.from({ length }, () => pick(random, pieces)).join('') || 'x';
    const seen = new Map<string, string>();
    for (let round = 0; round < 50_000; round += 1) {
      const server = word(1 + Math.floor(random() * 4))
        .replace(/[^a-z0-9_-]/g, '-')
        .slice(0, 255);
      const tool = word(1 + Math.floor(random() * 5));
      const wire = toWireName(server, tool);
      assert.match(wire, legal, `${server}.${tool}`);
      assert.equal(toWireName(server, tool), wire);
      const canonical = JSON.stringify([server, tool]);
      assert.equal(seen.get(wire) ?? canonical, canonical, `two tools are called ${wire}`);
      seen.set(wire, canonical);
    }
    assert.ok(seen.size > 20_000);
  });

  test('a server cannot take the name of another one by calling its tool that', () => {
    const victim = toWireName('files', 'read.all');
    const [server = '', tool = ''] = victim.split('__');
    assert.notEqual(toWireName(server, tool), victim);
  });

  test('plain names stay readable', () => {
    assert.equal(toWireName('github', 'get_document'), 'github__get_document');
    assert.match(toWireName('s'.repeat(255), 'read_file'), /^s+__read_file_[0-9a-z]{8}$/);
  });
});

suite('names through the endpoint', () => {
  const long = `s${'x'.repeat(254)}`;
  const odd = ['with.dot', 'with space', 'werkzeug-für-alle', '工具', 'a__b', '_leading', 'y'.repeat(120)];
  let app: TestApp;
  let servers: RunningServer[];

  before(async () => {
    app = await startApp({ MCP_AGGREGATOR_EXPOSURE: 'all' });
    const tools = odd.map((name) => ({
      definition: { name, description: 'odd', inputSchema: { type: 'object' } },
      call: () => text(name),
    }));
    servers = [
      await startHttpProgram(createProgram({ info: { name: 'odd', version: '1' }, tools }), {
        transport: 'streamable-modern',
      }),
      await startFeatureServer({ transport: 'streamable-legacy', label: 'one' }),
      await startFeatureServer({ transport: 'streamable-modern', label: 'two' }),
    ];
    const [first, second, third] = servers.map(({ url }) => ({ base_url: url }));
    assert.ok(first && second && third);
    await app.add(long, first);
    await app.add('one', second);
    await app.add('two', third);
  });
  after(async () => {
    await app.close();
    for (const server of servers) await server.close();
  });

  const call = async (name: string, args = {}, options: RawOptions = {}) =>
    (await postModern(app, 'tools/call', { name, arguments: args }, options)).body;
  const request = async (method: string, params: Record<string, Body> = {}, options: RawOptions = {}) =>
    (await postModern(app, method, params, options)).body;

  test('BR-009, MCP-002: wire and canonical names are accepted, bare ones where they are unambiguous', async () => {
    const { tools } = (await request('tools/list')).result;
    for (const name of odd) {
      const answers = [];
      const listed = tools.find((tool: Body) => tool.name.startsWith('s') && tool.name === toWireName(long, name));
      assert.ok(listed, name);
      for (const spelling of [listed.name, `${long}.${name}`, name]) {
        answers.push((await call(spelling)).result.content[0].text);
      }
      assert.deepEqual(answers, [name, name, name]);
    }
    const ambiguous = await call('whoami');
    assert.equal(ambiguous.error.data.error_code, 'TOOL_AMBIGUOUS');
    assert.equal((await call('nobody__has_this')).error.data.error_code, 'TOOL_NOT_FOUND');
    assert.equal((await call('one__whoami')).result.structuredContent.label, 'one');
  });

  test('the order of a list is the same every time, and legacy and modern clients see the same', async () => {
    const session = await openSession(app);
    const first = (await request('tools/list')).result.tools.map(({ name }: Body) => name);
    const second = (await session.request('tools/list')).body.result.tools.map(({ name }: Body) => name);
    assert.deepEqual(first, second);
    assert.equal(new Set(first).size, first.length);
  });

  test("MCP-003: one server's own endpoint leaves names untouched", async () => {
    const path = `/mcp/servers/${long}`;
    const { tools } = (await request('tools/list', {}, { path })).result;
    assert.deepEqual(
      tools.map(({ name }: Body) => name),
      odd,
    );
    assert.equal((await call('with space', {}, { path })).result.content[0].text, 'with space');
    assert.equal((await call('one__whoami', {}, { path })).error.data.error_code, 'TOOL_NOT_FOUND');
  });

  test('resources that two servers have are qualified, and nobody guesses', async () => {
    const { resources } = (await request('resources/list')).result;
    assert.deepEqual(
      resources.map(({ uri }: Body) => uri),
      ['mcp-aggregator://one/fixture://static', 'mcp-aggregator://two/fixture://static'],
    );
    for (const name of ['one', 'two']) {
      const { contents } = (await request('resources/read', { uri: `mcp-aggregator://${name}/fixture://static` }))
        .result;
      assert.equal(contents[0].text, `static text of ${name}`);
      const item = (await request('resources/read', { uri: `mcp-aggregator://${name}/fixture://item/5` })).result;
      assert.equal(item.contents[0].text, `item 5 of ${name}`);
    }
    const { error } = await request('resources/read', { uri: 'fixture://static' });
    assert.equal(error.code, -32_602);
    assert.equal(error.data.candidates.length, 2);
    const legacy = await openSession(app);
    const missing = await legacy.request('resources/read', { uri: 'fixture://nowhere/at/all' });
    assert.equal(missing.body.error.code, -32_002);
  });

  test('a linked resource that no list shows is read from the server that linked to it', async () => {
    assert.equal((await request('resources/read', { uri: 'fixture://unlisted' })).error.code, -32_602);
    await call('one__link');
    const { contents } = (await request('resources/read', { uri: 'fixture://unlisted' })).result;
    assert.equal(contents[0].text, 'found by link');
    const [link] = (await call('two__link')).result.content;
    assert.equal(link.uri, 'mcp-aggregator://two/fixture://unlisted');
    for (const uri of ['fixture://unlisted', link.uri]) {
      const [read] = (await request('resources/read', { uri })).result.contents;
      assert.deepEqual([read.text, read.uri], ['found by link', uri]);
    }
  });

  test('tokens decide which servers are there', async () => {
    const token = await createToken(app, { role: 'caller', servers: ['one'] });
    const { tools } = (await request('tools/list', {}, { token })).result;
    assert.ok(tools.some(({ name }: Body) => name.startsWith('one__')));
    assert.ok(!tools.some(({ name }: Body) => name.startsWith('two__')));
    assert.equal((await call('two__whoami', {}, { token })).error.data.error_code, 'TOOL_NOT_FOUND');
    assert.equal((await call('whoami', {}, { token })).result.structuredContent.label, 'one');
    assert.equal((await request('resources/read', { uri: 'fixture://static' }, { token })).result.contents.length, 1);
    const other = await postModern(app, 'tools/list', {}, { token, path: '/mcp/servers/two' });
    assert.equal(other.status, 404);
  });

  suite('profiles', () => {
    const definition = {
      description: 'For the tests',
      tools: [{ name: 'one.echo', rename: 'say', description: 'Says it again' }, { name: 'two.*' }],
    };
    const path = '/mcp/profiles/small';

    test('are managed by REST', async () => {
      const saved = await app.api('PUT', '/api/v1/profiles/small', definition);
      assert.equal(saved.status, 200);
      assert.equal(saved.body.endpoint, path);
      assert.deepEqual((await app.api('GET', '/api/v1/profiles/small')).body.tools, definition.tools);
      assert.equal((await app.api('GET', '/api/v1/profiles')).body.total, 1);
      assert.equal((await app.api('PUT', '/api/v1/profiles/small', { tools: 'all' })).status, 422);
      const token = await createToken(app, { role: 'caller' });
      assert.equal((await app.api('PUT', '/api/v1/profiles/mine', definition, { token })).status, 403);
    });

    test('MCP-004: select, rename and describe', async () => {
      const { tools } = (await request('tools/list', {}, { path })).result;
      const say = tools.find(({ name }: Body) => name === 'say');
      assert.equal(say.description, 'Says it again');
      assert.ok(tools.some(({ name }: Body) => name === 'two__add'));
      assert.ok(!tools.some(({ name }: Body) => name.startsWith('one__')));
      const said = await call('say', { text: 'hi' }, { path });
      assert.deepEqual(said.result.structuredContent.arguments, { text: 'hi' });
      assert.equal((await call('one__add', {}, { path })).error.data.error_code, 'TOOL_NOT_FOUND');
    });

    test('change for sessions that are open', async () => {
      const session = await openSession(app, { path });
      const names = async () => (await session.request('tools/list')).body.result.tools.map(({ name }: Body) => name);
      assert.ok((await names()).includes('two__add'));
      await app.api('PUT', '/api/v1/profiles/small', { ...definition, tools: [definition.tools[0]] });
      assert.deepEqual(await names(), ['say']);
      await app.api('PUT', '/api/v1/profiles/small', definition);
    });

    test('bind tokens', async () => {
      const token = await createToken(app, { role: 'caller', profile: 'small' });
      const { tools } = (await request('tools/list', {}, { token })).result;
      assert.ok(tools.some(({ name }: Body) => name === 'say'));
      assert.equal((await call('one__add', {}, { token })).error.data.error_code, 'TOOL_NOT_FOUND');
      await app.api('PUT', '/api/v1/profiles/other', {});
      assert.equal((await postModern(app, 'tools/list', {}, { token, path: '/mcp/profiles/other' })).status, 403);
      const direct = await call('add', { a: 1, b: 1 }, { token, path: '/mcp/servers/one' });
      assert.equal(direct.error.data.error_code, 'TOOL_NOT_FOUND');
    });

    test('fix the exposure', async () => {
      await app.api('PUT', '/api/v1/profiles/found', { exposure: 'search' });
      const { tools } = (await request('tools/list', {}, { path: '/mcp/profiles/found' })).result;
      assert.ok(tools.some(({ name }: Body) => name === 'search_tools'));
      assert.ok(!tools.some(({ name }: Body) => name.includes('__add')));
    });

    test('are removed', async () => {
      assert.equal((await app.api('DELETE', '/api/v1/profiles/other')).status, 204);
      assert.equal((await app.api('DELETE', '/api/v1/profiles/other')).status, 404);
      assert.equal((await postModern(app, 'tools/list', {}, { path: '/mcp/profiles/other' })).status, 404);
    });
  });

  suite('our own tools', () => {
    test('describe_tools shows definitions in full, and says what it does not know', async () => {
      const { result } = await call('describe_tools', { names: ['one__add', 'two.echo', 'nobody'] });
      const [add, echo, nobody] = result.structuredContent.tools;
      assert.equal(add.name, 'one__add');
      assert.ok(add.inputSchema && add.outputSchema && add.icons);
      assert.equal(echo.server, 'two');
      assert.match(nobody.error, /not found/i);
      assert.equal((await call('describe_tools', { names: [] })).error.code, -32_602);
    });

    test('call_tool gives the result of the tool itself, errors and questions too', async () => {
      const sum = await call('call_tool', { name: 'one__add', arguments: { a: 2, b: 3 } });
      assert.deepEqual(sum.result.structuredContent, { sum: 5 });
      assert.equal((await call('call_tool', { name: 'two__rpc_error' })).error.code, -32_050);
      assert.equal((await call('call_tool', { name: 'call_tool' })).error.code, -32_602);
      assert.equal((await call('call_tool', { name: 'one__add', arguments: [] })).error.code, -32_602);
      const capabilities = { elicitation: {} };
      const params = { name: 'call_tool', arguments: { name: 'one__elicit', arguments: {} } };
      const asked = (await postModern(app, 'tools/call', params, { capabilities })).body.result;
      assert.equal(asked.resultType, 'input_required');
      const [key = ''] = Object.keys(asked.inputRequests);
      const inputResponses = { [key]: { action: 'accept', content: { name: 'Ada' } } };
      const retry = { ...params, inputResponses, requestState: asked.requestState };
      const { result } = (await postModern(app, 'tools/call', retry, { capabilities })).body;
      assert.deepEqual(result.structuredContent.form.content, { name: 'Ada' });
    });
  });
});

suite('exposure', () => {
  let server: RunningServer;
  before(async () => {
    server = await startFeatureServer({ transport: 'streamable-modern', extraTools: 50 });
  });
  after(() => server.close());

  for (const [exposure, limit, whole] of [
    ['all', '1', true],
    ['search', '1000', false],
    ['auto', '1000', true],
    ['auto', '20', false],
  ] as const) {
    test(`MCP-005: ${exposure} with a limit of ${limit} lists ${whole ? 'everything' : 'our own tools only'}`, async (t) => {
      const app = await startApp({ MCP_AGGREGATOR_EXPOSURE: exposure, MCP_AGGREGATOR_LIST_LIMIT: limit });
      t.after(app.close);
      await app.add('many', { base_url: server.url });
      const names = (await postModern(app, 'tools/list')).body.result.tools.map(({ name }: Body) => name);
      assert.equal(names.includes('many__extra_7'), whole);
      for (const own of ['search_tools', 'describe_tools', 'call_tool']) assert.equal(names.includes(own), !whole);
      const { body } = await postModern(app, 'tools/call', { name: 'many__extra_7', arguments: {} });
      assert.equal(body.result.structuredContent.tool, 7, 'it can be called either way');
    });
  }
});
