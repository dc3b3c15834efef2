import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, suite, type TestContext, test } from 'node:test';
import { openSession, postModern } from '../mcp/clients.ts';
import { startApp, type TestApp } from '../support/app.ts';
import { startFeatureServer } from '../support/servers/feature-server.ts';
import { until } from '../support/until.ts';

const servers = '/api/v1/aggregator/servers';

suite('health', () => {
  let app: TestApp;
  before(async () => {
    app = await startApp({ MCP_AGGREGATOR_HEALTH_INTERVAL: '0.2' });
  });
  after(() => app.close());

  /** A server whose health address answers what the test says. */
  async function addProbed(t: TestContext, name: string, status: number) {
    const probe = await startProbe(status);
    const upstream = await startFeatureServer({ transport: 'streamable-legacy', label: name });
    t.after(async () => {
      await app.api('DELETE', `${servers}/${name}`);
      await upstream.close();
      probe.close();
    });
    await app.add(name, { base_url: upstream.url }, { health_check_url: probe.url });
    return probe;
  }

  test('BR-006: a check that passes is noted, and the server stays CONNECTED', async (t) => {
    const probe = await addProbed(t, 'healthy', 200);
    await probe.asked(3);
    const details = await app.server('healthy');
    assert.equal(details.status, 'CONNECTED');
    assert.equal(details.consecutive_failures, 0);
    assert.ok(Date.parse(details.last_health_check) > Date.parse(details.connected_at));
  });

  test('BR-006, EC-005, ST-002: two failures degrade, calls are executed with a warning, a good check ends it', async (t) => {
    const probe = await addProbed(t, 'failing', 200);
    probe.answer = [500, 500, 'hold'];
    const degraded = await app.untilStatus('failing', 'DEGRADED');
    assert.equal(degraded.error_message, 'health check failed: health_check_url answered HTTP 500');
    assert.equal(degraded.consecutive_failures, 2);
    const call = await app.call('failing.whoami');
    assert.equal(call.status, 200);
    assert.match(call.body.metadata.warning, /Server failing is DEGRADED/);
    const whoami = { name: 'failing__whoami', arguments: {} };
    const session = await openSession(app);
    for (const { body } of [await session.request('tools/call', whoami), await postModern(app, 'tools/call', whoami)])
      assert.match(body.result._meta['mcp-aggregator/warning'], /Server failing is DEGRADED/);
    const refused = await app.api('POST', `${servers}/failing/tools/refresh`);
    assert.equal(refused.status, 409);
    assert.equal(refused.body.error_code, 'SERVER_DEGRADED');
    assert.equal(refused.body.context.reason, degraded.error_message);
    probe.answer = [200];
    const healthy = await app.untilStatus('failing', 'CONNECTED');
    assert.equal(healthy.error_message, null);
    assert.equal(healthy.consecutive_failures, 0);
    assert.equal((await app.call('failing.whoami')).body.metadata.warning, undefined);
    assert.equal((await app.api('POST', `${servers}/failing/tools/refresh`)).status, 202);
  });

  test('BR-006, EC-005: three failures are an error, and the server is connected again', async (t) => {
    const mark = app.seen.all.length;
    const probe = await addProbed(t, 'dying', 503);
    const statuses = () =>
      app.seen.all
        .slice(mark)
        .filter((event) => event.name === 'server.status' && event.payload.name === 'dying')
        .map((event) => event.payload.status);
    await app.seen.waitFor('server.status', ({ name, status }) => name === 'dying' && status === 'ERROR', mark);
    assert.deepEqual(statuses(), ['CONNECTING', 'CONNECTED', 'DEGRADED', 'ERROR']);
    probe.answer = [200];
    await app.untilStatus('dying', 'CONNECTED');
    assert.deepEqual(statuses(), ['CONNECTING', 'CONNECTED', 'DEGRADED', 'ERROR', 'CONNECTING', 'CONNECTED']);
    assert.ok(app.log.some((line) => line.includes('"warn"') && line.includes('"dying"') && line.includes('HTTP 503')));
    const { history } = (await app.api('GET', `${servers}/dying/history`)).body;
    const events = history.map(({ event_type }: { event_type: string }) => event_type);
    assert.equal(events.filter((event: string) => event === 'RECONNECT').length, 1, events.join());
    const lost = history.find(({ event_type }: { event_type: string }) => event_type === 'ERROR');
    assert.equal(lost.details.error_code, 'HEALTH_CHECK_FAILED');
  });

  for (const status of [400, 401, 404, 429]) {
    test(`BR-006: HTTP ${status} is a warning about the address and counts for nothing`, async (t) => {
      const probe = await addProbed(t, `address-${status}`, status);
      await probe.asked(5);
      assert.equal((await app.server(`address-${status}`)).status, 'CONNECTED');
      assert.equal((await app.server(`address-${status}`)).consecutive_failures, 0);
      assert.ok(app.log.some((line) => line.includes(`address-${status}`) && line.includes(`HTTP ${status}`)));
    });
  }

  for (const status of [204, 302, 500]) {
    test(`EC-005: only 200 is healthy: ${status} counts`, async (t) => {
      await addProbed(t, `other-${status}`, status);
      const degraded = await app.untilStatus(`other-${status}`, 'DEGRADED');
      assert.equal(degraded.error_message, `health check failed: health_check_url answered HTTP ${status}`);
    });
  }

  test('BR-006: an address where nobody answers counts', async (t) => {
    const probe = await addProbed(t, 'unreachable', 200);
    probe.close();
    const details = await app.untilStatus('unreachable', 'DEGRADED');
    assert.match(details.error_message, /health check failed: .*ECONNREFUSED/);
  });

  test('EC-010: a session that went stale is noticed without a call, and replaced when the server is back', async (t) => {
    const upstream = await startFeatureServer({ transport: 'streamable-legacy' });
    await app.add('stale', { base_url: upstream.url });
    const mark = app.seen.all.length;
    await upstream.close();
    await app.seen.waitFor('server.status', ({ name, status }) => name === 'stale' && status === 'ERROR', mark);
    const again = await startFeatureServer({
      transport: 'streamable-legacy',
      port: Number(new URL(upstream.url).port),
    });
    t.after(again.close);
    await app.untilStatus('stale', 'CONNECTED');
    assert.equal((await app.call('stale.whoami')).status, 200);
  });
});

interface Probe {
  url: string;
  /** What it answers, one after the other; the last one stays. `hold` waits until there is something to say. */
  answer: (number | 'hold')[];
  asked(times: number): Promise<void>;
  close(): void;
}

async function startProbe(status: number): Promise<Probe> {
  let count = 0;
  const waiting: { times: number; resolve: () => void }[] = [];
  const server = createServer(async (_request, response) => {
    count += 1;
    for (const { times, resolve } of waiting) if (count >= times) resolve();
    await until(() => probe.answer[0] !== 'hold', 'there is something to say');
    const [next = 200] = probe.answer;
    if (probe.answer.length > 1) probe.answer.shift();
    response.writeHead(Number(next)).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const probe: Probe = {
    url: `http://127.0.0.1:${port}/health`,
    answer: [status],
    asked: (times) => new Promise((resolve) => waiting.push({ times: count + times, resolve })),
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
  return probe;
}
