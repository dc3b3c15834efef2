/**
 * Streamable HTTP, both eras. Every request has a stream of its own, so what a server says or asks on it belongs to
 * that request for certain.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type CancelSignal, toAbortSignal } from '../cancellation.ts';
import { RpcError } from '../errors.ts';
import { parseJson } from '../exact-json.ts';
import { createInFlightTable } from '../in-flight-table.ts';
import {
  encodeHeader,
  isObject,
  isRequest,
  isResponse,
  type JsonObject,
  listChanges,
  namedBy,
  type RpcMessage,
  type RpcNotification,
  type RpcRequest,
} from '../json-rpc.ts';
import { type Result, toObject } from '../raw-result.ts';
import { createQuestions } from './questions.ts';
import {
  adaptParams,
  ConnectionLost,
  createAbandoned,
  createFloodGuard,
  flooded,
  MessageTooLarge,
  ownRequest,
  type ServerIdentity,
  type Session,
  type SessionEvents,
  type SessionRequest,
  steadyStreamMs,
  subscriptionAcknowledged,
} from './session.ts';
import {
  contentType,
  type EventBody,
  orConnectionLost,
  parseMessages,
  readEvents,
  readMessages,
  refuseDenied,
  type Wire,
  type WireAnswer,
} from './wire.ts';

/** The server answered with an HTTP status that is no answer to a call. */
export class HttpProblem extends Error {
  readonly status: number;

  constructor(status: number, text: string) {
    super(`the server answered HTTP ${status}${text === '' ? '' : `: ${text.slice(0, 200)}`}`);
    this.name = 'HttpProblem';
    this.status = status;
  }
}

interface HttpSessionOptions {
  wire: Wire;
  maxMessageBytes: number;
  identity: ServerIdentity;
  sessionId?: string;
  events: SessionEvents;
  /** Legacy: opens a new session in place of one that the server no longer knows. */
  reopen?: () => Promise<{ identity: ServerIdentity; sessionId?: string }>;
}

const defaultRetryMs = 1_000;
/** However soon the server would like to be asked again. */
const minRetryMs = 250;
const maxRetryMs = 30_000;
/** Of one answer's stream, in a row. */
const maxCuts = 5;

export function createHttpSession(options: HttpSessionOptions): Session {
  const { wire, events, maxMessageBytes } = options;
  let { identity, sessionId } = options;
  const closed = new AbortController();
  // The handshake was number 1.
  const inFlight = createInFlightTable<{ request: SessionRequest; progressToken: unknown }>(1);
  const questions = createQuestions(sendAnswer);
  const isFlooding = createFloodGuard();
  const abandoned = createAbandoned();
  let reopening: Promise<void> | undefined;
  let heardAt = performance.now();

  if (identity.era === 'legacy') void listen();

  function relay(request: SessionRequest): Promise<Result> {
    const usedSession = sessionId;
    const answer = send(request);
    if (usedSession === undefined) return answer;
    return answer.catch(async (error: unknown) => {
      // 404 for a session means that it expired and that nothing was executed (BR-005, «reconnect once»).
      if (!(error instanceof HttpProblem) || error.status !== 404) throw error;
      await reopen(usedSession);
      return await send(request);
    });
  }

  async function send(request: SessionRequest): Promise<Result> {
    const { method, params, signal } = request;
    const adapted = adaptParams(params, identity, request.caller?.client);
    const progressToken = isObject(adapted._meta) ? adapted._meta.progressToken : undefined;
    const id = inFlight.add({ request, progressToken });
    const message: RpcRequest = { jsonrpc: '2.0', id, method, params: withOwnToken(id, adapted) };
    try {
      const answer = await wire.send('POST', {
        headers: requestHeaders(identity, sessionId, method, params, request.parameterHeaders),
        body: JSON.stringify(message),
        signal,
      });
      const read = readAnswer(answer, id, request);
      return read instanceof Promise ? await read : read;
    } catch (error) {
      if (signal?.aborted) {
        if (identity.era === 'legacy') {
          abandoned.add(id, request);
          void notify('notifications/cancelled', { requestId: id, reason: 'cancelled' }).catch(() => undefined);
        }
        throw signal.reason;
      }
      throw orConnectionLost(error, wire.url);
    } finally {
      inFlight.remove(id);
    }
  }

  /** Many clients share a session of the old era, and two may both use 1; the new era has no session to share. */
  function withOwnToken(id: number, params: JsonObject): JsonObject {
    if (identity.era === 'modern' || !isObject(params._meta) || params._meta.progressToken === undefined) return params;
    return { ...params, _meta: { ...params._meta, progressToken: id } };
  }

  /** What says itself which request or question it is about, whatever stream it came on. */
  function notifyKnown({ method, params = {} }: RpcNotification): boolean {
    if (method === 'notifications/progress') return notifyProgress(params);
    if (method !== 'notifications/cancelled') return false;
    questions.withdraw(params.requestId);
    return true;
  }

  function notifyProgress(params: JsonObject): boolean {
    const known = identity.era === 'legacy' ? inFlight.get(params.progressToken as number) : undefined;
    if (known?.progressToken === undefined) return false;
    known.request.notify?.('notifications/progress', { ...params, progressToken: known.progressToken });
    return true;
  }

  function readAnswer(answer: WireAnswer, id: number, request: SessionRequest): Result | Promise<Result> {
    refuseDenied(answer);
    if (answer.status !== 200) throw toProblem(answer);
    if (answer.events !== undefined) return readStream(answer.events, id, request);
    const outcome = settleAll(readMessages(answer.body), id, request);
    if (outcome === undefined) throw new ConnectionLost('the server did not answer the request', 'maybe');
    return outcome();
  }

  async function readStream(stream: EventBody, id: number, request: SessionRequest): Promise<Result> {
    let outcome: (() => Result) | undefined;
    let lastEventId: string | undefined;
    let retryMs = defaultRetryMs;
    let body = stream;
    let cuts = 0;
    for (;;) {
      const stop = body.destroy.bind(body);
      const wasCut = await readEvents(
        body,
        maxMessageBytes,
        (event) => {
          if (event.id !== undefined) lastEventId = event.id;
          if (event.data === '' || outcome !== undefined) return;
          outcome = settleAll(readMessages(Buffer.from(event.data)), id, request);
          if (outcome !== undefined) stop();
        },
        (ms) => {
          retryMs = Math.max(minRetryMs, Math.min(ms, maxRetryMs));
        },
      ).then(
        () => false,
        (error: unknown) => {
          const isFinal = request.signal?.aborted || lastEventId === undefined || error instanceof MessageTooLarge;
          if (outcome === undefined && isFinal) throw error;
          return true;
        },
      );
      if (outcome !== undefined) return outcome();
      cuts = wasCut ? cuts + 1 : 0;
      if (lastEventId === undefined || cuts > maxCuts) {
        throw new ConnectionLost('the server ended the stream of a request without an answer', 'maybe');
      }
      // Resumable streams of the legacy revisions: the answer continues where the stream ended, however often it does.
      if (!wasCut) request.pause?.();
      await delay(retryMs, undefined, { signal: request.signal && toAbortSignal(request.signal) });
      const resumed = await openStream(lastEventId, request.signal);
      if (resumed.events === undefined) throw new ConnectionLost('the server does not resume its stream', 'maybe');
      body = resumed.events;
    }
  }

  /** Handles everything in the messages; a function that gives or throws the answer when it is among them. */
  function settleAll(messages: RpcMessage[], id: number, request: SessionRequest): (() => Result) | undefined {
    let outcome: (() => Result) | undefined;
    heardAt = performance.now();
    for (const message of messages) {
      if (isResponse(message)) {
        if (message.id === id || 'error' in message) outcome = () => resultOf(message);
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

  async function sendAnswer(answer: RpcMessage): Promise<void> {
    await wire.send('POST', {
      headers: requestHeaders(identity, sessionId),
      body: JSON.stringify(answer),
      signal: closed.signal,
    });
  }

  async function notify(method: string, params: JsonObject = {}): Promise<void> {
    const message = { jsonrpc: '2.0', method, params: adaptParams(params, identity, undefined) };
    await wire.send('POST', {
      headers: requestHeaders(identity, sessionId, method, params),
      body: JSON.stringify(message),
      signal: closed.signal,
    });
  }

  function openStream(lastEventId: string | undefined, signal: CancelSignal | undefined): Promise<WireAnswer> {
    return wire.send('GET', {
      headers: {
        ...requestHeaders(identity, sessionId),
        accept: 'text/event-stream',
        ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
      },
      signal,
    });
  }

  /** The legacy stream for what belongs to no request. A server may have none (405). */
  async function listen(): Promise<void> {
    let lastEventId: string | undefined;
    let retryMs = defaultRetryMs;
    let isFirst = true;
    while (!closed.signal.aborted) {
      const session = sessionId;
      const beganAt = performance.now();
      try {
        const stream = await openStream(lastEventId, closed.signal);
        if (stream.status !== 200 || stream.events === undefined) {
          stream.events?.destroy();
          if (stream.status < 500 && session === sessionId) return;
        } else {
          // Without an id to go on from, what changed meanwhile was told to nobody.
          if (!isFirst && lastEventId === undefined)
            for (const change of listChanges) events.onNotification(change, {});
          isFirst = false;
          await readEvents(
            stream.events,
            maxMessageBytes,
            (event) => {
              if (event.id !== undefined) lastEventId = event.id;
              if (event.data !== '') parseMessages(event.data).forEach(handle);
            },
            (ms) => {
              retryMs = Math.max(minRetryMs, Math.min(ms, maxRetryMs));
            },
          );
        }
      } catch {
        // Calls and health checks tell whether the server is gone; this stream only tries again.
        lastEventId = session === sessionId ? lastEventId : undefined;
      }
      if (performance.now() - beganAt > steadyStreamMs) retryMs = defaultRetryMs;
      await delay(retryMs, undefined, { signal: closed.signal, ref: false }).catch(() => undefined);
      retryMs = Math.min(retryMs * 2, maxRetryMs);
    }
  }

  function handle(message: RpcMessage): void {
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

  async function reopen(expired: string): Promise<void> {
    if (sessionId !== expired) return; // somebody else's call already did
    reopening ??= (async () => {
      if (options.reopen === undefined) throw new ConnectionLost('the server ended the session', 'no');
      const fresh = await options.reopen();
      identity = fresh.identity;
      sessionId = fresh.sessionId;
    })().finally(() => {
      reopening = undefined;
    });
    await reopening;
  }

  return {
    get era() {
      return identity.era;
    },
    get protocolVersion() {
      return identity.protocolVersion;
    },
    get capabilities() {
      return identity.capabilities;
    },
    get serverInfo() {
      return identity.serverInfo;
    },
    get instructions() {
      return identity.instructions;
    },
    get heardAt() {
      return heardAt;
    },
    relay,
    request: (method, params, options) => relay(ownRequest(method, params, options)).then(toObject),
    notify,
    async close() {
      if (closed.signal.aborted) return;
      if (sessionId !== undefined) {
        await wire
          .send('DELETE', { headers: requestHeaders(identity, sessionId), signal: AbortSignal.timeout(1_000) })
          .catch(() => undefined); // the server forgets the session by itself
      }
      closed.abort();
      questions.withdrawAll();
      await wire.close();
    },
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

function resultOf(message: RpcMessage): Result {
  if ('error' in message) throw new RpcError(message.error.code, message.error.message, message.error.data);
  return 'result' in message ? message.result : {};
}

function toProblem(answer: WireAnswer): Error {
  const text = answer.body.toString('utf8');
  const body = contentType(answer) === 'application/json' ? tryParse(text) : undefined;
  const error = isObject(body) && isObject(body.error) ? body.error : undefined;
  const expired = answer.status === 404 && (error === undefined || error.code === -32_001 || error.code === -32_000);
  if (error === undefined || expired || !Number.isInteger(error.code)) return new HttpProblem(answer.status, text);
  return new RpcError(Number(error.code), String(error.message), error.data);
}

function tryParse(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined; // an HTML error page and the like; shown as text
  }
}

export function requestHeaders(
  identity: Pick<ServerIdentity, 'era' | 'protocolVersion'>,
  sessionId: string | undefined,
  method?: string,
  params?: JsonObject,
  more?: Readonly<Record<string, string>>,
): Record<string, string> {
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': identity.protocolVersion,
  };
  if (sessionId !== undefined) headers['mcp-session-id'] = sessionId;
  if (identity.era === 'modern' && method !== undefined) {
    headers['mcp-method'] = method;
    const name = params?.[namedBy[method] ?? ''];
    if (typeof name === 'string') headers['mcp-name'] = encodeHeader(name);
  }
  return more === undefined ? headers : { ...more, ...headers };
}
