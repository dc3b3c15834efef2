import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startAggregator } from '../support/aggregator-process.ts';
import { type Body, startApp, type TestApp } from '../support/app.ts';
import { listenLocally, readJson, sendJson } from '../support/servers/http-wire.ts';

type Page = (cursor: string | undefined) => Record<string, unknown>;

/** A server whose lists a test can change; `pages` by method. */
async function startLister(t: TestContext, pages: Record<string, Page>, more: Record<string, unknown> = {}) {
  const asked: string[] = [];
  const server = await listenLocally('/mcp', 0, () => ({
    close: () => undefined,
    async handle(request, response) {
      if (request.method !== 'POST') return void response.writeHead(405).end();
      const { id, method, params } = (await readJson(request)) as Body;
      if (id === undefined) return void response.writeHead(202).end();
      asked.push(method);
      const initialize = {
        protocolVersion: '2025-11-25',
        capabilities: { tools: {}, prompts: {}, resources: {} },
        serverInfo: { name: 'lister', version: '1' },
        ...more,
      };
      const empty = { tools: [], prompts: [], resources: [], resourceTemplates: [] };
      if (method === 'server/discover') return void response.writeHead(400).end();
      const result = method === 'initialize' ? initialize : (pages[method]?.(params?.cursor) ?? empty);
      sendJson(response, 200, { jsonrpc: '2.0', id, result });
    },
  }));
  t.after(server.close);
  return { url: server.url, asked };
}

const tool = (name: string, bytes = 10) => ({
  name,
  description: 'x'.repeat(bytes),
  inputSchema: { type: 'object' },
});

const limits = {
  MCP_AGGREGATOR_MAX_DEFINITION_BYTES: '10000',
  MCP_AGGREGATOR_MAX_LIST_BYTES: '50000',
  MCP_AGGREGATOR_MAX_SERVER_BYTES: '70000',
  MCP_AGGREGATOR_MAX_CATALOG_BYTES: '100000',
};

test('LIM-003: pages of 20 MB with a cursor without end: an error on the row, no crash', async (t) => {
  let page = 0;
  const endless: Page = () => ({ tools: [tool(`t${page++}`, 20_000_000)], nextCursor: `c${page}` });
  const lister = await startLister(t, { 'tools/list': endless });
  const aggregator = await startAggregator({ nodeFlags: ['--max-old-space-size=512'] });
  t.after(() => aggregator.stop('SIGKILL'));
  const ask = async (path: string, init: RequestInit = {}): Promise<Body> => {
    const headers = { authorization: `Bearer ${aggregator.token}`, 'content-type': 'application/json' };
    return await (await fetch(`${aggregator.url}/api/v1/aggregator${path}`, { ...init, headers })).json();
  };
  const body = JSON.stringify({
    name: 'endless',
    transport_type: 'HTTP',
    connection_config: { base_url: lister.url },
  });
  await ask('/servers', { method: 'POST', body });
  const failed = aggregator.logged(({ msg }) => msg === 'discovery failed');
  const crashed = aggregator.ended.then(({ code, signal }) => assert.fail(`ended: ${code} ${signal}`));
  await Promise.race([failed, crashed]);
  const { status, error_message: problem } = await ask('/servers/endless');
  assert.equal(status, 'CONNECTED');
  assert.match(
    problem,
    /a definition in tools\/list is larger than 1048576 bytes \(MCP_AGGREGATOR_MAX_DEFINITION_BYTES\)/,
  );
});

for (const [what, method, page, name] of [
  ['a definition', 'tools/list', () => ({ tools: [tool('huge', 10_001)] }), 'MAX_DEFINITION_BYTES'],
  ['a list', 'tools/list', many('tools', 'name', 12), 'MAX_LIST_BYTES'],
  ['prompts', 'prompts/list', many('prompts', 'name', 12), 'MAX_LIST_BYTES'],
  ['resources', 'resources/list', many('resources', 'uri', 12), 'MAX_LIST_BYTES'],
  ['templates', 'resources/templates/list', many('resourceTemplates', 'uriTemplate', 12), 'MAX_LIST_BYTES'],
  ['cursors', 'resources/list', longCursors(), 'MAX_LIST_BYTES'],
] as const) {
  test(`LIM-003: too many bytes of ${what}: the error names the limit, and what was known is kept`, async (t) => {
    const pages: Record<string, Page> = { 'tools/list': () => ({ tools: [tool('known')] }) };
    const lister = await startLister(t, pages);
    const app = await startApp(limits);
    t.after(app.close);
    const id = await app.add('lister', { base_url: lister.url });
    pages[method] = page as Page;
    await app.api('POST', `/api/v1/aggregator/servers/${id}/tools/refresh`);
    await untilFailed(app, 'lister');
    assert.match((await app.server(id)).error_message, new RegExp(`MCP_AGGREGATOR_${name}`));
    const tools = await app.api('GET', `/api/v1/aggregator/servers/${id}/tools`);
    assert.deepEqual(
      tools.body.tools.map((one: Body) => one.name),
      ['lister.known'],
    );
  });
}

test('LIM-003: several lists of one server, and several servers, have a budget together', async (t) => {
  const big = await startLister(t, {
    'tools/list': many('tools', 'name', 9),
    'prompts/list': many('prompts', 'name', 9),
  });
  const app = await startApp(limits);
  t.after(app.close);
  await app.register('big', { base_url: big.url });
  await untilFailed(app, 'big');
  assert.match((await app.server('big')).error_message, /MCP_AGGREGATOR_MAX_SERVER_BYTES/);
  assert.equal((await app.server('big')).tool_count, 9);

  const other = await startLister(t, { 'tools/list': many('tools', 'name', 9) });
  const third = await startLister(t, { 'tools/list': many('tools', 'name', 9) });
  await app.add('other', { base_url: other.url });
  await app.register('third', { base_url: third.url });
  await untilFailed(app, 'third');
  assert.match((await app.server('third')).error_message, /MCP_AGGREGATOR_MAX_CATALOG_BYTES/);
});

test('instructions without measure are an error on the row', async (t) => {
  const lister = await startLister(t, {}, { instructions: 'y'.repeat(10_001) });
  const app = await startApp(limits);
  t.after(app.close);
  const id = await app.register('wordy', { base_url: lister.url });
  const { error_message: problem } = await app.untilStatus(id, 'ERROR');
  assert.match(problem, /instructions.*larger than 10000 bytes \(MCP_AGGREGATOR_MAX_DEFINITION_BYTES\)/);
});

async function untilFailed(app: TestApp, server: string): Promise<void> {
  const isFailure = (line: string) => {
    const record = JSON.parse(line);
    return record.msg === 'discovery failed' && record.server === server;
  };
  await app.seen.waitFor('server.updated', (event) => event.name === server && app.log.some(isFailure));
}

/** So many definitions of 5 KB, one per page. */
function many(member: string, key: string, count: number): Page {
  return (cursor) => {
    const at = Number(cursor ?? 0);
    const definition = { name: `n${at}`, inputSchema: { type: 'object' }, description: 'x'.repeat(4_900) };
    return {
      [member]: [{ ...definition, [key]: `n${at}` }],
      ...(at + 1 < count ? { nextCursor: String(at + 1) } : {}),
    };
  };
}

function longCursors(): Page {
  let at = 0;
  return () => ({ resources: [], nextCursor: `${at++}${'c'.repeat(5_000)}` });
}
