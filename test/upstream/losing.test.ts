import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, suite, test } from 'node:test';
import { startApp, type TestApp } from '../support/app.ts';
import { isAlive, untilGone } from '../support/processes.ts';
import { startFeatureServer, stdioFeatureServer } from '../support/servers/feature-server.ts';
import { startHttpProgram } from '../support/servers/http-program.ts';
import { misbehavingServer } from '../support/servers/misbehaving.ts';
import { createProgram, structured } from '../support/servers/program.ts';

const servers = '/api/v1/aggregator/servers';

suite('losing a server', () => {
  let app: TestApp;
  before(async () => {
    app = await startApp();
  });
  after(() => app.close());

  for (const era of ['legacy', 'modern'] as const) {
    test(`EC-003: a ${era} stdio server that breaks in mid-call: 503 that says what was in progress`, async () => {
      const name = `crashing-${era}`;
      await app.add(name, stdioFeatureServer(era));
      const answer = await app.call(`${name}.crash_mid_call`);
      assert.equal(answer.status, 503);
      assert.equal(answer.body.error_code, 'SERVER_UNAVAILABLE');
      assert.match(answer.body.detail, new RegExp(`^Server unavailable: ${name} was lost during the call`));
      const { method, name: tool, started_at } = answer.body.context.in_progress;
      assert.deepEqual([method, tool], ['tools/call', 'crash_mid_call']);
      assert.ok(Date.parse(started_at) > 0);
      assert.equal(answer.body.server.name, name);
      // Never repeated on its own: the tool does not say that it may be.
      assert.equal((await app.call(`${name}.whoami`)).status, 200);
    });
  }

  test('EC-003: what is annotated read-only is repeated once, everything else never', async (t) => {
    const calls = { reading: 0, writing: 0 };
    const breaking = (name: keyof typeof calls, annotations: object) => ({
      definition: { name, inputSchema: { type: 'object' }, annotations },
      call: (exchange: { hangUp(): void }) => {
        calls[name] += 1;
        if (calls[name] === 1) exchange.hangUp();
        return structured({ calls: calls[name] });
      },
    });
    const program = createProgram({
      info: { name: 'breaking', version: '1' },
      tools: [breaking('reading', { readOnlyHint: true }), breaking('writing', { readOnlyHint: false })],
    });
    const upstream = await startHttpProgram(program, { transport: 'sse' });
    t.after(upstream.close);
    await app.add('breaking', { url: upstream.url });
    const read = await app.call('breaking.reading');
    assert.equal(read.status, 200);
    assert.deepEqual(read.body.structuredContent, { calls: 2 });
    const written = await app.call('breaking.writing');
    assert.equal(written.status, 503);
    assert.equal(written.body.context.executed, 'unknown');
    assert.equal(calls.writing, 1);
  });

  for (const transport of ['streamable-legacy', 'streamable-modern'] as const) {
    test(`EC-003: one stream of ${transport} that is cut takes no other call with it`, async (t) => {
      const upstream = await startFeatureServer({ transport });
      t.after(upstream.close);
      const name = `cut-${transport}`;
      await app.add(name, { base_url: upstream.url });
      const other = app.call(`${name}.slow`, { ms: 800 });
      await app.seen.waitFor('call.started', (event) => event.tool === `${name}.slow`);
      const cut = await app.call(`${name}.crash_mid_call`);
      // A legacy stream can be resumed where it was cut, if it had begun.
      assert.ok(cut.status === 503 || transport === 'streamable-legacy', JSON.stringify(cut.body));
      assert.equal((await other).status, 200);
      assert.equal((await app.server(name)).status, 'CONNECTED');
    });
  }

  test('a killed child: the next call is answered', async () => {
    await app.add('killed', stdioFeatureServer('legacy'));
    const { pid } = (await app.call('killed.whoami')).body.structuredContent;
    const mark = app.seen.all.length;
    process.kill(pid, 'SIGKILL');
    await app.seen.waitFor('server.status', ({ name, status }) => name === 'killed' && status === 'ERROR', mark);
    const answer = await app.call('killed.whoami');
    assert.equal(answer.status, 200);
    assert.notEqual(answer.body.structuredContent.pid, pid);
  });

  test('EC-010: a session that the server forgot is opened again, and the call is answered', async (t) => {
    let upstream = await startFeatureServer({ transport: 'streamable-legacy', label: 'before' });
    const port = Number(new URL(upstream.url).port);
    await app.add('forgetful', { base_url: upstream.url });
    await upstream.close();
    upstream = await startFeatureServer({ transport: 'streamable-legacy', label: 'after', port });
    t.after(() => upstream.close());
    const answers = await Promise.all(Array.from({ length: 5 }, () => app.call('forgetful.whoami')));
    for (const answer of answers) assert.equal(answer.body.structuredContent?.label, 'after');
  });

  test('EC-010: a call during a glitch waits for the server to come back', async (t) => {
    let upstream = await startFeatureServer({ transport: 'streamable-modern', label: 'before' });
    const port = Number(new URL(upstream.url).port);
    await app.add('glitch', { base_url: upstream.url });
    await upstream.close();
    const call = app.call('glitch.whoami');
    await app.untilStatus('glitch', 'ERROR');
    upstream = await startFeatureServer({ transport: 'streamable-modern', label: 'after', port });
    t.after(() => upstream.close());
    assert.equal((await call).body.structuredContent?.label, 'after');
  });

  test('a server that was updated to another era is recognised again', async (t) => {
    let upstream = await startFeatureServer({ transport: 'streamable-legacy' });
    const port = Number(new URL(upstream.url).port);
    await app.add('updated', { base_url: upstream.url });
    assert.equal((await app.server('updated')).era, 'legacy');
    await app.api('POST', `${servers}/updated/disconnect`);
    await upstream.close();
    upstream = await startFeatureServer({ transport: 'streamable-modern', port });
    t.after(() => upstream.close());
    await app.api('POST', `${servers}/updated/connect`);
    await app.untilStatus('updated', 'CONNECTED');
    assert.equal((await app.call('updated.whoami')).body.structuredContent?.era, 'modern');
    assert.equal((await app.server('updated')).era, 'modern');
  });

  test('EC-001: a server under maintenance is in ERROR, and connected when it is back', async (t) => {
    const reserved = await startFeatureServer({ transport: 'streamable-legacy' });
    const port = Number(new URL(reserved.url).port);
    await reserved.close();
    await app.register('maintained', { base_url: reserved.url });
    const down = await app.untilStatus('maintained', 'ERROR');
    assert.match(down.error_message, /connection refused by 127\.0\.0\.1/);
    const answer = await app.api('POST', '/api/v1/tools/call', { name: 'x', server_id: 'maintained' });
    assert.equal(answer.status, 503);
    const upstream = await startFeatureServer({ transport: 'streamable-legacy', port });
    t.after(upstream.close);
    await app.untilStatus('maintained', 'CONNECTED');
  });

  test('BR-002: three attempts, each in the log, and then ERROR with a message', async () => {
    const mark = app.log.length;
    await app.register('thrice', misbehavingServer('exit'));
    const details = await app.untilStatus('thrice', 'ERROR');
    assert.match(details.error_message, /exited with code 3 before it answered/);
    assert.match(details.error_message, /fatal: cannot read \/etc\/fixture\.conf/);
    assert.match(details.stderr_tail, /fatal: cannot read/);
    const attempts = app.log.slice(mark).filter((line) => line.includes('"thrice"') && line.includes('attempt failed'));
    assert.equal(attempts.length, 3);
    const { history } = (await app.api('GET', `${servers}/thrice/history`)).body;
    const failed = history.find((entry: { event_type: string }) => entry.event_type === 'ERROR');
    assert.equal(failed.details.stderr.at(-1), 'fatal: cannot read /etc/fixture.conf');
  });

  test('BR-002: credentials that are refused are an error and a warning in the log', async (t) => {
    const refusing = await startRefusing();
    t.after(refusing.close);
    await app.register('refused', { base_url: refusing.url, headers: { authorization: 'Bearer wrong-credential' } });
    const details = await app.untilStatus('refused', 'ERROR');
    assert.match(details.error_message, /rejected the credentials \(HTTP 401\)/);
    assert.ok(app.log.some((line) => line.includes('"warn"') && line.includes('rejected the credentials')));
    assert.ok(!app.log.some((line) => line.includes('wrong-credential')));
  });

  test('BR-002, API-009: connecting what is connected says so', async (t) => {
    const upstream = await startFeatureServer({ transport: 'streamable-legacy' });
    t.after(upstream.close);
    const id = await app.add('again', { base_url: upstream.url });
    const answer = await app.api('POST', `${servers}/again/connect`);
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.body, { server_id: id, status: 'CONNECTED', message: 'Server already connected' });
  });

  for (const [mode, what] of [
    ['rmcp', 'exits upon a request before initialize'],
    ['silent-discover', 'ignores what it does not know'],
    ['slow-start', 'takes its time to start'],
    ['garbage', 'prints noise around its answers'],
    ['tree', 'has children of its own'],
  ] as const) {
    test(`BR-002: a server that ${what} is connected`, async () => {
      await app.add(mode, misbehavingServer(mode));
      assert.equal((await app.call(`${mode}.add`, { a: 1, b: 1 })).body.structuredContent?.sum, 2);
    });
  }

  test('a whole tree of processes ends with its server', async () => {
    await app.add('tree-2', misbehavingServer('tree'));
    const { stderr_tail } = await app.server('tree-2');
    const grandchild = Number(/grandchild (\d+)/.exec(stderr_tail)?.[1]);
    assert.ok(isAlive(grandchild));
    assert.equal((await app.api('DELETE', `${servers}/tree-2`)).status, 204);
    await untilGone(grandchild);
  });
});

test('API-015: servers that sleep, do not exist or print garbage are explained, and disturb nobody', async (t) => {
  const app = await startApp({ MCP_AGGREGATOR_CONNECTION_TIMEOUT: '2' });
  t.after(app.close);
  await app.add('good', stdioFeatureServer('legacy'));
  const broken: [string, { command: string; args?: string[] }, RegExp][] = [
    [
      'sleeping',
      { command: 'sleep', args: ['1000'] },
      /no answer to the MCP handshake within 2 s; is it an MCP server\?/,
    ],
    ['missing', { command: 'no-such-command-at-all' }, /the command "no-such-command-at-all" was not found/],
    [
      'garbled',
      { command: 'yes', args: ['this is not MCP'] },
      /(too much output to stdout that is not MCP|is it an MCP server).*this is not MCP/,
    ],
    ['printing', { command: 'echo', args: ['hello'] }, /exited with code 0 before it answered.*hello/],
    ['unbroken', misbehavingServer('flood'), /./],
    [
      'elsewhere',
      { command: 'true', ...{ cwd: '/no/such/directory' } },
      /the working directory "\/no\/such\/directory"/,
    ],
  ];
  for (const [name, connection] of broken) await app.register(name, connection);
  const call = app.call('good.whoami');
  assert.equal((await app.api('GET', servers)).body.total, broken.length + 1);
  assert.equal((await call).status, 200);
  for (const [name, , message] of broken) {
    const details = await app.untilStatus(name, 'ERROR');
    assert.match(details.error_message, message, name);
    assert.equal((await app.call('good.whoami')).status, 200);
  }
  assert.equal((await app.server('good')).status, 'CONNECTED');
  const health = await app.api('GET', '/api/v1/aggregator/health', undefined, { token: null });
  assert.equal(health.status, 200);
  assert.equal(health.body.status, 'degraded');
  assert.equal(health.body.servers.total, broken.length + 1);
  assert.equal(health.body.servers.connected, 1);
  assert.match(health.body.issues[0], /^\d servers? in error state$/);
});

async function startRefusing() {
  const server = createServer((_request, response) => void response.writeHead(401).end('no'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  return { url: `http://127.0.0.1:${port}/mcp`, close: () => server.close() };
}
