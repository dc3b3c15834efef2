/**
 * Streamable HTTP, both eras. Every request has a stream of its own, so what a server says or asks on it belongs to
 * that request for certain.
 */
import type { CancelSignal } from '../cancellation.ts';
import { RpcError } from '../errors.ts';
import { parseJson } from '../exact-json.ts';
import {
  encodeHeader,
  isObject,
  type JsonObject,
  listChanges,
  namedBy,
  type RpcMessage,
  type RpcRequest,
} from '../json-rpc.ts';
import { type Result, toObject } from '../raw-result.ts';
import { createHttpInbox } from './http-inbox.ts';
import { keepListening, readAnswerStream } from './http-streams.ts';
import { createQuestions } from './questions.ts';
import {
  adaptParams,
  ConnectionLost,
  ownRequest,
  type ServerIdentity,
  type Session,
  type SessionEvents,
  type SessionRequest,
} from './session.ts';
import { contentType, orConnectionLost, readMessages, refuseDenied, type Wire, type WireAnswer } from './wire.ts';

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
  identity: ServerIdentity;
  sessionId?: string;
  events: SessionEvents;
  /** Legacy: opens a new session in place of one that the server no longer knows. */
  reopen?: () => Promise<{ identity: ServerIdentity; sessionId?: string }>;
}

export function createHttpSession(options: HttpSessionOptions): Session {
  const { wire, events } = options;
  let { identity, sessionId } = options;
  const closed = new AbortController();
  const questions = createQuestions(sendAnswer);
  const inbox = createHttpInbox({ events, questions, isLegacy: () => identity.era === 'legacy' });
  let reopening: Promise<void> | undefined;
  let generation = 0;

  if (identity.era === 'legacy')
    void keepListening({
      wire,
      closed: closed.signal,
      sessionId: () => sessionId,
      open: (lastEventId) => openStream(lastEventId, closed.signal),
      onMessage: inbox.receive,
      onGap() {
        for (const change of listChanges) events.onNotification(change, {});
      },
    });

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
    const id = inbox.add(request, progressToken);
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
          inbox.abandon(id, request);
          void notify('notifications/cancelled', { requestId: id, reason: 'cancelled' }).catch(() => undefined);
        }
        throw signal.reason;
      }
      throw orConnectionLost(error, wire.url);
    } finally {
      inbox.remove(id);
    }
  }

  /** Many clients share a session of the old era, and two may both use 1; the new era has no session to share. */
  function withOwnToken(id: number, params: JsonObject): JsonObject {
    if (identity.era === 'modern' || !isObject(params._meta) || params._meta.progressToken === undefined) return params;
    return { ...params, _meta: { ...params._meta, progressToken: id } };
  }

  function readAnswer(answer: WireAnswer, id: number, request: SessionRequest): Result | Promise<Result> {
    refuseDenied(answer);
    if (answer.status !== 200) throw toProblem(answer);
    const settle = (messages: RpcMessage[]) => inbox.settle(messages, id, request);
    if (answer.events !== undefined) {
      const resume = (lastEventId: string) => openStream(lastEventId, request.signal);
      return readAnswerStream(answer.events, request, { wire, settle, resume });
    }
    const outcome = settle(readMessages(answer));
    if (outcome === undefined) throw new ConnectionLost('the server did not answer the request', 'maybe');
    return outcome();
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

  async function reopen(expired: string): Promise<void> {
    if (sessionId !== expired) return; // another call already did
    reopening ??= (async () => {
      if (options.reopen === undefined) throw new ConnectionLost('the server ended the session', 'no');
      const fresh = await options.reopen();
      identity = fresh.identity;
      sessionId = fresh.sessionId;
      generation += 1;
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
      return inbox.heardAt;
    },
    get generation() {
      return generation;
    },
    relay,
    request: (method, params, options) => relay(ownRequest(method, params, options)).then(toObject),
    notify,
    async close() {
      if (closed.signal.aborted) return;
      if (sessionId !== undefined) {
        await wire
          .send('DELETE', { headers: requestHeaders(identity, sessionId), signal: AbortSignal.timeout(1_000) })
          .catch(() => undefined); // the server drops idle sessions anyway
      }
      closed.abort();
      questions.withdrawAll();
      await wire.close();
    },
  };
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
