import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { createRandom } from '../../scripts/chaos/random.ts';
import { runChaos, tidy } from '../../scripts/chaos/run.ts';
import { sparkline } from '../../scripts/chaos/sparkline.ts';

suite('faults on purpose', () => {
  test('under load: no call lost or answered wrongly, no acknowledged registration missing, no child left', {
    skip: process.platform === 'linux' ? false : 'looks into /proc',
    timeout: 170_000,
  }, async () => {
    const report = await runChaos({ seconds: 40, seed: 1, callsPerSecond: 20 });
    assert.deepEqual(report.violations, [], `logs in ${report.directory}`);
    assert.ok(report.injected.length >= 4, `${report.injected.length} faults`);
    assert.ok(report.tally.results > 100);
    tidy(report);
  });

  test('the same seed gives the same schedule', () => {
    const draw = (seed: number) => createRandom(seed).shuffle(['a', 'b', 'c', 'd', 'e', 'f']).join('');
    assert.equal(draw(1), draw(1));
    assert.notEqual(draw(1), draw(2));
  });

  test('the chart of a flat line is flat', () => {
    assert.equal(sparkline([5, 5, 5]), '███');
    assert.equal(sparkline([0, 4, 8]), '▁▅█');
  });
});
