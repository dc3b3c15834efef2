import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createEvents } from '../../src/events.ts';
import { createServerMetrics } from '../../src/health/server-metrics.ts';
import { createMetrics } from '../../src/metrics.ts';

test('reconnections are counted until closed, and a closed counter no longer listens', async (t) => {
  const events = createEvents();
  const metrics = createMetrics({ toolLabels: false, engine: 'sqlite' });
  t.after(() => metrics.close());
  const serverMetrics = createServerMetrics({ events, metrics });
  const reconnections = async () => /reconnections_total\{server="s"\} (\d+)/.exec(await metrics.render())?.[1];
  const server = { server_id: '1', name: 's', error_message: null };
  const loseAndReconnect = () => {
    for (const [previous, status] of [
      ['CONNECTED', 'ERROR'],
      ['ERROR', 'CONNECTING'],
      ['CONNECTING', 'CONNECTED'],
    ] as const)
      events.emit('server.status', { ...server, previous, status });
  };

  loseAndReconnect();
  assert.equal(await reconnections(), '1');
  serverMetrics.close();
  loseAndReconnect();
  events.emit('server.removed', server);
  assert.equal(await reconnections(), '1');
});
