import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { AppError } from '../../src/errors.ts';
import {
  initialLinkState,
  isBeingStarted,
  isListed,
  type LinkEvent,
  type LinkPhase,
  type LinkState,
  linkEvents,
  linkPhases,
  mayComeBack,
  mayConnect,
  nextLinkState,
} from '../../src/upstream/link-state.ts';

const reason = new AppError('LOGIN_REQUIRED', 'Login required: notes');
const at = 1_000;

/** By phase, in the order of `linkEvents`; a dash: the event changes nothing. */
const expected: Record<LinkPhase, string> = {
  //          connect    failed     succeeded connect_failed park   lost login_required logged_in  disconnect disconnected close
  idle: '       connecting -          -         -              parked -    idle           idle       draining   -            closed',
  parked:
    '     connecting -          -         -              -      -    -              -          draining   -            closed',
  connecting:
    ' -          connecting connected idle           -      -    connecting     connecting draining   -            closed',
  connected:
    '  -          -          -         -              parked idle connected      connected  draining   -            closed',
  draining:
    '   -          -          -         -              -      -    -              draining   -          idle         closed',
  closed:
    '     -          -          -         -              -      -    -              -          -          -            -',
};

const full: LinkState = { phase: 'idle', loginNeed: reason, lostAt: 5, isRestoring: true, isEraInDoubt: true };
const toEvent = (type: LinkEvent['type']): LinkEvent => {
  if (type === 'connection_lost') return { type, at };
  return type === 'login_required' ? { type, reason } : { type };
};

suite('every phase of a link and every event', () => {
  for (const phase of linkPhases) {
    const cells = expected[phase].trim().split(/\s+/);
    assert.equal(cells.length, linkEvents.length);
    linkEvents.forEach((type, index) => {
      test(`${phase}, ${type}: ${cells[index]}`, () => {
        assert.equal(nextLinkState({ ...full, phase }, toEvent(type))?.phase ?? '-', cells[index]);
      });
    });
  }
});

test('what an event leaves behind', () => {
  const after = (phase: LinkPhase, event: LinkEvent) => nextLinkState({ ...full, phase }, event);
  const clean = { loginNeed: undefined, lostAt: undefined, isRestoring: false, isEraInDoubt: false };
  assert.deepEqual(after('connecting', { type: 'connect_succeeded' }), { phase: 'connected', ...clean });
  assert.deepEqual(after('connecting', { type: 'connect_failed' }), { ...full, isRestoring: false });
  assert.deepEqual(after('connected', { type: 'connection_lost', at }), { ...full, lostAt: at });
  assert.deepEqual(after('connected', { type: 'park' }), {
    ...full,
    phase: 'parked',
    lostAt: undefined,
    isRestoring: false,
  });
  assert.deepEqual(after('connected', { type: 'logged_in' }), { ...full, phase: 'connected', loginNeed: undefined });
  assert.deepEqual(after('connected', { type: 'disconnect' }), { ...clean, phase: 'draining', isEraInDoubt: true });
  const fresh = initialLinkState(false);
  assert.equal(nextLinkState({ ...fresh, phase: 'connecting' }, { type: 'attempt_failed' })?.isEraInDoubt, true);
  assert.equal(nextLinkState(fresh, { type: 'login_required', reason })?.loginNeed, reason);
});

test('a background attempt waits for the login, a requested one does not', () => {
  const waiting = { ...initialLinkState(false), loginNeed: reason };
  assert.equal(mayConnect(waiting, { isBackground: true }), false);
  assert.equal(mayConnect(waiting, { isBackground: false }), true);
  for (const phase of linkPhases)
    assert.equal(
      mayConnect({ ...initialLinkState(false), phase }, { isBackground: true }),
      phase === 'idle' || phase === 'parked',
    );
});

test('a parked server, and one that is started for a call, gets the time that a start takes', () => {
  for (const phase of linkPhases) {
    const state = { ...initialLinkState(false), phase };
    assert.equal(isBeingStarted(state, 'CONNECTED'), phase === 'parked' || phase === 'connecting', phase);
    assert.equal(isBeingStarted(state, 'CONNECTING'), phase === 'parked', phase);
  }
});

test('a server stays listed while it is connected, awaited, waiting for a login or lost only just now', () => {
  const here = { status: 'ERROR', desired: 'connected', now: at, listGraceMs: 100 } as const;
  const lost = { ...initialLinkState(false), lostAt: at - 99 };
  assert.equal(isListed(initialLinkState(false), here), false);
  assert.equal(isListed(initialLinkState(false), { ...here, status: 'CONNECTED' }), true);
  assert.equal(isListed(initialLinkState(false), { ...here, status: 'DEGRADED', desired: 'disconnected' }), true);
  assert.equal(isListed(initialLinkState(true), here), true);
  assert.equal(isListed({ ...initialLinkState(false), loginNeed: reason }, here), true);
  assert.equal(isListed(lost, here), true);
  assert.equal(isListed({ ...lost, lostAt: at - 100 }, here), false);
  assert.equal(isListed(lost, { ...here, desired: 'disconnected' }), false);
});

test('a call waits for a connection that may come back, not for one that was ended', () => {
  const here = { status: 'CONNECTING', desired: 'connected', now: at, listGraceMs: 100 } as const;
  for (const phase of linkPhases) {
    const may = mayComeBack({ ...initialLinkState(false), phase }, here);
    assert.equal(may, phase !== 'draining' && phase !== 'closed', phase);
  }
  assert.equal(mayComeBack(initialLinkState(false), { ...here, desired: 'disconnected' }), false);
  assert.equal(mayComeBack(initialLinkState(false), { ...here, status: 'ERROR' }), false);
  assert.equal(mayComeBack(initialLinkState(true), { ...here, status: 'ERROR' }), true);
});
