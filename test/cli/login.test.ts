/** `mcp-aggregator login` as somebody uses it who has no browser on that machine. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openBrowser } from '../oauth/browser.ts';
import { startIdentityProvider } from '../oauth/identity-provider.ts';
import { startProtectedServer } from '../oauth/protected-server.ts';
import { startApp } from '../support/app.ts';

const program = fileURLToPath(new URL('../../bin/mcp-aggregator.js', import.meta.url));

test('the command prints the link, waits for the login and tells what became of it', async () => {
  const provider = await startIdentityProvider();
  const server = await startProtectedServer(provider);
  const app = await startApp();
  const run = (...args: string[]) =>
    spawn(process.execPath, [program, ...args, '--url', app.url, '--token', app.adminToken], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
  try {
    await app.register('notes', { base_url: server.url });
    await app.untilStatus('notes', 'ERROR');

    const login = run('login', 'notes', '--no-browser');
    const printed = createInterface({ input: login.stdout })[Symbol.asyncIterator]();
    const link = String((await printed.next()).value);
    assert.match(link, /^http:.*\/oauth\/connect\/notes\?ticket=/);
    const proxied = await fetch(link, { headers: { 'x-forwarded-for': '203.0.113.9' } });
    assert.match(await proxied.text(), /Sign in with your token/, 'from elsewhere the link vouches for nobody');
    await openBrowser().logIn(link, { login: 'ada', password: 'x' });
    assert.match(String((await printed.next()).value), /notes: CONNECTED, 1 tool/);
    const [code] = login.exitCode === null ? await once(login, 'exit') : [login.exitCode];
    assert.equal(code, 0);

    const [left] = await once(run('logout', 'notes'), 'exit');
    assert.equal(left, 0);
    assert.equal((await app.untilStatus('notes', 'ERROR')).login, 'required');
  } finally {
    await app.close();
    await server.close();
    await provider.close();
  }
});
