/** How long a call may take: the request timeout, begun anew with every sign of progress, up to the cap. */
import { Cancellation } from '../cancellation.ts';
import type { Config } from '../config/config.ts';
import { createInFlightTable } from '../in-flight-table.ts';
import { userOf } from '../security/policy.ts';
import { maskNotice } from '../upstream/notice.ts';
import type { RoutedCall } from './call.ts';

export interface Deadline {
  /** The caller's, watched for signs of progress; its signal is also aborted when it takes too long. */
  readonly call: RoutedCall;
  readonly timedOut: boolean;
  /** The server has shown that it works on the call. */
  extend(): void;
  clear(): void;
}

interface Deadlines {
  begin(call: RoutedCall, link: TimedLink): Deadline;
}

/** The part of a link that matters here. */
interface TimedLink {
  readonly server: { readonly options: { readonly request_timeout?: number } };
  /** The server asks the caller something. */
  recordAsked(method: string): void;
  /** Hides the server's secrets, and the user's, in what it says on the way. */
  mask(text: string, user?: string): string;
}

interface Running extends Deadline {
  readonly cancel: Cancellation;
  dueAt: number;
  timedOut: boolean;
}

const maxTimerMs = 2 ** 31 - 1;

/** One timer for all calls, for the one that is due first: nearly all are answered before, and a timer each costs more. */
export function createDeadlines({
  requestTimeoutMs,
  requestTimeoutCapMs,
}: Pick<Config, 'requestTimeoutMs' | 'requestTimeoutCapMs'>): Deadlines {
  const inFlight = createInFlightTable<Running>();
  let timer: NodeJS.Timeout | undefined;
  let wakesAt = Number.POSITIVE_INFINITY;

  function wakeAt(time: number, now: number): void {
    if (time >= wakesAt) return;
    clearTimeout(timer);
    wakesAt = time;
    timer = setTimeout(expireDue, Math.min(Math.max(0, Math.ceil(time - now)), maxTimerMs)).unref();
  }

  function expireDue(): void {
    wakesAt = Number.POSITIVE_INFINITY;
    const now = performance.now();
    let next = Number.POSITIVE_INFINITY;
    for (const call of inFlight) {
      if (call.dueAt <= now) expire(call);
      else next = Math.min(next, call.dueAt);
    }
    wakeAt(next, now);
  }

  function expire(call: Running): void {
    call.timedOut = true;
    call.dueAt = Number.POSITIVE_INFINITY;
    call.cancel.abort(new DOMException('timed out', 'TimeoutError'));
  }

  function begin(asked: RoutedCall, link: TimedLink): Deadline {
    const { signal, notify, ask, caller } = asked;
    const mask = (text: string): string => link.mask(text, userOf(caller.principal));
    const isLent = signal instanceof Cancellation;
    const cancel = isLent ? signal : new Cancellation();
    const { request_timeout: seconds } = link.server.options;
    const timeoutMs = seconds === undefined ? requestTimeoutMs : seconds * 1_000;
    const startedAt = performance.now();
    const latest = startedAt + requestTimeoutCapMs;
    let asking = 0;
    const onAbort = () => cancel.abort(signal.reason);
    if (!isLent) {
      if (signal.aborted) onAbort();
      signal.addEventListener('abort', onAbort, { once: true });
    }

    const running: Running = {
      cancel,
      dueAt: startedAt + timeoutMs,
      timedOut: false,
      call: {
        ...asked,
        signal: cancel,
        notify(method, params) {
          if (method === 'notifications/progress') extend();
          notify?.(method, maskNotice(method, params, mask));
        },
        ask:
          ask &&
          (async (method, params, withdrawn) => {
            link.recordAsked(method);
            // While a person is being asked, the server is not the one who is slow.
            asking += 1;
            extend();
            try {
              return await ask(method, params, withdrawn);
            } finally {
              asking -= 1;
              extend();
            }
          }),
      },
      extend,
      clear() {
        inFlight.remove(place);
        if (!isLent) signal.removeEventListener('abort', onAbort);
      },
    };
    const place = inFlight.add(running);
    wakeAt(running.dueAt, startedAt);
    return running;

    function extend(): void {
      const now = performance.now();
      running.dueAt = asking > 0 ? Number.POSITIVE_INFINITY : Math.min(now + timeoutMs, latest);
      wakeAt(running.dueAt, now);
    }
  }

  return { begin };
}
