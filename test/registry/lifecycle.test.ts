import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import {
  behaviour,
  type LifecycleEvent,
  lifecycleEvents,
  type Status,
  statuses,
  transition,
} from '../../src/registry/lifecycle.ts';

const none = '–';

/** Written out in full, so that a change of the state machine has to be made here too. A dash is illegal. */
const table: Record<Status, Record<LifecycleEvent, Status | typeof none>> = {
  DISCONNECTED: {
    connect: 'CONNECTING',
    connect_succeeded: none,
    connect_failed: none,
    park: 'CONNECTED',
    health_passed: none,
    health_failed: none,
    connection_lost: none,
    disconnect: 'DISCONNECTED',
    disconnected: none,
  },
  CONNECTING: {
    connect: 'CONNECTING',
    connect_succeeded: 'CONNECTED',
    connect_failed: 'ERROR',
    park: none,
    health_passed: none,
    health_failed: none,
    connection_lost: none,
    disconnect: 'DISCONNECTING',
    disconnected: none,
  },
  CONNECTED: {
    connect: 'CONNECTED',
    connect_succeeded: 'CONNECTED',
    connect_failed: 'ERROR',
    park: 'CONNECTED',
    health_passed: 'CONNECTED',
    health_failed: 'CONNECTED',
    connection_lost: 'ERROR',
    disconnect: 'DISCONNECTING',
    disconnected: none,
  },
  DEGRADED: {
    connect: 'DEGRADED',
    connect_succeeded: none,
    connect_failed: none,
    park: none,
    health_passed: 'CONNECTED',
    health_failed: 'ERROR',
    connection_lost: 'ERROR',
    disconnect: 'DISCONNECTING',
    disconnected: none,
  },
  ERROR: {
    connect: 'CONNECTING',
    connect_succeeded: none,
    connect_failed: none,
    park: none,
    health_passed: none,
    health_failed: none,
    connection_lost: none,
    disconnect: 'DISCONNECTING',
    disconnected: none,
  },
  DISCONNECTING: {
    connect: none,
    connect_succeeded: none,
    connect_failed: none,
    park: none,
    health_passed: none,
    health_failed: none,
    connection_lost: none,
    disconnect: 'DISCONNECTING',
    disconnected: 'DISCONNECTED',
  },
};

/** The failures that lead to each state; DEGRADED is two of them. */
const failuresIn: Record<Status, number> = {
  DISCONNECTED: 0,
  CONNECTING: 0,
  CONNECTED: 0,
  DEGRADED: 2,
  ERROR: 3,
  DISCONNECTING: 0,
};

suite('the life of a connection', () => {
  for (const status of statuses) {
    for (const event of lifecycleEvents) {
      const expected = table[status][event];
      test(`ST-001: ${status} × ${event} → ${expected}`, () => {
        const next = transition({ status, failures: failuresIn[status] }, event);
        assert.equal(next?.status ?? none, expected);
      });
    }
  }

  test('BR-006: one failed check changes nothing, two degrade, three are an error', () => {
    let state = { status: 'CONNECTED' as Status, failures: 0 };
    const seen: Status[] = [];
    for (let check = 0; check < 3; check += 1) {
      state = transition(state, 'health_failed') ?? assert.fail('a check of a connected server is legal');
      seen.push(state.status);
    }
    assert.deepEqual(seen, ['CONNECTED', 'DEGRADED', 'ERROR']);
  });

  test('BR-006: a check that passes forgets the failures before it', () => {
    const once = transition({ status: 'CONNECTED', failures: 0 }, 'health_failed');
    assert.deepEqual(once, { status: 'CONNECTED', failures: 1 });
    assert.deepEqual(transition({ status: 'CONNECTED', failures: 1 }, 'health_passed'), {
      status: 'CONNECTED',
      failures: 0,
    });
    assert.deepEqual(transition({ status: 'CONNECTING', failures: 3 }, 'connect_succeeded'), {
      status: 'CONNECTED',
      failures: 0,
    });
  });

  test('ST-002: only CONNECTED discovers; CONNECTED and DEGRADED execute and are searched', () => {
    const where = (what: keyof (typeof behaviour)['ERROR']) => statuses.filter((status) => behaviour[status][what]);
    assert.deepEqual(where('discovers'), ['CONNECTED']);
    assert.deepEqual(where('executes'), ['CONNECTED', 'DEGRADED']);
    assert.deepEqual(where('searchable'), ['CONNECTED', 'DEGRADED']);
  });
});
