import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, suite, test } from 'node:test';
import { startApp, type TestApp } from '../support/app.ts';
import { startFeatureServer, stdioFeatureServer } from '../support/servers/feature-server.ts';
import { startHttpProgram } from '../support/servers/http-program.ts';
import type { RunningServer } from '../support/servers/http-wire.ts';
import { createProgram, progress, text } from '../support/servers/program.ts';
import { until } from '../support/until.ts';

const servers = '/api/v1/aggregator/servers';

suite('routing', () => {
  let app: TestApp;
  const ids: Record<string, string> = {};
  const running: RunningServer[] = [];
  const heldCalls: string[] = [];
  before(async () => {
    app = await startApp({ MCP_AGGREGATOR_REQUEST_TIMEOUT: '1', MCP_AGGREGATOR_REQUEST_TIMEOUT_CAP: '2.5' });
    for (const name of ['a-server', 'b-server']) {
      const upstream = await startFeatureServer({ transport: 'streamable-modern', label: name });
      running.push(upstream);
      ids[name] = await app.add(name, { base_url: upstream.url });
    }
    const dotted = (name: string) => ({
      definition: { name, inputSchema: { type: 'object' } },
      call: () => text(`this is ${name}`),
    });
    const steps = {
      definition: { name: 'steps', inputSchema: { type: 'object' } },
      // Longer than the timeout, with a sign of life every so often.
      call: async (exchange: Parameters<typeof progress>[0], { count }: Record<string, unknown>) => {
        for (let step = 1; step <= Number(count); step += 1) {
          await new Promise((resolve) => setTimeout(resolve, 300));
          if (exchange.signal.aborted) return text('cancelled');
          progress(exchange, step, Number(count));
        }
        return text('all steps');
      },
    };
    const held = {
      definition: { name: 'held', inputSchema: { type: 'object' } },
      call: async (exchange: Parameters<typeof progress>[0]) => {
        heldCalls.push('arrived');
        await once(exchange.signal, 'abort');
        heldCalls.push('cancelled');
        return text('cancelled');
      },
    };
    const program = createProgram({
      info: { name: 'dots', version: '1' },
      tools: [held, dotted('api.v2.create'), dotted('b-server.echo'), dotted('with space/slash'), steps],
    });
    const upstream = await startHttpProgram(program, { transport: 'streamable-legacy' });
    running.push(upstream);
    ids.dots = await app.add('dots', { base_url: upstream.url });
  });
  after(async () => {
    await app.close();
    for (const upstream of running) await upstream.close();
  });

  test('BR-005, API-017: a call by server_id, with all of its metadata', async () => {
    const body = { name: 'add', arguments: { a: 2, b: 3 }, server_id: ids['b-server'] };
    const answer = await app.api('POST', '/api/v1/tools/call', body);
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.body.content, [{ type: 'text', text: '{"sum":5}' }]);
    assert.equal(answer.body.isError, false);
    const { routed_to, server_id, strategy, ...times } = answer.body.metadata;
    assert.deepEqual([routed_to, server_id, strategy], ['b-server', ids['b-server'], 'explicit_server']);
    for (const time of ['routing_time_ms', 'execution_time_ms', 'total_time_ms'])
      assert.ok(times[time] >= 0 && times[time] < 1_000, time);
  });

  for (const [how, name, strategy] of [
    ['canonical name', 'b-server.whoami', 'namespace_resolved'],
    ['wire name', 'b-server__whoami', 'wire_name'],
  ] as const) {
    test(`BR-005: a call by ${how}`, async () => {
      const answer = await app.call(name);
      assert.equal(answer.body.structuredContent.label, 'b-server');
      assert.equal(answer.body.metadata.strategy, strategy);
    });
  }

  test('BR-005: a call by the name of a server and of a tool that only one has', async () => {
    const named = await app.api('POST', '/api/v1/tools/call', { name: 'whoami', server_id: 'a-server' });
    assert.equal(named.body.structuredContent.label, 'a-server');
    const bare = await app.call('api.v2.create');
    assert.equal(bare.body.content[0].text, 'this is api.v2.create');
    assert.equal(bare.body.metadata.strategy, 'lookup_resolved');
  });

  test('BR-009: the same name on two servers is two tools, and the bare name asks which', async () => {
    for (const name of ['a-server', 'b-server'])
      assert.equal((await app.call(`${name}.whoami`)).body.structuredContent.label, name);
    const answer = await app.call('whoami');
    assert.equal(answer.status, 400);
    assert.equal(answer.body.error_code, 'TOOL_AMBIGUOUS');
    assert.deepEqual(answer.body.context.candidates, [
      { name: 'a-server.whoami', server_id: ids['a-server'], server: 'a-server' },
      { name: 'b-server.whoami', server_id: ids['b-server'], server: 'b-server' },
    ]);
    assert.match(answer.body.detail, /a-server\.whoami, b-server\.whoami/);
  });

  test('EC-002: only the first dot separates server and tool', async () => {
    const answer = await app.call('dots.api.v2.create');
    assert.equal(answer.body.content[0].text, 'this is api.v2.create');
    assert.equal(answer.body.metadata.tool, 'dots.api.v2.create');
  });

  test('EC-002: a tool named like a tool of another server does not take its calls', async () => {
    const own = await app.call('b-server.echo', { text: 'x' });
    assert.equal(own.body.metadata.routed_to, 'b-server');
    const other = await app.call('dots.b-server.echo');
    assert.equal(other.body.content[0].text, 'this is b-server.echo');
  });

  test('EC-002: a name that no client would accept has a wire name that leads back to it', async () => {
    const { tools } = (await app.api('GET', `${servers}/dots/tools`)).body;
    const odd = tools.find((tool: { original_name: string }) => tool.original_name === 'with space/slash');
    assert.match(odd.wire_name, /^[A-Za-z0-9_-]{1,64}$/);
    assert.equal((await app.call(odd.wire_name)).body.content[0].text, 'this is with space/slash');
  });

  test('BR-005: what does not exist is 404, and says what', async () => {
    for (const name of ['nothing', 'a-server.nothing', 'nobody.whoami', '.', 'a-server.', '.whoami']) {
      const answer = await app.call(name);
      assert.equal(answer.status, 404, name);
      assert.equal(answer.body.error_code, 'TOOL_NOT_FOUND');
      assert.ok(answer.body.detail.startsWith(`Tool not found: ${name}`), answer.body.detail);
    }
    const server = await app.api('POST', '/api/v1/tools/call', { name: 'whoami', server_id: 'nobody' });
    assert.equal(server.status, 404);
    assert.deepEqual(server.body, { detail: 'Server not found: nobody', error_code: 'SERVER_NOT_FOUND' });
  });

  test('BR-005: errors of the server are forwarded', async () => {
    const failed = await app.call('a-server.fail');
    assert.equal(failed.status, 200);
    assert.equal(failed.body.isError, true);
    assert.equal(failed.body.content[0].text, 'it failed, as asked');
    const refused = await app.call('a-server.rpc_error');
    assert.equal(refused.status, 502);
    assert.equal(refused.body.error_code, 'EXECUTION_FAILED');
    assert.deepEqual(refused.body.context, {
      code: -32050,
      message: 'an error of our own',
      data: { reason: 'asked for', nested: { kept: true } },
    });
  });

  test('what no revision knows passes unchanged', async () => {
    const { body } = await app.call('a-server.unknown_content');
    assert.deepEqual(body.content, [{ type: 'hologram', depth: 3, payload: { nested: [1, 2] } }]);
    assert.deepEqual(body.futureField, { kept: true });
    const { body: big } = await app.call('a-server.big', { bytes: 3_000_000 });
    assert.equal(big.content[0].text.length, 3_000_000);
  });

  test('LIM-005: a call without an answer ends with the timeout', async () => {
    const answer = await app.call('a-server.slow', { ms: 20_000 });
    assert.equal(answer.status, 504);
    assert.equal(answer.body.error_code, 'EXECUTION_TIMEOUT');
    assert.equal(answer.body.server.name, 'a-server');
    assert.equal((await app.call('a-server.whoami')).status, 200);
  });

  test('progress extends the timeout', async () => {
    const answer = await app.call('dots.steps', { count: 5 });
    assert.equal(answer.body.content?.[0].text, 'all steps');
  });

  test('LIM-005: progress extends the timeout up to the cap only', async () => {
    const answer = await app.call('dots.steps', { count: 50 });
    assert.equal(answer.status, 504);
  });

  test('a client that goes away cancels its call at the server', async () => {
    const gone = new AbortController();
    const mark = app.seen.all.length;
    const call = app.call('dots.held', {}, { signal: gone.signal });
    await until(() => heldCalls.includes('arrived'), 'the call has arrived at the server');
    gone.abort();
    await assert.rejects(call);
    const finished = await app.seen.waitFor('call.finished', (event) => event.tool === 'dots.held', mark);
    assert.equal(finished.outcome, 'cancelled');
    await until(() => heldCalls.length === 2, 'the server has heard of it');
    assert.deepEqual(heldCalls, ['arrived', 'cancelled']);
  });

  test('SEC-006: every call leaves an audit record with who, what and how it ended', async () => {
    await app.call('a-server.fail');
    const { audit } = (await app.api('GET', '/api/v1/aggregator/audit?event=tool.called&limit=1')).body;
    const [record] = audit;
    assert.equal(record.actor, 'admin');
    assert.equal(record.server_name, 'a-server');
    assert.match(record.ip_address, /127\.0\.0\.1/);
    assert.equal(record.details.tool, 'a-server.fail');
    assert.equal(record.details.outcome, 'tool_error');
  });

  for (const [what, body, place] of [
    ['no name', {}, 'name'],
    ['an empty name', { name: '' }, 'name'],
    ['arguments as a list', { name: 'x', arguments: [] }, 'arguments'],
    ['arguments as text', { name: 'x', arguments: '{}' }, 'arguments'],
    ['an unknown field', { name: 'x', args: {} }, 'args'],
    ['a server_id of a number', { name: 'x', server_id: 5 }, 'server_id'],
  ] as const) {
    test(`BR-005: refuses ${what}`, async () => {
      const answer = await app.api('POST', '/api/v1/tools/call', body);
      assert.equal(answer.status, 422);
      assert.deepEqual(answer.body.detail[0].loc, ['body', place]);
    });
  }
});

suite('many calls at once', () => {
  test('EC-007: a hundred calls at once on one stdio server, each with its own answer', async (t) => {
    const app = await startApp();
    t.after(app.close);
    await app.add('one', stdioFeatureServer('legacy'));
    await app.add('two', stdioFeatureServer('modern'));
    for (const name of ['one', 'two']) {
      const answers = await Promise.all(
        Array.from({ length: 100 }, (_, number) => app.call(`${name}.echo`, { text: `call ${number}` })),
      );
      for (const [number, { status, body }] of answers.entries()) {
        assert.equal(status, 200);
        assert.equal(body.structuredContent.arguments.text, `call ${number}`);
      }
    }
  });

  test('LIM-004: more than a server may handle and queue are refused with 503 and Retry-After', async (t) => {
    const app = await startApp();
    t.after(app.close);
    const options = { max_concurrent_calls: 2, max_queued_calls: 3 };
    await app.add('busy', stdioFeatureServer('legacy'), { options });
    await app.add('free', stdioFeatureServer('legacy'));
    const calls = Array.from({ length: 10 }, () => app.call('busy.slow', { ms: 1_500 }));
    assert.equal((await app.call('free.whoami')).status, 200);
    const answers = await Promise.all(calls);
    assert.deepEqual(answers.map((answer) => answer.status).sort(), [...Array(5).fill(200), ...Array(5).fill(503)]);
    const refused = answers.find((answer) => answer.status === 503);
    assert.equal(refused?.body.error_code, 'SERVER_OVERLOADED');
    assert.equal(refused?.headers.get('retry-after'), '1');
    assert.equal((await app.call('busy.slow', { ms: 1 })).status, 200);
    const { active_calls, queued_calls } = await app.server('busy');
    assert.deepEqual([active_calls, queued_calls], [0, 0]);
  });

  test('BR-005: a queued call whose server is removed has no route any more', async (t) => {
    const app = await startApp();
    t.after(app.close);
    await app.add('removed', stdioFeatureServer('legacy'), { options: { max_concurrent_calls: 1 } });
    const mark = app.seen.all.length;
    const begun = app.call('removed.slow', { ms: 60_000 });
    const queued = app.call('removed.whoami');
    await until(async () => (await app.server('removed')).queued_calls === 1, 'one call waits for the other');
    await app.api('DELETE', `${servers}/removed`);
    assert.equal((await begun).status, 503);
    const { status, body } = await queued;
    assert.equal(status, 500);
    assert.deepEqual(body, {
      detail: 'Failed to route the call: the server removed was removed',
      error_code: 'ROUTING_FAILED',
      context: { server: 'removed' },
    });
    const ended = await app.seen.waitFor('call.finished', ({ tool }) => tool === 'removed.whoami', mark);
    assert.deepEqual([ended.outcome, ended.error_code], ['failed', 'ROUTING_FAILED']);
  });

  test('a queued call whose client went away takes no place', async (t) => {
    const app = await startApp();
    t.after(app.close);
    await app.add('busy', stdioFeatureServer('legacy'), { options: { max_concurrent_calls: 1, max_queued_calls: 1 } });
    const running = app.call('busy.slow', { ms: 700 });
    await app.seen.waitFor('call.started');
    const gone = new AbortController();
    const mark = app.seen.all.length;
    const queued = app.call('busy.whoami', {}, { signal: gone.signal });
    await app.seen.waitFor('call.started', undefined, mark);
    gone.abort();
    await assert.rejects(queued);
    await app.seen.waitFor('call.finished', (event) => event.outcome !== 'ok', mark);
    const next = app.call('busy.whoami');
    assert.equal((await next).status, 200);
    assert.equal((await running).status, 200);
  });
});
