import assert from 'node:assert/strict';
import { test } from 'node:test';
import { modernRequest } from '../support/modern-request.ts';
import { startApp } from '../support/running-app.ts';
import { startFeatureServer } from '../support/servers/feature-server.ts';

test('requests of MCP clients have an id, a measurement and a line; their trace reaches the server', async (t) => {
  const upstream = await startFeatureServer({ transport: 'streamable-modern' });
  t.after(() => upstream.close());
  const app = await startApp(t);
  await app.register('web', { transport_type: 'HTTP', connection_config: { base_url: upstream.url } });
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const { message, headers } = modernRequest('tools/call', { name: 'web__echo', arguments: {} });
  const answer = await app.ask('POST', '/mcp', message, {
    ...headers,
    accept: 'application/json, text/event-stream',
    'x-request-id': 'mcp-1',
    traceparent,
  });
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.headers.get('x-request-id'), 'mcp-1');
  assert.match(answer.text, new RegExp(traceparent));

  const { text } = await app.ask('GET', '/metrics');
  assert.match(
    text,
    /^mcp_aggregator_http_request_duration_seconds_count\{method="POST",route="\/mcp",status="200"\} 1$/m,
  );
  assert.match(text, /^mcp_aggregator_sessions\{kind="session",era="legacy"\} 0$/m);
  assert.match(text, /^mcp_aggregator_classification_backlog \d+$/m);
  const lines = app.lines.map((line) => JSON.parse(line)).filter((line) => line.request_id === 'mcp-1');
  assert.deepEqual(lines.map((line) => line.msg).sort(), ['request', 'tool call']);
});

test('a call in a session is logged with the id of its request', async (t) => {
  const upstream = await startFeatureServer({ transport: 'streamable-modern' });
  t.after(() => upstream.close());
  const app = await startApp(t);
  await app.register('web', { transport_type: 'HTTP', connection_config: { base_url: upstream.url } });
  const accept = 'application/json, text/event-stream';
  const client = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
  const begin = { jsonrpc: '2.0', id: 1, method: 'initialize', params: client };
  const opened = await app.ask('POST', '/mcp', begin, { accept });
  const session = { accept, 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' };
  const call = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'web__echo', arguments: {} } };
  const answer = await app.ask('POST', '/mcp', call, { ...session, 'x-request-id': 'legacy-1' });
  assert.equal(answer.status, 200, answer.text);
  const lines = app.lines.map((line) => JSON.parse(line)).filter((line) => line.request_id === 'legacy-1');
  assert.ok(
    lines.some((line) => line.msg === 'tool call'),
    JSON.stringify(lines),
  );
});

test('every kind of MCP answer names its request', async (t) => {
  const app = await startApp(t);
  const accept = 'application/json, text/event-stream';
  const begin = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
  };
  const opened = await app.ask('POST', '/mcp', begin, { accept, 'x-request-id': 'opened' });
  const session = { accept, 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' };
  const note = { jsonrpc: '2.0', method: 'notifications/initialized' };
  const noted = await app.ask('POST', '/mcp', note, { ...session, 'x-request-id': 'noted' });
  const streamed = await app.ask(
    'POST',
    '/mcp',
    { jsonrpc: '2.0', id: 2, method: 'ping' },
    {
      ...session,
      accept: 'text/event-stream',
      'x-request-id': 'streamed',
    },
  );
  const refused = await app.ask('PUT', '/mcp', undefined, { 'x-request-id': 'refused' });
  const ended = await app.ask('DELETE', '/mcp', undefined, { ...session, 'x-request-id': 'ended' });
  const answers = { opened, noted, streamed, refused, ended };
  assert.deepEqual(
    Object.entries(answers).map(([name, { status, headers }]) => [name, status, headers.get('x-request-id')]),
    [
      ['opened', 200, 'opened'],
      ['noted', 202, 'noted'],
      ['streamed', 200, 'streamed'],
      ['refused', 405, 'refused'],
      ['ended', 200, 'ended'],
    ],
  );
  assert.equal(streamed.headers.get('content-type'), 'text/event-stream');
});
