import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { topSlots } from '../../src/search/top-slots.ts';

/** The same numbers in every run (mulberry32). */
function randomValues(length: number): Float32Array {
  let state = 7;
  return Float32Array.from({ length }, () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  });
}

const bySorting = (values: Float32Array, slots: number[], count: number) =>
  slots.toSorted((a, b) => (values[b] as number) - (values[a] as number) || a - b).slice(0, count);

suite('the slots of the highest values', () => {
  for (const [name, values] of Object.entries({
    none: new Float32Array(),
    few: Float32Array.of(0.2, 0.9, 0.4),
    equal: new Float32Array(500).fill(0.5),
    'below everything': new Float32Array(10).fill(Number.NEGATIVE_INFINITY),
    rising: Float32Array.from({ length: 500 }, (_none, slot) => slot),
    falling: Float32Array.from({ length: 500 }, (_none, slot) => -slot),
    random: randomValues(5_000),
  })) {
    test(`${name}: the same as by sorting`, () => {
      const slots = Array.from(values, (_value, slot) => slot).filter((slot) => slot % 3 !== 1);
      for (const count of [1, 7, 60]) assert.deepEqual(topSlots(values, slots, count), bySorting(values, slots, count));
    });
  }

  test('a value below the weakest of the best is looked at once', () => {
    const values = randomValues(100_000);
    let reads = 0;
    const counted = new Proxy(values, {
      get: (target, key) => {
        reads += 1;
        return Reflect.get(target, key);
      },
    });
    topSlots(counted, Array.from(values.keys()), 60);
    assert.ok(reads < values.length * 1.2, `${reads} reads of ${values.length} values`);
  });
});
