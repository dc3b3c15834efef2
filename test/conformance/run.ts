import { aggregator } from './aggregator.ts';
import { formatMatrix, runMatrix } from './matrix.ts';

const gateway = await aggregator();
const cells = await runMatrix(gateway.inFrontOf);
await gateway.close();
console.log(formatMatrix(cells));
if (cells.some((cell) => cell.differences.some(({ reason }) => reason === undefined))) process.exitCode = 1;
