/** What a server sends over Streamable HTTP, on whichever stream: the request that it is about, or the whole server. */
import { RpcError } from '../errors.ts';
import { createInFlightTable } from '../in-flight-table.ts';
import {
  errorOf,
  isRequest,
  isResponse,
  type JsonObject,
  type RpcFailure,
  type RpcMessage,
  type RpcNotification,
  type RpcSuccess,
  toOwnNumber,
} from '../json-rpc.ts';
import type { Result } from '../raw-result.ts';
import type { createQuestions } from './questions.ts';
import {
  createAbandoned,
  createFloodGuard,
  flooded,
  type SessionEvents,
  type SessionRequest,
  subscriptionAcknowledged,
} from './session.ts';

interface HttpInbox {
  /** When the server last said anything at all. */
  readonly heardAt: number;
  /** From here on the request is in progress; returns its id. */
  add(request: SessionRequest, progressToken: unknown): number;
  remove(id: number): void;
  /** The request was given up, and the server may work on it all the same. */
  abandon(id: number, request: SessionRequest): void;
  /** Handles what came with the answer to a request; a function that gives or throws the answer when it is there. */
  settle(messages: RpcMessage[], id: number, request: SessionRequest): (() => Result) | undefined;
  /** Handles what came on the stream of no request. */
  receive(message: RpcMessage): void;
}

interface HttpInboxOptions {
  events: SessionEvents;
  questions: ReturnType<typeof createQuestions>;
  /** Only then are progress tokens our own ids. */
  isLegacy: () => boolean;
}

export function createHttpInbox({ events, questions, isLegacy }: HttpInboxOptions): HttpInbox {
  // The handshake was number 1.
  const inFlight = createInFlightTable<{ request: SessionRequest; progressToken: unknown }>(1);
  const isFlooding = createFloodGuard();
  const abandoned = createAbandoned();
  let heardAt = performance.now();

  /** What says itself which request or question it is about, whatever stream it came on. */
  function notifyKnown({ method, params = {} }: RpcNotification): boolean {
    if (method === 'notifications/progress') return notifyProgress(params);
    if (method !== 'notifications/cancelled') return false;
    questions.withdraw(params.requestId);
    return true;
  }

  function notifyProgress(params: JsonObject): boolean {
    const known = isLegacy() ? inFlight.get(toOwnNumber(params.progressToken)) : undefined;
    if (known?.progressToken === undefined) return false;
    known.request.notify?.('notifications/progress', { ...params, progressToken: known.progressToken });
    return true;
  }

  function settle(messages: RpcMessage[], id: number, request: SessionRequest): (() => Result) | undefined {
    let outcome: (() => Result) | undefined;
    heardAt = performance.now();
    for (const message of messages) {
      if (!isResponse(message) && isFlooding()) throw flooded();
      if (isResponse(message)) {
        if (isAnswerTo(id, message)) outcome = () => resultOf(message);
      } else if (isRequest(message)) {
        void questions.answer(message, (params, signal) =>
          request.ask === undefined
            ? events.onRequest(message.method, params, () => [], signal)
            : request.ask(message.method, params, signal),
        );
      } else if (notifyKnown(message)) {
        // told
      } else if (request.notify !== undefined && belongsToRequest(message.method)) {
        request.notify(message.method, message.params ?? {});
      } else {
        events.onNotification(message.method, message.params ?? {});
      }
    }
    return outcome;
  }

  function receive(message: RpcMessage): void {
    heardAt = performance.now();
    if (isFlooding()) throw flooded();
    if (isResponse(message)) return;
    if (isRequest(message)) {
      const candidates = () => [...abandoned.list(), ...Array.from(inFlight, ({ request }) => request)];
      void questions.answer(message, (params, signal) => events.onRequest(message.method, params, candidates, signal));
    } else if (notifyKnown(message)) {
      // told
    } else if (message.method === 'notifications/message') {
      notifyOnly(message.method, message.params ?? {});
    } else {
      events.onNotification(message.method, message.params ?? {});
    }
  }

  /** A log message outside a request's stream does not say which call it is about, unless there is just one. */
  function notifyOnly(method: string, params: JsonObject): void {
    const [only, ...others] = [...inFlight].filter(({ request }) => request.notify !== undefined);
    if (only?.request.notify === undefined || others.length > 0) events.onNotification(method, params);
    else only.request.notify(method, params);
  }

  return {
    get heardAt() {
      return heardAt;
    },
    add: (request, progressToken) => inFlight.add({ request, progressToken }),
    remove: (id) => void inFlight.remove(id),
    abandon: abandoned.add,
    settle,
    receive,
  };
}

/** Progress and log messages on a request's stream are that request's; anything else concerns the whole server. */
function belongsToRequest(method: string): boolean {
  return (
    method === 'notifications/progress' ||
    method === 'notifications/message' ||
    method === subscriptionAcknowledged ||
    method.startsWith('notifications/tasks')
  );
}

/** A server that could not read the request has no id for its error. */
function isAnswerTo(id: number, response: RpcSuccess | RpcFailure): boolean {
  const answered = toOwnNumber(response.id);
  return answered === id || (Number.isNaN(answered) && errorOf(response) !== undefined);
}

function resultOf(response: RpcSuccess | RpcFailure): Result {
  const error = errorOf(response);
  if (error !== undefined) throw new RpcError(error.code, error.message, error.data);
  return 'result' in response ? response.result : {};
}
