/** How long a call may take: the request timeout, begun anew with every sign of progress, up to the cap. */
import { Cancellation } from '../cancellation.ts';
import type { Config } from '../config/config.ts';
import { createInFlightTable } from '../in-flight-table.ts';
import type { Mask } from '../security/mask.ts';
import { maskNotice } from '../upstream/notice.ts';
import type { Exchange } from '../upstream/session.ts';

/** What whoever asked does with the call: hears it, answers it, cancels it. */
export interface RelayExchange extends Pick<Exchange, 'onNotification' | 'onRequest' | 'onPause' | 'headers'> {
  /** Lent to the deadline: a call that takes too long is cancelled with it. */
  cancel?: Cancellation;
  /** Where there is none to lend. */
  signal?: AbortSignal;
}

export interface Deadline {
  /** Of the caller or of the deadline itself. */
  readonly cancel: Cancellation;
  readonly timedOut: boolean;
  /** The caller's, watched for signs of progress. */
  readonly exchange: Exchange;
  clear(): void;
}

interface Deadlines {
  begin(asked: RelayExchange, terms: Terms): Deadline;
}

interface Terms extends Pick<Exchange, 'client' | 'owner'> {
  /** The server's own request timeout. */
  seconds: number | undefined;
  /** The server asks the caller something. */
  onAsked: () => void;
  /** Hides the server's secrets in what it says on the way. */
  mask: Mask;
}

interface Running extends Deadline {
  dueAt: number;
  timedOut: boolean;
}

const maxTimerMs = 2 ** 31 - 1;

/** One timer for all calls, for the one that is due first: nearly all are answered before, and a timer each costs more. */
export function createDeadlines({
  requestTimeoutMs,
  requestTimeoutCapMs,
}: Pick<Config, 'requestTimeoutMs' | 'requestTimeoutCapMs'>): Deadlines {
  const running = createInFlightTable<Running>();
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
    for (const call of running) {
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

  function begin(asked: RelayExchange, { client, owner, seconds, onAsked, mask }: Terms): Deadline {
    const { signal, onRequest } = asked;
    const cancel = asked.cancel ?? new Cancellation();
    const timeoutMs = seconds === undefined ? requestTimeoutMs : seconds * 1_000;
    const startedAt = performance.now();
    const latest = startedAt + requestTimeoutCapMs;
    let asking = 0;
    const onAbort = () => cancel.abort(signal?.reason);
    if (signal?.aborted) onAbort();
    signal?.addEventListener('abort', onAbort, { once: true });

    const call: Running = {
      cancel,
      dueAt: startedAt + timeoutMs,
      timedOut: false,
      exchange: {
        client,
        owner,
        signal: cancel,
        headers: asked.headers,
        onPause: asked.onPause,
        onNotification(method, params) {
          if (method === 'notifications/progress') extend();
          asked.onNotification?.(method, maskNotice(method, params, mask));
        },
        onRequest:
          onRequest &&
          (async (method, params, withdrawn) => {
            onAsked();
            // While a person is being asked, the server is not the one who is slow.
            asking += 1;
            extend();
            try {
              return await onRequest(method, params, withdrawn);
            } finally {
              asking -= 1;
              extend();
            }
          }),
      },
      clear() {
        running.remove(place);
        signal?.removeEventListener('abort', onAbort);
      },
    };
    const place = running.add(call);
    wakeAt(call.dueAt, startedAt);
    return call;

    function extend(): void {
      const now = performance.now();
      call.dueAt = asking > 0 ? Number.POSITIVE_INFINITY : Math.min(now + timeoutMs, latest);
      wakeAt(call.dueAt, now);
    }
  }

  return { begin };
}
