import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';

import { createLog } from '../src/log.ts';
import {
  carryTrace,
  createTracer,
  formatTraceparent,
  noTracer,
  parseTraceparent,
  traceOf,
  traceOfMessage,
} from '../src/tracing.ts';
import { modernRequest } from './support/modern-request.ts';
import { type RunningApp, startApp } from './support/running-app.ts';
import { createDocumentation, startDocumentation } from './support/servers/documentation.ts';
import { startFeatureServer } from './support/servers/feature-server.ts';

interface ReceivedSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  status: { code?: number };
  attributes: { key: string; value: Record<string, string> }[];
}

/** A collector as far as OTLP over HTTP with JSON goes. */
async function startCollector(t: TestContext, status = 200) {
  const spans: ReceivedSpan[] = [];
  const requests: { path?: string; headers: NodeJS.Dict<string | string[]>; service?: string }[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const [resource] = JSON.parse(Buffer.concat(chunks).toString()).resourceSpans;
    const service = resource.resource.attributes.find((one: { key: string }) => one.key === 'service.name');
    requests.push({ path: request.url, headers: request.headers, service: service.value.stringValue });
    spans.push(...resource.scopeSpans[0].spans);
    response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, spans, requests };
}

const traceId = '0af7651916cd43dd8448eb211c80319c';
const traceparent = `00-${traceId}-b7ad6b7169203331-01`;

async function callEcho(t: TestContext, env: Record<string, string>, headers: Record<string, string>) {
  const upstream = await startFeatureServer({ transport: 'streamable-modern' });
  t.after(() => upstream.close());
  const app = await startApp(t, env);
  await app.register('web', { transport_type: 'HTTP', connection_config: { base_url: upstream.url } });
  const { json } = await app.ask('POST', '/api/v1/tools/call', { name: 'web.echo', arguments: {} }, headers);
  return { app, meta: json.structuredContent.meta };
}

test('a trace goes from the client through us to the server; the collector gets request, routing and upstream call', async (t) => {
  const collector = await startCollector(t);
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-api-key=a%20b,other=c',
    OTEL_SERVICE_NAME: 'gateway',
  };
  const { app, meta } = await callEcho(t, env, { traceparent, tracestate: 'vendor=1' });
  await app.close();

  const own = collector.spans.filter((span) => span.traceId === traceId);
  const [inbound, routing, upstream] = ['POST /api/v1/tools/call', 'route', 'tools/call web'].map((name) => {
    const span = own.find((one) => one.name === name);
    assert.ok(span !== undefined, name);
    return span;
  });
  assert.equal(own.length, 3);
  assert.deepEqual([inbound?.kind, routing?.kind, upstream?.kind], [2, 1, 3]);
  assert.equal(inbound?.parentSpanId, 'b7ad6b7169203331');
  assert.deepEqual([routing?.parentSpanId, upstream?.parentSpanId], [inbound?.spanId, inbound?.spanId]);
  assert.equal(meta.traceparent, `00-${traceId}-${upstream?.spanId}-01`);
  assert.equal(meta.tracestate, 'vendor=1');
  assert.ok(BigInt(upstream?.startTimeUnixNano ?? 0) >= BigInt(inbound?.startTimeUnixNano ?? 0));
  assert.ok(Math.abs(Number(BigInt(inbound?.endTimeUnixNano ?? 0) / 1_000_000n) - Date.now()) < 60_000);
  const attribute = upstream?.attributes.find((one) => one.key === 'mcp_aggregator.server');
  assert.equal(attribute?.value.stringValue, 'web');

  const [request] = collector.requests;
  assert.deepEqual([request?.path, request?.service], ['/v1/traces', 'gateway']);
  assert.deepEqual([request?.headers['x-api-key'], request?.headers.other], ['a b', 'c']);
  assert.ok(app.lines.some((line) => line.includes(`"trace_id":"${traceId}"`)));
});

const accept = 'application/json, text/event-stream';

/** One tool of ours called the way that clients of each face do; `headers` go with that request alone. */
const faces: Record<
  string,
  (app: RunningApp, name: string, args: object, headers: Record<string, string>) => Promise<unknown>
> = {
  async rest(app, name, args, headers) {
    const path = name === 'search_tools' ? '/api/v1/search' : '/api/v1/query';
    return await app.ask('POST', path, args, headers);
  },
  async legacy(app, name, args, headers) {
    const clientInfo = { name: 'test', version: '1' };
    const hello = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
    const opened = await app.ask(
      'POST',
      '/mcp',
      { jsonrpc: '2.0', id: 1, method: 'initialize', params: hello },
      { accept },
    );
    const session = { accept, 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' };
    const call = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name, arguments: args } };
    return await app.ask('POST', '/mcp', call, { ...session, ...headers });
  },
  async modern(app, name, args, headers) {
    const { message, headers: own } = modernRequest('tools/call', { name, arguments: args });
    return await app.ask('POST', '/mcp', message, { accept, ...own, ...headers });
  },
};

for (const [face, call] of Object.entries(faces)) {
  test(`a search and a query over ${face} are spans below the request, every server's call one below the query`, async (t) => {
    const collector = await startCollector(t);
    const app = await startApp(t, {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      MCP_AGGREGATOR_EXPOSURE: 'search',
    });
    for (const name of ['handbook', 'manual'] as const) {
      const docs = await startDocumentation(createDocumentation(name));
      t.after(() => docs.close());
      await app.register(name, { transport_type: 'HTTP', connection_config: { base_url: docs.url } });
    }
    const asked = 'how are failed requests retried';
    const searching = `00-${'a'.repeat(32)}-b7ad6b7169203331-01`;
    const querying = `00-${'b'.repeat(32)}-b7ad6b7169203331-01`;
    await call(
      app,
      'search_tools',
      { query: 'search the documentation for pages, hippopotamus' },
      { traceparent: searching },
    );
    await call(app, 'mcp__proxy__aggregator__query', { query: asked }, { traceparent: querying });
    await app.close();

    const inTrace = (id: string) => collector.spans.filter((span) => span.traceId === id.repeat(32));
    const find = (spans: ReceivedSpan[], name: string | RegExp) => {
      const found = spans.filter((span) => (typeof name === 'string' ? span.name === name : name.test(span.name)));
      assert.equal(found.length, 1, `${name} in ${spans.map((span) => span.name)}`);
      return found[0] as ReceivedSpan;
    };
    const valuesOf = ({ attributes }: ReceivedSpan) =>
      Object.fromEntries(attributes.map(({ key, value }) => [key.split('.').at(-1), Object.values(value)[0]]));

    const [request, search] = [find(inTrace('a'), /^POST /), find(inTrace('a'), 'search')];
    assert.equal(inTrace('a').length, 2);
    assert.deepEqual([request.parentSpanId, search.parentSpanId], ['b7ad6b7169203331', request.spanId]);
    const { strategy, results, servers_searched: searched } = valuesOf(search);
    assert.match(String(strategy), /^(hierarchical|direct)$/);
    assert.deepEqual([Number(results) > 0, searched], [true, '2']);

    const spans = inTrace('b');
    const query = find(spans, 'query');
    assert.equal(query.parentSpanId, find(spans, /^POST /).spanId);
    assert.equal(find(spans, 'search').parentSpanId, query.spanId);
    for (const name of ['tools/call handbook', 'tools/call manual']) {
      const calls = spans.filter((span) => span.name === name);
      assert.ok(calls.length > 0 && calls.every(({ parentSpanId }) => parentSpanId === query.spanId), name);
    }
    const values = valuesOf(query);
    assert.deepEqual(String(values.servers).split(',').toSorted(), ['handbook', 'manual']);
    assert.deepEqual([values.servers_queried, values.servers_succeeded, values.chosen_by], ['2', '2', 'all']);
    assert.ok(Number(values.results) > 0);
    for (const word of ['hippopotamus', 'retried'])
      assert.ok(!JSON.stringify(collector.spans).includes(word), "what was asked is nobody's business");
  });
}

test('a query that fails is a span that failed', async (t) => {
  const collector = await startCollector(t);
  const app = await startApp(t, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
  await app.ask('POST', '/api/v1/query', { query: 'anything' }, { traceparent });
  await app.close();
  const query = collector.spans.find((span) => span.traceId === traceId && span.name === 'query');
  assert.equal(query?.status.code, 2);
  assert.equal(query?.attributes.find(({ key }) => key === 'error.type')?.value.stringValue, 'SERVER_UNAVAILABLE');
});

test('without a collector the context passes as it came, and nothing is invented', async (t) => {
  assert.equal((await callEcho(t, {}, { traceparent })).meta.traceparent, traceparent);
  assert.equal((await callEcho(t, {}, {})).meta.traceparent, undefined);
  assert.equal(noTracer.child(undefined), undefined);
});

test('a client that does not want to be sampled is not, and the flag goes on', async (t) => {
  const collector = await startCollector(t);
  const unsampled = traceparent.replace(/01$/, '00');
  const { app, meta } = await callEcho(t, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }, { traceparent: unsampled });
  await app.close();
  assert.match(meta.traceparent, new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`));
  assert.equal(
    collector.spans.some((span) => span.traceId === traceId),
    false,
  );
});

test('a collector that is away or refuses costs spans, not requests; one warning is logged', async (t) => {
  const refusing = await startCollector(t, 503);
  for (const endpoint of ['http://127.0.0.1:1', refusing.url]) {
    const lines: string[] = [];
    const log = createLog('info', { destination: { write: (line) => lines.push(line) } });
    let dropped = 0;
    const onDropped = (count: number) => {
      dropped += count;
    };
    const tracer = createTracer({ endpoint, serviceName: 's', log, onDropped, flushEveryMs: 60_000 });
    const span = { name: 'x', kind: 'internal', parent: undefined, startedAt: 0, endedAt: 1 } as const;
    for (let n = 0; n < 6_000; n++) tracer.record({ ...span, context: tracer.child(undefined) });
    await tracer.close();
    assert.equal(dropped, 6_000);
    assert.equal(lines.length, 1);
  }
});

test('only valid contexts are read; that of the message is nearer than the header', () => {
  const context = { traceId, spanId: 'b7ad6b7169203331', sampled: true };
  assert.deepEqual(parseTraceparent(traceparent), context);
  assert.deepEqual(parseTraceparent(traceparent.replace(/^00/, '01').concat('-future')), context);
  assert.equal(formatTraceparent(context), traceparent);
  for (const bad of [
    undefined,
    5,
    '',
    traceparent.toUpperCase(),
    `${traceparent}-more`,
    traceparent.replace(/^00/, 'ff'),
    `00-${'0'.repeat(32)}-b7ad6b7169203331-01`,
    `00-${traceId}-${'0'.repeat(16)}-01`,
  ]) {
    assert.equal(parseTraceparent(bad), undefined, String(bad));
  }
  const params = { _meta: { traceparent: `00-${'1'.repeat(32)}-${'2'.repeat(16)}-00`, kept: 1 } };
  const request = traceOf({ traceparent });
  assert.equal(traceOfMessage(params, request)?.traceId, '1'.repeat(32));
  assert.equal(traceOfMessage({ _meta: { traceparent: 'nonsense' } }, request)?.traceId, traceId);
  assert.deepEqual(carryTrace(params, context), { _meta: { traceparent, kept: 1 } });
  assert.equal(carryTrace(params, undefined), params);
});
