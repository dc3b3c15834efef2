import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createId } from '../src/ids.ts';

test('ids are 128 random bits each, however many are made', () => {
  const ids = Array.from({ length: 2_000 }, createId);
  assert.equal(new Set(ids).size, ids.length);
  for (const id of ids) assert.match(id, /^[0-9a-f]{32}$/);
});
