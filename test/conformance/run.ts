import { startAggregator } from '../../bench/aggregator.ts';
import { formatMatrix, type Gateway, runMatrix } from './matrix.ts';

/** The aggregator with the fixture behind it, reached at the endpoint that leaves a server's names untouched. */
const aggregator: Gateway = async (fixtureUrl) => {
  const running = await startAggregator();
  await running.register('fixture', { transport_type: 'HTTP', connection_config: { base_url: fixtureUrl } });
  return { url: running.mcpUrl('fixture'), close: running.close };
};

const cells = await runMatrix(aggregator);
console.log(formatMatrix(cells));
if (cells.some((cell) => cell.differences.some(({ reason }) => reason === undefined))) process.exitCode = 1;
