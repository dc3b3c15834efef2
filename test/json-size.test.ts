import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isBodyTooDeep, maxBodyDepth } from '../src/json-size.ts';

const nested = (levels: number, inner = '') => `${'['.repeat(levels)}${inner}${']'.repeat(levels)}`;

test('a body may be nested as deep as the limit, and no deeper', () => {
  assert.equal(isBodyTooDeep(nested(maxBodyDepth)), false);
  assert.equal(isBodyTooDeep(nested(maxBodyDepth + 1)), true);
  assert.equal(isBodyTooDeep(`${'{"a":'.repeat(maxBodyDepth + 1)}1${'}'.repeat(maxBodyDepth + 1)}`), true);
});

test('brackets in strings, and brackets side by side, are no depth', () => {
  assert.equal(isBodyTooDeep(JSON.stringify(`\\"${'['.repeat(5_000)}`)), false);
  assert.equal(isBodyTooDeep(`[${'[],'.repeat(5_000)}[]]`), false);
});
