/**
 * `npm run faults`: faults of the machine, made for real, and what a user sees of each. Exit code 1 where a scenario does
 * not end as it should. Some need root (to mount a small disk) or strace (to let calls to the kernel fail).
 */
import { faultScenarios } from '../test/store/fault-scenarios.ts';

const rows: string[] = [];
for (const { name, skip, run } of faultScenarios) {
  if (skip !== false) {
    rows.push(toLine([name, `skipped: ${skip}`, '', '', '', '']));
    continue;
  }
  const ends: (() => unknown)[] = [];
  try {
    const { status, retryAfter, message, health, log, afterwards } = await run({ after: (end) => ends.push(end) });
    const retry = retryAfter === undefined || retryAfter === null ? '' : `, Retry-After ${retryAfter}`;
    rows.push(
      toLine([name, `${status}${retry}`, message, health, log.join(' '), String(afterwards ?? 'needs the remedy')]),
    );
  } catch (error) {
    process.exitCode = 1;
    rows.push(toLine([name, 'FAILED', String(error), '', '', '']));
  } finally {
    for (const end of ends.reverse()) await end();
  }
}
console.log('| fault | status | message | health | log | afterwards |\n|---|---|---|---|---|---|');
for (const row of rows) console.log(row);

function toLine(cells: string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ').slice(0, 400)).join(' | ')} |`;
}
