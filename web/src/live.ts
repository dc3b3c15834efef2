/** The stream of live events of the aggregator. */
export const eventNames = [
  'server.registered',
  'server.updated',
  'server.removed',
  'server.status',
  'server.discovered',
  'catalog.changed',
  'call.started',
  'call.finished',
] as const;
export type EventName = (typeof eventNames)[number];
export type LiveEvent = Record<string, unknown>;
export type LiveState = 'connecting' | 'live' | 'lost';

type Listener = (name: EventName, event: LiveEvent) => void;

const listeners = new Set<Listener>();
const stateListeners = new Set<() => void>();
const returnListeners = new Set<() => void>();
let state: LiveState = 'connecting';
let stateSince = Date.now();
/** Also before the stream opens for the first time: what pages asked until then may have changed meanwhile. */
let wasLost = true;

function setState(next: LiveState): void {
  if (next !== state) stateSince = Date.now();
  state = next;
  for (const listener of stateListeners) listener();
}

const reopenMs = 2_000;

export function startLive(): () => void {
  let stream: EventSource;
  let timer: number | undefined;

  function open(): void {
    stream = new EventSource('/api/v1/aggregator/events');
    stream.onopen = () => {
      setState('live');
      // Events in between were lost, so all resources are loaded again.
      if (wasLost) for (const listener of returnListeners) listener();
      wasLost = false;
    };
    stream.onerror = () => {
      wasLost = true;
      setState('lost');
      // A lost connection is made again by the browser; after a refusal (a restart, the end of the session) it is not.
      if (stream.readyState !== EventSource.CLOSED) return;
      timer = window.setTimeout(open, reopenMs);
      for (const listener of returnListeners) listener();
    };
    for (const name of eventNames) {
      stream.addEventListener(name, ({ data }: MessageEvent<string>) => {
        const event = JSON.parse(data) as LiveEvent;
        for (const listener of listeners) listener(name, event);
      });
    }
  }

  open();
  return () => {
    window.clearTimeout(timer);
    stream.close();
    setState('connecting');
  };
}

export function onLive(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Told when the stream is back after a gap. */
export function onReturn(listener: () => void): () => void {
  returnListeners.add(listener);
  return () => returnListeners.delete(listener);
}

export const liveState = {
  subscribe(listener: () => void) {
    stateListeners.add(listener);
    return () => void stateListeners.delete(listener);
  },
  get: () => state,
  since: () => stateSince,
};
