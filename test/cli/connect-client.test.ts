/** `connect-client` against the configuration formats of real clients, in a home of its own. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { type ClientEntry, clients } from '../../src/cli/client-configs/clients.ts';
import { removeMember, setMember } from '../../src/cli/client-configs/json-edit.ts';
import { readServerTables, removeServerTable, setServerTable } from '../../src/cli/client-configs/toml-edit.ts';
import { type AggregatorProcess, cleanEnvironment, startAggregator } from '../support/aggregator-process.ts';
import { settingsFolder, zedFolder } from '../support/client-folders.ts';
import { commandsOf, everything, runCommand } from './command-line.ts';

const [command = '', script = ''] = everything;
/** The same program, as another server each time. */
const programOf = (name: string) => ({ command, args: [script, 'stdio', name] });
const argsOf = (name: string) => JSON.stringify(programOf(name).args);

/** As people have them: with comments, other settings, tabs, trailing commas. */
const recorded: Record<string, { path: string; text: string; key?: string }> = {
  'claude-desktop': {
    path: `${settingsFolder}/Claude/claude_desktop_config.json`,
    text: JSON.stringify(
      { mcpServers: { 'from-desktop': programOf('from-desktop') }, globalShortcut: 'Ctrl+Space' },
      null,
      2,
    ),
  },
  'claude-code': {
    path: '.claude.json',
    text: JSON.stringify(
      {
        numStartups: 7,
        mcpServers: { 'from-code': { type: 'stdio', ...programOf('from-code'), env: {} } },
        projects: {},
      },
      null,
      2,
    ),
  },
  cursor: {
    path: '.cursor/mcp.json',
    text: JSON.stringify({ mcpServers: { 'from-cursor': programOf('from-cursor') } }, null, '\t'),
  },
  vscode: {
    path: `${settingsFolder}/Code/User/mcp.json`,
    text: `{
    // What I use every day
    "inputs": [],
    "servers": {
        "from-code-editor": { "type": "stdio", "command": ${JSON.stringify(command)}, "args": ${argsOf('from-code-editor')} }, // mine
    },
}
`,
  },
  codex: {
    path: '.codex/config.toml',
    text: `model = "gpt-5.2-codex" # the good one

[mcp_servers.from-codex]
command = ${JSON.stringify(command)}
args = [
  ${JSON.stringify(script)},
]

[mcp_servers.from-codex.env]
COLOUR = 'blue'

# How it looks
[tui]
notifications = true
`,
  },
  windsurf: { path: '.codeium/windsurf/mcp_config.json', text: '{"mcpServers":{}}' },
  zed: {
    path: `${zedFolder}/settings.json`,
    text: `// Zed settings
{
  "theme": "One Dark",
  "context_servers": {
    "from-zed": { "source": "custom", "command": ${JSON.stringify(command)}, "args": ${argsOf('from-zed')}, "env": {} }
  }
}
`,
  },
  'gemini-cli': {
    path: '.gemini/settings.json',
    text: JSON.stringify(
      { theme: 'Default', mcpServers: { 'from-gemini': { ...programOf('from-gemini'), trust: true } } },
      null,
      2,
    ),
  },
  cline: {
    path: `${settingsFolder}/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json`,
    text: JSON.stringify({ mcpServers: { 'from-cline': { ...programOf('from-cline'), autoApprove: [] } } }, null, 2),
  },
};

suite('connect-client', () => {
  let aggregator: AggregatorProcess;
  let home: string;
  before(async () => {
    home = mkdtempSync(join(tmpdir(), 'clients-'));
    aggregator = await startAggregator({ env: { MCP_AGGREGATOR_LIST_LIMIT: '1000' } });
    const added = await commandsOf(aggregator).run(['add', 'everything', '--stdio', '--', ...everything]);
    assert.equal(added.code, 0, added.stderr);
  });
  after(async () => {
    await aggregator?.stop();
    rmSync(home, { recursive: true, force: true });
  });

  const run = (...words: string[]) =>
    runCommand(['connect-client', ...words], { env: { HOME: home, MCP_AGGREGATOR_DATA_DIR: aggregator.dataDir } });
  const doctor = (id: string) =>
    runCommand(['doctor', 'client', id], { env: { HOME: home, MCP_AGGREGATOR_DATA_DIR: aggregator.dataDir } });
  /** Over REST: the commands that list them have tests of their own. */
  const ask = async (path: string) =>
    await (
      await fetch(`${aggregator.url}/api/v1${path}`, { headers: { authorization: `Bearer ${aggregator.token}` } })
    ).json();
  const tokens = async () => ((await ask('/tokens')) as { tokens: unknown[] }).tokens.length;
  const servers = async () =>
    ((await ask('/aggregator/servers')) as { servers: { name: string }[] }).servers.map(({ name }) => name);

  for (const client of clients) {
    const sample = recorded[client.id];
    test(`${client.id}: written, idempotent, used by an MCP client, servers moved, undone`, async () => {
      assert.ok(sample !== undefined);
      const file = join(home, sample.path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, sample.text);
      const others = Object.keys(client.read(sample.text));

      const shown = await run(client.id, '--dry-run', '--move');
      assert.equal(shown.code, 0, shown.stderr);
      assert.match(shown.stdout, /^\+ .*gateway/m);
      assert.equal(readFileSync(file, 'utf8'), sample.text, 'a dry run writes nothing');

      const before = await tokens();
      const done = await run(client.id, '--yes', '--move');
      assert.equal(done.code, 0, done.stderr);
      assert.doesNotMatch(done.stdout, /mcpa_[0-9a-f]+_\w/, 'the token is not shown');
      const written = readFileSync(file, 'utf8');
      assert.equal(statSync(file).mode & 0o777, 0o600, 'others cannot read the token');
      assert.deepEqual(Object.keys(client.read(written)), ['gateway'], 'the others are moved');
      const registered = await servers();
      for (const other of others) assert.ok(registered.includes(other), other);
      assert.equal(await tokens(), before + 1, 'one token of its own');

      assert.equal(client.read(written).gateway?.alwaysLoad, client.id === 'claude-code' ? true : undefined);

      const again = await run(client.id, '--yes', '--move');
      assert.equal(again.code, 0, again.stderr);
      assert.equal(readFileSync(file, 'utf8'), written, 'another run changes nothing');
      assert.equal(await tokens(), before + 1);

      const names = await listTools(client.read(written).gateway ?? {}, home);
      assert.ok(names.includes('everything__echo'), `an MCP client sees ${names.slice(0, 5)}`);

      const proof = await doctor(client.id);
      assert.equal(proof.code, 0, proof.stderr);
      assert.match(proof.stdout, /reaches mcp-aggregator and sees \d+ tools/);

      const undone = await run(client.id, '--undo', '--yes');
      assert.equal(undone.code, 0, undone.stderr);
      assert.equal(readFileSync(file, 'utf8'), sample.text, 'as it was, byte by byte');
      assert.equal(await tokens(), before, 'the token is revoked');
      assert.ok(!existsSync(`${file}.before-mcp-aggregator`));
    });
  }

  test('--move leaves what it cannot take out, and takes the rest over as it is', async () => {
    const file = join(home, '.codex/config.toml');
    mkdirSync(dirname(file), { recursive: true });
    const args = [script, 'stdio', "it's", "that's"];
    const text = `[mcp_servers.with-quotes]\ncommand = ${JSON.stringify(command)}\nargs = ${JSON.stringify(args)}\n\n[tui]\nnote = """\n[mcp_servers.with-quotes]\n"""\n`;
    writeFileSync(file, text);
    const moved = await run('codex', '--yes', '--move');
    assert.equal(moved.code, 0, moved.stderr);
    assert.ok(readFileSync(file, 'utf8').startsWith('[tui]\nnote = """\n[mcp_servers.with-quotes]\n"""\n'));
    const shown = await commandsOf(aggregator).json<{ connection_config: { args: string[] } }>('show', 'with-quotes');
    assert.deepEqual(shown.connection_config.args, args);
    assert.equal((await run('codex', '--undo', '--yes')).code, 0);
    assert.equal(readFileSync(file, 'utf8'), text);

    const twice = `{"mcpServers":{"twice":{"command":"a"},"twice":${JSON.stringify(programOf('twice'))}}}`;
    const cursor = join(home, '.cursor/mcp.json');
    mkdirSync(dirname(cursor), { recursive: true });
    writeFileSync(cursor, twice);
    const stays = await run('cursor', '--yes', '--move');
    assert.equal(stays.code, 0, stays.stderr);
    assert.match(stays.stderr, /twice stays in the client: .*cannot be edited/);
    assert.match(readFileSync(cursor, 'utf8'), /"twice":\{"command":"a"\}/);
    assert.equal((await run('cursor', '--undo', '--yes')).code, 0);
    assert.equal(readFileSync(cursor, 'utf8'), twice);

    const inline = `mcp_servers = { inline-one = { command = ${JSON.stringify(command)} } }\n`;
    writeFileSync(file, inline);
    const refused = await run('codex', '--yes', '--move');
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /cannot be edited/);
    assert.equal(readFileSync(file, 'utf8'), inline);
    assert.ok(!(await servers()).includes('inline-one'));
  });

  test('the doctor says what is wrong with the entry of a client', async () => {
    const none = await doctor('cursor');
    assert.equal(none.code, 1);
    assert.match(none.stderr, /connect-client cursor/);
    const file = join(home, '.cursor/mcp.json');
    writeFileSync(file, JSON.stringify({ mcpServers: { gateway: { url: `${aggregator.url}/mcp`, headers: {} } } }));
    const refused = await doctor('cursor');
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /does not work: HTTP 401/);
  });

  test('a file that was not there is created, and gone after undoing', async () => {
    const file = join(home, '.cursor/mcp.json');
    rmSync(file, { force: true });
    assert.equal((await run('cursor', '--yes')).code, 0);
    assert.ok(existsSync(file));
    assert.equal((await run('cursor', '--undo', '--yes')).code, 0);
    assert.ok(!existsSync(file));
  });

  test('what was changed in between survives the undoing', async () => {
    const file = join(home, '.cursor/mcp.json');
    writeFileSync(file, JSON.stringify({ mcpServers: { 'moved-later': programOf('moved-later') } }));
    assert.equal((await run('cursor', '--yes', '--move')).code, 0);
    writeFileSync(file, setMember(readFileSync(file, 'utf8'), ['mcpServers', 'new'], { command: 'false' }));
    assert.equal((await run('cursor', '--undo', '--yes')).code, 0);
    assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), {
      mcpServers: { new: { command: 'false' }, 'moved-later': programOf('moved-later') },
    });
  });

  test('import, then --move: the imported server is the same one, and leaves the client', async () => {
    const file = join(home, '.cursor/mcp.json');
    const text = JSON.stringify({ mcpServers: { memory: programOf('memory') } });
    writeFileSync(file, text);
    const env = { HOME: home, MCP_AGGREGATOR_DATA_DIR: aggregator.dataDir };
    assert.equal((await runCommand(['import', '--yes', file], { env })).code, 0);
    for (const round of ['first', 'after an undo']) {
      const { code, stdout, stderr } = await run('cursor', '--yes', '--move');
      assert.deepEqual([code, stderr], [0, ''], round);
      assert.match(stdout, /Moved into the aggregator: memory/);
      const entries = clients.find(({ id }) => id === 'cursor')?.read(readFileSync(file, 'utf8'));
      assert.deepEqual(Object.keys(entries ?? {}), ['gateway']);
      assert.equal((await run('cursor', '--undo', '--yes')).code, 0);
      assert.equal(readFileSync(file, 'utf8'), text);
    }
    assert.equal((await servers()).filter((name) => name.startsWith('memory')).length, 1);
  });

  test('--move takes nothing out that does not connect, and says why', async () => {
    const file = join(home, '.cursor/mcp.json');
    const mcpServers = {
      'no-env-file': { ...programOf('no-env-file'), envFile: '/nowhere/.env' },
      'no-variable': { ...programOf('no-variable'), env: { TOKEN: '${env:A_TOKEN_THAT_IS_NOT_SET}' } },
      'no-command': { command: 'a-command-that-does-not-exist' },
      off: { ...programOf('off'), disabled: true },
      works: programOf('works'),
    };
    writeFileSync(file, JSON.stringify({ mcpServers }));
    const { code, stdout, stderr } = await run('cursor', '--yes', '--move');
    assert.equal(code, 0, stderr);
    assert.match(stdout, /Moved into the aggregator: works\./);
    assert.match(stderr, /no-env-file stays in the client: ERROR: env_file cannot be read: .*\/nowhere\/\.env/);
    assert.match(stderr, /no-variable stays in the client: ERROR: .*A_TOKEN_THAT_IS_NOT_SET/);
    assert.match(
      stderr,
      /no-command stays in the client: ERROR: the command "a-command-that-does-not-exist" was not found/,
    );
    assert.match(stderr, /repair it: mcp-aggregator edit no-command/);
    assert.match(stderr, /off stays in the client: it is disabled there/);
    const left = Object.keys(JSON.parse(readFileSync(file, 'utf8')).mcpServers);
    assert.deepEqual(left, ['no-env-file', 'no-variable', 'no-command', 'off', 'gateway']);

    // Repaired in the aggregator, it is still the server that the client has.
    const env = { HOME: home, MCP_AGGREGATOR_DATA_DIR: aggregator.dataDir };
    const repaired = await runCommand(['edit', 'no-command', '--', command, script, 'stdio', 'repaired'], { env });
    assert.equal(repaired.code, 0, repaired.stderr);
    assert.match((await run('cursor', '--yes', '--move')).stdout, /Moved into the aggregator: no-command\./);
    assert.equal((await run('cursor', '--undo', '--yes')).code, 0);
    assert.equal(readFileSync(file, 'utf8'), JSON.stringify({ mcpServers }));
  });

  test('the difference shows no value that is not ours', async () => {
    const secret = 'sk-a-secret-of-another-server';
    const codex = join(home, '.codex/config.toml');
    const samples: [id: string, file: string, text: string][] = [
      [
        'cursor',
        join(home, '.cursor/mcp.json'),
        JSON.stringify(
          { note: secret, mcpServers: { a: { command: secret, env: { A: secret }, args: [secret] } } },
          null,
          2,
        ),
      ],
      [
        'codex',
        codex,
        `key = "${secret}"\n[mcp_servers.a]\ncommand = "${secret}"\nenv = { A = "${secret}" }\nlong = """\n${secret}\n"""\n`,
      ],
    ];
    for (const [id, file, text] of samples) {
      writeFileSync(file, text);
      const { code, stdout, stderr } = await run(id, '--dry-run', '--move');
      assert.equal(code, 0, stderr);
      assert.ok(!`${stdout}${stderr}`.includes(secret), stdout);
      assert.match(stdout, /"\*\*\*"/);
      assert.match(stdout, /^\+ .*gateway/m);
    }
    rmSync(codex);
  });

  test('without --yes and without a terminal nothing is written; an unknown client is named', async () => {
    const refused = await run('windsurf');
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /--yes/);
    const unknown = await run('notepad');
    assert.equal(unknown.code, 2);
    assert.match(unknown.stderr, /claude-desktop, claude-code, cursor/);
    assert.match((await run('claude-dekstop')).stderr, /Did you mean claude-desktop\?/);
  });
});

async function listTools(entry: ClientEntry, home: string): Promise<string[]> {
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transportOf(entry, home));
  const { tools } = await client.listTools();
  await client.close();
  return tools.map(({ name }) => name);
}

function transportOf(entry: ClientEntry, home: string) {
  if (typeof entry.command === 'string') {
    const { command: file, args, env } = entry as { command: string; args: string[]; env: Record<string, string> };
    return new StdioClientTransport({ command: file, args, env: { ...cleanEnvironment(home), ...env } });
  }
  const headers = (entry.headers ?? entry.http_headers) as Record<string, string>;
  const url = new URL(String(entry.url ?? entry.serverUrl ?? entry.httpUrl));
  return new StreamableHTTPClientTransport(url, { requestInit: { headers } });
}

suite('editing files of other people', () => {
  for (const text of [
    '{}',
    '{ "a": 1 }',
    '{\n  "a": { "b": [1, 2, {"c": "}"}] }, // last\n}\n',
    '/* first */ {\n\t"a": "x\\"y", /* , */\n\t"servers": {}\n}',
  ]) {
    test(`JSON: set and removed in ${JSON.stringify(text)}`, async () => {
      const { parseClientConfig } = await import('../../src/registry/client-files.ts');
      const once = setMember(text, ['servers', 'ours'], { url: 'x' });
      const before = parseClientConfig(text) as Record<string, unknown>;
      assert.deepEqual(parseClientConfig(once), { ...before, servers: { ours: { url: 'x' } } });
      assert.equal(setMember(once, ['servers', 'ours'], { url: 'x' }), once);
      for (const comment of text.match(/\/\*.*?\*\/|\/\/.*/g) ?? []) assert.ok(once.includes(comment));
      assert.deepEqual(parseClientConfig(removeMember(once, ['servers', 'ours'])), { ...before, servers: {} });
    });
  }

  test('JSON: a byte order mark, an array in place of the list, and text that is no JSON', () => {
    const marked = setMember('\uFEFF{\n  "a": 1\n}\n', ['servers', 'ours'], { url: 'x' });
    assert.ok(marked.startsWith('\uFEFF{\n  "a": 1,\n  "servers"'), marked);
    assert.throws(() => setMember('{ "servers": [1] }', ['servers', 'ours'], {}), /cannot be edited/);
    assert.throws(() => setMember('{ "servers": ', ['servers', 'ours'], {}), /not valid JSON/);
  });

  test('TOML: other tables, comments and arrays over several lines stay', () => {
    const text = recorded.codex?.text ?? '';
    const added = setServerTable(text, 'gateway', { url: 'http://127.0.0.1:1/mcp', http_headers: { A: 'b "c"' } });
    assert.ok(added.startsWith(text.trimEnd()));
    assert.deepEqual(readServerTables(added).gateway, { url: 'http://127.0.0.1:1/mcp', http_headers: { A: 'b "c"' } });
    assert.deepEqual(readServerTables(added)['from-codex'], { command, args: [script], env: { COLOUR: 'blue' } });
    assert.equal(removeServerTable(added, 'gateway'), text);
    const without = removeServerTable(text, 'from-codex');
    assert.ok(without.includes('# How it looks\n[tui]') && !without.includes('COLOUR'));
  });

  const tricky = `model = "x"
prompt = """
[mcp_servers.not-a-table]
command = "no"
"""

[mcp_servers.quotes]
command = "echo"
args = ["it's", "that's"] # two of them
banner = """
[tui]
still = "banner" """
literal = '''
[mcp_servers.neither]
'''

[mcp_servers."dotted.name"] # odd
command = 'echo'
"a key" = { b = ["]", "}"], c = 1979-05-27 }

[tui]
note = """
[mcp_servers.quotes]
"""
`;

  test('TOML: quotes, and lines that look like headers inside of strings', () => {
    const read = readServerTables(tricky);
    assert.deepEqual(Object.keys(read), ['quotes', 'dotted.name']);
    assert.deepEqual(read.quotes?.args, ["it's", "that's"]);
    assert.equal(read.quotes?.banner, '[tui]\nstill = "banner" ');
    const [head, , odd, tui] = tricky.split(/\n\n(?=\[(?!mcp_servers\.no))/);
    assert.equal(removeServerTable(tricky, 'quotes'), [head, odd, tui].join('\n\n'));
    assert.equal(
      removeServerTable(removeServerTable(tricky, 'quotes'), 'dotted.name'),
      [head, tui].join('\n\n'),
      'every other byte stays',
    );
    const added = setServerTable(tricky, 'gateway', { url: 'http://127.0.0.1:1/mcp' });
    assert.ok(added.startsWith(tricky));
    assert.equal(removeServerTable(added, 'gateway'), tricky);
    assert.equal(removeServerTable(tricky, 'neither'), tricky);
  });

  test('TOML: servers written as dotted keys, inline, and with Windows line ends', () => {
    const dotted = '[mcp_servers]\na.command = "x"\nb = { command = "y" }\na.args = ["1"]\n';
    assert.deepEqual(readServerTables(dotted), { a: { command: 'x', args: ['1'] }, b: { command: 'y' } });
    assert.equal(removeServerTable(dotted, 'a'), '[mcp_servers]\nb = { command = "y" }\n');
    assert.deepEqual(readServerTables(setServerTable(dotted, 'a', { url: 'z' })), {
      a: { url: 'z' },
      b: { command: 'y' },
    });
    const windows = '\uFEFFmodel = "x"\r\n\r\n[mcp_servers.a]\r\ncommand = "y"\r\n\r\n[tui]\r\nx = 1\r\n';
    assert.equal(removeServerTable(windows, 'a'), '\uFEFFmodel = "x"\r\n\r\n[tui]\r\nx = 1\r\n');
    assert.ok(setServerTable(windows, 'g', { url: 'z' }).endsWith('\r\n\r\n[mcp_servers.g]\r\nurl = "z"\r\n'));
  });

  test('TOML: what an edit cannot reach without touching the rest is refused', () => {
    const inline = 'mcp_servers = { a = { command = "x" }, b = { command = "y" } }\n';
    assert.deepEqual(Object.keys(readServerTables(inline)), ['a', 'b']);
    assert.throws(() => removeServerTable(inline, 'a'), /cannot be edited/);
    assert.throws(() => setServerTable(inline, 'gateway', { url: 'z' }), /cannot be edited/);
    const broken = '[mcp_servers.a\ntoken = "a secret"\n';
    assert.throws(() => readServerTables(broken), /not valid TOML \(line 1/);
    assert.throws(
      () => readServerTables(broken),
      (error: Error) => !error.message.includes('a secret'),
    );
  });
});
