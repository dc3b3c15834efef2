/** Everything a link to a server can be, as a pure function over a table. `shared-connection.ts` carries out the effects. */
import type { AppError } from '../errors.ts';
import { behaviour, type Status } from '../registry/lifecycle.ts';

export const linkPhases = ['idle', 'parked', 'connecting', 'connected', 'draining', 'closed'] as const;
export type LinkPhase = (typeof linkPhases)[number];

export interface LinkState {
  readonly phase: LinkPhase;
  /** Why nothing can be done before a login. */
  readonly loginNeed?: AppError;
  /** When the connection was lost, in milliseconds; undefined while it holds or after it was ended on purpose. */
  readonly lostAt?: number;
  /** The server was connected before this process started, and the first attempts have not failed yet. */
  readonly isRestoring: boolean;
  /** An attempt failed: a server that was updated may refuse the era that is remembered. */
  readonly isEraInDoubt: boolean;
}

export type LinkEvent =
  | { type: 'connect' }
  | { type: 'attempt_failed' }
  | { type: 'connect_succeeded' }
  | { type: 'connect_failed' }
  | { type: 'park' }
  | { type: 'connection_lost'; at: number }
  | { type: 'login_required'; reason: AppError }
  | { type: 'logged_in' }
  | { type: 'disconnect' }
  | { type: 'disconnected' }
  | { type: 'close' };

export const linkEvents = [
  'connect',
  'attempt_failed',
  'connect_succeeded',
  'connect_failed',
  'park',
  'connection_lost',
  'login_required',
  'logged_in',
  'disconnect',
  'disconnected',
  'close',
] as const satisfies readonly LinkEvent['type'][];

/** An event that is missing in a row is ignored in that phase. */
const table: Record<LinkPhase, Partial<Record<LinkEvent['type'], LinkPhase>>> = {
  idle: {
    connect: 'connecting',
    park: 'parked',
    login_required: 'idle',
    logged_in: 'idle',
    disconnect: 'draining',
    close: 'closed',
  },
  parked: { connect: 'connecting', disconnect: 'draining', close: 'closed' },
  connecting: {
    attempt_failed: 'connecting',
    connect_succeeded: 'connected',
    connect_failed: 'idle',
    login_required: 'connecting',
    logged_in: 'connecting',
    disconnect: 'draining',
    close: 'closed',
  },
  connected: {
    connection_lost: 'idle',
    park: 'parked',
    login_required: 'connected',
    logged_in: 'connected',
    disconnect: 'draining',
    close: 'closed',
  },
  draining: { logged_in: 'draining', disconnected: 'idle', close: 'closed' },
  closed: {},
};

export function initialLinkState(wasConnected: boolean): LinkState {
  return { phase: 'idle', isRestoring: wasConnected, isEraInDoubt: false };
}

/** The next state, or undefined where the event changes nothing. */
export function nextLinkState(state: LinkState, event: LinkEvent): LinkState | undefined {
  const phase = table[state.phase][event.type];
  return phase === undefined ? undefined : { ...state, ...consequences(event), phase };
}

function consequences(event: LinkEvent): Partial<LinkState> {
  switch (event.type) {
    case 'attempt_failed':
      return { isEraInDoubt: true };
    case 'connect_succeeded':
      return { loginNeed: undefined, lostAt: undefined, isRestoring: false, isEraInDoubt: false };
    case 'connect_failed':
      return { isRestoring: false };
    case 'park':
      return { lostAt: undefined, isRestoring: false };
    case 'connection_lost':
      return { lostAt: event.at };
    case 'login_required':
      return { loginNeed: event.reason };
    case 'logged_in':
      return { loginNeed: undefined };
    case 'disconnect':
      return { loginNeed: undefined, lostAt: undefined, isRestoring: false };
    default:
      return {};
  }
}

/** A background attempt would be refused again while a login is required; a requested one may find the server mended. */
export function mayConnect({ phase, loginNeed }: LinkState, { isBackground }: { isBackground: boolean }): boolean {
  return (phase === 'idle' || phase === 'parked') && !(isBackground && loginNeed !== undefined);
}

/** Parked, or about to be started for a call: it counts as connected, and its start takes as long as a start takes. */
export function isBeingStarted({ phase }: LinkState, status: Status): boolean {
  return phase === 'parked' || (phase === 'connecting' && behaviour[status].executes);
}

export const isEnding = ({ phase }: LinkState): boolean => phase === 'draining' || phase === 'closed';

/** What the registry knows of the server, and the time. */
export interface LinkSurroundings {
  status: Status;
  desired: 'connected' | 'disconnected';
  now: number;
  /** A server that was lost stays listed for this long, so that clients' lists do not flicker. */
  listGraceMs: number;
}

/** The server's tools stay listed: connected, waiting for a login, or lost only just now. */
export function isListed(state: LinkState, { status, desired, now, listGraceMs }: LinkSurroundings): boolean {
  if (behaviour[status].searchable) return true;
  if (desired !== 'connected') return false;
  if (state.loginNeed !== undefined || state.isRestoring) return true;
  return state.lostAt !== undefined && now - state.lostAt < listGraceMs;
}

/** A call may wait for the connection to come back. */
export function mayComeBack(state: LinkState, surroundings: LinkSurroundings): boolean {
  if (isEnding(state) || surroundings.desired !== 'connected') return false;
  return surroundings.status === 'CONNECTING' || isListed(state, surroundings);
}
