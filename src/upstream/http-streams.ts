/** The event streams of Streamable HTTP: a request's answer, which can be resumed, and the one for everything else. */
import { setTimeout as delay } from 'node:timers/promises';
import { toAbortSignal } from '../cancellation.ts';
import { interruptibleDelay } from '../interruptible-delay.ts';
import type { RpcMessage } from '../json-rpc.ts';
import type { Result } from '../raw-result.ts';
import { ConnectionLost, MessageTooLarge, type SessionRequest, steadyStreamMs } from './session.ts';
import { type EventBody, hasMessages, readEventData, readEvents, type Wire, type WireAnswer } from './wire.ts';

const defaultRetryMs = 1_000;
/** However soon the server would like to be asked again. */
const minRetryMs = 250;
const maxRetryMs = 30_000;
/** Of one answer's stream, in a row. */
const maxCuts = 5;

const clampRetry = (ms: number) => Math.max(minRetryMs, Math.min(ms, maxRetryMs));

interface AnswerStreamOptions {
  wire: Pick<Wire, 'messageBudget' | 'timeShare'>;
  /** Handles everything in the messages; a function that gives or throws the answer when it is among them. */
  settle(messages: RpcMessage[]): (() => Result) | undefined;
  resume(lastEventId: string): Promise<WireAnswer>;
}

/** Resumable streams of the legacy revisions: the answer continues where the stream ended, however often it does. */
export async function readAnswerStream(
  stream: EventBody,
  { signal, pause }: SessionRequest,
  { wire, settle, resume }: AnswerStreamOptions,
): Promise<Result> {
  let outcome: (() => Result) | undefined;
  let lastEventId: string | undefined;
  let retryMs = defaultRetryMs;
  let body = stream;
  let cuts = 0;
  for (;;) {
    const receive = (messages: RpcMessage[]): void => {
      outcome = settle(messages);
    };
    const wasCut = await readEvents(body, wire, {
      onEvent(event) {
        if (event.id !== undefined) lastEventId = event.id;
        if (!hasMessages(event)) return false;
        const messages = readEventData(event.data);
        if (messages instanceof Promise) return messages.then(receive);
        receive(messages);
        return false;
      },
      onRetry(ms) {
        retryMs = clampRetry(ms);
      },
      isDone: () => outcome !== undefined,
    }).then(
      () => false,
      (error: unknown) => {
        const isFinal = signal?.aborted || lastEventId === undefined || error instanceof MessageTooLarge;
        if (outcome === undefined && isFinal) throw error;
        return true;
      },
    );
    if (outcome !== undefined) return outcome();
    cuts = wasCut ? cuts + 1 : 0;
    if (lastEventId === undefined || cuts > maxCuts) {
      throw new ConnectionLost('the server ended the stream of a request without an answer', 'maybe');
    }
    if (!wasCut) pause?.();
    await delay(retryMs, undefined, { signal: signal && toAbortSignal(signal) });
    const resumed = await resume(lastEventId);
    if (resumed.events === undefined) throw new ConnectionLost('the server does not resume its stream', 'maybe');
    body = resumed.events;
  }
}

interface ListenOptions {
  wire: Pick<Wire, 'messageBudget' | 'timeShare'>;
  closed: AbortSignal;
  /** The session may be replaced by another one meanwhile. */
  sessionId(): string | undefined;
  open(lastEventId: string | undefined): Promise<WireAnswer>;
  onMessage(message: RpcMessage): void;
  /** There was no stream for a while and none can tell what was missed. */
  onGap(): void;
}

/** The legacy stream for what belongs to no request, opened again whenever it ends. A server may have none (405). */
export async function keepListening(options: ListenOptions): Promise<void> {
  const { wire, closed, sessionId, open, onMessage, onGap } = options;
  let lastEventId: string | undefined;
  let retryMs = defaultRetryMs;
  let isFirst = true;
  while (!closed.aborted) {
    const session = sessionId();
    const beganAt = performance.now();
    try {
      const stream = await open(lastEventId);
      if (stream.status !== 200 || stream.events === undefined) {
        stream.events?.destroy();
        if (stream.status < 500 && session === sessionId()) return;
      } else {
        // Without an id to resume from, changes in between were not reported.
        if (!isFirst && lastEventId === undefined) onGap();
        isFirst = false;
        await readEvents(stream.events, wire, {
          onEvent(event) {
            if (event.id !== undefined) lastEventId = event.id;
            if (!hasMessages(event)) return false;
            const messages = readEventData(event.data);
            if (messages instanceof Promise) return messages.then((read) => read.forEach(onMessage));
            messages.forEach(onMessage);
            return false;
          },
          onRetry(ms) {
            retryMs = clampRetry(ms);
          },
        });
      }
    } catch {
      // Calls and health checks tell whether the server is gone; this stream only tries again.
      lastEventId = session === sessionId() ? lastEventId : undefined;
    }
    if (performance.now() - beganAt > steadyStreamMs) retryMs = defaultRetryMs;
    await interruptibleDelay(retryMs, closed, { ref: false });
    retryMs = Math.min(retryMs * 2, maxRetryMs);
  }
}
