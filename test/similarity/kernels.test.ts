import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { compileKernel, kernelFile, kernelSources } from '../../scripts/build-kernel.ts';

for (const source of kernelSources) {
  test(`the compiled kernel is what ${source} compiles to; if not: npm run build:kernel`, async () => {
    assert.ok(readFileSync(kernelFile(source), 'utf8') === (await compileKernel(source)));
  });
}

test('every .wat file of the sources is built and compared', () => {
  const names = readdirSync(join(import.meta.dirname, '../../src'), { recursive: true, encoding: 'utf8' });
  assert.deepEqual(
    names.filter((name) => name.endsWith('.wat')),
    kernelSources.map((source) => join('similarity', source)),
  );
  assert.notEqual(kernelSources.length, 0);
});
