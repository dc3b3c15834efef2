import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compare } from './matrix.ts';

test('a scenario that checks less than directly is a difference, even without a failure', () => {
  const direct = { 'tools-list': { passed: 3, failed: 0, failures: [] } };
  const through = { 'tools-list': { passed: 1, failed: 0, failures: [] } };
  assert.equal(compare(direct, through, []).length, 1);
  assert.equal(compare(direct, direct, []).length, 0);
});
