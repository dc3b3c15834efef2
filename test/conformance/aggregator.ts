import { startAggregator } from '../../bench/aggregator.ts';
import type { Gateway } from './matrix.ts';

/**
 * An aggregator for each server: at /mcp the suite calls tools by the names of its own server, which are found only where
 * no other server has them.
 */
export const inFrontOf: Gateway = async (serverUrl, endpoint) => {
  const running = await startAggregator({ MCP_AGGREGATOR_LOG_LEVEL: 'error' });
  await running.register('fixture', { transport_type: 'HTTP', connection_config: { base_url: serverUrl } });
  return { url: running.mcpUrl(endpoint === 'one' ? 'fixture' : undefined), close: running.close };
};
