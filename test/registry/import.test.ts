import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findClientConfigs, fromClientConfig, parseClientConfig, toLegalName } from '../../src/registry/import.ts';

const registrations = (json: unknown) => fromClientConfig(json).servers.map(({ registration }) => registration);

test('Claude Desktop: mcpServers with command, args and env', () => {
  const json = {
    mcpServers: { github: { command: 'npx', args: ['-y', 'server-github'], env: { GITHUB_TOKEN: 'ghp_1', DEBUG: 1 } } },
  };
  assert.deepEqual(fromClientConfig(json), {
    servers: [
      {
        key: 'github',
        registration: {
          name: 'github',
          transport_type: 'STDIO',
          connection_config: {
            command: 'npx',
            args: ['-y', 'server-github'],
            env: { GITHUB_TOKEN: 'ghp_1', DEBUG: '1' },
          },
        },
        warnings: [],
      },
    ],
    problems: [],
  });
});

test('Claude Code: servers of the user and of every project, each once', () => {
  const files = { type: 'stdio', command: 'files' };
  const json = {
    numStartups: 7,
    mcpServers: {
      notion: { type: 'http', url: 'https://mcp.notion.com/mcp', headers: { Authorization: 'Bearer ${T:-x}' } },
    },
    projects: {
      '/a': { mcpServers: { files, other: { command: 'one' } } },
      '/b': { mcpServers: { files, other: { command: 'two' } }, history: [] },
    },
  };
  const { servers } = fromClientConfig(json);
  assert.deepEqual(
    servers.map(({ registration }) => registration.name),
    ['notion', 'files', 'other', 'other-2'],
  );
  assert.deepEqual(servers[0]?.registration.connection_config, {
    base_url: 'https://mcp.notion.com/mcp',
    headers: { Authorization: 'Bearer ${T:-x}' },
  });
  assert.deepEqual(servers[3]?.warnings, ['"other" became "other-2"']);
});

test('VS Code: servers, mcp.servers and its variables', () => {
  const entry = {
    type: 'stdio',
    command: '${userHome}/bin/x',
    args: ['${workspaceFolder}/data'],
    env: { KEY: '${input:api-key}', TOKEN: '${env:TOKEN}' },
    envFile: '.env',
  };
  for (const json of [
    { inputs: [], servers: { x: entry } },
    { mcp: { servers: { x: entry } } },
    { 'mcp.servers': { x: entry } },
  ]) {
    const [server] = fromClientConfig(json).servers;
    assert.deepEqual(server?.registration.connection_config, {
      command: '${HOME}/bin/x',
      args: ['${workspaceFolder}/data'],
      env: { KEY: '${API_KEY}', TOKEN: '${TOKEN}' },
    });
    assert.deepEqual(server?.warnings, [
      'ignored: envFile',
      '${workspaceFolder} is only known to the editor: replace it with a path',
      "${input:api-key} became ${API_KEY}: set API_KEY in the aggregator's environment",
    ]);
  }
});

test('Cursor and Windsurf: url, serverUrl, and which transport is meant', () => {
  const found = registrations({
    mcpServers: {
      a: { url: 'https://a.example/mcp' },
      b: { url: 'https://b.example/sse' },
      c: { serverUrl: 'https://c.example/mcp', disabled: true },
      d: { transport: 'streamable-http', url: 'http://localhost:3000/mcp' },
      e: { type: 'sse', url: 'https://e.example/events' },
    },
  });
  assert.deepEqual(
    found.map(({ name, transport_type, auto_connect }) => [name, transport_type, auto_connect]),
    [
      ['a', 'HTTP', undefined],
      ['b', 'SSE', undefined],
      ['c', 'HTTP', false],
      ['d', 'HTTP', undefined],
      ['e', 'SSE', undefined],
    ],
  );
});

test('the bare map, and the list that our own API writes', () => {
  assert.equal(registrations({ files: { command: 'files' } }).length, 1);
  const own = { name: 'files', transport_type: 'STDIO', connection_config: { command: 'files' }, description: 'd' };
  assert.deepEqual(registrations({ servers: [own] }), [own]);
});

test('BR-001, API-022: names are made legal, the change is told, two never become one', () => {
  assert.equal(toLegalName('GitHub (work)'), 'github-work');
  assert.equal(toLegalName('1Password'), 'password');
  assert.equal(toLegalName('Größe_1'), 'gro-e_1');
  assert.equal(toLegalName('日本'), 'server');
  assert.equal(toLegalName('x'.repeat(300)).length, 255);
  const { servers } = fromClientConfig({
    mcpServers: { 'My Server': { command: 'a' }, 'my server': { command: 'b' } },
  });
  assert.deepEqual(
    servers.map(({ registration, warnings }) => [registration.name, warnings]),
    [
      ['my-server', ['"My Server" became "my-server"']],
      ['my-server-2', ['"my server" became "my-server-2"']],
    ],
  );
});

test('BR-001, API-022: one wrong entry is reported with its reason and the others are kept', () => {
  const { servers, problems } = fromClientConfig({
    mcpServers: {
      good: { command: 'x' },
      empty: {},
      plain: { url: 'http://example.com/mcp' },
      odd: { type: 'carrier-pigeon', url: 'https://example.com' },
      text: 'npx something',
    },
  });
  assert.deepEqual(
    servers.map(({ key }) => key),
    ['good'],
  );
  assert.deepEqual(problems, [
    { key: 'empty', reason: "STDIO transport requires 'command' in connection_config" },
    {
      key: 'plain',
      reason: 'base_url must start with https:// (http is allowed for loopback addresses only)',
    },
    { key: 'odd', reason: 'transport_type must be one of STDIO, SSE, HTTP' },
    { key: 'text', reason: 'transport_type must be one of STDIO, SSE, HTTP' },
  ]);
});

test('what is no server list says so, an empty one is fine', () => {
  for (const json of [null, 7, 'text', [], { editor: { fontSize: 12 } }]) {
    assert.deepEqual(fromClientConfig(json).problems, [{ key: '', reason: 'contains no "mcpServers" or "servers"' }]);
  }
  assert.deepEqual(fromClientConfig({ mcpServers: {} }), { servers: [], problems: [] });
});

test('the aggregator is not registered with itself', () => {
  const json = {
    mcpServers: {
      me: { command: 'npx', args: ['-y', 'mcp-aggregator', 'stdio'] },
      us: { url: 'http://localhost:8081/mcp' },
      other: { url: 'http://localhost:8082/mcp' },
    },
  };
  const { servers, problems } = fromClientConfig(json, { self: 'http://127.0.0.1:8081' });
  assert.deepEqual(
    servers.map(({ key }) => key),
    ['other'],
  );
  assert.deepEqual(
    problems.map(({ reason }) => reason),
    ['is mcp-aggregator itself', 'is mcp-aggregator itself'],
  );
});

test('a transport or an address that is no text makes that entry invalid, and no other', () => {
  const odd = { constructor: 1, toString: 'x' };
  const { servers, problems } = fromClientConfig({
    mcpServers: {
      a: { type: odd, url: 'https://a.example/sse' },
      b: { url: odd },
      c: { type: 'constructor', url: 'https://c.example/mcp' },
      fine: { url: 'https://fine.example/mcp' },
    },
  });
  assert.deepEqual(
    servers.map(({ key }) => key),
    ['fine'],
  );
  assert.deepEqual(
    problems.map(({ key }) => key),
    ['a', 'b', 'c'],
  );
});

test('comments and trailing commas are read, and left alone inside strings', () => {
  const text = '\uFEFF{ // one\n "a": "http://x/*y*/,]", /* two\n */ "b": [1, 2,], "c": "\\"//",\n}';
  assert.deepEqual(parseClientConfig(text), { a: 'http://x/*y*/,]', b: [1, 2], c: '"//' });
  assert.throws(() => parseClientConfig('{"a": '), SyntaxError);
});

test('the files of every client on every platform', () => {
  const paths = (platform: NodeJS.Platform, home: string, env = {}) =>
    findClientConfigs(home, platform, '/work', env).map(({ client, path }) => `${client}: ${path}`);
  const mac = paths('darwin', '/Users/a');
  assert.ok(mac.includes('Claude Desktop: /Users/a/Library/Application Support/Claude/claude_desktop_config.json'));
  assert.ok(mac.includes('VS Code: /Users/a/Library/Application Support/Code/User/mcp.json'));
  const linux = paths('linux', '/home/a');
  assert.ok(linux.includes('Claude Desktop: /home/a/.config/Claude/claude_desktop_config.json'));
  assert.ok(linux.includes('Claude Code: /home/a/.claude.json'));
  assert.ok(linux.includes('Claude Code: /work/.mcp.json'));
  assert.ok(linux.includes('Cursor: /home/a/.cursor/mcp.json'));
  assert.ok(linux.includes('Windsurf: /home/a/.codeium/windsurf/mcp_config.json'));
  const windows = paths('win32', 'C:\\Users\\a', { APPDATA: 'D:\\Roaming' });
  assert.ok(windows.includes('Claude Desktop: D:\\Roaming\\Claude\\claude_desktop_config.json'));
});
