import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetrics } from '../../src/metrics.ts';
import { createExposition } from '../../src/prometheus.ts';
import { promtool, withoutPromtool } from '../support/promtool.ts';
import { api, startApp } from '../support/running-app.ts';
import { startFeatureServer, stdioFeatureServer } from '../support/servers/feature-server.ts';

/** The values of one metric by its labels, as they stand in the text. */
function valuesOf(text: string, name: string): Record<string, number> {
  const lines = text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  return Object.fromEntries(
    lines.map((line) => {
      const place = line.lastIndexOf(' ');
      return [line.slice(name.length, place).replace(/^\{|\}$/g, ''), Number(line.slice(place + 1))];
    }),
  );
}

test('MON-001: every name, label and bucket is there after a short load, and promtool agrees', async (t) => {
  const upstream = await startFeatureServer({ transport: 'streamable-dual', label: 'web' });
  t.after(() => upstream.close());
  const app = await startApp(t, { MCP_AGGREGATOR_HEALTH_INTERVAL: '0.1' });
  await app.register('web', { transport_type: 'HTTP', connection_config: { base_url: upstream.url } });
  await app.register('local', { transport_type: 'STDIO', connection_config: stdioFeatureServer('legacy') });
  for (const name of ['web.echo', 'web.fail', 'local.echo', 'local.rpc_error']) {
    await app.ask('POST', '/api/v1/tools/call', { name, arguments: {} });
  }
  let text = '';
  // The first checks come within the interval; nothing tells of a check that passed.
  while (Object.keys(valuesOf(text, 'mcp_aggregator_health_check_duration_seconds')).length < 2) {
    const answer = await app.ask('GET', '/metrics');
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
    text = answer.text;
  }

  const values = (name: string) => valuesOf(text, `mcp_aggregator_${name}`);
  assert.equal(values('servers_total')['status="connected"'], 2);
  assert.equal(values('servers_total')['status="error"'], 0);
  assert.ok((values('tools_total')[''] ?? 0) > 30);
  assert.ok((values('tools_classified')[''] ?? -1) >= 0);
  for (const le of ['0.05', '0.1', '+Inf']) {
    assert.ok((values('routing_duration_seconds_bucket')[`le="${le}"`] ?? 0) >= 4, le);
  }
  assert.equal(values('execution_duration_seconds_bucket')['server="web",le="1"'], 2);
  assert.ok((values('health_check_duration_seconds')['server="web"'] ?? 0) > 0);
  for (const counter of ['health_check_failures', 'queue_rejections', 'event_loop_blocked_seconds'])
    assert.equal(values(`${counter}_total`)['server="local"'], 0, counter);

  assert.deepEqual(values('calls_total'), {
    'server="web",outcome="ok"': 1,
    'server="web",outcome="tool_error"': 1,
    'server="local",outcome="ok"': 1,
    'server="local",outcome="rpc_error"': 1,
  });
  assert.equal(values('server_sessions')['kind="shared",era="legacy"'], 1);
  assert.equal(values('server_sessions')['kind="shared",era="modern"'], 1);
  assert.equal(values('children')['server="local"'], 1);
  if (process.platform === 'linux') {
    assert.ok((values('children_resident_memory_bytes')['server="local"'] ?? 0) > 10_000_000);
  }
  for (const name of ['queue_length', 'active_calls', 'server_up', 'health_check_consecutive_failures']) {
    assert.deepEqual(Object.keys(values(name)), ['server="local"', 'server="web"'], name);
  }
  assert.ok((values('database_query_duration_seconds_count')[''] ?? 0) > 10);
  assert.ok('statistic="p99"' in values('event_loop_delay_seconds'));
  assert.equal(Object.keys(values('build_info')).length, 1);
  assert.ok((valuesOf(text, 'process_resident_memory_bytes')[''] ?? 0) > 10_000_000);

  await t.test('promtool check metrics', { skip: withoutPromtool }, async () => {
    await promtool(['check', 'metrics'], text);
  });

  await t.test('the series of a removed server end', async () => {
    await app.ask('DELETE', `${api}/servers/web`);
    const after = (await app.ask('GET', '/metrics')).text;
    assert.equal(after.includes('server="web"'), false);
    assert.equal(after.includes('server="local"'), true);
  });
});

test('a lost connection that comes back is counted as a reconnection', async (t) => {
  const app = await startApp(t);
  await app.register('local', { transport_type: 'STDIO', connection_config: stdioFeatureServer('legacy') });
  const back = app.event(
    'server.status',
    ({ status, previous }) => status === 'CONNECTED' && previous === 'CONNECTING',
  );
  await app.ask('POST', '/api/v1/tools/call', { name: 'local.exit', arguments: {} });
  await back;
  const { text } = await app.ask('GET', '/metrics');
  assert.deepEqual(valuesOf(text, 'mcp_aggregator_reconnections_total'), { 'server="local"': 1 });
});

test('MON-001: /metrics needs a token unless it is public', async (t) => {
  const closed = await startApp(t);
  assert.equal((await fetch(`${closed.url}/metrics`)).status, 401);
  const open = await startApp(t, { MCP_AGGREGATOR_METRICS_PUBLIC: 'true' });
  assert.equal((await fetch(`${open.url}/metrics`)).status, 200);
});

test('tool names are labels only where that is asked for', async () => {
  const call = { server: 's', tool: 's.t', outcome: 'ok', routingMs: 1, executionMs: 2 };
  for (const toolLabels of [false, true]) {
    const metrics = createMetrics({ toolLabels, engine: 'sqlite' });
    metrics.onCall(call);
    assert.equal((await metrics.render()).includes('tool="s.t"'), toolLabels);
    metrics.close();
  }
});

test('what later rooms measure is valid too', { skip: withoutPromtool }, async () => {
  const metrics = createMetrics({ toolLabels: true, engine: 'postgres' });
  metrics.onSearch(3);
  metrics.onQuery(300);
  metrics.onCall({ server: 'a"b\\c\nd', tool: 't', outcome: 'overloaded', routingMs: 1 });
  metrics.watchSessions(() => [
    ['http', 'modern', 3],
    ['sse', 'legacy', 1],
  ]);
  metrics.watchBacklog({ embedding: () => 5, classification: () => 0 });
  metrics.watch({ servers: () => [], tools: () => ({ total: 0, classified: 0 }), pendingChanges: () => 1 });
  const text = await metrics.render();
  metrics.close();
  await promtool(['check', 'metrics'], text);
  assert.deepEqual(valuesOf(text, 'mcp_aggregator_sessions'), {
    'kind="http",era="modern"': 3,
    'kind="sse",era="legacy"': 1,
  });
  assert.equal(valuesOf(text, 'mcp_aggregator_queue_rejections_total')['server="a\\"b\\\\c\\nd"'], 1);
});

test('a histogram counts a value in its bucket and all above', async () => {
  const exposition = createExposition();
  const histogram = exposition.histogram('h_seconds', 'Help.', [0.05, 0.1]);
  for (const value of [0.05, 0.06, 3]) histogram.observe(value);
  assert.deepEqual((await exposition.render()).split('\n').slice(2, -1), [
    'h_seconds_bucket{le="0.05"} 1',
    'h_seconds_bucket{le="0.1"} 2',
    'h_seconds_bucket{le="+Inf"} 3',
    'h_seconds_sum 3.11',
    'h_seconds_count 3',
  ]);
});
