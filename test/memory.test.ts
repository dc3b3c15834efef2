import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { shouldGiveBack } from '../src/memory.ts';

const megabyte = 2 ** 20;

test('memory is given back when we are quiet and it is worth a short pause', () => {
  const afterTheStart = { lately: 20, since: 3_000, heapUsed: 40 * megabyte };
  assert.equal(shouldGiveBack(afterTheStart), true);
  assert.equal(shouldGiveBack({ ...afterTheStart, lately: 500 }), false, 'at work');
  assert.equal(shouldGiveBack({ ...afterTheStart, since: 300 }), false, 'nothing happened since the last time');
  assert.equal(shouldGiveBack({ ...afterTheStart, heapUsed: 500 * megabyte }), false, 'the pause would be long');
});

test('the system gets the memory of a busy moment back', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module-typescript', '-e', busyProcess]);
  const { before, after } = JSON.parse(stdout) as { before: number; after: number };
  assert.ok(after < before - 10 * megabyte, `resident ${before} → ${after} bytes`);
});

const busyProcess = `
  import { giveBack } from '${new URL('../src/memory.ts', import.meta.url)}';
  let kept: object[] = [];
  for (let i = 0; i < 2_000_000; i += 1) {
    kept.push({ i, text: [i, String(i)] });
    if (kept.length > 100_000) kept = [];
  }
  kept = [];
  const before = process.memoryUsage.rss();
  giveBack();
  console.log(JSON.stringify({ before, after: process.memoryUsage.rss() }));
`;
