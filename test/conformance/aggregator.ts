import { startAggregator } from '../../bench/aggregator.ts';
import type { Gateway } from './matrix.ts';

/** One aggregator for the whole matrix, with every fixture behind it at the endpoint that leaves names untouched. */
export async function aggregator(): Promise<{ inFrontOf: Gateway; close(): Promise<void> }> {
  const running = await startAggregator();
  let fixtures = 0;
  return {
    async inFrontOf(fixtureUrl) {
      const name = `fixture-${++fixtures}`;
      await running.register(name, { transport_type: 'HTTP', connection_config: { base_url: fixtureUrl } });
      return {
        url: running.mcpUrl(name),
        close: async () => void (await running.request('DELETE', `/api/v1/aggregator/servers/${name}`)),
      };
    },
    close: running.close,
  };
}
