/**
 * The first ten minutes, and the reboot after them: a home directory with the files of six clients and their servers,
 * `setup`, every client at work, a restart of the machine, `setup --undo`.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { type ClientEntry, clients } from '../../src/cli/client-configs/clients.ts';
import { runCommand } from '../cli/command-line.ts';
import { cleanEnvironment } from '../support/aggregator-process.ts';
import { settingsFolder, zedFolder } from '../support/client-folders.ts';
import { countRunning } from '../support/platform.ts';
import { freePort } from '../support/ports.ts';
import { startHttpProgram } from '../support/servers/http-program.ts';
import type { RunningServer } from '../support/servers/http-wire.ts';
import { createProgram, text } from '../support/servers/program.ts';
import { until } from '../support/until.ts';

const program = fileURLToPath(new URL('./desk-server.js', import.meta.url));
const server = (name: string, ...args: string[]) => ({ command: process.execPath, args: [program, name, ...args] });

suite('the first ten minutes', { skip: process.platform === 'win32' && 'paths of Unix' }, () => {
  let home: string;
  let dataDir: string;
  let web: RunningServer;
  let env: Record<string, string>;
  let files: Record<string, string>;

  before(async () => {
    home = mkdtempSync(join(tmpdir(), 'desk-'));
    dataDir = join(home, '.mcp-aggregator');
    const definition = { name: 'web_hello', description: 'Says hello from the web.', inputSchema: { type: 'object' } };
    const onTheWeb = createProgram({
      info: { name: 'web', version: '1' },
      tools: [{ definition, call: () => text('{}') }],
    });
    web = await startHttpProgram(onTheWeb, { transport: 'streamable-legacy' });
    env = { ...cleanEnvironment(home), MCP_AGGREGATOR_PORT: String(await freePort()) };
    files = clientFiles(home, web.url);
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(home, path)), { recursive: true });
      writeFileSync(join(home, path), content);
    }
    mkdirSync(join(home, 'shop'));
    writeFileSync(join(home, 'notes.env'), 'TOKEN=from the env file\n');
  });
  after(async () => {
    await runCommand(['stop'], { env });
    await web.close();
    rmSync(home, { recursive: true, force: true });
  });

  const run = (...words: string[]) => runCommand(words, { env, cwd: home });
  const entriesOf = (id: string) => {
    const client = clients.find((known) => known.id === id);
    const [path] = places[id] ?? assert.fail(id);
    return client?.read(readFileSync(join(home, path), 'utf8')) ?? {};
  };

  /** What a client does: connects with all of its servers, lists their tools, calls one. */
  async function workAs(id: string, tool: string): Promise<{ tools: string[]; said: Record<string, unknown> }> {
    const tools: string[] = [];
    let said: Record<string, unknown> = {};
    for (const [key, entry] of Object.entries(entriesOf(id))) {
      if (entry.disabled === true || entry.enabled === false || broken.has(key)) continue;
      const client = new Client({ name: id, version: '1' });
      await client.connect(transportOf(entry, home));
      const listed = (await client.listTools()).tools.map(({ name }) => name);
      tools.push(...listed.map((name) => name.replace(/^.*__/, '')));
      const wanted = listed.find((name) => name.endsWith(tool));
      if (wanted !== undefined) {
        const { content } = (await client.callTool({ name: wanted, arguments: {} })) as { content: { text: string }[] };
        said = JSON.parse(content[0]?.text ?? '{}');
      }
      await client.close();
    }
    return { tools, said };
  }

  const working = ['memory_hello', 'notes_hello', 'shop_hello', 'region_hello', 'docs_hello', 'git_hello', 'web_hello'];
  const places: Record<string, [path: string, tool: string, said: Record<string, unknown>]> = {
    'claude-desktop': [`${settingsFolder}/Claude/claude_desktop_config.json`, 'memory_hello', { name: 'memory' }],
    'claude-code': ['.claude.json', 'shop_hello', { args: ['.'] }],
    cursor: ['.cursor/mcp.json', 'notes_hello', { token: 'from the env file' }],
    vscode: [`${settingsFolder}/Code/User/mcp.json`, 'region_hello', { token: 'eu' }],
    codex: ['.codex/config.toml', 'docs_hello', { name: 'docs' }],
    zed: [`${zedFolder}/settings.json`, 'git_hello', { name: 'git' }],
  };

  async function checkEveryClient(): Promise<void> {
    for (const [id, [, tool, expected]] of Object.entries(places)) {
      const { tools, said } = await workAs(id, tool);
      for (const name of working)
        assert.equal(tools.filter((one) => one === name).length, 1, `${id} lists ${name}: ${tools}`);
      assert.partialDeepStrictEqual(said, expected, id);
      if (tool === 'shop_hello') assert.equal(said.cwd, join(home, 'shop'), 'the directory of the project');
    }
  }

  test('setup --dry-run shows what it would do and changes nothing', async () => {
    const { code, stdout, stderr } = await run('setup', '--dry-run');
    assert.equal(code, 0, stderr);
    assert.match(stdout, /Import 8 servers/);
    assert.match(stdout, /Connect Claude Desktop, Claude Code, Cursor, VS Code, Codex, Zed/);
    assert.ok(!existsSync(dataDir));
  });

  test('CLI-001: setup --yes: every client lists each working tool exactly once, and calls one', async () => {
    const { code, stdout, stderr } = await run('setup', '--yes');
    assert.equal(code, 0, `${stdout}\n${stderr}`);
    assert.match(stdout, /ok +Claude Desktop sees \d+ tools; a call of \w+ works/);
    assert.match(stdout, /Left in their clients, because they did not connect: broken/);
    assert.match(stdout, /skipped +tickets .*asks for Key of the tracker/);
    assert.match(stdout, /skipped +off .*disabled in the client: left alone/);
    assert.match(stdout, /Dashboard .*http:\/\/127\.0\.0\.1:\d+\/#\/sign-in/);
    assert.deepEqual(Object.keys(entriesOf('claude-desktop')), ['broken', 'gateway']);
    assert.deepEqual(Object.keys(entriesOf('cursor')), ['off', 'gateway']);
    assert.deepEqual(Object.keys(entriesOf('vscode')), ['tickets', 'gateway']);
    await checkEveryClient();
    const link = /http:\S+sign-in\S+/.exec(stdout)?.[0] ?? '';
    assert.equal((await fetch(link)).status, 200);
  });

  test('a second run changes nothing', async () => {
    const before = Object.keys(files).map((path) => readFileSync(join(home, path), 'utf8'));
    assert.equal((await run('setup', '--yes')).code, 0);
    assert.deepEqual(
      Object.keys(files).map((path) => readFileSync(join(home, path), 'utf8')),
      before,
    );
    await checkEveryClient();
  });

  test('CLI-002: after a reboot, without a service: the entry of a client starts the aggregator, at the same address', async () => {
    await run('stop');
    await until(() => countRunning(dataDir) === 0, 'nothing runs');
    await checkEveryClient();
  });

  test('CLI-002: after a reboot, with a service: the command of its unit, in its environment', {
    skip: process.platform !== 'linux' && 'systemd',
  }, async (t) => {
    await run('stop');
    const unit = (await run('service', 'install', '--print')).stdout;
    const [command = '', ...args] = /^ExecStart=(.*)$/m.exec(unit)?.[1]?.split(' ') ?? [];
    const variables = [...unit.matchAll(/^Environment="?([A-Z_]+)=(.*?)"?$/gm)].map(([, name, value]) => [name, value]);
    const service = spawn(command, args, { env: { ...Object.fromEntries(variables), HOME: home }, stdio: 'ignore' });
    t.after(() => service.kill('SIGKILL'));
    await until(() => existsSync(join(dataDir, 'address.json')), 'the service listens');
    await checkEveryClient();
    assert.equal(
      JSON.parse(readFileSync(join(dataDir, 'address.json'), 'utf8')).pid,
      service.pid,
      'no other was started',
    );
    await run('stop');
    if (service.exitCode === null) await once(service, 'exit');
    assert.equal(service.exitCode, 0, 'systemd does not start it again');
  });

  test('CLI-001: setup --undo: all files as they were, byte for byte; no token and no process is left', async () => {
    const { code, stdout, stderr } = await run('setup', '--undo', '--yes');
    assert.equal(code, 0, `${stdout}\n${stderr}`);
    for (const [path, content] of Object.entries(files))
      assert.equal(readFileSync(join(home, path), 'utf8'), content, path);
    const left = readdirSync(home, { recursive: true, encoding: 'utf8' }).filter((path) => !path.startsWith('.cache'));
    assert.deepEqual(
      left.filter((path) => /mcp-aggregator|before-/.test(path)),
      [],
    );
    await until(() => countRunning(dataDir) + countRunning(`${program}`) === 0, 'no process is left');
  });
});

/** Servers that a client cannot start either. */
const broken = new Set(['broken', 'tickets']);

function transportOf(entry: ClientEntry, home: string) {
  if (typeof entry.command === 'string') {
    const { command, args, env } = entry as { command: string; args: string[]; env: Record<string, string> };
    return new StdioClientTransport({ command, args, env: { ...cleanEnvironment(home), ...env }, stderr: 'ignore' });
  }
  const headers = (entry.headers ?? entry.http_headers) as Record<string, string>;
  return new StreamableHTTPClientTransport(new URL(String(entry.url ?? entry.serverUrl)), { requestInit: { headers } });
}

/** Six clients, as people have them: with comments, other settings, the same server twice, some that cannot work. */
function clientFiles(home: string, webUrl: string): Record<string, string> {
  const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;
  const words = (name: string, ...args: string[]) => JSON.stringify(server(name, ...args).args);
  const node = JSON.stringify(process.execPath);
  return {
    [`${settingsFolder}/Claude/claude_desktop_config.json`]: json({
      globalShortcut: 'Ctrl+Space',
      mcpServers: { memory: server('memory'), broken: { command: 'a-command-that-does-not-exist', args: ['--now'] } },
    }),
    '.claude.json': json({
      numStartups: 12,
      mcpServers: { memory: server('memory') },
      projects: { [join(home, 'shop')]: { mcpServers: { shop: server('shop', '.') }, history: ['x'] } },
    }),
    '.cursor/mcp.json': JSON.stringify({
      mcpServers: {
        notes: { ...server('notes'), envFile: join(home, 'notes.env') },
        off: { ...server('off'), disabled: true },
      },
    }),
    [`${settingsFolder}/Code/User/mcp.json`]: `{
\t// Mine
\t"inputs": [
\t\t{ "id": "region", "type": "pickString", "default": "eu", "options": ["eu", "us"] },
\t\t{ "id": "key", "type": "promptString", "description": "Key of the tracker", "password": true },
\t],
\t"servers": {
\t\t"region": { "type": "stdio", "command": ${node}, "args": ${words('region')}, "env": { "TOKEN": "\${input:region}" } },
\t\t"tickets": { "type": "stdio", "command": ${node}, "args": ${words('tickets')}, "env": { "TOKEN": "\${input:key}" } },
\t\t"git": { "type": "http", "url": ${JSON.stringify(webUrl)} }, // of the same name as another one in Zed
\t},
}
`,
    '.codex/config.toml': `model = "gpt-5.2-codex"\n\n[mcp_servers.docs]\ncommand = ${node}\nargs = ${words('docs')}\n\n[tui]\nnotifications = true\n`,
    [`${zedFolder}/settings.json`]: `// Zed\n{\n  "theme": "One Dark",\n  "context_servers": {\n    "git": { "source": "custom", "command": ${node}, "args": ${words('git')}, "env": {} }\n  }\n}\n`,
  };
}
