import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { postModern } from '../mcp/clients.ts';
import { startApp, type TestApp } from '../support/app.ts';
import { startHttpProgram } from '../support/servers/http-program.ts';
import { RpcError } from '../support/servers/json-rpc.ts';
import { createProgram } from '../support/servers/program.ts';

const noSuchMethod = (): never => {
  throw new RpcError(-32601, 'Method not found');
};

suite('discovery of servers with less than they declare', () => {
  let app: TestApp;
  before(async () => {
    app = await startApp();
  });
  after(() => app.close());

  test('BR-003: a list method that the server does not have is an empty list', async (t) => {
    const program = createProgram({
      info: { name: 'low-level', version: '1' },
      tools: [{ definition: { name: 'greet', inputSchema: { type: 'object' } }, call: () => ({ content: [] }) }],
      resources: [{ definition: { uri: 'note://1', name: 'one' }, read: () => ({ uri: 'note://1', text: 'one' }) }],
      methods: { 'resources/templates/list': noSuchMethod, 'prompts/list': noSuchMethod },
    });
    const upstream = await startHttpProgram(program, { transport: 'streamable-legacy' });
    t.after(upstream.close);
    await app.add('low-level', { base_url: upstream.url });
    const { status, error_message, tool_count } = await app.server('low-level');
    assert.deepEqual([status, error_message, tool_count], ['CONNECTED', null, 1]);
    const { body } = await postModern(app, 'resources/list', {});
    assert.deepEqual(
      body.result.resources.map(({ uri }: { uri: string }) => uri),
      ['note://1'],
    );
  });

  test('BR-005: a call to a server that was never discovered is 503 with the reason, not 404', async () => {
    const id = await app.register('broken', { command: 'no-such-program' });
    await app.untilStatus('broken', 'ERROR');
    const calls = [
      await app.call('broken.anything'),
      await app.api('POST', '/api/v1/tools/call', { name: 'anything', server_id: id }),
    ];
    for (const { status, body } of calls) {
      assert.equal(status, 503);
      assert.equal(body.error_code, 'SERVER_UNAVAILABLE');
      assert.deepEqual(body.server, { id, name: 'broken', status: 'ERROR' });
      assert.match(body.context.reason, /no-such-program/);
    }
    const { body } = await postModern(app, 'tools/call', { name: 'broken__anything', arguments: {} });
    assert.match(body.error.message, /Server unavailable: broken/);
    assert.equal((await app.call('unknown.anything')).status, 404);
  });
});
