import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { suite, test } from 'node:test';
import { hasProxy } from '../../scripts/chaos/proxies.ts';
import { runRolling } from '../../scripts/chaos/rolling.ts';

suite('a rolling restart behind the load balancers of the system', () => {
  for (const proxy of ['nginx', 'haproxy', 'envoy'] as const) {
    test(`DEP-004: no call fails behind ${proxy}, and none is executed twice`, {
      skip: hasProxy(proxy) ? false : `${proxy} is not installed`,
      timeout: 170_000,
    }, async (t) => {
      const report = await runRolling({ proxy, rounds: 1, callsPerSecond: 40, seed: 1, users: 12 });
      assert.deepEqual(report.violations, [], `logs in ${report.directory}`);
      assert.equal(report.restarts, 3);
      for (const [surface, { calls }] of report.tallies) assert.ok(calls > 50, `${calls} calls over ${surface}`);
      t.diagnostic(JSON.stringify([...report.tallies].map(([surface, { calls }]) => [surface, calls])));
      rmSync(report.directory, { recursive: true, force: true });
    });
  }
});
