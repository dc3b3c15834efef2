import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { bucketOf, quantile } from '../../src/statistics/duration-histogram.ts';
import { toTimeRange } from '../../src/statistics/time-range.ts';

const now = 1_800_000_000;

suite('time ranges', () => {
  for (const [what, wanted, step, tier] of [
    ['15 minutes', { from: now - 900, to: now }, 10, 10],
    ['an hour', { from: now - 3_600, to: now }, 30, 10],
    ['six hours', { from: now - 21_600, to: now }, 300, 60],
    ['a day', { from: now - 86_400, to: now }, 900, 900],
    ['a month', { from: now - 30 * 86_400, to: now }, 21_600, 900],
    ['ten minutes of yesterday', { from: now - 80_000, to: now - 79_400 }, 60, 60],
    ['ten minutes of last week', { from: now - 700_000, to: now - 699_400, step: 10 }, 900, 900],
    ['a step that is not one of a tier', { from: now - 600, to: now, step: 25 }, 30, 10],
    ['older than anything', { from: 0, to: now - 60 * 86_400, step: 86_400 }, 86_400, 900],
  ] as const) {
    test(`${what}: steps of ${step} s from slots of ${tier} s`, () => {
      const range = toTimeRange(wanted, now);
      assert.deepEqual([range.step, range.tier.seconds], [step, tier]);
      assert.deepEqual([range.from % step, range.to % step], [0, 0]);
      assert.ok(range.from <= wanted.from && range.to >= wanted.to);
      assert.ok(range.from > wanted.from - step && range.to < wanted.to + step);
    });
  }
});

suite('durations in buckets', () => {
  test('a quantile is within 5 % of the exact one, from microseconds to hours', () => {
    for (const scale of [0.2, 3, 40, 700, 60_000]) {
      const durations = Array.from({ length: 2_000 }, (_, place) => scale * (0.2 + ((place * 7_919) % 2_000) / 500));
      const counts = new Uint32Array(210);
      for (const ms of durations) counts[bucketOf(ms)] = (counts[bucketOf(ms)] ?? 0) + 1;
      const sorted = durations.toSorted((a, b) => a - b);
      for (const share of [0.5, 0.95, 0.99]) {
        const exact = sorted[Math.ceil(share * sorted.length) - 1] ?? 0;
        const found = quantile(counts, share) ?? 0;
        assert.ok(Math.abs(found / exact - 1) < 0.05, `p${share * 100} of ${scale}: ${found} for ${exact}`);
      }
    }
  });

  test('nothing has no quantile; what is out of range is in the first or last bucket', () => {
    assert.equal(quantile(new Uint32Array(210), 0.5), undefined);
    assert.deepEqual([bucketOf(0), bucketOf(-1), bucketOf(Number.NaN), bucketOf(1e12)], [0, 0, 0, 209]);
  });
});
