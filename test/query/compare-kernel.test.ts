import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { compiledKernel } from '../../scripts/build-kernel.ts';

test('the kernel is what compare.wat compiles to; if not: npm run build:kernel', () => {
  const kernel = readFileSync(new URL('../../src/query/compare-kernel.ts', import.meta.url), 'utf8');
  assert.ok(kernel === compiledKernel());
});
