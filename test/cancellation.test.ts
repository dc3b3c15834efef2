import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Cancellation, toAbortSignal } from '../src/cancellation.ts';

const reason = new Error('no longer wanted');

describe('a cancellation', () => {
  test('is told once, with its reason, to everyone who listens', () => {
    const cancel = new Cancellation();
    const heard: string[] = [];
    cancel.addEventListener('abort', () => heard.push(`first: ${cancel.reason?.message}`), { once: true });
    cancel.addEventListener('abort', () => heard.push('second'), { once: true });
    assert.equal(cancel.aborted, false);
    cancel.abort(reason);
    cancel.abort(new Error('too late'));
    assert.equal(cancel.aborted, true);
    assert.equal(cancel.reason, reason);
    assert.deepEqual(heard, ['first: no longer wanted', 'second']);
  });

  test('is not told to those who stopped listening', () => {
    const cancel = new Cancellation();
    const listener = () => assert.fail('told');
    cancel.removeEventListener('abort', listener);
    cancel.addEventListener('abort', listener, { once: true });
    cancel.removeEventListener('abort', listener);
    cancel.abort(reason);
  });

  test('has a signal of the platform, made before or after', () => {
    const early = new Cancellation();
    const signal = toAbortSignal(early);
    assert.equal(signal.aborted, false);
    assert.equal(toAbortSignal(early), signal);
    early.abort(reason);
    assert.equal(signal.reason, reason);

    const late = new Cancellation();
    late.abort(reason);
    assert.equal(late.signal.aborted, true);
    assert.equal(late.signal.reason, reason);
    assert.equal(toAbortSignal(signal), signal);
  });
});
