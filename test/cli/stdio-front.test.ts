/** `mcp-aggregator stdio`: the command as clients start it, spoken to by the official client on its stdin and stdout. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, type TestContext, test } from 'node:test';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { answering, everyCapability } from '../mcp/clients.ts';
import { type AggregatorProcess, cleanEnvironment, program, startAggregator } from '../support/aggregator-process.ts';
import { startFeatureServer, stdioFeatureServer } from '../support/servers/feature-server.ts';
import type { RunningServer } from '../support/servers/http-wire.ts';
import { until } from '../support/until.ts';
import { runCommand } from './command-line.ts';

type Era = 'legacy' | 'modern';

async function connect(t: TestContext, dataDir: string, era: Era, flags: string[] = []): Promise<Client> {
  const client = new Client(
    { name: 'on stdio', version: '1' },
    {
      capabilities: everyCapability,
      versionNegotiation: { mode: era === 'modern' ? { pin: '2026-07-28' } : 'legacy' },
    },
  );
  answering(`${era} client`)(client);
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: ['--disable-warning=ExperimentalWarning', program, 'stdio', '--data-dir', dataDir, ...flags],
    env: { ...cleanEnvironment(dataDir), MCP_AGGREGATOR_PORT: '0' },
    stderr: 'ignore',
  });
  await client.connect(transport);
  t.after(() => client.close());
  return client;
}

suite('in front of a running aggregator', () => {
  let aggregator: AggregatorProcess;
  let http: RunningServer;
  const dataDir = mkdtempSync(join(tmpdir(), 'front-'));

  before(async () => {
    aggregator = await startAggregator({ dataDir, flags: ['--exposure', 'all'] });
    for (const name of ['one', 'two']) await register(aggregator, name);
    http = await startFeatureServer({ transport: 'streamable-legacy', label: 'pausing' });
    await register(aggregator, 'pausing', { transport_type: 'HTTP', connection_config: { base_url: http.url } });
    const profile = { tools: [{ name: 'one.echo', rename: 'say' }] };
    await api(aggregator, 'PUT', '/api/v1/profiles/small', profile);
  });
  after(async () => {
    await aggregator.stop();
    await http.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  for (const era of ['legacy', 'modern'] as const) {
    test(`MCP-001: a ${era} client lists, calls, hears progress, cancels and is asked`, async (t) => {
      const client = await connect(t, aggregator.dataDir, era);
      const { tools } = await client.listTools();
      assert.ok(tools.some(({ name }) => name === 'one__add') && tools.some(({ name }) => name === 'two__add'));
      const sum = await client.callTool({ name: 'one__add', arguments: { a: 1, b: 2 } });
      assert.deepEqual(sum.structuredContent, { sum: 3 });

      const cancel = new AbortController();
      const slow = { name: 'two__slow', arguments: { ms: 60_000 } };
      const before = await cancelled(client);
      await assert.rejects(client.callTool(slow, { signal: cancel.signal, onprogress: () => cancel.abort() }));
      await until(async () => (await cancelled(client)) === before + 1, 'the cancellation arrived');

      const roots = await client.callTool({ name: 'one__roots', arguments: {} });
      const expected = [{ uri: `file:///${era} client`, name: `${era} client` }];
      assert.deepEqual(roots.structuredContent, { roots: { roots: expected } });
      await assert.rejects(client.callTool({ name: 'one__rpc_error', arguments: {} }), { code: -32050 });
      await assert.rejects(client.callTool({ name: 'nobody__has_this', arguments: {} }), { code: -32602 });
    });

    test(`a ${era} client gets its answer from a server that closes the stream meanwhile`, async (t) => {
      const client = await connect(t, aggregator.dataDir, era);
      const { content } = await client.callTool({ name: 'pausing__pausing', arguments: { n: 2 } });
      assert.deepEqual(content, [{ type: 'text', text: 'paused 2 times' }]);
    });

    test(`a ${era} client hears of changed lists`, async (t) => {
      const client = await connect(t, aggregator.dataDir, era);
      const changed = Promise.withResolvers<void>();
      client.setNotificationHandler('notifications/tools/list_changed', () => changed.resolve());
      if (era === 'modern') await client.listen({ toolsListChanged: true });
      else await client.listTools(); // by now the stream is open
      await api(aggregator, 'POST', '/api/v1/tools/call', { name: 'two.change_tools', arguments: {} });
      await changed.promise;
    });

    test(`a ${era} client sees one server or one profile`, async (t) => {
      const server = await connect(t, aggregator.dataDir, era, ['--server', 'one']);
      assert.ok((await server.listTools()).tools.some(({ name }) => name === 'add'));
      const profile = await connect(t, aggregator.dataDir, era, ['--profile', 'small']);
      assert.deepEqual(
        (await profile.listTools()).tools.map(({ name }) => name),
        ['say'],
      );
    });
  }

  test('a session that expired is opened again without the client noticing', async (t) => {
    const client = await connect(t, aggregator.dataDir, 'legacy');
    await aggregator.stop('SIGKILL');
    aggregator = await startAggregator({ dataDir });
    const sum = await client.callTool({ name: 'one__add', arguments: { a: 1, b: 2 } });
    assert.deepEqual(sum.structuredContent, { sum: 3 });
  });

  test('and while it is quiet: it goes on hearing what it subscribed to, and that lists may have changed', async (t) => {
    const client = await connect(t, aggregator.dataDir, 'legacy', ['--server', 'one']);
    const uri = 'fixture://static';
    const heard = { lists: 0, updates: 0 };
    client.setNotificationHandler('notifications/tools/list_changed', () => void heard.lists++);
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
      if (params.uri === uri) heard.updates++;
    });
    await client.subscribeResource({ uri });
    const { port } = new URL(aggregator.url);
    await aggregator.stop('SIGKILL');
    heard.lists = 0;
    aggregator = await startAggregator({ dataDir, flags: ['--port', port] });
    await until(() => heard.lists > 0, 'the client was told to look again');
    await client.callTool({ name: 'touch_resource', arguments: { uri } });
    await until(() => heard.updates > 0, 'the update arrived');
  });

  test('lines that are no messages are answered with errors', async () => {
    const { command, args } = { command: process.execPath, args: [program, 'stdio', '--url', 'http://127.0.0.1:9'] };
    const child = spawn(command, args, { env: cleanEnvironment(tmpdir()), stdio: ['pipe', 'pipe', 'ignore'] });
    child.stdin.end('{"broken\n[1]\n\n{"jsonrpc":"2.0","id":7,"method":"ping"}\n');
    const lines = (await child.stdout.toArray())
      .join('')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.deepEqual(
      lines.map(({ id, error }) => [id, error.code]),
      [
        [null, -32700],
        [null, -32600],
        [7, -32603],
      ],
    );
  });
});

suite('where no aggregator runs', () => {
  let dataDir: string;

  before(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'front-'));
    const { command, args } = stdioFeatureServer('legacy', { label: 'local' });
    const config = { mcpServers: { local: { command, args } } };
    writeFileSync(join(dataDir, 'servers.json'), JSON.stringify(config));
    const aggregator = await startAggregator({ dataDir, flags: ['--config', join(dataDir, 'servers.json')] });
    await aggregator.logged(({ msg }) => msg === 'mcp-aggregator is listening');
    await untilDiscovered(aggregator, 'local');
    await aggregator.stop();
  });
  after(async () => {
    await stop();
    rmSync(dataDir, { recursive: true, force: true });
  });
  const environment = () => ({ ...cleanEnvironment(dataDir), MCP_AGGREGATOR_PORT: '0' });
  const stop = () => runCommand(['stop', '--data-dir', dataDir], { env: environment() });

  test('the first client starts one in the background, others find it, and it stays', async (t) => {
    const first = await connect(t, dataDir, 'modern');
    assert.ok((await first.listTools()).tools.some(({ name }) => name === 'local__add'));
    const { pid } = JSON.parse(readFileSync(join(dataDir, 'address.json'), 'utf8'));
    const second = await connect(t, dataDir, 'legacy');
    const add = { name: 'local__add', arguments: { a: 1, b: 2 } };
    assert.deepEqual((await second.callTool(add)).structuredContent, { sum: 3 });
    assert.equal(JSON.parse(readFileSync(join(dataDir, 'address.json'), 'utf8')).pid, pid);

    await first.close();
    assert.deepEqual((await second.callTool(add)).structuredContent, { sum: 3 });
    process.kill(pid, 'SIGKILL');
    await until(() => !isAlive(pid), 'the aggregator is gone');
    assert.deepEqual((await second.callTool(add)).structuredContent, { sum: 3 });
    const next = JSON.parse(readFileSync(join(dataDir, 'address.json'), 'utf8')).pid;
    assert.notEqual(next, pid);
    await second.close();
    assert.ok(isAlive(next));
    assert.equal((await stop()).stdout, 'The aggregator has stopped.\n');
    assert.ok(!isAlive(next) && !existsSync(join(dataDir, 'address.json')));
    assert.equal((await stop()).stdout, 'No aggregator is running.\n');
  });

  test('a start that fails is told to the client, with the reason', async () => {
    const env = { ...environment(), MCP_AGGREGATOR_HEALTH_INTERVAL: 'soon' };
    const child = spawn(process.execPath, [program, 'stdio', '--data-dir', dataDir], {
      env,
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    child.stdin.end('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\n');
    const { error } = JSON.parse((await child.stdout.toArray()).join(''));
    assert.match(error.message, /did not start/);
    assert.match(error.message, /MCP_AGGREGATOR_HEALTH_INTERVAL: "soon" is not a number of seconds/);
  });

  test('it ends with its stdin', async () => {
    const args = ['--disable-warning=ExperimentalWarning', program, 'stdio', '--data-dir', dataDir];
    const child = spawn(process.execPath, args, {
      env: environment(),
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    child.stdin.end();
    const [code] = await once(child, 'exit');
    assert.equal(code, 0);
  });
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function cancelled(client: Client): Promise<number> {
  const { structuredContent } = await client.callTool({ name: 'two__cancelled_count', arguments: {} });
  return (structuredContent as { cancelled: number }).cancelled;
}

async function api(aggregator: AggregatorProcess, method: string, path: string, body?: unknown) {
  const response = await fetch(`${aggregator.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${aggregator.token}`, 'content-type': 'application/json' },
    body: body === undefined ? null : JSON.stringify(body),
  });
  assert.ok(response.ok, `${method} ${path}: ${response.status}`);
  return (await response.json()) as { status?: string };
}

async function untilDiscovered(aggregator: AggregatorProcess, name: string): Promise<void> {
  const status = async () => (await api(aggregator, 'GET', `/api/v1/aggregator/servers/${name}`)).status;
  await until(async () => (await status()) === 'CONNECTED', 'the tools are known');
}

const onStdio = (label: string) => ({
  transport_type: 'STDIO',
  connection_config: stdioFeatureServer('legacy', { label }),
});

async function register(aggregator: AggregatorProcess, name: string, connection: object = onStdio(name)) {
  await api(aggregator, 'POST', '/api/v1/aggregator/servers', { name, ...connection });
  await untilDiscovered(aggregator, name);
}
