/** How clients of the revisions with sessions reach them: Streamable HTTP, and HTTP+SSE of 2024-11-05. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { AppError } from '../errors.ts';
import { isRequest, legacyVersions, modernVersions, type RpcMessage, type RpcRequest, rpcCodes } from '../json-rpc.ts';
import type { RequestBodies } from '../request-bodies.ts';
import type { RequestContext } from '../request-context.ts';
import type { Principal } from '../security/auth.ts';
import { ProtocolError } from './adapt-result.ts';
import type { LegacyEndpoint } from './legacy.ts';
import type { Opener } from './legacy-peer.ts';
import type { LegacySession } from './legacy-session.ts';
import { isModern } from './modern.ts';
import type { ClientRequest } from './peer.ts';
import { expectMessage, readJson } from './request-body.ts';
import type { ScopeOf } from './scope.ts';

/** The sessions of other replicas. */
export interface SessionForwarder {
  /** The replica that sent this request here; it is not sent on again. */
  senderOf(request: IncomingMessage): string | undefined;
  /** The replica that has the session, if it is another one and alive. */
  ownerOf(sessionId: string): string | undefined;
  /** The session is continued by another replica than the one that its id names. */
  recordOwner(sessionId: string, replica: string): void;
  /** Gives a request to any other replica, because this one shuts down; false where none takes it. */
  handOff(request: IncomingMessage, response: ServerResponse, context: RequestContext, body: string): Promise<boolean>;
  forward(
    replica: string,
    request: IncomingMessage,
    response: ServerResponse,
    context: RequestContext,
    body?: string,
  ): Promise<'answering' | 'unreachable' | 'lost'>;
}

interface LegacyTransportDependencies {
  requestBodies: RequestBodies;
  legacy: LegacyEndpoint;
  scopeOf: ScopeOf;
  forwarder?: SessionForwarder;
  /** Undefined where calls are not limited. */
  admit(messages: readonly RpcMessage[], principal: Principal): Promise<unknown> | undefined;
  /** Throws where the aggregator shuts down. */
  refuseNew(messages: readonly unknown[], response: ServerResponse): void;
}

interface LegacyTransport {
  post(incoming: ClientRequest, body: unknown): Promise<void>;
  /** GET: the stream of a session for what belongs to no request. */
  listen(incoming: ClientRequest): Promise<void>;
  /** DELETE */
  end(incoming: ClientRequest): Promise<void>;
  /** 2024-11-05: GET /sse opens a session, POST /messages brings what the client says in it. */
  openSse(incoming: ClientRequest): void;
  postMessage(incoming: ClientRequest): Promise<void>;
}

export function createLegacyTransport(deps: LegacyTransportDependencies): LegacyTransport {
  const { requestBodies, legacy, scopeOf, forwarder, admit, refuseNew } = deps;

  async function post(incoming: ClientRequest, body: unknown): Promise<void> {
    const messages = messagesOf(body);
    const initialize = initializeIn(messages);
    const isBatch = Array.isArray(body);
    if (initialize !== undefined) return open(initialize, incoming, 'streamable').post(messages, incoming, isBatch);
    checkVersion(incoming.request);
    const found = sessionOf(incoming, body);
    const session = found instanceof Promise ? await found : found;
    if (session === undefined) return;
    if (isBatch && session.protocolVersion !== '2025-03-26') {
      throw new ProtocolError(rpcCodes.invalidRequest, 'Batches are supported in protocol revision 2025-03-26 only', {
        status: 400,
      });
    }
    const admission = admit(messages, incoming.principal);
    if (admission !== undefined) await admission;
    session.post(messages, incoming, isBatch);
  }

  function open({ params = {} }: RpcRequest, incoming: ClientRequest, kind: Opener['kind']): LegacySession {
    const { principal, address, offer } = incoming;
    const scope: Opener['scope'] = (seenBy, ownerKey) => scopeOf(offer, seenBy, () => ownerKey);
    return legacy.open(params, { principal, address, offer, kind, scope });
  }

  async function listen(incoming: ClientRequest): Promise<void> {
    const { request, response } = incoming;
    refuseNew([], response);
    if (isModern(undefined, request) || sessionIdOf(request) === undefined) throw noStream(response);
    if (!(request.headers.accept ?? '').includes('text/event-stream')) {
      throw new ProtocolError(rpcCodes.invalidRequest, 'Accept must include text/event-stream', { status: 406 });
    }
    const session = await sessionOf(incoming);
    if (session === undefined) return;
    if (!session.listen(incoming, one(request.headers['last-event-id']))) {
      throw new ProtocolError(rpcCodes.invalidRequest, 'The session already has an open stream', { status: 409 });
    }
  }

  async function end(incoming: ClientRequest): Promise<void> {
    const { request, response } = incoming;
    if (isModern(undefined, request)) throw noStream(response);
    const session = await sessionOf(incoming);
    if (session === undefined) return;
    await legacy.end(session.id, session);
    response.writeHead(200, incoming.answerHeaders).end();
  }

  function openSse(incoming: ClientRequest): void {
    const { request, response } = incoming;
    if (request.method !== 'GET') {
      response.setHeader('allow', 'GET');
      throw new AppError('METHOD_NOT_ALLOWED', `Method not allowed: ${request.method}`);
    }
    refuseNew([], response);
    const pending: RpcRequest = {
      jsonrpc: '2.0',
      id: 0,
      method: 'initialize',
      params: { protocolVersion: '2024-11-05' },
    };
    open(pending, incoming, 'sse').attach(incoming, '/messages');
  }

  async function postMessage(incoming: ClientRequest): Promise<void> {
    const { request, response, principal } = incoming;
    const id = new URL(request.url ?? '/', 'http://localhost').searchParams.get('sessionId') ?? '';
    const session = legacy.find(id, principal);
    if (session === undefined && (await forwardToOwner(id, incoming)) === 'answering') return;
    if (session === undefined)
      throw new ProtocolError(-32_001, 'Session not found; send GET /sse to start a new session', { status: 404 });
    const message = expectMessage(await readJson(request, response, requestBodies));
    refuseNew([message], response);
    await admit([message], principal);
    session.receive(message, incoming.context);
    response.writeHead(202, incoming.answerHeaders).end();
  }

  /** The session of the request; undefined where another replica answers the request. */
  function sessionOf(incoming: ClientRequest, body?: unknown): LegacySession | Promise<LegacySession | undefined> {
    const id = sessionIdOf(incoming.request);
    if (id === undefined)
      throw new ProtocolError(rpcCodes.invalidRequest, 'Mcp-Session-Id is missing; send initialize first', {
        status: 400,
      });
    return legacy.find(id, incoming.principal) ?? locate(id, incoming, body);
  }

  /** It is at another replica, or was opened before a restart, or at a replica that is gone. */
  async function locate(id: string, incoming: ClientRequest, body: unknown): Promise<LegacySession | undefined> {
    const { request, principal, address } = incoming;
    // Replicas come and go meanwhile: one that was to have it may be shutting down.
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      if ((await forwardToOwner(id, incoming, body)) === 'answering') return undefined;
      const except = forwarder?.senderOf(request) ?? forwarder?.ownerOf(id);
      const found = await legacy.reopen(id, { principal, address, scopeOf, except });
      if (found === undefined) break;
      if (!('replica' in found)) return found;
      forwarder?.recordOwner(id, found.replica);
    }
    throw new ProtocolError(-32_001, 'Session not found; send initialize to start a new session', { status: 404 });
  }

  async function forwardToOwner(id: string, incoming: ClientRequest, body?: unknown): Promise<'answering' | 'not'> {
    const { request, response, context } = incoming;
    const owner = forwarder?.senderOf(request) === undefined ? forwarder?.ownerOf(id) : undefined;
    if (forwarder === undefined || owner === undefined) return 'not';
    const sent = body === undefined ? undefined : JSON.stringify(body);
    const forwarding = await forwarder.forward(owner, request, response, context, sent);
    if (forwarding !== 'lost') return forwarding === 'answering' ? 'answering' : 'not';
    throw new ProtocolError(
      rpcCodes.internalError,
      'The replica that holds this session was lost during the request; the request may have been executed',
      { status: 502 },
    );
  }

  return { post, listen, end, openSse, postMessage };
}

const maxAttempts = 3;
/** Their answers are written together, and each may be long. */
const maxInBatch = 100;
const knownVersions: readonly string[] = [...modernVersions, ...legacyVersions];

function messagesOf(body: unknown): RpcMessage[] {
  const sent = Array.isArray(body) ? body : [body];
  if (sent.length === 0 || sent.length > maxInBatch)
    throw new ProtocolError(rpcCodes.invalidRequest, `A batch must contain 1 to ${maxInBatch} messages`, {
      status: 400,
    });
  return sent.map(expectMessage);
}

function initializeIn(messages: readonly RpcMessage[]): RpcRequest | undefined {
  const initialize = messages.find(
    (message): message is RpcRequest => isRequest(message) && message.method === 'initialize',
  );
  if (initialize !== undefined && messages.length > 1)
    throw new ProtocolError(rpcCodes.invalidRequest, 'initialize must not be part of a batch', { status: 400 });
  return initialize;
}

function checkVersion({ headers }: IncomingMessage): void {
  const version = one(headers['mcp-protocol-version']);
  if (version === undefined || knownVersions.includes(version)) return;
  throw new ProtocolError(
    rpcCodes.invalidRequest,
    `Unsupported protocol version: ${version} (supported: ${knownVersions.join(', ')})`,
    { status: 400 },
  );
}

function noStream(response: ServerResponse): AppError {
  response.setHeader('allow', 'POST');
  return new AppError('METHOD_NOT_ALLOWED', 'This protocol revision has no sessions; only POST is allowed');
}

const sessionIdOf = (request: IncomingMessage) => one(request.headers['mcp-session-id']);
const one = (header: string | string[] | undefined) => (Array.isArray(header) ? header[0] : header);
