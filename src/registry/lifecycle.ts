/** The life of a connection to one server, as a pure function over a table (ST-001). */
export const statuses = ['DISCONNECTED', 'CONNECTING', 'CONNECTED', 'DEGRADED', 'ERROR', 'DISCONNECTING'] as const;
export type Status = (typeof statuses)[number];

export const lifecycleEvents = [
  'connect',
  'connect_succeeded',
  'connect_failed',
  'park',
  'health_passed',
  'health_failed',
  'connection_lost',
  'disconnect',
  'disconnected',
] as const;
export type LifecycleEvent = (typeof lifecycleEvents)[number];

export interface Lifecycle {
  readonly status: Status;
  /** Health checks failed since the last one that passed. */
  readonly failures: number;
}

const degradedAfterFailures = 2;
const errorAfterFailures = 3;

type Next = Status | ((failures: number) => Status);

const afterFailure = (failures: number): Status => {
  if (failures >= errorAfterFailures) return 'ERROR';
  return failures >= degradedAfterFailures ? 'DEGRADED' : 'CONNECTED';
};

/** An event that is missing in a row is illegal in that state. */
const table: Record<Status, Partial<Record<LifecycleEvent, Next>>> = {
  // A server that is started on demand counts as connected while it is parked.
  DISCONNECTED: { connect: 'CONNECTING', park: 'CONNECTED', disconnect: 'DISCONNECTED' },
  CONNECTING: {
    connect: 'CONNECTING',
    connect_succeeded: 'CONNECTED',
    connect_failed: 'ERROR',
    disconnect: 'DISCONNECTING',
  },
  CONNECTED: {
    connect: 'CONNECTED',
    connect_succeeded: 'CONNECTED',
    connect_failed: 'ERROR',
    park: 'CONNECTED',
    health_passed: 'CONNECTED',
    health_failed: afterFailure,
    connection_lost: 'ERROR',
    disconnect: 'DISCONNECTING',
  },
  DEGRADED: {
    connect: 'DEGRADED',
    health_passed: 'CONNECTED',
    health_failed: afterFailure,
    connection_lost: 'ERROR',
    disconnect: 'DISCONNECTING',
  },
  ERROR: { connect: 'CONNECTING', disconnect: 'DISCONNECTING' },
  DISCONNECTING: { disconnect: 'DISCONNECTING', disconnected: 'DISCONNECTED' },
};

/** The next state, or undefined when the event is illegal in this one. */
export function transition(current: Lifecycle, event: LifecycleEvent): Lifecycle | undefined {
  const next = table[current.status][event];
  if (next === undefined) return undefined;
  const failures = failuresAfter(current.failures, event);
  return { status: typeof next === 'function' ? next(failures) : next, failures };
}

function failuresAfter(failures: number, event: LifecycleEvent): number {
  if (event === 'health_failed') return failures + 1;
  return event === 'health_passed' || event === 'connect_succeeded' ? 0 : failures;
}

const bestFirst: readonly Status[] = ['CONNECTED', 'DEGRADED', 'CONNECTING', 'DISCONNECTING', 'ERROR', 'DISCONNECTED'];

/** Of what several replicas say about one server, what holds for all of them together. */
export function best<T extends { status: Status }>(first: T, others: readonly T[]): T {
  return others.reduce(
    (before, next) => (bestFirst.indexOf(next.status) < bestFirst.indexOf(before.status) ? next : before),
    first,
  );
}

/** ST-002 */
export const behaviour: Record<Status, { discovers: boolean; executes: boolean; searchable: boolean }> = {
  DISCONNECTED: { discovers: false, executes: false, searchable: false },
  CONNECTING: { discovers: false, executes: false, searchable: false },
  CONNECTED: { discovers: true, executes: true, searchable: true },
  DEGRADED: { discovers: false, executes: true, searchable: true },
  ERROR: { discovers: false, executes: false, searchable: false },
  DISCONNECTING: { discovers: false, executes: false, searchable: false },
};
