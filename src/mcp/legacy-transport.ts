/** How clients of the revisions with sessions reach them: Streamable HTTP, and HTTP+SSE of 2024-11-05. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Config } from '../config/config.ts';
import { AppError } from '../errors.ts';
import { isRequest, legacyVersions, modernVersions, type RpcMessage, type RpcRequest, rpcCodes } from '../json-rpc.ts';
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
  /** Where the replica is that has the session, if it is another one and alive. */
  ownerOf(sessionId: string, request: IncomingMessage): string | undefined;
  forward(
    address: string,
    request: IncomingMessage,
    response: ServerResponse,
    context: RequestContext,
    body?: string,
  ): Promise<'answering' | 'unreachable' | 'lost'>;
}

interface LegacyTransportDependencies {
  config: Pick<Config, 'maxBodyBytes'>;
  legacy: LegacyEndpoint;
  scopeOf: ScopeOf;
  forwarder?: SessionForwarder;
  /** Undefined where nobody has to be asked. */
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
  const { config, legacy, scopeOf, admit, refuseNew } = deps;

  async function post(incoming: ClientRequest, body: unknown): Promise<void> {
    const messages = messagesOf(body);
    const initialize = initializeIn(messages);
    const isBatch = Array.isArray(body);
    if (initialize !== undefined) return open(initialize, incoming, 'streamable').post(messages, incoming, isBatch);
    checkVersion(incoming.request);
    const forwarded = forwardToOwner(sessionIdOf(incoming.request), incoming, body);
    if (forwarded instanceof Promise ? await forwarded : forwarded) return;
    const session = findSession(incoming);
    if (isBatch && session.protocolVersion !== '2025-03-26') {
      throw new ProtocolError(rpcCodes.invalidRequest, 'Batches are supported in protocol revision 2025-03-26 only', {
        status: 400,
      });
    }
    const admission = admit(messages, incoming.principal);
    if (admission !== undefined) await admission;
    session.post(messages, incoming, isBatch);
  }

  function open(initialize: RpcRequest, incoming: ClientRequest, kind: Opener['kind']): LegacySession {
    const { principal, address, offer } = incoming;
    return legacy.open(initialize, { principal, address, kind, scope: (whoever) => scopeOf(offer, whoever) });
  }

  async function listen(incoming: ClientRequest): Promise<void> {
    const { request, response } = incoming;
    refuseNew([], response);
    if (isModern(undefined, request) || sessionIdOf(request) === undefined) throw noStream(response);
    if (!(request.headers.accept ?? '').includes('text/event-stream')) {
      throw new ProtocolError(rpcCodes.invalidRequest, 'Accept must include text/event-stream', { status: 406 });
    }
    if (await forwardToOwner(sessionIdOf(request), incoming)) return;
    if (!findSession(incoming).listen(incoming, one(request.headers['last-event-id']))) {
      throw new ProtocolError(rpcCodes.invalidRequest, 'The session already has an open stream', { status: 409 });
    }
  }

  async function end(incoming: ClientRequest): Promise<void> {
    const { request, response } = incoming;
    if (isModern(undefined, request)) throw noStream(response);
    if (await forwardToOwner(sessionIdOf(request), incoming)) return;
    await findSession(incoming).close();
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
    if (await forwardToOwner(id, incoming)) return;
    const session = legacy.find(id, principal);
    if (session === undefined)
      throw new ProtocolError(-32_001, 'Session not found; send GET /sse to start a new session', { status: 404 });
    const message = expectMessage(await readJson(request, config.maxBodyBytes));
    refuseNew([message], response);
    await admit([message], principal);
    session.receive(message, incoming.context);
    response.writeHead(202, incoming.answerHeaders).end();
  }

  /** True when the replica that has the session answers; one that is gone took its sessions with it. */
  function forwardToOwner(id: string | undefined, incoming: ClientRequest, body?: unknown): Promise<boolean> | boolean {
    const owner = id === undefined ? undefined : deps.forwarder?.ownerOf(id, incoming.request);
    return owner !== undefined && forwardTo(owner, incoming, body);
  }

  async function forwardTo(owner: string, { request, response, context }: ClientRequest, body?: unknown) {
    const sent = body === undefined ? undefined : JSON.stringify(body);
    const forwarding = await deps.forwarder?.forward(owner, request, response, context, sent);
    if (forwarding !== 'lost') return forwarding === 'answering';
    throw new ProtocolError(
      rpcCodes.internalError,
      'The replica that holds this session was lost during the request; the request may have been executed',
      { status: 502 },
    );
  }

  function findSession({ request, principal }: ClientRequest): LegacySession {
    const id = sessionIdOf(request);
    if (id === undefined)
      throw new ProtocolError(rpcCodes.invalidRequest, 'Mcp-Session-Id is missing; send initialize first', {
        status: 400,
      });
    const session = legacy.find(id, principal);
    if (session === undefined)
      throw new ProtocolError(-32_001, 'Session not found; send initialize to start a new session', { status: 404 });
    return session;
  }

  return { post, listen, end, openSse, postMessage };
}

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
