import { inFrontOf } from './aggregator.ts';
import { formatMatrix, runMatrix } from './matrix.ts';

const cells = await runMatrix(inFrontOf);
console.log(formatMatrix(cells));
if (cells.some((cell) => cell.differences.some(({ reason }) => reason === undefined))) process.exitCode = 1;
