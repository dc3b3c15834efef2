import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compare, runDirect } from './matrix.ts';
import { totals } from './suite.ts';

test('the fixture passes the 2025-11-25 suite directly', async () => {
  assert.deepEqual(totals(await runDirect('2025-11-25', 'legacy')), { passed: 84, failed: 0 });
});

test('the fixture passes the 2026-07-28 suite directly', async () => {
  assert.deepEqual(totals(await runDirect('2026-07-28', 'modern')), { passed: 196, failed: 0 });
});

test('a scenario that checks less than directly is a difference, even without a failure', () => {
  const direct = { 'tools-list': { passed: 3, failed: 0, failures: [] } };
  const through = { 'tools-list': { passed: 1, failed: 0, failures: [] } };
  assert.equal(compare(direct, through, []).length, 1);
  assert.equal(compare(direct, direct, []).length, 0);
});
