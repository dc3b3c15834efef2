import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createChanges } from '../src/changes.ts';
import { createMetrics, measureChanges } from '../src/metrics.ts';

test('reconnections are counted until closed, and a closed counter no longer listens', async (t) => {
  const changes = createChanges();
  const metrics = createMetrics({ toolLabels: false, engine: 'sqlite' });
  t.after(() => metrics.close());
  const close = measureChanges(metrics, changes);
  const reconnections = async () => /reconnections_total\{server="s"\} (\d+)/.exec(await metrics.render())?.[1];
  const server = { server_id: '1', name: 's', error_message: null };
  const loseAndReconnect = () => {
    for (const [previous, status] of [
      ['CONNECTED', 'ERROR'],
      ['ERROR', 'CONNECTING'],
      ['CONNECTING', 'CONNECTED'],
    ] as const)
      changes.publish('server.status', { ...server, previous, status });
  };

  loseAndReconnect();
  assert.equal(await reconnections(), '1');
  close();
  loseAndReconnect();
  changes.publish('server.removed', server);
  assert.equal(await reconnections(), '1');
});
