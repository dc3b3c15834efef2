/** What only a real process shows: signals, crashes and restarts. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type AggregatorProcess, cleanEnvironment, program, startAggregator } from '../support/aggregator-process.ts';
import { type Body, type Connection, toRegistration } from '../support/app.ts';
import { createTestDatabase } from '../support/databases.ts';
import { isAlive, untilGone } from '../support/processes.ts';
import { stdioFeatureServer } from '../support/servers/feature-server.ts';
import { misbehavingServer } from '../support/servers/misbehaving.ts';

const servers = '/api/v1/aggregator/servers';

test('SIGTERM leaves no child behind, nor a child of a child', async (t) => {
  const { env, close } = await settings();
  const aggregator = await startAggregator({ env });
  t.after(async () => {
    await aggregator.stop('SIGKILL');
    await close();
  });
  const pids = [];
  for (const name of ['one', 'two']) pids.push(await addChild(aggregator, name, stdioFeatureServer('legacy')));
  await addChild(aggregator, 'tree', misbehavingServer('tree'));
  const { stderr_tail } = await api(aggregator, 'GET', `${servers}/tree`);
  pids.push(Number(/grandchild (\d+)/.exec(stderr_tail)?.[1]));
  for (const pid of pids) assert.ok(isAlive(pid), String(pid));
  assert.equal(await aggregator.stop('SIGTERM'), 0);
  for (const pid of pids) await untilGone(pid);
});

test('SIGTERM during the start, and right after "listening", ends in good order', async (t) => {
  for (const line of ['no server is connected', 'mcp-aggregator is listening']) {
    const { env, close } = await settings();
    const dataDir = mkdtempSync(join(tmpdir(), 'mcp-aggregator-early-'));
    // In safe mode the first line is written long before we listen.
    const early = { MCP_AGGREGATOR_PORT: '0', MCP_AGGREGATOR_DATA_DIR: dataDir, MCP_AGGREGATOR_SAFE_MODE: 'on' };
    const child = spawn(process.execPath, [program, 'serve'], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...cleanEnvironment(dataDir), ...env, ...early },
    });
    t.after(async () => {
      child.kill('SIGKILL');
      rmSync(dataDir, { recursive: true });
      await close();
    });
    const exited = once(child, 'exit');
    let output = '';
    for await (const chunk of child.stderr) {
      if (!output.includes(line) && `${output}${chunk}`.includes(line)) child.kill('SIGTERM');
      output += chunk;
    }
    assert.deepEqual(await exited, [0, null], output);
    assert.match(output, /"closing"/);
    assert.ok(!existsSync(join(dataDir, 'address.json')));
  }
});

test('SIGTERM waits for calls in progress', async (t) => {
  const { env, close } = await settings();
  const aggregator = await startAggregator({ env });
  t.after(async () => {
    await aggregator.stop('SIGKILL');
    await close();
  });
  await addChild(aggregator, 'slow', stdioFeatureServer('legacy'));
  const call = api(aggregator, 'POST', '/api/v1/tools/call', { name: 'slow.slow', arguments: { ms: 1_500 } });
  for (let active = 0; active === 0; ) active = (await api(aggregator, 'GET', `${servers}/slow`)).active_calls;
  const stopped = aggregator.stop('SIGTERM');
  assert.equal((await call).content[0].text, 'waited 1500 ms');
  assert.equal(await stopped, 0);
});

test('kill -9: the children end too, and a restart has every server and tool at once', async (t) => {
  const { env, close } = await settings();
  const dataDir = mkdtempSync(join(tmpdir(), 'mcp-aggregator-kept-'));
  let aggregator = await startAggregator({ env, dataDir });
  t.after(async () => {
    await aggregator.stop('SIGKILL');
    rmSync(dataDir, { recursive: true });
    await close();
  });
  const pid = await addChild(aggregator, 'kept', stdioFeatureServer('modern', { extraTools: 100 }));
  await register(aggregator, 'sleeping', { command: 'sleep', args: ['1000'] });
  const before = await api(aggregator, 'GET', `${servers}/kept/tools`);
  await aggregator.stop('SIGKILL');
  await untilGone(pid);

  aggregator = await startAggregator({ env, dataDir });
  const list = await api(aggregator, 'GET', `${servers}?include_tools=true`);
  assert.deepEqual(
    list.servers.map((server: { name: string; tool_count: number }) => [server.name, server.tool_count]),
    [
      ['kept', before.total],
      ['sleeping', 0],
    ],
  );
  const names = (tools: { id: string; name: string }[]) => tools.map(({ id, name }) => [id, name]);
  assert.deepEqual(names(list.servers[0].tools), names(before.tools));
  // The server is still connecting behind the list; a call waits for it.
  const answer = await api(aggregator, 'POST', '/api/v1/tools/call', { name: 'kept.whoami' });
  assert.notEqual(answer.structuredContent?.pid, pid);
  assert.ok(answer.structuredContent?.pid > 0, JSON.stringify(answer));
});

test('a data directory has one owner: a second process stops with a clear line', async (t) => {
  const { env, close } = await settings();
  const aggregator = await startAggregator({ env });
  t.after(async () => {
    await aggregator.stop();
    await close();
  });
  const second = spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', program, 'serve'], {
    encoding: 'utf8',
    timeout: 20_000,
    env: { ...cleanEnvironment(aggregator.dataDir), ...env, MCP_AGGREGATOR_DATA_DIR: aggregator.dataDir },
  });
  assert.notEqual(second.status, 0);
  assert.match(second.stderr, new RegExp(`in use by another mcp-aggregator \\(pid ${aggregator.pid}, since`));
  assert.equal(second.stderr.trim().split('\n').length, 1);
});

test('wrong settings stop the start with one clear line each', () => {
  const started = spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', program, 'serve'], {
    encoding: 'utf8',
    timeout: 20_000,
    env: {
      ...cleanEnvironment(tmpdir()),
      MCP_AGGREGATOR_PORT: 'eighty',
      MCP_AGGREGATOR_HEALTH_INTERVAL: '-1',
      MCP_CREDENTIAL_KEY: 'too-short-a-secret',
    },
  });
  assert.equal(started.status !== 0, true);
  const lines = started.stderr.trim().split('\n');
  assert.equal(lines.length, 3, started.stderr);
  for (const name of ['MCP_AGGREGATOR_PORT', 'MCP_AGGREGATOR_HEALTH_INTERVAL', 'MCP_CREDENTIAL_KEY'])
    assert.ok(
      lines.some((line) => line.includes(name) && line.includes('example:')),
      name,
    );
  assert.ok(!started.stderr.includes('too-short-a-secret'));
});

async function settings(): Promise<{ env: Record<string, string>; close(): Promise<void> }> {
  const database = await createTestDatabase();
  const env: Record<string, string> = {
    MCP_AGGREGATOR_PORT: '0',
    MCP_AGGREGATOR_ADMIN_TOKEN: 'the-admin-token-of-a-test',
    MCP_AGGREGATOR_SHUTDOWN_TIMEOUT: '5',
  };
  if (database.url !== undefined) {
    env.DATABASE_URL = database.url;
    env.MCP_CREDENTIAL_KEY = Buffer.alloc(32, 1).toString('base64');
  }
  return { env, close: database.close };
}

async function api(aggregator: AggregatorProcess, method: string, path: string, body?: unknown): Promise<Body> {
  const response = await fetch(`${aggregator.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${aggregator.token}`, 'content-type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  return await response.json();
}

function register(aggregator: AggregatorProcess, name: string, connection: Connection): Promise<Body> {
  return api(aggregator, 'POST', servers, toRegistration(name, connection));
}

/** Registers a server and returns the pid of its process. */
async function addChild(aggregator: AggregatorProcess, name: string, connection: Connection): Promise<number> {
  await register(aggregator, name, connection);
  await aggregator.logged(
    ({ msg, server, status }) => msg === 'server status' && server === name && status === 'CONNECTED',
  );
  for (;;) {
    const { total } = await api(aggregator, 'GET', `${servers}/${name}/tools`);
    if (total > 0) break;
  }
  return (await api(aggregator, 'POST', '/api/v1/tools/call', { name: `${name}.whoami` })).structuredContent.pid;
}
