// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references as they stand in configs
/** Two colleagues and an aggregator that they only know the address of: from the sign-in to the end of an account. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { after, before, suite, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { runCommand } from '../cli/command-line.ts';
import { openBrowser } from '../oauth/browser.ts';
import { asked, type Situation, startSituation } from '../oauth/people.ts';
import { cleanEnvironment, program } from '../support/aggregator-process.ts';
import type { Body } from '../support/app.ts';
import { isAlive } from '../support/processes.ts';
import { keyedChild } from '../support/servers/keyed.ts';
import { until } from '../support/until.ts';

/** The default is 30 s; a check is due at half of it, so that a disabled account is out within a minute. */
const checks = { MCP_AGGREGATOR_OIDC_CHECK_INTERVAL: '0.5', MCP_AGGREGATOR_EXPOSURE: 'all' };
const names = ['ada', 'bob'] as const;
type Name = (typeof names)[number];

suite('two colleagues', () => {
  let situation: Situation & { close(): Promise<void> };
  const homes = new Map<Name, string>();
  const children: ChildProcess[] = [];
  const clients = new Map<Name, Client>();
  const pids = new Map<Name, number>();

  before(async () => {
    const people = Object.fromEntries(names.map((name) => [name, { preferred_username: name, roles: ['staff'] }]));
    situation = await startSituation({ people }, { ...checks, MCP_AGGREGATOR_OIDC_ROLES: 'caller=staff' });
    for (const name of names) homes.set(name, mkdtempSync(join(tmpdir(), `${name}-`)));
    const { app } = situation;
    await app.register('tracker', keyedChild({ KEY: '${user:TRACKER_KEY}' }));
    await app.untilStatus('tracker', 'ERROR');
    await app.api('PUT', '/api/v1/keys/tracker/TRACKER_KEY', { value: 'key-of-the-admin' });
    await until(async () => (await app.server('tracker')).tool_count === 2, 'the tools of the server are known');
  });
  after(async () => {
    for (const client of clients.values()) await client.close();
    for (const child of children) child.kill();
    await situation.close();
    for (const home of homes.values()) rmSync(home, { recursive: true, force: true });
  });

  const homeOf = (name: Name) => homes.get(name) ?? '';
  const environmentOf = (name: Name) => ({ ...cleanEnvironment(homeOf(name)), MCP_AGGREGATOR_URL: situation.app.url });
  const run = (name: Name, words: string[], input?: string) => runCommand(words, { env: environmentOf(name), input });
  const json = async (name: Name, ...words: string[]): Promise<Body> => {
    const { code, stdout, stderr } = await run(name, [...words, '--json']);
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout);
  };

  /** The page that the command prints is opened by the person, on this computer or on a telephone. */
  async function signIn(name: Name, ...flags: string[]): Promise<string> {
    const child = spawn(process.execPath, [program, 'sign-in', '--no-browser', ...flags], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: environmentOf(name),
    });
    children.push(child);
    const errors = text(child.stderr);
    const lines = createInterface({ input: child.stdout });
    const [page] = (await once(lines, 'line')) as [string];
    const [[said], last] = await Promise.all([
      once(lines, 'line') as Promise<[string]>,
      openBrowser().logIn(page, { login: name, password: 'x' }),
    ]);
    const [code] = (await once(child, 'close')) as [number];
    assert.equal(code, 0, `${await errors} ${last.text}`);
    return said;
  }

  async function connect(name: Name, entry: Body): Promise<Client> {
    const client = new Client({ name: `client of ${name}`, version: '1' });
    const { url, headers } = entry;
    await client.connect(
      url === undefined
        ? new StdioClientTransport({ command: entry.command, args: entry.args, env: cleanEnvironment(homeOf(name)) })
        : new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }),
    );
    clients.set(name, client);
    return client;
  }

  const account = async (name: Name): Promise<Body> =>
    (await clients.get(name)?.callTool({ name: 'tracker__account', arguments: {} }))?.structuredContent;

  test('ada signs in with the browser, connects a client, and enters a key that a call asks for', async () => {
    assert.equal(await signIn('ada'), `Signed in to ${situation.app.url} as ada (caller).`);
    const connected = await run('ada', ['connect-client', 'cursor', '--yes']);
    assert.equal(connected.code, 0, connected.stderr);
    const { mcpServers } = JSON.parse(readFileSync(join(homeOf('ada'), '.cursor/mcp.json'), 'utf8'));
    const client = await connect('ada', mcpServers.gateway);
    assert.ok((await client.listTools()).tools.some(({ name }) => name === 'tracker__account'));
    await assert.rejects(
      account('ada'),
      /Key required: tracker: open http.*\/keys\/tracker.* to enter your TRACKER_KEY/,
    );
    const entered = await run('ada', ['key', 'set', 'tracker'], 'key-of-ada\n');
    assert.equal(entered.stdout, 'Stored for tracker: TRACKER_KEY. Only your own calls use it.\n', entered.stderr);
    const found = await account('ada');
    assert.equal(found.account, 'key-of-ada');
    pids.set('ada', found.pid);
  });

  test('bob signs in on another device, and his client starts a program that uses the sign-in', async () => {
    assert.equal(await signIn('bob', '--device'), `Signed in to ${situation.app.url} as bob (caller).`);
    const connected = await run('bob', ['connect-client', 'vscode', '--yes', '--sign-in']);
    assert.equal(connected.code, 0, connected.stderr);
    const { servers } = JSON.parse(readFileSync(join(homeOf('bob'), '.config/Code/User/mcp.json'), 'utf8'));
    assert.equal(servers.gateway.type, 'stdio');
    await connect('bob', servers.gateway);
    const refused: string = await account('bob').then(String, (error: Error) => error.message);
    const [page = ''] = /http\S+/.exec(refused) ?? [];
    const browser = openBrowser();
    const saved = await browser.submit(await browser.open(page), { 'key:TRACKER_KEY': 'key-of-bob' });
    assert.match(saved.text, /Saved/);
    const found = await account('bob');
    assert.equal(found.account, 'key-of-bob');
    assert.notEqual(found.pid, pids.get('ada'));
    pids.set('bob', found.pid);
  });

  test('neither sees anything of the other', async () => {
    for (const name of names) {
      const other = name === 'ada' ? 'bob' : 'ada';
      const seen = [
        await json(name, 'token', 'list'),
        await json(name, 'key', 'list'),
        await json(name, 'list'),
        (await json(name, 'show', 'tracker')) as unknown,
      ];
      assert.ok(!JSON.stringify(seen).includes(other), `${name} sees ${other}: ${JSON.stringify(seen)}`);
      assert.equal((await run(name, ['audit'])).code, 5);
    }
    const [tokensOfAda, tokensOfBob] = [await json('ada', 'token', 'list'), await json('bob', 'token', 'list')];
    assert.deepEqual(
      [tokensOfAda.total, tokensOfBob.total],
      [2, 1],
      'sessions of the command line, and that of cursor',
    );
    assert.deepEqual((await run('bob', ['token', 'revoke', tokensOfAda.tokens[0].id])).code, 4);
    await run('bob', ['key', 'remove', 'tracker']);
    assert.equal((await account('ada')).account, 'key-of-ada');
    assert.equal((await run('bob', ['key', 'set', 'tracker'], 'key-of-bob')).code, 0);
    pids.set('bob', (await account('bob')).pid);
  });

  test('an account that is disabled at the issuer loses access everywhere', async () => {
    const { app, provider } = situation;
    const { mcpServers } = JSON.parse(readFileSync(join(homeOf('ada'), '.cursor/mcp.json'), 'utf8'));
    const token = mcpServers.gateway.headers.Authorization.replace('Bearer ', '');
    assert.equal((await asked(app, token)).status, 200);
    provider.disable('ada');
    await until(async () => (await asked(app, token)).status === 401, 'the token of the client is refused');
    await until(() => !isAlive(pids.get('ada') ?? 0), 'the process with the key of ada has ended');
    await assert.rejects(account('ada'));
    const refused = await run('ada', ['list']);
    assert.deepEqual([refused.code, /Sign in again: mcp-aggregator sign-in/.test(refused.stderr)], [5, true]);
    assert.equal((await account('bob')).account, 'key-of-bob');
    assert.equal(isAlive(pids.get('bob') ?? 0), true);
    assert.equal((await run('bob', ['sign-out'])).code, 0);
    await assert.rejects(account('bob'), 'the program of the client used the sign-in');
  });
});
