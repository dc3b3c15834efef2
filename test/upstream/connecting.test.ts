import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { startApp, type TestApp } from '../support/app.ts';
import {
  type HttpTransport,
  type RunningServer,
  startFeatureServer,
  stdioFeatureServer,
} from '../support/servers/feature-server.ts';
import { until } from '../support/until.ts';

const connectionTimeoutMs = 5_000;

suite('connecting', () => {
  let app: TestApp;
  const running: RunningServer[] = [];
  before(async () => {
    app = await startApp({ MCP_AGGREGATOR_CONNECTION_TIMEOUT: String(connectionTimeoutMs / 1_000) });
  });
  after(async () => {
    await app.close();
    for (const server of running) await server.close();
  });

  const http: [HttpTransport, string, string][] = [
    ['streamable-legacy', 'legacy', '2025-11-25'],
    ['streamable-modern', 'modern', '2026-07-28'],
    ['streamable-dual', 'modern', '2026-07-28'],
    ['sse', 'legacy', '2025-11-25'],
  ];
  for (const [transport, era, version] of http) {
    test(`BR-002: a server on ${transport} is connected, its tools are listed and callable`, async () => {
      const server = await startFeatureServer({ transport, label: transport });
      running.push(server);
      const connection = transport === 'sse' ? { url: server.url } : { base_url: server.url };
      await app.add(transport, connection);
      const details = await app.server(transport);
      assert.equal(details.status, 'CONNECTED');
      assert.equal(details.era, era);
      assert.equal(details.protocol_version, version);
      assert.equal(details.error_message, null);
      assert.ok(Date.parse(details.connected_at) > 0);
      const answer = await app.call(`${transport}.whoami`);
      assert.equal(answer.body.structuredContent.label, transport);
      assert.equal(answer.body.structuredContent.era, era);
    });
  }

  for (const era of ['legacy', 'modern'] as const) {
    test(`BR-002: a ${era} server on stdio is connected, its tools are listed and callable`, async () => {
      await app.add(`stdio-${era}`, stdioFeatureServer(era, { label: era }));
      const details = await app.server(`stdio-${era}`);
      assert.equal(details.era, era);
      const answer = await app.call(`stdio-${era}.whoami`);
      assert.equal(answer.body.structuredContent.era, era);
    });
  }

  test('BR-002: a session outlives the timeout of its connection attempt, on every transport', async () => {
    for (const { name } of (await app.api('GET', '/api/v1/aggregator/servers')).body.servers) {
      const { connected_at: at } = await app.server(name);
      await until(() => Date.now() - Date.parse(at) > connectionTimeoutMs, 'the timeout of the attempt has passed');
      const { status, connected_at: still } = await app.server(name);
      assert.deepEqual([status, still], ['CONNECTED', at], name);
    }
  });
});
