/** What a program that we start as a server can find out about us. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { fileVariableOf, loadConfig } from '../../src/config/config.ts';
import { settings } from '../../src/config/settings.ts';
import { runCommand } from '../cli/command-line.ts';
import { type AggregatorProcess, program, startAggregator } from '../support/aggregator-process.ts';
import type { Body } from '../support/app.ts';
import { untilSeen } from '../support/until.ts';

const linux = { skip: process.platform === 'linux' ? false : 'only Linux has /proc' };
const asRoot = { skip: process.getuid?.() === 0 ? false : 'only root can start programs as another user' };
const key = Buffer.alloc(32, 7).toString('base64');
const adminToken = 'admin-token-that-is-a-canary';

/** A server whose one tool reads a file, and says who it is. */
const spy = `
const fs = require('node:fs');
const read = (file) => { try { return fs.readFileSync(file, 'utf8'); } catch (error) { return error.code; } };
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  const answer = (result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
  if (method === 'initialize') answer({ protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'spy', version: '1' } });
  else if (method === 'tools/list') answer({ tools: [{ name: 'read', inputSchema: { type: 'object' } }] });
  else if (method === 'tools/call') {
    const file = params.arguments.file.replace('PARENT', String(process.ppid));
    answer({ content: [{ type: 'text', text: JSON.stringify({ text: read(file), uid: process.getuid(), env: process.env }) }] });
  } else if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no' } }));
});`;

async function api({ url }: AggregatorProcess, token: string, method: string, path: string, body?: unknown) {
  const answer = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
    signal: AbortSignal.timeout(20_000),
  });
  return { status: answer.status, body: (await answer.json()) as Body };
}

/** An aggregator with the spy, and what the spy reads. */
async function startWithSpy(t: TestContext, env: Record<string, string>) {
  const dataDir = mkdtempSync(join(tmpdir(), 'isolation-'));
  const script = join(mkdtempSync(join(tmpdir(), 'spy-')), 'spy.cjs');
  writeFileSync(script, spy);
  chmodSync(join(script, '..'), 0o755);
  t.after(() => {
    for (const directory of [dataDir, join(script, '..')]) rmSync(directory, { recursive: true, force: true });
  });
  const aggregator = await startAggregator({ dataDir, env: { MCP_AGGREGATOR_ADMIN_TOKEN: adminToken, ...env } });
  t.after(() => aggregator.stop('SIGKILL'));
  const connection_config = { command: process.execPath, args: [script], env: { OWN: '${OF_THE_SERVER}' } };
  const registered = await api(aggregator, adminToken, 'POST', '/aggregator/servers', {
    name: 'spy',
    transport_type: 'STDIO',
    connection_config,
  });
  return {
    aggregator,
    registered,
    async read(file: string): Promise<{ text: string; uid: number; env: Record<string, string> }> {
      const call = { name: 'spy.read', arguments: { file } };
      const { body } = await untilSeen(
        () => api(aggregator, adminToken, 'POST', '/tools/call', call),
        ({ status }) => status === 200,
        'the spy answers',
      );
      return JSON.parse(body.content?.[0]?.text ?? body.result.content[0].text);
    },
  };
}

suite('what children can read', () => {
  test('the environment of the aggregator shows no secret, and everything still arrives', linux, async (t) => {
    const { aggregator, read } = await startWithSpy(t, {
      MCP_CREDENTIAL_KEY: key,
      OF_THE_SERVER: 'quoted "canary" $HOME `x` é\nsecond line',
      ANTHROPIC_API_KEY: 'sk-ant-canary',
      LARGE: 'canary'.repeat(2_000),
    });
    const { text, env } = await read('/proc/PARENT/environ');
    assert.match(text, /(^|\0)PATH=/);
    for (const secret of [key, 'canary', adminToken]) assert.ok(!text.includes(secret), secret);
    assert.equal(env.OWN, 'quoted "canary" $HOME `x` é\nsecond line');
    assert.ok(!JSON.stringify({ ...env, OWN: '' }).includes('canary'));
    assert.equal(readFileSync(`/proc/${aggregator.pid}/cmdline`, 'utf8').includes('canary'), false);
    assert.equal(await aggregator.stop(), 0);
  });

  test('no secret setting is among the variables that stay visible', async () => {
    const { isVisible } = await import(new URL('../../bin/hidden-environment.js', import.meta.url).href);
    for (const { env, ...more } of Object.values(settings))
      if ('secret' in more) assert.equal(isVisible(env), false, env);
  });

  test('more than the pipes take stays where it is, and the start goes on', linux, async (t) => {
    const { read } = await startWithSpy(t, { OF_THE_SERVER: 'canary', LARGE: 'x'.repeat(100_000) });
    const { text, env } = await read('/proc/PARENT/environ');
    assert.ok(!text.includes('canary'));
    assert.equal(env.OWN, 'canary');
  });

  test('MCP_AGGREGATOR_CHILD_USER: another user, who cannot read our files', { ...linux, ...asRoot }, async (t) => {
    const { aggregator, read } = await startWithSpy(t, {
      MCP_AGGREGATOR_CHILD_USER: '65534:65534',
      OF_THE_SERVER: '1',
    });
    const environment = await read('/proc/PARENT/environ');
    assert.equal(environment.uid, 65_534);
    assert.equal(environment.text, 'EACCES');
    assert.equal(environment.env.HOME, '/');
    for (const file of ['credential-key', 'aggregator.db']) {
      assert.equal((await read(join(aggregator.dataDir, file))).text, 'EACCES', file);
    }
  });

  test('MCP_AGGREGATOR_CHILD_USER that we may not become stops the start', { ...linux, ...asRoot }, async (t) => {
    const dataDir = mkdtempSync(join(tmpdir(), 'isolation-'));
    t.after(() => rmSync(dataDir, { recursive: true, force: true }));
    const unknown = await runCommand(['serve'], { env: { MCP_AGGREGATOR_CHILD_USER: 'no-such-user' } });
    assert.equal(unknown.code, 2);
    assert.match(unknown.stderr, /MCP_AGGREGATOR_CHILD_USER: "no-such-user" is not a user of this host/);
    const same = await runCommand(['serve'], { env: { MCP_AGGREGATOR_CHILD_USER: '0:0' } });
    assert.match(same.stderr, /MCP_AGGREGATOR_CHILD_USER: must differ from the user that runs the aggregator/);
    // As somebody who is not root and may become nobody else.
    const script = `
      const { requireChildUser } = await import(${JSON.stringify(new URL('../../src/upstream/child-user.ts', import.meta.url).href)});
      process.setgid(65534); process.setuid(65534);
      try { requireChildUser({ uid: 1, gid: 1, home: '/' }); } catch (error) { console.log(error.message); }`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let said = '';
    child.stdout.on('data', (chunk) => {
      said += chunk;
    });
    await once(child, 'close');
    assert.match(said, /^MCP_AGGREGATOR_CHILD_USER: this process may not start programs as uid 1/);
  });

  test('MCP_AGGREGATOR_STDIO=deny: refused when registered, and not started when stored before', async (t) => {
    const { aggregator, registered } = await startWithSpy(t, { MCP_AGGREGATOR_STDIO: 'deny' });
    assert.equal(registered.status, 422);
    assert.deepEqual(registered.body.detail[0].loc, ['body', 'transport_type']);
    const imported = await api(aggregator, adminToken, 'POST', '/aggregator/servers/import', {
      mcpServers: { spy: { command: 'true' } },
    });
    assert.equal(imported.body.results[0].outcome, 'invalid');
  });

  test('a server over STDIO that was stored before the switch is not started', async (t) => {
    const { aggregator, registered, read } = await startWithSpy(t, { OF_THE_SERVER: '1' });
    await read('/dev/null');
    await aggregator.stop();
    const env = { MCP_AGGREGATOR_ADMIN_TOKEN: adminToken, MCP_AGGREGATOR_STDIO: 'deny', OF_THE_SERVER: '1' };
    const again = await startAggregator({ dataDir: aggregator.dataDir, env });
    t.after(() => again.stop('SIGKILL'));
    const path = `/aggregator/servers/${registered.body.id ?? registered.body.server_id}`;
    const server = await untilSeen(
      () => api(again, adminToken, 'GET', path),
      ({ body }) => body.error_message !== null,
      'the server has failed',
    );
    assert.match(server.body.error_message, /MCP_AGGREGATOR_STDIO=deny/);
  });
});

suite('secrets in files', () => {
  test('every secret setting can be in a file; wrong ones are named and never shown', (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'secret-'));
    t.after(() => rmSync(directory, { recursive: true, force: true }));
    const file = join(directory, 'key');
    writeFileSync(file, `${key}\n`);
    assert.equal(loadConfig({ MCP_CREDENTIAL_KEY_FILE: file }).credentialKey?.toString('base64'), key);
    assert.equal(loadConfig({ ANTHROPIC_API_KEY_FILE: file }).anthropicApiKey, key);
    assert.equal(loadConfig({ MCP_AGGREGATOR_PORT_FILE: file }).port, 8081);
    assert.throws(
      () => loadConfig({ MCP_CREDENTIAL_KEY_FILE: file, MCP_CREDENTIAL_KEY: key }),
      /^.*MCP_CREDENTIAL_KEY_FILE: MCP_CREDENTIAL_KEY is set as well/,
    );
    assert.throws(
      () => loadConfig({ DATABASE_URL_FILE: join(directory, 'none') }),
      /DATABASE_URL_FILE: .* cannot be read/,
    );
    writeFileSync(file, 'hush-hush');
    assert.throws(
      () => loadConfig({ MCP_CREDENTIAL_KEY_FILE: file }),
      (error: Error) =>
        /^MCP_CREDENTIAL_KEY_FILE: the value is not 32 bytes/.test(error.message) && !error.message.includes('hush'),
    );
    writeFileSync(file, '\n');
    assert.throws(() => loadConfig({ MCP_CREDENTIAL_KEY_FILE: file }), /MCP_CREDENTIAL_KEY_FILE: .* is empty/);
    assert.equal(fileVariableOf(settings.adminToken), 'MCP_AGGREGATOR_ADMIN_TOKEN_FILE');
  });

  test('the command line finds the admin token there as well', async (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'secret-'));
    t.after(() => rmSync(directory, { recursive: true, force: true }));
    const file = join(directory, 'token');
    writeFileSync(file, `${adminToken}\n`);
    const dataDir = join(directory, 'data');
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', program, 'serve'], {
      env: {
        PATH: process.env.PATH,
        HOME: directory,
        MCP_AGGREGATOR_PORT: '0',
        MCP_AGGREGATOR_DATA_DIR: dataDir,
        MCP_AGGREGATOR_ADMIN_TOKEN_FILE: file,
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    t.after(() => child.kill('SIGKILL'));
    for await (const chunk of child.stderr) if (String(chunk).includes('listening')) break;
    const { code, stderr } = await runCommand(['list'], {
      env: { MCP_AGGREGATOR_DATA_DIR: dataDir, MCP_AGGREGATOR_ADMIN_TOKEN_FILE: file },
    });
    assert.equal(code, 0, stderr);
  });
});
