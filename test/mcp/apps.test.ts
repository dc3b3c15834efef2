/** MCP Apps (SEP-1865) and other extensions, through us in both eras. */
import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { type Body, startApp } from '../support/app.ts';
import { startHttpProgram } from '../support/servers/http-program.ts';
import { createProgram, type ProgramParts } from '../support/servers/program.ts';
import { until } from '../support/until.ts';
import { openSession, post, postModern } from './clients.ts';

const ui = 'io.modelcontextprotocol/ui';
const extensions = { [ui]: { mimeTypes: ['text/html;profile=mcp-app'] } };
const shared = 'ui://clock/view.html';

function clock(name: string, uri = shared): ProgramParts {
  return {
    info: { name, version: '1' },
    instructions: `Ask ${name} for the time.`,
    extensions: { [ui]: {}, [`example.com/${name}`]: { level: 1 } },
    resources: [{ definition: { uri, name: 'view' }, read: () => ({ uri, text: `view of ${name}` }) }],
    tools: [
      {
        definition: { name: 'time', inputSchema: { type: 'object' }, _meta: { ui: { resourceUri: uri, more: 1 } } },
        call: () => ({ content: [{ type: 'resource_link', uri, name: 'view' }] }),
      },
      {
        definition: { name: 'plain', inputSchema: { type: 'object' } },
        call: ({ session }) => ({
          content: [],
          structuredContent: { extensions: session.clientCapabilities.extensions ?? null },
        }),
      },
    ],
  };
}

async function start(t: TestContext, programs: ProgramParts[], env: Record<string, string> = {}) {
  const app = await startApp(env);
  t.after(app.close);
  for (const parts of programs) {
    const server = await startHttpProgram(createProgram(parts), { transport: 'streamable-legacy' });
    t.after(server.close);
    await app.add(parts.info.name, { base_url: server.url });
  }
  // Tools are discovered before resources.
  const listed = async () => (await postModern(app, 'resources/list')).body.result.resources.length;
  await until(async () => (await listed()) === programs.length, 'the views are known');
  return app;
}

const initialize = (capabilities: Body) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities, clientInfo: { name: 'host', version: '1' } },
});

suite('extensions', () => {
  test('MCP-007: those of all servers are declared to clients of both eras', async (t) => {
    const app = await start(t, [clock('east'), clock('west')]);
    const theirs = { [ui]: {}, 'example.com/east': { level: 1 }, 'example.com/west': { level: 1 } };
    const legacy = await post(app, initialize({ extensions }));
    assert.deepEqual(legacy.body.result.capabilities.extensions, theirs);
    const modern = await postModern(app, 'server/discover');
    assert.deepEqual(modern.body.result.capabilities.extensions, { ...theirs, 'io.modelcontextprotocol/tasks': {} });
    const single = await post(app, initialize({ extensions }), { path: '/mcp/servers/east' });
    assert.deepEqual(single.body.result.capabilities.extensions, { [ui]: {}, 'example.com/east': { level: 1 } });
  });

  test('MCP-007: those of a client are declared to a server of which it has a session of its own', async (t) => {
    const app = await start(t, [clock('east')]);
    await app.api('PATCH', '/api/v1/aggregator/servers/east', { options: { sessions: 'per_client' } });
    await app.untilStatus('east', 'CONNECTED');
    const session = await openSession(app, { capabilities: { roots: {}, extensions } });
    const { body } = await session.request('tools/call', { name: 'east__plain', arguments: {} });
    assert.deepEqual(body.result.structuredContent.extensions, extensions);
  });

  test('MCP-007: the instructions of all servers are joined under their names', async (t) => {
    const app = await start(t, [clock('east'), clock('west')]);
    const { instructions } = (await post(app, initialize({}))).body.result;
    assert.match(instructions, /## east\nAsk east for the time\.\n\n## west\nAsk west for the time\.$/);
    const single = await post(app, initialize({}), { path: '/mcp/servers/east' });
    assert.equal(single.body.result.instructions, 'Ask east for the time.');
  });

  test('resources.subscribe is declared where a server has it', async (t) => {
    const without = { ...clock('east'), capabilities: { resources: {} } };
    const app = await start(t, [without]);
    assert.equal((await post(app, initialize({}))).body.result.capabilities.resources.subscribe, false);
    const more = await start(t, [without, clock('west')]);
    assert.equal((await post(more, initialize({}))).body.result.capabilities.resources.subscribe, true);
  });
});

suite('apps', () => {
  for (const era of ['legacy', 'modern'] as const) {
    test(`MCP-007: the view of a tool is its server's, also where two servers use one address (${era})`, async (t) => {
      const app = await start(t, [clock('east'), clock('west')]);
      const session = era === 'legacy' ? await openSession(app, { capabilities: { extensions } }) : undefined;
      const ask = async (method: string, params: Record<string, Body> = {}): Promise<Body> => {
        const { body } =
          session === undefined
            ? await postModern(app, method, params, { capabilities: { extensions } })
            : await session.request(method, params);
        assert.equal(body.error, undefined, JSON.stringify(body.error));
        return body.result;
      };
      const { tools } = await ask('tools/list');
      for (const name of ['east', 'west']) {
        const tool = tools.find((one: Body) => one.name === `${name}__time`);
        assert.equal(tool._meta.ui.more, 1);
        const address = tool._meta.ui.resourceUri;
        const read = await ask('resources/read', { uri: address });
        const [content] = read.contents;
        assert.deepEqual([content.text, content.uri], [`view of ${name}`, address]);
        const [link] = (await ask('tools/call', { name: `${name}__time`, arguments: {} })).content;
        assert.equal(link.uri, address);
      }
    });
  }

  test('MCP-007: an address that one server uses stays as it is', async (t) => {
    const app = await start(t, [clock('east'), clock('west', 'ui://west/view.html')]);
    const { tools } = (await postModern(app, 'tools/list')).body.result;
    const tool = tools.find((one: Body) => one.name === 'east__time');
    assert.equal(tool._meta.ui.resourceUri, shared);
  });

  test('MCP-007: in search exposure clients that show apps are offered the tools with a view', async (t) => {
    const app = await start(t, [clock('east')], { MCP_AGGREGATOR_EXPOSURE: 'search' });
    const names = async (capabilities: Body) => {
      const { tools } = (await postModern(app, 'tools/list', {}, { capabilities })).body.result;
      return tools.map(({ name }: Body) => name).filter((name: string) => name.startsWith('east__'));
    };
    assert.deepEqual(await names({ extensions }), ['east__time']);
    assert.deepEqual(await names({}), []);
  });

  test('our own tools are loaded by clients with a tool search of their own', async (t) => {
    const app = await start(t, [], { MCP_AGGREGATOR_EXPOSURE: 'search' });
    const { tools } = (await postModern(app, 'tools/list')).body.result;
    const search = tools.find(({ name }: Body) => name === 'search_tools');
    assert.equal(search._meta['anthropic/alwaysLoad'], true);
  });
});
