/**
 * Streamable HTTP, both eras. Every request has a stream of its own, so what a server says or asks on it belongs to
 * that request for certain.
 */
import type { CancelSignal } from '../cancellation.ts';
import { isObject, type JsonObject, listChanges, type RpcMessage, type RpcRequest } from '../json-rpc.ts';
import { type Result, toObject } from '../raw-result.ts';
import { createHttpInbox } from './http-inbox.ts';
import { HttpProblem, requestHeaders, toProblem } from './http-messages.ts';
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
import { orConnectionLost, readMessages, refuseDenied, type Wire, type WireAnswer } from './wire.ts';

/** As the server named it in the handshake. */
interface NamedSession {
  identity: ServerIdentity;
  sessionId?: string;
}

interface HttpSessionOptions extends NamedSession {
  wire: Wire;
  events: SessionEvents;
  /** Legacy: opens a new session in place of one that the server no longer knows. */
  reopen?: () => Promise<NamedSession>;
}

const goodbyeMs = 1_000;

export function createHttpSession(options: HttpSessionOptions): Session {
  const { wire, events } = options;
  const current = createReplaceable(options, options.reopen);
  const closed = new AbortController();
  const isLegacy = () => current.identity.era === 'legacy';
  const questions = createQuestions(sendAnswer);
  const inbox = createHttpInbox({ events, questions, isLegacy });
  const headersOf = (method?: string, params?: JsonObject, more?: Readonly<Record<string, string>>) =>
    requestHeaders(current.identity, current.sessionId, method, params, more);

  if (isLegacy())
    void keepListening({
      wire,
      closed: closed.signal,
      sessionId: () => current.sessionId,
      open: (lastEventId) => openStream(lastEventId, closed.signal),
      onMessage: inbox.receive,
      onGap() {
        for (const change of listChanges) events.onNotification(change, {});
      },
    });

  function relay(request: SessionRequest): Promise<Result> {
    const usedSession = current.sessionId;
    const answer = send(request);
    if (usedSession === undefined) return answer;
    return answer.catch(async (error: unknown) => {
      // 404 for a session means that it expired and that nothing was executed (BR-005, «reconnect once»).
      if (!(error instanceof HttpProblem) || error.status !== 404) throw error;
      await current.replace(usedSession);
      return await send(request);
    });
  }

  async function send(request: SessionRequest): Promise<Result> {
    const { method, params, signal } = request;
    const adapted = adaptParams(params, current.identity, request.caller?.client);
    const progressToken = isObject(adapted._meta) ? adapted._meta.progressToken : undefined;
    const id = inbox.add(request, progressToken);
    const message: RpcRequest = { jsonrpc: '2.0', id, method, params: withOwnToken(id, adapted) };
    try {
      const answer = await wire.send('POST', {
        headers: headersOf(method, params, request.parameterHeaders),
        body: JSON.stringify(message),
        signal,
      });
      const read = readAnswer(answer, id, request);
      return read instanceof Promise ? await read : read;
    } catch (error) {
      if (signal?.aborted) {
        if (isLegacy()) cancel(id, request);
        throw signal.reason;
      }
      throw orConnectionLost(error, wire.url);
    } finally {
      inbox.remove(id);
    }
  }

  /** The old era cancels by a notification: closing the stream only says that the client reads no further. */
  function cancel(id: number, request: SessionRequest): void {
    inbox.abandon(id, request);
    const sent = notify('notifications/cancelled', { requestId: id, reason: 'cancelled' });
    sent.catch(() => undefined); // a server that cannot be reached is found out by the next call
  }

  /** Many clients share a session of the old era, and two may both use 1; the new era has no session to share. */
  function withOwnToken(id: number, params: JsonObject): JsonObject {
    if (!isLegacy() || !isObject(params._meta) || params._meta.progressToken === undefined) return params;
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
    await wire.send('POST', { headers: headersOf(), body: JSON.stringify(answer), signal: closed.signal });
  }

  async function notify(method: string, params: JsonObject = {}): Promise<void> {
    const message = { jsonrpc: '2.0', method, params: adaptParams(params, current.identity, undefined) };
    const headers = headersOf(method, params);
    await wire.send('POST', { headers, body: JSON.stringify(message), signal: closed.signal });
  }

  function openStream(lastEventId: string | undefined, signal: CancelSignal | undefined): Promise<WireAnswer> {
    return wire.send('GET', {
      headers: {
        ...headersOf(),
        accept: 'text/event-stream',
        ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
      },
      signal,
    });
  }

  return {
    get era() {
      return current.identity.era;
    },
    get protocolVersion() {
      return current.identity.protocolVersion;
    },
    get capabilities() {
      return current.identity.capabilities;
    },
    get serverInfo() {
      return current.identity.serverInfo;
    },
    get instructions() {
      return current.identity.instructions;
    },
    get heardAt() {
      return inbox.heardAt;
    },
    get generation() {
      return current.generation;
    },
    relay,
    request: (method, params, options) => relay(ownRequest(method, params, options)).then(toObject),
    notify,
    async close() {
      if (closed.signal.aborted) return;
      if (current.sessionId !== undefined) {
        await wire
          .send('DELETE', { headers: headersOf(), signal: AbortSignal.timeout(goodbyeMs) })
          .catch(() => undefined); // the server drops idle sessions anyway
      }
      closed.abort();
      questions.withdrawAll();
      await wire.close();
    },
  };
}

/** The session as the server knows it now: one that expired is replaced by another, once for all calls that find out. */
function createReplaceable(first: NamedSession, reopen: HttpSessionOptions['reopen']) {
  let { identity, sessionId } = first;
  let generation = 0;
  let replacing: Promise<void> | undefined;

  async function open(): Promise<void> {
    if (reopen === undefined) throw new ConnectionLost('the server ended the session', 'no');
    ({ identity, sessionId } = await reopen());
    generation += 1;
  }

  return {
    get identity() {
      return identity;
    },
    get sessionId() {
      return sessionId;
    },
    get generation() {
      return generation;
    },
    async replace(expired: string): Promise<void> {
      if (sessionId !== expired) return; // another call already did
      replacing ??= open().finally(() => {
        replacing = undefined;
      });
      await replacing;
    },
  };
}
