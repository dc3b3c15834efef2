import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { compiledKernel } from '../../scripts/build-kernel.ts';

test('the kernel is what scan.wat compiles to; if not: npm run build:kernel', async () => {
  const kernel = readFileSync(new URL('../../src/search/scan-kernel.ts', import.meta.url), 'utf8');
  assert.ok(kernel === (await compiledKernel()));
});
