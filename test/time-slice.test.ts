import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTimeShare } from '../src/time-slice.ts';

/** Takes and rests in turn, on a clock that is passed in; the share of the time that was taken. */
function shareOf(
  t: { mock: { method: typeof import('node:test').mock.method } },
  seconds: number,
  unasked: boolean,
): number {
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  const share = createTimeShare();
  let taken = 0;
  while (now < seconds * 1_000) {
    const began = now;
    now += 4;
    taken += 4;
    now += share.rest(began, unasked ? undefined : 0);
  }
  return taken / now;
}

test('a server that pours what nobody asked for gets half of the time at first, and a tenth in the long run', (t) => {
  const [first, all] = [shareOf(t, 0.1, true), shareOf(t, 60, true)];
  assert.ok(first > 0.3 && first < 0.6, String(first));
  assert.ok(all > 0.08 && all < 0.13, String(all));
});

test('answers get half of the time, however many there are', (t) => {
  const share = shareOf(t, 60, false);
  assert.ok(share > 0.45 && share < 0.55, String(share));
});

test('what takes little of the time is not held up', (t) => {
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  const share = createTimeShare();
  for (let second = 0; second < 60; second += 1) {
    const began = now;
    now += 3;
    assert.equal(share.rest(began), 0);
    now += 97;
  }
});
