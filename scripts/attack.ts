/**
 * `npm run attack -- [--seconds 3] [--only <part of a manner>]…`: a hundred kinds of bad servers beside a good one, whose
 * calls must go on as if nothing were there. What other programs of the host take counts in the times of calls; the
 * columns `loop` are processor time of the aggregator alone.
 */
import { parseArgs } from 'node:util';
import { printTable } from '../bench/table.ts';
import { behaviours, runAttack } from './attack/run.ts';

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '3' }, only: { type: 'string', multiple: true, default: [''] } },
});
const chosen = behaviours.filter(({ transport, moment, manner }) =>
  values.only.some((part) => `${transport} ${moment} ${manner}`.includes(part)),
);
const limits = { p99: 3, loopMs: 50, memoryMb: 300 };

const { quietP99, outcomes } = await runAttack({
  behaviours: chosen,
  secondsEach: Number(values.seconds),
  quietSeconds: 1,
  onOutcome: ({ behaviour: { transport, moment, manner }, p99, loop, memoryMb }) =>
    process.stderr.write(
      `${transport} ${moment}, ${manner}: p99 ${p99.toFixed(0)} ms; loop p99 ${loop.p99Ms.toFixed(1)}, longest ${loop.maxMs.toFixed(0)} ms; ${memoryMb.toFixed(0)} MB\n`,
    ),
});
const worst = outcomes.filter(
  ({ p99, loop, memoryMb, failed }) =>
    p99 > limits.p99 * quietP99 || loop.maxMs > limits.loopMs || memoryMb > limits.memoryMb || failed > 0,
);
printTable(
  `${outcomes.length} bad servers; calls of a good one beside them (alone: p99 ${quietP99.toFixed(1)} ms)`,
  [
    'transport',
    'moment',
    'manner',
    'calls',
    'failed',
    'p99 ms',
    'of quiet',
    'CPU ms',
    'loop p99',
    'longest',
    'MB',
    'heap',
    'buffers',
    'the bad one says',
  ],
  outcomes.map(({ behaviour: { transport, moment, manner }, calls, failed, p99, memoryMb, cpuMs, loop, said }) => [
    transport,
    moment,
    manner,
    calls,
    failed,
    p99,
    p99 / quietP99,
    Math.round(cpuMs),
    loop.p99Ms,
    Math.round(loop.maxMs),
    Math.round(memoryMb),
    Math.round(loop.heapMb),
    Math.round(loop.externalMb),
    said,
  ]),
);
console.log(
  `\nBeyond ${limits.p99} times the quiet p99, ${limits.loopMs} ms without a pause, ${limits.memoryMb} MB, or with failed calls: ${worst.length}`,
);
if (worst.length > 0) process.exitCode = 1;
