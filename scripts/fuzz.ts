/** `npm run fuzz -- [--messages 1000000] [--seed 1]`: no crash, no 500, every message answered, memory flat. */
import { parseArgs } from 'node:util';
import { printTable } from '../bench/table.ts';
import { runFuzz } from './fuzz/run.ts';
import { fuzzScanner } from './fuzz/scanner.ts';

const { values } = parseArgs({
  options: { messages: { type: 'string', default: '1000000' }, seed: { type: 'string', default: '1' } },
});
/** What may be more at the end than after a third. */
const allowedGrowth = 1.3;

const differing = fuzzScanner({ texts: Number(values.messages), seed: Number(values.seed) });
console.log(`Texts on which the JSON scanner and the parser differ: ${differing.length}`);
for (const text of differing.slice(0, 20)) console.log(`  ${text.slice(0, 2_000)}`);

const { messages, answers, faults, memoryMb } = await runFuzz({
  messages: Number(values.messages),
  seed: Number(values.seed),
  onProgress: (sent) => process.stderr.write(`${sent.toLocaleString('en-US')} messages\n`),
});
printTable(
  `${messages.toLocaleString('en-US')} messages`,
  ['kind and status', 'answers'],
  [...answers].toSorted().map(([kind, count]) => [kind, count]),
);
const { first, last } = memoryMb;
console.log(`\nMemory: ${Math.round(first)} MB after a third, ${Math.round(last)} MB at the end`);
console.log(`Not answered, or with 500: ${faults.length}`);
for (const fault of faults.slice(0, 20)) console.log(`  ${fault.slice(0, 2_000)}`);
if (differing.length > 0 || faults.length > 0 || last > first * allowedGrowth) process.exitCode = 1;
