// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references as they stand in configs
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  claudeDesktopFolders,
  findClientConfigs,
  parseClientConfig,
  readClientFile,
} from '../../src/registry/client-files.ts';
import { fromClientConfig, type ImportOptions, toLegalName } from '../../src/registry/import.ts';

const registrations = (json: unknown, options?: ImportOptions) =>
  fromClientConfig(json, options).servers.map(({ registration }) => registration);

test('Claude Desktop: mcpServers with command, args and env', () => {
  const json = {
    mcpServers: { github: { command: 'npx', args: ['-y', 'server-github'], env: { GITHUB_TOKEN: 'ghp_1', DEBUG: 1 } } },
  };
  assert.deepEqual(fromClientConfig(json), {
    servers: [
      {
        key: 'github',
        places: [{ key: 'github' }],
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
        inputs: [],
      },
    ],
    problems: [],
  });
});

test('Claude Code: servers of the user and of every project, each with the directory of its project', () => {
  const files = { type: 'stdio', command: 'files' };
  const here = { command: 'npx', args: ['-y', '@scope/files', '.'] };
  const json = {
    numStartups: 7,
    mcpServers: {
      notion: { type: 'http', url: 'https://mcp.notion.com/mcp', headers: { Authorization: 'Bearer ${T:-x}' } },
    },
    projects: {
      '/a': { mcpServers: { files, other: { command: 'one' }, here } },
      '/b': { mcpServers: { files, other: { command: 'two' }, here }, history: [] },
    },
  };
  const { servers } = fromClientConfig(json);
  assert.deepEqual(
    servers.map(({ registration: { name, connection_config } }) => [
      name,
      'cwd' in connection_config && connection_config.cwd,
    ]),
    [
      ['notion', false],
      ['files', '/a'], // nothing in it refers to the directory: once
      ['other', '/a'],
      ['here', '/a'],
      ['other-2', '/b'],
      ['here-2', '/b'],
    ],
  );
  assert.deepEqual(servers[0]?.registration.connection_config, {
    base_url: 'https://mcp.notion.com/mcp',
    headers: { Authorization: 'Bearer ${T:-x}' },
  });
  assert.deepEqual(servers[4]?.warnings, ['"other" became "other-2"']);
  assert.deepEqual(servers[1]?.places, [
    { key: 'files', project: '/a' },
    { key: 'files', project: '/b' },
  ]);
});

const withVariables = {
  type: 'stdio',
  command: '${userHome}/bin/x',
  args: ['${workspaceFolder}/data', '${workspaceFolderBasename}'],
  env: { KEY: '${input:api-key}', REGION: '${input:region}', TOKEN: '${env:TOKEN}' },
  envFile: '${workspaceFolder}/.env',
};
const inputs = [
  { id: 'api-key', type: 'promptString', description: 'Key of the API', password: true },
  { id: 'region', type: 'pickString', default: 'eu', options: ['eu', 'us'] },
];

test('VS Code: servers, mcp.servers and its variables, as far as they are known', () => {
  const entry = { ...withVariables, args: [], envFile: '${userHome}/.env' };
  for (const json of [
    { inputs, servers: { x: entry } },
    { mcp: { inputs, servers: { x: entry } } },
    { inputs, 'mcp.servers': { x: entry } },
  ]) {
    const [server] = fromClientConfig(json).servers;
    assert.deepEqual(server?.registration.connection_config, {
      command: '${HOME}/bin/x',
      args: [],
      env: { KEY: '${API_KEY}', REGION: 'eu', TOKEN: '${TOKEN}' },
      env_file: '${HOME}/.env',
    });
    assert.deepEqual(server?.warnings, [
      "${input:api-key} became ${API_KEY}: set API_KEY in the aggregator's environment",
    ]);
    assert.deepEqual(server?.inputs, [{ id: 'api-key', description: 'Key of the API', isSecret: true }]);
  }
});

test('VS Code: a server that only the editor can start is left out, with the reason', () => {
  assert.deepEqual(fromClientConfig({ inputs, servers: { x: withVariables } }), {
    servers: [],
    problems: [
      {
        key: 'x',
        reason: 'uses ${workspaceFolder}, which only the editor knows: replace it with a path',
        skipped: true,
      },
    ],
  });
});

test('VS Code: with the project, the answers and the environment of the user', () => {
  const options = {
    project: '/work/shop',
    home: '/home/me',
    environment: { TOKEN: 't0k' },
    answers: new Map([['api-key', 'k3y']]),
  };
  const { servers, problems } = fromClientConfig({ inputs, servers: { x: withVariables } }, options);
  assert.deepEqual(problems, []);
  assert.deepEqual(servers[0]?.registration.connection_config, {
    command: '/home/me/bin/x',
    args: ['/work/shop/data', 'shop'],
    env: { KEY: 'k3y', REGION: 'eu', TOKEN: 't0k' },
    env_file: '/work/shop/.env',
    cwd: '/work/shop',
  });
  assert.deepEqual(servers[0]?.inputs, []);
});

test('Cursor: an env file and a directory are relative to the project', () => {
  const json = { mcpServers: { a: { command: 'x', envFile: '.env', cwd: 'sub' }, b: { command: 'y', cwd: '/else' } } };
  assert.deepEqual(
    registrations(json, { project: '/p' }).map(({ connection_config }) => connection_config),
    [
      { command: 'x', env_file: '/p/.env', cwd: '/p/sub' },
      { command: 'y', cwd: '/else' },
    ],
  );
});

test('tools that are switched off, and lists of those that alone are on', () => {
  const found = registrations({
    mcpServers: {
      a: { command: 'x', disabledTools: ['drop'] },
      b: { command: 'x2', includeTools: ['read'], excludeTools: ['write'] },
      c: { command: 'x3', enabled_tools: ['*'] },
    },
  });
  assert.deepEqual(
    found.map(({ tool_overrides }) => tool_overrides),
    [{ drop: { enabled: false } }, { '*': { enabled: false }, read: { enabled: true }, write: { enabled: false } }, {}],
  );
});

const toml = `
model = "o3"
[mcp_servers.docs]
command = "npx"
args = ["-y", "docs"]
env = { A = "1" }
env_vars = ["HOME_TOKEN"]
tool_timeout_sec = 90
disabled_tools = ["drop"]
[mcp_servers.figma]
url = "https://mcp.figma.com/mcp"
bearer_token_env_var = "FIGMA"
http_headers = { "X-Region" = "eu" }
env_http_headers = { "X-Key" = "KEY" }
enabled = false
`;
const goose = `
GOOSE_MODEL: x
extensions:
  developer: { type: builtin, enabled: true, name: developer }
  tutor: { type: stdio, cmd: uvx, args: [tutor], envs: { A: b }, env_keys: [TUTOR_KEY], enabled: true, timeout: 300 }
  web: { type: streamable_http, uri: 'https://web.example/mcp', headers: { X: y }, enabled: false }
`;
const librechat = `
version: 1.2.1
mcpServers:
  everything: { type: sse, url: 'https://e.example/sse', timeout: 60000 }
  puppeteer: { command: npx, args: ['-y', 'puppeteer'] }
`;
const continueYaml = `
name: mine
mcpServers:
  - name: Browser
    command: npx
    args: ["@playwright/mcp@latest"]
    env: { KEY: "\${{ secrets.BROWSER_KEY }}" }
  - name: Remote
    type: streamable-http
    url: https://r.example/mcp
    requestOptions: { headers: { X: y } }
`;
const docker = `
registry:
  paper:
    description: Papers
    image: mcp/paper:1
    secrets: [{ name: paper.key, env: PAPER_KEY }]
    env: [{ name: MODE, value: fast }]
    command: [--transport, stdio]
    volumes: ['papers:/data']
  notion: { type: remote, remote: { url: 'https://n.example/mcp', transport_type: streamable-http, headers: { A: b } } }
  files: { image: mcp/filesystem, command: ['{{filesystem.paths|volume-target|into}}'] }
`;
const zed = {
  theme: 'One',
  context_servers: {
    a: { source: 'custom', command: 'a', args: ['1'], env: null },
    b: { command: { path: 'b', args: ['2'], env: { X: 'y' } }, settings: {} },
    c: { source: 'extension', settings: { key: 'k' } },
    d: { url: 'https://d.example/mcp', headers: { A: 'b' } },
  },
};

test('Codex, Zed, Gemini CLI, Goose, LibreChat, Continue, Cline and Docker, as each writes a server down', () => {
  const of = (text: string, path: string, dialect: ImportOptions['dialect']) => {
    const { servers, problems } = fromClientConfig(parseClientConfig(text, path), { dialect });
    assert.deepEqual(
      problems.filter(({ skipped }) => skipped !== true),
      [],
    );
    return {
      servers: servers.map(({ registration }) => registration),
      skipped: problems.map(({ key, reason }) => `${key}: ${reason}`),
    };
  };
  const stdio = (name: string, connection_config: object, more = {}) => ({
    name,
    transport_type: 'STDIO',
    connection_config,
    ...more,
  });
  const http = (name: string, connection_config: object, more = {}) => ({
    name,
    transport_type: 'HTTP',
    connection_config,
    ...more,
  });

  assert.deepEqual(of(toml, 'config.toml', 'codex').servers, [
    stdio(
      'docs',
      { command: 'npx', args: ['-y', 'docs'], env: { HOME_TOKEN: '${HOME_TOKEN}', A: '1' } },
      { options: { request_timeout: 90 }, tool_overrides: { drop: { enabled: false } } },
    ),
    http(
      'figma',
      {
        base_url: 'https://mcp.figma.com/mcp',
        headers: { 'X-Region': 'eu', 'X-Key': '${KEY}', Authorization: 'Bearer ${FIGMA}' },
      },
      { auto_connect: false },
    ),
  ]);
  assert.deepEqual(of(JSON.stringify(zed), 'settings.json', 'zed'), {
    servers: [
      stdio('a', { command: 'a', args: ['1'] }),
      stdio('b', { command: 'b', args: ['2'], env: { X: 'y' } }),
      http('d', { base_url: 'https://d.example/mcp', headers: { A: 'b' } }),
    ],
    skipped: ['c: is an extension of Zed'],
  });
  const gemini = {
    mcp: { excluded: ['off'] },
    mcpServers: {
      g: { httpUrl: 'https://g.example/mcp', timeout: 5000, trust: true, excludeTools: ['x'] },
      off: { command: 'x', env: { KEY: '$KEY', OTHER: '${OTHER}', PRICE: '5 $' } },
    },
  };
  assert.deepEqual(of(JSON.stringify(gemini), 'settings.json', 'gemini').servers, [
    http(
      'g',
      { base_url: 'https://g.example/mcp' },
      { options: { request_timeout: 5 }, tool_overrides: { x: { enabled: false } } },
    ),
    stdio('off', { command: 'x', env: { KEY: '${KEY}', OTHER: '${OTHER}', PRICE: '5 $' } }, { auto_connect: false }),
  ]);
  const copilot = { servers: { gh: { url: 'https://gh.example/mcp', requestInit: { headers: { A: 'b' } } } } };
  assert.deepEqual(of(JSON.stringify(copilot), 'mcp.json', 'vscode').servers, [
    http('gh', { base_url: 'https://gh.example/mcp', headers: { A: 'b' } }),
  ]);
  assert.deepEqual(of(goose, 'config.yaml', 'goose'), {
    servers: [
      stdio(
        'tutor',
        { command: 'uvx', args: ['tutor'], env: { TUTOR_KEY: '${TUTOR_KEY}', A: 'b' } },
        { options: { request_timeout: 300 } },
      ),
      http('web', { base_url: 'https://web.example/mcp', headers: { X: 'y' } }, { auto_connect: false }),
    ],
    skipped: ['developer: is built into Goose'],
  });
  assert.deepEqual(of(librechat, 'librechat.yaml', 'librechat').servers, [
    {
      name: 'everything',
      transport_type: 'SSE',
      connection_config: { url: 'https://e.example/sse' },
      options: { request_timeout: 60 },
    },
    stdio('puppeteer', { command: 'npx', args: ['-y', 'puppeteer'] }),
  ]);
  const perUser =
    'mcpServers:\n  mail:\n    url: https://m.example/mcp\n    headers: { X-User: "{{LIBRECHAT_USER_ID}}" }\n';
  assert.deepEqual(of(perUser, 'librechat.yaml', 'librechat').skipped, [
    'mail: has {{LIBRECHAT_USER_ID}}, which LibreChat fills in for each of its users',
  ]);
  assert.deepEqual(of(continueYaml, 'config.yaml', 'continue').servers, [
    stdio('browser', { command: 'npx', args: ['@playwright/mcp@latest'], env: { KEY: '${BROWSER_KEY}' } }),
    http('remote', { base_url: 'https://r.example/mcp', headers: { X: 'y' } }),
  ]);
  const cline = {
    mcpServers: {
      c: { type: 'streamableHttp', url: 'https://c.example/mcp', timeout: 30, autoApprove: ['x'], disabled: false },
    },
  };
  assert.deepEqual(of(JSON.stringify(cline), 'cline_mcp_settings.json', 'cline').servers, [
    http('c', { base_url: 'https://c.example/mcp' }, { options: { request_timeout: 30 } }),
  ]);
  assert.deepEqual(of(docker, 'catalog.yaml', undefined), {
    servers: [
      stdio(
        'paper',
        {
          command: 'docker',
          args: [
            'run',
            '-i',
            '--rm',
            '-e',
            'PAPER_KEY',
            '-e',
            'MODE',
            '-v',
            'papers:/data',
            'mcp/paper:1',
            '--transport',
            'stdio',
          ],
          env: { PAPER_KEY: '${PAPER_KEY}', MODE: 'fast' },
        },
        { description: 'Papers' },
      ),
      http('notion', { base_url: 'https://n.example/mcp', headers: { A: 'b' } }),
    ],
    skipped: ['files: needs a value for {{filesystem.paths|volume-target|into}}: add it with mcp-aggregator add'],
  });
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
  // The registries of Cline and Smithery name servers as paths.
  assert.equal(toLegalName('github.com/modelcontextprotocol/servers/tree/main/src/memory'), 'memory');
  assert.equal(toLegalName('@smithery/github'), 'github');
  assert.equal(toLegalName('//'), 'server');
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
      // On another port, before the last restart; and one that a team shares.
      before: { url: 'http://127.0.0.1:9999/mcp', headers: { Authorization: 'Bearer mcpa_0a1b_secret' } },
      team: { url: 'https://mcp.example.com/mcp', headers: { Authorization: 'Bearer mcpa_0a1b_secret' } },
    },
  };
  const { servers, problems } = fromClientConfig(json, { self: 'http://127.0.0.1:8081' });
  assert.deepEqual(
    servers.map(({ key }) => key),
    ['other', 'team'],
  );
  assert.deepEqual(
    problems.map(({ reason }) => reason),
    Array(3).fill('is mcp-aggregator itself'),
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
    findClientConfigs({ home, platform, cwd: '/work', env }).map(({ client, path }) => `${client}: ${path}`);
  const mac = paths('darwin', '/Users/a');
  assert.ok(mac.includes('Claude Desktop: /Users/a/Library/Application Support/Claude/claude_desktop_config.json'));
  assert.ok(mac.includes('VS Code: /Users/a/Library/Application Support/Code/User/mcp.json'));
  assert.ok(mac.includes('Zed: /Users/a/.config/zed/settings.json'));
  const linux = paths('linux', '/home/a');
  for (const expected of [
    'Claude Desktop: /home/a/.config/Claude/claude_desktop_config.json',
    'Claude Code: /home/a/.claude.json',
    'Claude Code: /work/.mcp.json',
    'Cursor: /home/a/.cursor/mcp.json',
    'Windsurf: /home/a/.codeium/windsurf/mcp_config.json',
    'Codex: /home/a/.codex/config.toml',
    'Zed: /home/a/.config/zed/settings.json',
    'Gemini CLI: /home/a/.gemini/settings.json',
    'Goose: /home/a/.config/goose/config.yaml',
    'Continue: /home/a/.continue/config.yaml',
    'Cline: /home/a/.config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json',
    'JetBrains Junie: /home/a/.junie/mcp/mcp.json',
    'Copilot for JetBrains: /home/a/.config/github-copilot/intellij/mcp.json',
    'LibreChat: /work/librechat.yaml',
    'Docker: /home/a/.docker/mcp/registry.yaml',
  ])
    assert.ok(linux.includes(expected), expected);
  const windows = paths('win32', 'C:\\Users\\a', { APPDATA: 'D:\\Roaming' });
  assert.ok(windows.includes('Claude Desktop: D:\\Roaming\\Claude\\claude_desktop_config.json'));
  assert.ok(windows.includes('Goose: D:\\Roaming\\Block\\goose\\config\\config.yaml'));
});

test('Claude Desktop of the Microsoft Store keeps its file elsewhere', () => {
  const place = { home: 'C:\\Users\\a', platform: 'win32', env: {} } as const;
  const folders = claudeDesktopFolders(place, 'D:\\Roaming', () => ['Claude_pzs8sxrjxfjjc', 'Other_1']);
  assert.deepEqual(folders, [
    'D:\\Roaming\\Claude',
    'C:\\Users\\a\\AppData\\Local\\Packages\\Claude_pzs8sxrjxfjjc\\LocalCache\\Roaming\\Claude',
  ]);
});

test('a file that is made to be hard to read is refused with a reason', () => {
  const problems = (text: string, path: string) => fromClientConfig(parseClientConfig(text, path)).problems;
  const deep = '['.repeat(50_000) + ']'.repeat(50_000);
  assert.match(problems(`{"mcpServers":{"a":{"command":${deep}}}}`, 'x.json')[0]?.reason ?? '', /more than 200 levels/);
  const cycle = 'mcpServers:\n  a: &a\n    command: x\n    args: [*a]';
  assert.match(problems(cycle, 'x.yaml')[0]?.reason ?? '', /more than 200 levels/);
  const bomb = ['a: &a [x,x,x,x,x,x,x,x,x]', ...[...'bcdefghi'].map((key, at) => line(key, 'abcdefgh'[at]))];
  assert.throws(() => parseClientConfig(bomb.join('\n'), 'x.yaml'), /alias/);
  const large =
    '[mcp_servers.a]\ncommand = "x"\nargs = [99999999999999999999]\n[mcp_servers.a.env]\nN = 99999999999999999999';
  assert.match(problems(large, 'x.toml')[0]?.reason ?? '', /args\.0.*expected string/);

  function line(key: string, of = ''): string {
    return `${key}: &${key} [${new Array(9).fill(`*${of}`).join(',')}]`;
  }
});

test('only a regular file is read', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'import-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  assert.throws(() => readClientFile({ path: folder }), /no regular file/);
  const path = join(folder, 'config.yaml');
  writeFileSync(path, `# ${'x'.repeat(1_100_000)}`);
  assert.throws(() => readClientFile({ path }), /larger than 1 MB/);
});

test('SEC-013: a file of a client has no command of the aggregator executed and no secret of it read', () => {
  const json = {
    servers: {
      a: { url: 'https://x.example', headers: { A: '${command:python.path}' } },
      b: { url: 'https://x.example', headers: { A: '${keychain:github}' } },
      c: { url: 'https://x.example', headers: { A: '${TOKEN}' } },
    },
  };
  const { servers, problems } = fromClientConfig(json, { isClientFile: true });
  assert.deepEqual(
    servers.map(({ key }) => key),
    ['c'],
  );
  assert.deepEqual(
    problems.map(({ key, reason }) => [key, /which no client has/.test(reason)]),
    [
      ['a', true],
      ['b', true],
    ],
  );
  assert.equal(fromClientConfig(json).servers.length, 3);
});

test('entries of one name get numbers, however many there are, and the same entry is one server', () => {
  const entry = (at: number) => [`${'!'.repeat(at % 40)}\u{4e00}${at % 3_000}`, { command: `c${at % 3_000}` }];
  const { servers } = fromClientConfig({
    mcpServers: Object.fromEntries(Array.from({ length: 6_000 }, (_, at) => entry(at))),
  });
  const names = servers.map(({ registration: { name } }) => name);
  assert.equal(new Set(names).size, 3_000);
  assert.deepEqual(names.slice(0, 2), ['server', 'server-2']);
});
