import assert from 'node:assert/strict';
import { mock, type TestContext, test } from 'node:test';
import { Cancellation } from '../../src/cancellation.ts';
import type { RoutedCall } from '../../src/routing/call.ts';
import { createDeadlines } from '../../src/routing/deadline.ts';

const config = { requestTimeoutMs: 10_000, requestTimeoutCapMs: 25_000 };

test('a call that takes too long is cancelled, and the others go on', (t) => {
  const { begin, pass } = useClock(t);
  const early = begin();
  pass(4_000);
  const late = begin();
  pass(6_000);
  assert.deepEqual([early.timedOut, late.timedOut], [true, false]);
  assert.equal(early.call.signal.reason?.name, 'TimeoutError');
  pass(4_000);
  assert.equal(late.timedOut, true);
});

test('a server with less time than others is not waited for longer', (t) => {
  const { begin, pass } = useClock(t);
  const patient = begin();
  const hasty = begin({}, 1);
  pass(1_000);
  assert.deepEqual([patient.timedOut, hasty.timedOut], [false, true]);
  pass(9_000);
  assert.equal(patient.timedOut, true);
});

test('LIM-005: progress begins the time anew, up to the cap', (t) => {
  const { begin, pass } = useClock(t);
  const running = begin();
  for (const _ of [1, 2]) {
    pass(9_000);
    running.call.notify?.('notifications/progress', {});
  }
  pass(6_999);
  assert.equal(running.timedOut, false);
  pass(1);
  assert.equal(running.timedOut, true);
});

test('while a person is asked, no time passes', async (t) => {
  const { begin, pass } = useClock(t);
  const answered = Promise.withResolvers<object>();
  const running = begin({ ask: () => answered.promise as Promise<Record<string, unknown>> });
  const asking = running.call.ask?.('elicitation/create', {}, new AbortController().signal);
  pass(24_000);
  assert.equal(running.timedOut, false);
  answered.resolve({});
  await asking;
  pass(1_000);
  assert.equal(running.timedOut, true);
});

test('an answered call is not cancelled any more', (t) => {
  const { begin, pass } = useClock(t);
  const cancel = new Cancellation();
  begin({ signal: cancel }).clear();
  pass(60_000);
  assert.equal(cancel.aborted, false);
});

test('whoever asked can cancel before', (t) => {
  const { begin } = useClock(t);
  const asked = new AbortController();
  const running = begin({ signal: asked.signal });
  asked.abort(new Error('changed my mind'));
  assert.deepEqual([running.call.signal.aborted, running.timedOut], [true, false]);
  assert.equal(running.call.signal.reason?.message, 'changed my mind');
  assert.equal(begin({ signal: asked.signal }).call.signal.aborted, true);
});

/** Deadlines on a clock of the test's own. */
function useClock(t: TestContext) {
  let now = 1_000;
  t.mock.method(performance, 'now', () => now);
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
  const deadlines = createDeadlines(config);
  return {
    begin: (asked: Partial<RoutedCall> = {}, seconds?: number) =>
      deadlines.begin({ signal: new Cancellation(), ...asked } as RoutedCall, {
        server: { options: { request_timeout: seconds } },
        recordAsked() {},
        mask: (text) => text,
      }),
    pass(ms: number) {
      now += ms;
      mock.timers.tick(ms);
    },
  };
}
