import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createWorkerTask } from '../src/worker-task.ts';

const program = new URL('./support/worker-task-program.ts', import.meta.url);

test('work runs in a thread, one after the other; errors are those of the work', async () => {
  const task = createWorkerTask<string, string>(program, { deadlineMs: 20_000 });
  assert.deepEqual(await Promise.all(['a', 'b', 'c'].map((input) => task.run(input, []))), ['A', 'B', 'C']);
  await assert.rejects(task.run('throw', []), /thrown by the work/);
  assert.equal(await task.run('again', []), 'AGAIN');
});

test('a thread that hangs or ends is replaced by another', async () => {
  const task = createWorkerTask<string, string>(program, { deadlineMs: 2_000 });
  const hanging = task.run('hang', []);
  const next = task.run('next', []);
  await assert.rejects(hanging, /did not finish in time/);
  assert.equal(await next, 'NEXT');
  await assert.rejects(task.run('exit', []), /the worker thread ended/);
  assert.equal(await task.run('again', []), 'AGAIN');
});
