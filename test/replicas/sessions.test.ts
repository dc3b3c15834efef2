import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { TestApp } from '../support/app.ts';
import { modernRequest } from '../support/modern-request.ts';
import { stdioFeatureServer } from '../support/servers/feature-server.ts';
import { until } from '../support/until.ts';
import { type Deployment, needsPostgres, startReplicas } from './deployment.ts';
import { type RoundRobin, startRoundRobin } from './round-robin.ts';

suite('MCP clients behind a plain round-robin proxy', needsPostgres, () => {
  let deployment: Deployment;
  let a: TestApp;
  let b: TestApp;
  let proxy: RoundRobin;

  before(async () => {
    deployment = await startReplicas(2);
    [a, b] = deployment.replicas as [TestApp, TestApp];
    proxy = await startRoundRobin([a.url, b.url]);
    await a.add('one', stdioFeatureServer('legacy', { label: 'one' }));
    await until(async () => (await b.call('one.echo', {})).status === 200);
  });
  after(async () => {
    await proxy.close();
    await deployment.close();
  });

  const transportTo = (url: string) =>
    new StreamableHTTPClientTransport(new URL(`${url}/mcp`), {
      requestInit: { headers: { authorization: `Bearer ${a.adminToken}` } },
    });

  test('a legacy session works: requests that reach the wrong replica are passed on to the right one', async () => {
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(transportTo(proxy.url));
    for (let number = 0; number < 10; number += 1) {
      const result = await client.callTool({ name: 'one__echo', arguments: { text: `call ${number}` } });
      assert.match(JSON.stringify(result), new RegExp(`call ${number}`));
    }
    const { tools } = await client.listTools();
    assert.ok(tools.length > 5);
    await client.close();
  });

  test('MCP-028: a session of a replica that is gone goes on at another one, the same for every request', async () => {
    const third = await deployment.start();
    const initialize = {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
    };
    const headersOf = (session?: string) => ({
      authorization: `Bearer ${a.adminToken}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(session === undefined ? {} : { 'mcp-session-id': session }),
    });
    const post = (url: string, body: unknown, session?: string) =>
      fetch(`${url}/mcp`, { method: 'POST', headers: headersOf(session), body: JSON.stringify(body) });
    const openSessions = async ({ url }: { url: string }) => {
      const metrics = await (await fetch(`${url}/metrics`, { headers: headersOf() })).text();
      return Number(/^mcp_aggregator_sessions\{.*era="legacy".*\} (\d+)$/m.exec(metrics)?.[1]);
    };
    const before = (await openSessions(a)) + (await openSessions(b));
    const opened = await post(third.url, initialize);
    const session = opened.headers.get('mcp-session-id') ?? '';
    const list = { jsonrpc: '2.0', id: 2, method: 'tools/list' };
    await until(async () => (await post(a.url, list, session)).status === 200);
    await third.close();
    deployment.replicas.splice(deployment.replicas.indexOf(third), 1);
    const set = { jsonrpc: '2.0', id: 3, method: 'logging/setLevel', params: { level: 'error' } };
    for (const { url } of [a, b, a, b]) assert.equal((await post(url, set, session)).status, 200);
    assert.equal((await openSessions(a)) + (await openSessions(b)), before + 1, 'one replica has it');
    const ended = await fetch(`${b.url}/mcp`, { method: 'DELETE', headers: headersOf(session) });
    assert.equal(ended.status, 200);
    for (const { url } of [a, b])
      assert.equal((await post(url, list, session)).status, 404, 'it cannot be opened again');
  });

  test('2026-07-28 needs no stickiness; requestState opens on every replica, a call parked elsewhere says so', async () => {
    const modern = async (url: string, name: string, more: Record<string, unknown> = {}) => {
      const params = { name, arguments: {}, ...more };
      const { message, headers } = modernRequest('tools/call', params, { capabilities: { elicitation: { form: {} } } });
      const response = await fetch(`${url}/mcp`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${a.adminToken}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...headers,
        },
        body: JSON.stringify(message),
      });
      const text = await response.text();
      return JSON.parse(text.startsWith('{') ? text : (text.match(/^data: (\{.*"id":.*)$/m)?.[1] ?? '{}'));
    };
    for (let number = 0; number < 4; number += 1) assert.ok((await modern(proxy.url, 'one__echo')).result);

    const asked = (await modern(a.url, 'one__elicit')).result;
    assert.equal(asked.resultType, 'input_required');
    const answer = { requestState: asked.requestState, inputResponses: {} };
    const elsewhere = await modern(b.url, 'one__elicit', answer);
    assert.match(elsewhere.error.message, /has ended; send the request again without requestState/);
  });
});
