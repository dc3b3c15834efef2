import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../../src/errors.ts';
import { createConcurrencyLimit } from '../../src/upstream/concurrency-limit.ts';

test('as many as allowed pass, as many as allowed wait, in the order they came', async () => {
  const gate = createConcurrencyLimit('server', { concurrent: 2, queued: 2 });
  await gate.enter();
  await gate.enter();
  const admitted: number[] = [];
  const third = gate.enter()?.then(() => admitted.push(3));
  const fourth = gate.enter()?.then(() => admitted.push(4));
  assert.throws(
    () => gate.enter(),
    (error) => error instanceof AppError && error.code === 'SERVER_OVERLOADED',
  );
  assert.deepEqual([gate.active, gate.queued], [2, 2]);
  gate.leave();
  await third;
  assert.deepEqual(admitted, [3]);
  gate.leave();
  await fourth;
  assert.deepEqual(admitted, [3, 4]);
  assert.deepEqual([gate.active, gate.queued], [2, 0]);
});

test('one who gives up makes room in the queue', async () => {
  const gate = createConcurrencyLimit('server', { concurrent: 1, queued: 1 });
  await gate.enter();
  const gone = new AbortController();
  const waiting = gate.enter(gone.signal);
  gone.abort(new Error('gone'));
  await assert.rejects(async () => await waiting, /gone/);
  assert.equal(gate.queued, 0);
  const next = gate.enter();
  gate.leave();
  await next;
  assert.equal(gate.active, 1);
});

test('idle is told when the last one left', async () => {
  const gate = createConcurrencyLimit('server', { concurrent: 5, queued: 0 });
  await gate.idle();
  await gate.enter();
  await gate.enter();
  let idle = false;
  const told = gate.idle().then(() => {
    idle = true;
  });
  gate.leave();
  await Promise.resolve();
  assert.equal(idle, false);
  gate.leave();
  await told;
  assert.equal(idle, true);
});
