/**
 * `npm run attack -- [--seconds 3] [--only <part of a manner>]…`: a hundred kinds of bad servers beside a good one, whose
 * calls must go on as if nothing were there.
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
const limits = { p99: 3, memoryMb: 300 };

const { quietP99, outcomes } = await runAttack({
  behaviours: chosen,
  secondsEach: Number(values.seconds),
  quietSeconds: 10,
  onOutcome: ({ behaviour: { transport, moment, manner }, p99 }) =>
    process.stderr.write(`${transport} ${moment}, ${manner}: ${p99.toFixed(0)} ms\n`),
});
const worst = outcomes.filter(
  ({ p99, memoryMb, failed }) => p99 > limits.p99 * quietP99 || memoryMb > limits.memoryMb || failed > 0,
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
    'longest delay ms',
    'MB',
    'the bad one says',
  ],
  outcomes.map(({ behaviour: { transport, moment, manner }, calls, failed, p99, memoryMb, cpuMs, loopMs, said }) => [
    transport,
    moment,
    manner,
    calls,
    failed,
    p99,
    p99 / quietP99,
    Math.round(cpuMs),
    loopMs,
    Math.round(memoryMb),
    said,
  ]),
);
console.log(`\nBeyond ${limits.p99} times the quiet p99, ${limits.memoryMb} MB, or with failed calls: ${worst.length}`);
if (worst.length > 0) process.exitCode = 1;
