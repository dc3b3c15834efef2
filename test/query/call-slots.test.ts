import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { createCallSlots } from '../../src/query/call-slots.ts';

const live = new AbortController().signal;

/** Lets everything that is granted reach its taker. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('the most promising waits least, equals in their order', async () => {
  const slots = createCallSlots(1);
  const giveBack = await slots.take(0, live);
  const order: string[] = [];
  const done = (
    [
      ['low', 10],
      ['high', 90],
      ['first of two', 50],
      ['second of two', 50],
    ] as const
  ).map(async ([name, priority]) => {
    const release = await slots.take(priority, live);
    order.push(name);
    release();
  });
  giveBack();
  await Promise.all(done);
  assert.deepEqual(order, ['high', 'first of two', 'second of two', 'low']);
});

test('never more at once than there are', async () => {
  const slots = createCallSlots(3);
  let held = 0;
  let most = 0;
  await Promise.all(
    Array.from({ length: 20 }, async (_, priority) => {
      const giveBack = await slots.take(priority, live);
      held += 1;
      most = Math.max(most, held);
      await settled();
      held -= 1;
      giveBack();
    }),
  );
  assert.equal(most, 3);
});

test('a slot that is given back twice is one slot', async () => {
  const slots = createCallSlots(1);
  const giveBack = await slots.take(0, live);
  giveBack();
  giveBack();
  await slots.take(0, live);
  let isGranted = false;
  void slots.take(0, live).then(() => {
    isGranted = true;
  });
  await settled();
  assert.equal(isGranted, false);
});

test('who leaves the queue gets the reason, and those behind move up', async () => {
  const slots = createCallSlots(1);
  const giveBack = await slots.take(0, live);
  const client = new AbortController();
  const leaving = slots.take(90, client.signal);
  const staying = slots.take(10, live);
  client.abort(new Error('gone'));
  await assert.rejects(leaving, /gone/);
  giveBack();
  await staying;
});

test('whose time is up before he asks gets nothing and takes nothing', async () => {
  const slots = createCallSlots(1);
  await assert.rejects(slots.take(99, AbortSignal.abort(new Error('too late'))), /too late/);
  await slots.take(0, live);
});

test('a call that waits for something else than a processor gives its place to the next', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
  const slots = createCallSlots(1);
  const hanging = await slots.take(0, live);
  const next = slots.take(0, live);
  mock.timers.tick(399);
  const early = await Promise.race([next, settled().then(() => 'waiting')]);
  assert.equal(early, 'waiting');
  mock.timers.tick(1);
  await next;
  // The late return of the first is not a second place.
  hanging();
  const third = await Promise.race([slots.take(0, live), settled().then(() => 'waiting')]);
  assert.equal(third, 'waiting');
});
