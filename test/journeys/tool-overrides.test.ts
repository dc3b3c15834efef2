/** What admins decide about single tools, and renaming a server, as MCP and REST clients meet both. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { Client } from '@modelcontextprotocol/client';
import { connectClient } from '../mcp/clients.ts';
import { type Body, startApp, type TestApp } from '../support/app.ts';
import { startHttpProgram } from '../support/servers/http-program.ts';
import type { RunningServer } from '../support/servers/http-wire.ts';
import { createProgram, text } from '../support/servers/program.ts';
import { until, untilSeen } from '../support/until.ts';

const servers = '/api/v1/aggregator/servers';

const issueTool = (name: string, description: string) => ({
  definition: {
    name,
    description,
    inputSchema: {
      type: 'object',
      properties: { repo: { type: 'string' }, title: { type: 'string' }, debug: { type: 'boolean' } },
      required: ['repo', 'title'],
    },
  },
  call: (_exchange: unknown, args: Body) => text(JSON.stringify(args)),
});

function startTracker(): Promise<RunningServer> {
  const program = createProgram({
    info: { name: 'tracker', version: '1.0.0' },
    tools: [
      issueTool('create_issue', 'Opens an issue in a repository.'),
      issueTool('delete_issue', 'Deletes an issue of a repository.'),
      issueTool('delete_repo', 'Deletes a repository.'),
    ],
  });
  return startHttpProgram(program, { transport: 'streamable-legacy' });
}

let app: TestApp;
let tracker: RunningServer;
before(async () => {
  [app, tracker] = await Promise.all([startApp(), startTracker()]);
});
after(async () => {
  await app.close();
  await tracker.close();
});

/** But for our own. */
const names = async (client: Client) =>
  (await client.listTools()).tools.map(({ name }) => name).filter((name) => !name.startsWith('mcp__'));
const override = (server: string, tool: string, body: Body) =>
  app.api('PATCH', `${servers}/${server}/tools/${encodeURIComponent(tool)}`, body);
const toolsOf = async (server: string): Promise<Body[]> =>
  (await app.api('GET', `${servers}/${server}/tools`)).body.tools;
async function found(query: string): Promise<string[]> {
  const { body } = await app.api('POST', '/api/v1/search', { query, tool_threshold: 0 });
  return body.tools.map(({ name }: Body) => name);
}

suite('tools that an admin disabled', () => {
  let client: Client;
  let changed = 0;
  before(async () => {
    await app.add('git', { base_url: tracker.url });
    client = await connectClient(app, {
      prepare: (one) =>
        one.setNotificationHandler('notifications/tools/list_changed', () => {
          changed += 1;
        }),
    });
  });
  after(() => client.close());

  test('TOOL-001: they leave lists, search and calls at once, and clients are told', async () => {
    await untilSeen(
      () => found('delete a repository'),
      (all) => all.includes('git.delete_repo'),
      'the tools are indexed',
    );
    const { status, body } = await override('git', 'delete_repo', { enabled: false });
    assert.deepEqual([status, body.tools[0].enabled, body.tools[0].override], [200, false, { enabled: false }]);
    assert.deepEqual(await names(client), ['git__create_issue', 'git__delete_issue']);
    await until(() => changed > 0, 'the client was told');
    await untilSeen(
      () => found('delete a repository'),
      (all) => !all.includes('git.delete_repo'),
      'search forgot it',
    );
    for (const name of ['git.delete_repo', 'git__delete_repo']) {
      const refused = await app.call(name, { repo: 'a', title: 'b' });
      assert.deepEqual([refused.status, refused.body.error_code], [409, 'TOOL_DISABLED']);
    }
    assert.equal((await app.call('delete_repo')).status, 404);
    await assert.rejects(
      client.callTool({ name: 'git__delete_repo', arguments: {} }),
      /Tool disabled: git.delete_repo/,
    );
    const shown = (await toolsOf('git')).map(({ original_name, enabled }) => [original_name, enabled]);
    assert.deepEqual(shown, [
      ['create_issue', true],
      ['delete_issue', true],
      ['delete_repo', false],
    ]);
  });

  test('TOOL-001: a name with "*" disables all that match; the exact name wins', async () => {
    assert.equal((await override('git', 'delete_*', { enabled: false })).body.tools.length, 2, 'those that match');
    await override('git', 'delete_issue', { enabled: true });
    await override('git', 'delete_repo', { enabled: null });
    assert.deepEqual(await names(client), ['git__create_issue', 'git__delete_issue']);
    await override('git', 'delete_*', { enabled: null });
    assert.deepEqual(await names(client), ['git__create_issue', 'git__delete_issue', 'git__delete_repo']);
    await untilSeen(
      () => found('delete a repository'),
      (all) => all.includes('git.delete_repo'),
      'search has it again',
    );
  });

  test('decisions of several admins at the same time are all kept', async () => {
    const tools = ['create_issue', 'delete_issue', 'delete_repo'];
    await Promise.all(tools.map((tool) => override('git', tool, { enabled: false })));
    assert.deepEqual(await names(client), []);
    await Promise.all(tools.map((tool) => override('git', tool, { enabled: true })));
    assert.equal((await names(client)).length, 3);
  });

  test('what cannot be is refused, with the field', async () => {
    const wrong: [tool: string, body: Body, status: number, what: RegExp][] = [
      ['nothing', { enabled: false }, 404, /Tool not found: nothing/],
      ['create_issue', { rename: 'delete_repo' }, 422, /another tool of this server/],
      ['create_issue', { rename: 'a b' }, 422, /rename must have/],
      ['create_issue', { hidden_arguments: ['title'] }, 422, /requires title/],
      ['create_*', { description: 'x' }, 422, /one tool only/],
      ['create_issue', { name: 'x' }, 422, /unknown field: name/],
    ];
    for (const [tool, body, status, what] of wrong) {
      const answer = await override('git', tool, body);
      assert.equal(answer.status, status, tool);
      assert.match(JSON.stringify(answer.body), what);
    }
  });
});

suite('tools that an admin changed', () => {
  test('TOOL-002: another name, another description, fixed and hidden arguments', async (t) => {
    await app.add('bugs', { base_url: tracker.url });
    t.after(() => app.api('DELETE', `${servers}/bugs`));
    await override('bugs', 'create_issue', {
      rename: 'report_bug',
      description: 'Reports a bug of our shop.',
      fixed_arguments: { repo: 'acme/x' },
      hidden_arguments: ['debug'],
    });
    for (const [path, name] of [
      ['/mcp', 'bugs__report_bug'],
      ['/mcp/servers/bugs', 'report_bug'],
    ] as const) {
      const client = await connectClient(app, { path });
      const tool = (await client.listTools()).tools.find((one) => one.name === name);
      assert.equal(tool?.description, 'Reports a bug of our shop.');
      assert.deepEqual(tool?.inputSchema, {
        type: 'object',
        properties: { title: { type: 'string' } },
        required: ['title'],
      });
      const given = { title: 'broken', repo: 'evil/y', debug: true };
      const { content } = (await client.callTool({ name, arguments: given })) as Body;
      assert.deepEqual(JSON.parse(content[0].text), { title: 'broken', repo: 'acme/x' });
      await client.close();
    }
    for (const name of ['bugs.create_issue', 'bugs.report_bug', 'bugs__report_bug', 'report_bug']) {
      const { body } = await app.call(name, { title: 't' });
      assert.deepEqual([body.metadata.tool, JSON.parse(body.content[0].text).repo], ['bugs.create_issue', 'acme/x']);
    }
    await untilSeen(
      () => found('report a bug of our shop'),
      ([first]) => first === 'bugs.create_issue',
      'it is found',
    );

    await override('bugs', 'create_issue', {
      rename: null,
      description: null,
      fixed_arguments: null,
      hidden_arguments: null,
    });
    const [tool] = await toolsOf('bugs');
    assert.deepEqual(
      [tool.wire_name, tool.override, tool.input_schema.required],
      ['bugs__create_issue', undefined, ['repo', 'title']],
    );
  });

  test('TOOL-002: they survive a refresh, and arrive with a registration', async (t) => {
    const tool_overrides = { '*': { enabled: false }, create_issue: { enabled: true, rename: 'open' } };
    await app.add('given', { base_url: tracker.url }, { tool_overrides });
    t.after(() => app.api('DELETE', `${servers}/given`));
    const offered = async () =>
      (await toolsOf('given')).filter(({ enabled }) => enabled).map(({ wire_name }) => wire_name);
    assert.deepEqual(await offered(), ['given__open']);
    const from = app.seen.all.length;
    await app.api('POST', `${servers}/given/tools/refresh`);
    await app.seen.waitFor('server.discovered', undefined, from);
    assert.deepEqual(await offered(), ['given__open']);
    assert.deepEqual((await app.server('given')).tool_overrides, tool_overrides);
  });
});

suite('renaming a server', () => {
  test('EC-008: all tool names change at once, clients are told, and what names the server follows', async (t) => {
    await app.add('old', { base_url: tracker.url });
    await app.api('PUT', '/api/v1/profiles/work', {
      servers: ['old', 'git'],
      tools: [{ name: 'old.create_issue', rename: 'open' }, { name: 'old.delete_*' }, { name: 'git.*' }],
    });
    await app.api('PUT', '/api/v1/query/rules', { serverRules: [{ pattern: 'bug', servers: ['old', 'git'] }] });
    const token = (await app.api('POST', '/api/v1/tokens', { name: 't', role: 'caller', servers: ['old'] })).body.token;
    let told = 0;
    const prepare = (one: Client) =>
      one.setNotificationHandler('notifications/tools/list_changed', () => {
        told += 1;
      });
    const [client, bound] = await Promise.all([connectClient(app, { prepare }), connectClient(app, { token })]);
    t.after(() => Promise.all([client.close(), bound.close()]));
    const before = await app.server('old');
    await untilSeen(
      () => found('open an issue'),
      (all) => all.includes('old.create_issue'),
      'the tools are indexed',
    );

    const { status, body } = await app.api('PATCH', `${servers}/old`, { name: 'new', description: 'Renamed.' });
    assert.deepEqual([status, body.name, body.description, body.id], [200, 'new', 'Renamed.', before.id]);
    assert.equal(body.connected_at, before.connected_at, 'the session is the same');
    await until(() => told > 0, 'the client was told');
    const listed = await names(client);
    assert.deepEqual(
      listed.filter((name) => /^(old|new)__/.test(name)),
      ['new__create_issue', 'new__delete_issue', 'new__delete_repo'],
    );
    assert.deepEqual(await names(bound), ['new__create_issue', 'new__delete_issue', 'new__delete_repo']);
    assert.equal((await app.call('new.create_issue', { repo: 'r', title: 't' })).status, 200);
    assert.equal((await app.call('old.create_issue')).status, 404);
    assert.equal((await app.api('GET', `${servers}/old`)).status, 404);
    const profile = (await app.api('GET', '/api/v1/profiles/work')).body;
    assert.deepEqual(profile.servers, ['new', 'git']);
    assert.deepEqual(
      profile.tools.map(({ name }: Body) => name),
      ['new.create_issue', 'new.delete_*', 'git.*'],
    );
    const rules = (await app.api('GET', '/api/v1/query/rules')).body.serverRules;
    assert.deepEqual(rules[0].servers, ['new', 'git']);
    await untilSeen(
      () => found('open an issue'),
      (all) => all.includes('new.create_issue') && !all.includes('old.create_issue'),
      'search follows',
    );

    const from = app.seen.all.length;
    await app.api('POST', `${servers}/new/tools/refresh`);
    const { tools, added, removed } = await app.seen.waitFor('server.discovered', undefined, from);
    assert.deepEqual([tools, added, removed], [3, [], []]);
  });

  test('EC-008: a name that is taken or not allowed changes nothing', async () => {
    await app.register('first', { command: 'true' }, { auto_connect: false });
    const taken = await app.api('PATCH', `${servers}/first`, { name: 'git', description: 'no' });
    assert.deepEqual([taken.status, taken.body.error_code], [409, 'SERVER_ALREADY_EXISTS']);
    assert.equal((await app.api('PATCH', `${servers}/first`, { name: 'Not legal' })).status, 422);
    assert.deepEqual([(await app.server('first')).name, (await app.server('first')).description], ['first', null]);
  });
});
