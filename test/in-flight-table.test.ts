import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createInFlightTable } from '../src/in-flight-table.ts';

test('every item is found under its number until it is removed, and no number comes twice', () => {
  const ledger = createInFlightTable<string>();
  const kept = ledger.add('stays for ever');
  const expected = new Map([[kept, 'stays for ever']]);
  const given = new Set([kept]);
  let seed = 7;
  const random = (below: number) => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  for (let step = 0; step < 5_000; step += 1) {
    const others = [...expected.keys()].filter((id) => id !== kept);
    const leaving = others[random(others.length + 1)];
    if (others.length > 40 || (leaving !== undefined && random(2) === 0)) {
      const id = leaving ?? kept + 1;
      assert.equal(ledger.remove(id), expected.get(id));
      expected.delete(id);
    } else {
      const id = ledger.add(`item ${step}`);
      assert.ok(!given.has(id), `${id} was given before`);
      given.add(id);
      expected.set(id, `item ${step}`);
    }
    assert.equal(ledger.size, expected.size);
  }
  for (const [id, item] of expected) assert.equal(ledger.get(id), item);
  assert.deepEqual([...ledger], [...expected.values()], 'in the order in which they came');
});

test('numbers that were never given, or are none, find nothing', () => {
  const ledger = createInFlightTable<string>(1);
  assert.equal(ledger.add('first'), 2, 'number 1 was taken');
  for (const id of [0, 1, 3, 18, -2, 2.5, Number.NaN, '2' as unknown as number, undefined as unknown as number]) {
    assert.equal(ledger.get(id), undefined, String(id));
    assert.equal(ledger.remove(id), undefined, String(id));
  }
  assert.equal(ledger.remove(2), 'first');
  assert.equal(ledger.remove(2), undefined);
  assert.equal(ledger.size, 0);
});
