/** `mcp-aggregator sign-in` and `sign-out`, as somebody uses them who has nothing but the address of an aggregator. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { after, before, suite, test } from 'node:test';
import { openBrowser } from '../oauth/browser.ts';
import { type IdentityProvider, startIdentityProvider } from '../oauth/identity-provider.ts';
import { cleanEnvironment, program } from '../support/aggregator-process.ts';
import { startApp, type TestApp } from '../support/app.ts';
import { runCommand } from './command-line.ts';

suite('signing in on the command line', () => {
  let provider: IdentityProvider;
  let app: TestApp;
  let home: string;
  const children: ChildProcess[] = [];
  const file = () => join(home, 'sign-ins.json');

  before(async () => {
    home = mkdtempSync(join(tmpdir(), 'command-line-'));
    provider = await startIdentityProvider({
      commandLine: true,
      jwtFor: 'http://127.0.0.1',
      people: { ada: { roles: ['mcp-admins'], preferred_username: 'ada' }, bob: { preferred_username: 'bob' } },
    });
    app = await startApp({
      MCP_AGGREGATOR_OIDC_ISSUER: provider.issuer,
      MCP_AGGREGATOR_OIDC_CLI_CLIENT_ID: 'command-line',
      MCP_AGGREGATOR_OIDC_REQUIRED_SCOPES: 'mcp:use',
      MCP_AGGREGATOR_OIDC_ROLES: 'admin=mcp-admins',
    });
  });
  after(async () => {
    for (const child of children) child.kill();
    await app.close();
    await provider.close();
    rmSync(home, { recursive: true, force: true });
  });

  const environment = () => ({ MCP_AGGREGATOR_DATA_DIR: home, MCP_AGGREGATOR_URL: app.url });
  const run = (...words: string[]) => runCommand(words, { env: environment() });

  /** Begins a sign-in; the page that it prints. */
  async function begin(...flags: string[]): Promise<{ child: ChildProcess; page: URL; output: Promise<string> }> {
    const child = spawn(process.execPath, [program, 'sign-in', '--no-browser', ...flags], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...cleanEnvironment(home), ...environment() },
    });
    children.push(child);
    const lines: string[] = [];
    const reading = createInterface({ input: child.stdout });
    const [first] = (await once(
      reading.on('line', (line) => lines.push(line)),
      'line',
    )) as [string];
    const output = Promise.all([once(child, 'close'), text(child.stderr)]).then(([, errors]) =>
      [...lines, errors].join('\n'),
    );
    return { child, page: new URL(first), output };
  }

  async function signIn(login: string): Promise<string> {
    const { child, page, output } = await begin();
    const last = await openBrowser().logIn(page.href, { login, password: 'x' });
    assert.match(last.text, /Signed in/);
    const said = await output;
    assert.equal(child.exitCode, 0, said);
    return said;
  }

  /** Makes the next command think that the token is about to end. */
  function age(): void {
    const saved = JSON.parse(readFileSync(file(), 'utf8'));
    saved[app.url].refresh_at = new Date(0).toISOString();
    writeFileSync(file(), JSON.stringify(saved));
  }

  test('the link is printed, the browser comes back, and every command is that person', async () => {
    const before = await run('list');
    assert.equal(before.code, 5, before.stderr);
    assert.match(before.stderr, /mcp-aggregator sign-in/);

    const { child, page, output } = await begin();
    const asked = Object.fromEntries(page.searchParams);
    assert.equal(page.origin, provider.issuer);
    assert.match(asked.redirect_uri ?? '', /^http:\/\/127\.0\.0\.1:\d+\/callback$/);
    assert.deepEqual(
      [asked.code_challenge_method, asked.client_id, asked.resource, asked.scope, asked.response_type],
      ['S256', 'command-line', app.url, 'openid mcp:use offline_access', 'code'],
    );
    for (const stranger of ['?code=x', `?code=x&state=guess`]) {
      const refused = await fetch(`${asked.redirect_uri}${stranger}`);
      assert.equal(refused.status, 400);
      assert.match(await refused.text(), /does not belong to the current sign-in/);
    }
    const last = await openBrowser().logIn(page.href, { login: 'ada', password: 'x' });
    assert.match(last.text, /You can close this page/);
    assert.match(await output, new RegExp(`^Signed in to ${app.url} as ada \\(admin\\)\\.$`, 'm'));
    assert.equal(child.exitCode, 0);

    assert.equal(statSync(file()).mode & 0o777, 0o600);
    assert.equal((await run('audit')).code, 0, 'admins only');
    assert.equal((await run('list')).code, 0);
    await signIn('bob');
    const refused = await run('audit');
    assert.equal(refused.code, 5);
    assert.match(refused.stderr, /bob has the role caller/);
    assert.equal((await run('audit', '--token', app.adminToken)).code, 0, 'what is given counts');
  });

  test('a token that ends is renewed once, however many commands find out at the same time', async () => {
    await signIn('ada');
    const before = provider.grants.refresh_token ?? 0;
    age();
    const all = await Promise.all([run('list'), run('list'), run('list'), run('list')]);
    assert.deepEqual(
      all.map(({ code }) => code),
      [0, 0, 0, 0],
      all.map(({ stderr }) => stderr).join(''),
    );
    assert.equal(provider.grants.refresh_token, before + 1);
    age();
    assert.equal((await run('list')).code, 0, 'with the refresh token that came with the new one');
    assert.equal(statSync(file()).mode & 0o777, 0o600);
  });

  test('stdio speaks for the person, too', async () => {
    await signIn('bob');
    const initialize = {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
    };
    const { stdout } = await runCommand(['stdio'], { env: environment(), input: `${JSON.stringify(initialize)}\n` });
    assert.match(stdout, /"protocolVersion":"2025-11-25"/);
  });

  test('signing out forgets, and tells the provider', async () => {
    await signIn('ada');
    const { refresh_token } = JSON.parse(readFileSync(file(), 'utf8'))[app.url];
    const out = await run('sign-out', '--json');
    assert.deepEqual(JSON.parse(out.stdout), { signed_out: app.url, revoked: true });
    assert.ok(!readFileSync(file(), 'utf8').includes(refresh_token));
    const reused = await fetch(`${provider.issuer}/token`, {
      method: 'POST',
      body: new URLSearchParams({ grant_type: 'refresh_token', refresh_token, client_id: 'command-line' }),
    });
    assert.equal(reused.status, 400);
    assert.equal((await run('list')).code, 5);
    assert.equal((await run('sign-out')).code, 4, 'nobody is signed in');
  });

  test('a sign-in that the provider ended is said to have ended', async () => {
    await signIn('ada');
    await provider.revokeEverything();
    age();
    const { code, stderr } = await run('list');
    assert.equal(code, 5);
    assert.match(stderr, /has expired. Sign in again: mcp-aggregator sign-in/);
    await run('sign-out');
  });

  test('who refuses, or does not come, gets no sign-in', async () => {
    const { child, page, output } = await begin();
    const { redirect_uri = '', state = '' } = Object.fromEntries(page.searchParams);
    const answer = new URLSearchParams({ error: 'access_denied', state, iss: provider.issuer });
    const shown = await fetch(`${redirect_uri}?${answer}`);
    assert.equal(shown.status, 400);
    assert.match(await shown.text(), /access_denied/);
    assert.match(await output, /access_denied/);
    assert.equal(child.exitCode, 5);

    const mixed = await begin();
    const other = Object.fromEntries(mixed.page.searchParams);
    const foreign = new URLSearchParams({ code: 'x', state: other.state ?? '', iss: 'https://login.example.com' });
    await fetch(`${other.redirect_uri}?${foreign}`);
    assert.match(await mixed.output, /does not come from the expected authorization server/);

    const late = await begin('--timeout', '0.2');
    assert.match(await late.output, /Timed out waiting for the sign-in/);
    assert.equal(late.child.exitCode, 1);
    assert.equal((await run('sign-out')).code, 4);
  });

  test('an aggregator without an identity provider, or one that wants tokens for another, is refused', async () => {
    const plain = await startApp();
    const none = await run('sign-in', '--url', plain.url);
    assert.equal(none.code, 6);
    assert.match(none.stderr, /has no identity provider/);
    await plain.close();

    const liar = createServer((_request, response) => {
      const command_line = { client_id: 'command-line', resource: app.url, scopes: [] };
      response.end(JSON.stringify({ identity_provider: { issuer: provider.issuer, dashboard: null, command_line } }));
    }).listen(0, '127.0.0.1');
    await once(liar, 'listening');
    const { port } = liar.address() as AddressInfo;
    const lied = await run('sign-in', '--url', `http://127.0.0.1:${port}`);
    assert.equal(lied.code, 2);
    assert.match(lied.stderr, new RegExp(`use: --url ${app.url}`));
    liar.close();
  });
});
