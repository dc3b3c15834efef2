/** The events of a session that may get another owner while it is open. */
import type { SessionEvents } from './session.ts';

export interface RetargetableEvents {
  readonly events: SessionEvents;
  /** From now on, what the server sends goes to these. */
  retarget(events: SessionEvents): void;
}

export function retargetable(initial: SessionEvents): RetargetableEvents {
  let target = initial;
  return {
    events: {
      onNotification: (method, params) => target.onNotification(method, params),
      onRequest: (method, params, inFlight, signal) => target.onRequest(method, params, inFlight, signal),
      onClose: (error) => target.onClose(error),
    },
    retarget(events) {
      target = events;
    },
  };
}
