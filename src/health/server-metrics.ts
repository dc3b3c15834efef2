/** Counts reconnections, and drops the series of a server that was removed. */
import type { Events } from '../events.ts';
import type { Metrics } from '../metrics.ts';

export interface ServerMetricsDependencies {
  events: Events;
  metrics: Pick<Metrics, 'onReconnected' | 'forgetServer'>;
}

export function createServerMetrics({ events, metrics }: ServerMetricsDependencies): { close(): void } {
  const lost = new Set<string>();
  const subscriptions = [
    events.on('server.status', ({ server_id: id, name, status, previous }) => {
      const wasConnected = previous === 'CONNECTED' || previous === 'DEGRADED';
      if (wasConnected && status === 'ERROR') lost.add(id);
      if (status === 'DISCONNECTED') lost.delete(id);
      if (status === 'CONNECTED' && previous === 'CONNECTING' && lost.delete(id)) metrics.onReconnected(name);
    }),
    events.on('server.removed', ({ server_id: id, name }) => {
      lost.delete(id);
      metrics.forgetServer(name);
    }),
  ];
  return {
    close() {
      for (const unsubscribe of subscriptions) unsubscribe();
    },
  };
}
