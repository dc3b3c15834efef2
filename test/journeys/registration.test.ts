import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { startApp, type TestApp, toRegistration } from '../support/app.ts';
import { startFeatureServer, stdioFeatureServer } from '../support/servers/feature-server.ts';
import { startHttpProgram } from '../support/servers/http-program.ts';
import { createProgram, type Tool, text } from '../support/servers/program.ts';
import { untilSeen } from '../support/until.ts';

const servers = '/api/v1/aggregator/servers';
const idle = { auto_connect: false };
const stdio = { transport_type: 'STDIO', connection_config: { command: 'true' }, auto_connect: false };
const http = {
  transport_type: 'HTTP',
  connection_config: { base_url: 'https://example.com/mcp' },
  auto_connect: false,
};
const sse = { transport_type: 'SSE', connection_config: { url: 'https://example.com/sse' }, auto_connect: false };

suite('registering', () => {
  let app: TestApp;
  before(async () => {
    app = await startApp();
  });
  after(() => app.close());

  test('BR-001, API-005, API-007: a server is registered DISCONNECTED, with every field', async () => {
    const answer = await app.api('POST', servers, {
      name: 'github-mcp',
      description: 'GitHub MCP Server',
      ...sse,
      health_check_url: 'https://github-mcp.example.com/health',
    });
    assert.equal(answer.status, 201);
    const { id, registered_at, ...rest } = answer.body;
    assert.match(id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    assert.ok(Math.abs(Date.parse(registered_at) - Date.now()) < 60_000);
    assert.partialDeepStrictEqual(rest, {
      name: 'github-mcp',
      description: 'GitHub MCP Server',
      transport_type: 'SSE',
      status: 'DISCONNECTED',
      health_check_url: 'https://github-mcp.example.com/health',
      tool_count: 0,
      error_message: null,
      last_health_check: null,
      connected_at: null,
    });
    assert.deepEqual((await app.server('github-mcp')).connection_config, { url: 'https://example.com/sse' });
  });

  test('BR-001: with auto_connect, the default, the answer already says CONNECTING', async (t) => {
    const upstream = await startFeatureServer({ transport: 'streamable-legacy' });
    t.after(upstream.close);
    const answer = await app.api('POST', servers, toRegistration('auto', { base_url: upstream.url }));
    assert.equal(answer.body.status, 'CONNECTING');
    await app.untilStatus('auto', 'CONNECTED');
  });

  test('BR-001, API-005: a name is taken once', async () => {
    assert.equal((await app.api('POST', servers, { name: 'once', ...stdio })).status, 201);
    const again = await app.api('POST', servers, { name: 'once', ...http });
    assert.equal(again.status, 409);
    assert.deepEqual(again.body, { detail: 'Server already exists: once', error_code: 'SERVER_ALREADY_EXISTS' });
  });

  for (const name of ['a', 'a-b_c9', 'x'.repeat(255)]) {
    test(`BR-001: the name ${name.slice(0, 20)} (${name.length}) is legal`, async () => {
      assert.equal((await app.api('POST', servers, { name, ...stdio })).status, 201);
      assert.equal((await app.server(name)).name, name);
    });
  }

  const long = 'x'.repeat(9_000);
  /** What is wrong, the registration, where the answer says it is, and how. */
  const wrong: [string, unknown, (string | number)[], RegExp, string?][] = [
    ['no body', undefined, ['body'], /required|expected|Invalid/i],
    ['a list', [], ['body'], /./],
    ['null', null, ['body'], /./],
    ['a number', 7, ['body'], /./],
    ['no name', { ...stdio }, ['body', 'name'], /Field required/, 'missing'],
    ...['', 'A', '1a', '-a', '_a', 'a.b', 'a b', 'ä', 'aB', 'a/b', 'a\n', 'a\u0000', `${'x'.repeat(256)}`].map(
      (name): [string, unknown, (string | number)[], RegExp] => [
        `the name ${JSON.stringify(name.slice(0, 10))}`,
        { name, ...stdio },
        ['body', 'name'],
        /name (must start with a lowercase letter|may have at most 255)/,
      ],
    ),
    ['a name that is a number', { name: 5, ...stdio }, ['body', 'name'], /string/],
    ['no transport', { name: 'w', connection_config: {} }, ['body', 'transport_type'], /one of STDIO, SSE, HTTP/],
    [
      'an unknown transport',
      { name: 'w', transport_type: 'stdio', connection_config: {} },
      ['body', 'transport_type'],
      /one of STDIO, SSE, HTTP/,
    ],
    ['no config', { name: 'w', transport_type: 'HTTP' }, ['body', 'connection_config'], /required/i, 'missing'],
    [
      'a config of text',
      { name: 'w', transport_type: 'HTTP', connection_config: 'x' },
      ['body', 'connection_config'],
      /object/,
    ],
    ...(
      [
        ['STDIO', 'command'],
        ['SSE', 'url'],
        ['HTTP', 'base_url'],
      ] as const
    ).flatMap(([transport_type, field]) =>
      [{}, { [field]: '' }, { [field]: 3 }, { [field]: null }].map(
        (connection_config): [string, unknown, (string | number)[], RegExp, string] => [
          `${transport_type} with ${JSON.stringify(connection_config)}`,
          { name: 'w', transport_type, connection_config },
          ['body', 'connection_config', field],
          new RegExp(`^${transport_type} transport requires '${field}' in connection_config$`),
          'value_error',
        ],
      ),
    ),
    ['a long command', withConfig('STDIO', { command: long }), at('command'), /8192/],
    ['a NUL in the command', withConfig('STDIO', { command: 'a\0b' }), at('command'), /NUL/],
    ['args of text', withConfig('STDIO', { command: 'x', args: '-y' }), at('args'), /array/],
    ['an arg of a number', withConfig('STDIO', { command: 'x', args: [1] }), at('args', 0), /string/],
    ['a NUL in an arg', withConfig('STDIO', { command: 'x', args: ['a\0'] }), at('args', 0), /NUL/],
    ['env of a list', withConfig('STDIO', { command: 'x', env: [] }), at('env'), /record|object/],
    ['an env of a number', withConfig('STDIO', { command: 'x', env: { A: 1 } }), at('env', 'A'), /string/],
    ['an env name with =', withConfig('STDIO', { command: 'x', env: { 'A=B': '1' } }), at('env', 'A=B'), /name|key/i],
    ['a NUL in env', withConfig('STDIO', { command: 'x', env: { A: 'x\0y' } }), at('env', 'A'), /NUL/],
    ['headers for STDIO', withConfig('STDIO', { command: 'x', headers: {} }), at('headers'), /unknown field: headers/],
    ['env for HTTP', withConfig('HTTP', { base_url: 'https://a.b', env: {} }), at('env'), /unknown field: env/],
    ['url for HTTP', withConfig('HTTP', { base_url: 'https://a.b', url: 'x' }), at('url'), /unknown field: url/],
    ...['x', 'ftp://a', 'http://example.com/mcp', 'javascript:alert(1)', '//a', 'https://'].map(
      (base_url): [string, unknown, (string | number)[], RegExp] => [
        `the address ${base_url}`,
        withConfig('HTTP', { base_url }),
        at('base_url'),
        /base_url must (be a URL|start with https)/,
      ],
    ),
    [
      'a password in the address',
      withConfig('SSE', { url: 'https://u:p@a.b/' }),
      at('url'),
      /must not contain a user name/,
    ],
    ...['Connection', 'transfer-encoding', 'TE', 'keep-alive', 'Upgrade', 'Content-Length', 'proxy-authorization'].map(
      (name): [string, unknown, (string | number)[], RegExp] => [
        `the header ${name}`,
        withConfig('HTTP', { base_url: 'https://a.b', headers: { [name]: 'x' } }),
        at('headers', name),
        new RegExp(`^${name} is a connection-level header and cannot be set for a server$`),
      ],
    ),
    ['a header name', withConfig('SSE', { url: 'https://a.b', headers: { 'a b': 'x' } }), at('headers', 'a b'), /./],
    [
      'a line break in a header',
      withConfig('SSE', { url: 'https://a.b', headers: { a: 'x\r\ny: z' } }),
      at('headers', 'a'),
      /line break/,
    ],
    ['a long description', { name: 'w', ...stdio, description: 'x'.repeat(1_001) }, ['body', 'description'], /1000/],
    ['a NUL in the description', { name: 'w', ...stdio, description: 'a\0' }, ['body', 'description'], /NUL/],
    ['a description of a number', { name: 'w', ...stdio, description: 4 }, ['body', 'description'], /string/],
    ...['x', 'ftp://a.b', '', 7, 'https://u:p@a.b/health'].map(
      (health_check_url): [string, unknown, (string | number)[], RegExp] => [
        `the health_check_url ${health_check_url}`,
        { name: 'w', ...stdio, health_check_url },
        ['body', 'health_check_url'],
        /health_check_url must/,
      ],
    ),
    ['auto_connect as text', { name: 'w', ...stdio, auto_connect: 'yes' }, ['body', 'auto_connect'], /boolean/],
    [
      'an unknown field',
      { name: 'w', ...stdio, colour: 1 },
      ['body', 'colour'],
      /unknown field: colour/,
      'extra_forbidden',
    ],
    ['an unknown option', { name: 'w', ...stdio, options: { x: 1 } }, ['body', 'options', 'x'], /unknown field: x/],
    [
      'no calls at once',
      { name: 'w', ...stdio, options: { max_concurrent_calls: 0 } },
      ['body', 'options', 'max_concurrent_calls'],
      /1/,
    ],
  ];

  for (const [what, body, loc, message, type] of wrong) {
    test(`BR-001: refuses ${what} and says where`, async () => {
      const answer = await app.api('POST', servers, body);
      assert.equal(answer.status, 422, JSON.stringify(answer.body));
      const [problem] = answer.body.detail;
      assert.deepEqual(problem.loc, loc, JSON.stringify(answer.body));
      assert.match(problem.msg, message);
      if (type !== undefined) assert.equal(problem.type, type);
      assert.equal(answer.body.error_code, 'VALIDATION_ERROR');
    });
  }

  test('BR-001, API-003: everything that is wrong is said at once', async () => {
    const answer = await app.api('POST', servers, { name: 'Bad', ...http, description: 5, colour: 1, size: 2 });
    const places = answer.body.detail.map((problem: { loc: string[] }) => problem.loc.join('.')).sort();
    assert.deepEqual(places, ['body.colour', 'body.description', 'body.name', 'body.size']);
  });

  test('BR-001, API-003: the 422 answer, word for word', async () => {
    const answer = await app.api('POST', servers, { name: 'x', transport_type: 'SSE', connection_config: {} });
    assert.deepEqual(answer.body.detail, [
      {
        loc: ['body', 'connection_config', 'url'],
        msg: "SSE transport requires 'url' in connection_config",
        type: 'value_error',
      },
    ]);
  });

  test('EC-008, API-008: everything can be changed; only another connection reconnects', async (t) => {
    const first = await startFeatureServer({ transport: 'streamable-legacy', label: 'first' });
    t.after(first.close);
    await app.add('changing', { base_url: first.url });
    const before = await app.server('changing');
    const patched = await app.api('PATCH', `${servers}/changing`, { description: 'new', health_check_url: null });
    assert.equal(patched.body.description, 'new');
    assert.equal(patched.body.connected_at, before.connected_at);
    assert.equal(patched.body.era, 'legacy');

    const change = { transport_type: 'STDIO', connection_config: stdioFeatureServer('modern', { label: 'second' }) };
    assert.equal((await app.api('PATCH', `${servers}/changing`, change)).status, 200);
    await app.untilStatus('changing', 'CONNECTED');
    const answer = await app.call('changing.whoami');
    assert.equal(answer.body.structuredContent.label, 'second');
    assert.equal((await app.server('changing')).era, 'modern');

    const wrong = await app.api('PATCH', `${servers}/changing`, { transport_type: 'HTTP' });
    assert.equal(wrong.status, 422);
    assert.deepEqual(wrong.body.detail[0].loc, ['body', 'connection_config', 'base_url']);
  });

  test('EC-004: of many registrations of one name at the same time, one succeeds', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => app.api('POST', servers, { name: 'raced', ...stdio })),
    );
    const codes = answers.map((answer) => answer.status).sort();
    assert.deepEqual(codes, [201, ...Array.from({ length: 19 }, () => 409)]);
    const list = await app.api('GET', `${servers}?limit=1000`);
    assert.equal(list.body.servers.filter((server: { name: string }) => server.name === 'raced').length, 1);
  });

  test('EC-004: another process on the same database cannot register the name again', async (t) => {
    if (app.database.url === undefined) return t.skip('an embedded database has one owner');
    const dataDir = await mkdtemp(join(tmpdir(), 'mcp-aggregator-second-'));
    const second = await startApp({}, { database: app.database, dataDir });
    t.after(async () => {
      await second.close();
      await rm(dataDir, { recursive: true });
    });
    const name = `shared-${randomUUID()}`;
    const answers = await Promise.all([app, second].map((one) => one.api('POST', servers, { name, ...stdio })));
    assert.deepEqual(answers.map((answer) => answer.status).sort(), [201, 409]);
  });
});

suite('limits', () => {
  test('LIM-001: the fifty-first server is refused, here the third of two', async (t) => {
    const app = await startApp({ MCP_AGGREGATOR_MAX_SERVERS: '2' });
    t.after(app.close);
    await app.register('one', { command: 'true' }, idle);
    await app.register('two', { command: 'true' }, idle);
    const answer = await app.api('POST', servers, { name: 'three', ...stdio });
    assert.equal(answer.status, 409);
    assert.equal(answer.body.error_code, 'SERVER_LIMIT_REACHED');
    assert.match(answer.body.detail, /limit reached: 2 servers/);
    await app.api('DELETE', `${servers}/one`);
    await app.register('three', { command: 'true' }, idle);
  });

  test('LIM-002: a server with too many tools offers the first ones and says so', async (t) => {
    const app = await startApp({ MCP_AGGREGATOR_MAX_TOOLS_PER_SERVER: '30', MCP_AGGREGATOR_MAX_TOOLS: '80' });
    const upstream = await startFeatureServer({ transport: 'streamable-modern', extraTools: 40 });
    const small = await startFeatureServer({ transport: 'streamable-modern' });
    t.after(async () => {
      await app.close();
      await upstream.close();
      await small.close();
    });
    await app.register('many', { base_url: upstream.url });
    const details = await app.untilStatus('many', 'CONNECTED');
    assert.match(details.error_message, /^the server lists more than 30 tools; the first 30 are offered/);
    assert.equal(details.tool_count, 30);

    await app.add('small-1', { base_url: small.url });
    await app.add('small-2', { base_url: small.url });
    await app.register('small-3', { base_url: small.url });
    const total = await discoveryFailed(app, 'small-3');
    assert.match(total.details.error, /80 tools in total/);
    assert.equal((await app.server('small-1')).tool_count > 15, true);
  });

  test('LIM-002: a server that comes to have too many tools keeps those it had', async (t) => {
    const app = await startApp({ MCP_AGGREGATOR_MAX_TOOLS_PER_SERVER: '2' });
    const growing = createProgram({ info: { name: 'growing', version: '1' }, tools: [tool('one'), tool('two')] });
    const upstream = await startHttpProgram(growing, { transport: 'streamable-legacy' });
    t.after(async () => {
      await app.close();
      await upstream.close();
    });
    await app.add('growing', { base_url: upstream.url });
    growing.tools.set('three', tool('three'));
    const mark = app.seen.all.length;
    await app.api('POST', `${servers}/growing/tools/refresh`);
    await app.seen.waitFor('server.updated', ({ name }) => name === 'growing', mark);
    const details = await app.server('growing');
    assert.equal(details.status, 'CONNECTED');
    assert.match(details.error_message, /^the server lists more than 2 tools; the first 2 are offered/);
    const { tools } = (await app.api('GET', `${servers}/growing/tools`)).body;
    assert.deepEqual(
      tools.map(({ original_name }: { original_name: string }) => original_name),
      ['one', 'two'],
    );
    assert.equal((await app.call('growing.two')).status, 200);
    assert.equal((await app.call('growing.three')).status, 404);
  });
});

async function discoveryFailed(app: TestApp, server: string) {
  const failure = async () => {
    const { body } = await app.api('GET', `${servers}/${server}/history`);
    return body.history.find((entry: { event_type: string }) => entry.event_type === 'DISCOVERY_FAILED');
  };
  return await untilSeen(failure, (entry) => entry !== undefined, 'the discovery has failed');
}

function tool(name: string): Tool {
  return { definition: { name, inputSchema: { type: 'object' } }, call: () => text(name) };
}

function withConfig(transport_type: string, connection_config: unknown) {
  return { name: 'w', transport_type, connection_config };
}

function at(...path: (string | number)[]): (string | number)[] {
  return ['body', 'connection_config', ...path];
}
