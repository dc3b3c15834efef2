/** The MCP endpoint over HTTP: who asks, for which servers, in which era. */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Cancellation } from '../cancellation.ts';
import { listMethods } from '../catalog/discover.ts';
import type { Config } from '../config/config.ts';
import { AppError, type ErrorCode } from '../errors.ts';
import { parseJson } from '../exact-json.ts';
import { createInFlightTable } from '../in-flight-table.ts';
import {
  envelopeProblem,
  isMessage,
  isRequest,
  legacyVersions,
  modernVersions,
  type RpcMessage,
  type RpcRequest,
  rpcCodes,
} from '../json-rpc.ts';
import { scanDocument } from '../json-scanner.ts';
import { isBodyTooDeep, maxBodyDepth } from '../json-size.ts';
import { isLoopback } from '../loopback.ts';
import type { Principal } from '../security/auth.ts';
import type { ThrottledRequestAuthenticator } from '../security/authentication-throttle.ts';
import { createClientAddress } from '../security/client-address.ts';
import { createEntryCheck } from '../security/policy.ts';
import { ProtocolError, toFailure } from './adapt-result.ts';
import type { LegacyEndpoint } from './legacy.ts';
import { isModern, type ModernEndpoint } from './modern.ts';
import { type Replies, sendJson, writeHead } from './reply.ts';
import { createScopes, type ScopeDependencies, type ScopeRequest } from './scope.ts';

interface EndpointDependencies extends ScopeDependencies {
  config: Config;
  requestAuthenticator: ThrottledRequestAuthenticator;
  modern: ModernEndpoint;
  legacy: LegacyEndpoint;
  replies: Replies;
  onFailure: (error: unknown, method: string) => void;
  forwarder?: SessionForwarder;
  /** Throws where the principal made too many calls. */
  admitCall?: (principal: Principal) => Promise<void>;
}

/** The sessions of other replicas. */
export interface SessionForwarder {
  /** Where the replica is that has the session, if it is another one and alive. */
  ownerOf(sessionId: string, request: IncomingMessage): string | undefined;
  forward(
    address: string,
    request: IncomingMessage,
    response: ServerResponse,
    body?: string,
  ): Promise<'answering' | 'unreachable' | 'lost'>;
}

interface Endpoint {
  /** True when the path is ours; the answer is then under way. */
  handle(request: IncomingMessage, response: ServerResponse): boolean;
  /** Nothing new is taken from here on; resolves when everything that was asked is answered. */
  drain(): Promise<void>;
}

interface IncomingCall {
  request: IncomingMessage;
  response: ServerResponse;
  principal: Principal;
  offer: ScopeRequest;
  /** Aborted when the client closes the connection before it has its answer. */
  disconnected: Cancellation;
}

export function createEndpoint(deps: EndpointDependencies): Endpoint {
  const { config, requestAuthenticator, modern, legacy } = deps;
  const addressOf = createClientAddress(config.trustedProxies);
  const checkEntry = createEntryCheck(
    { boundHost: config.host, boundPort: config.port, allowedHosts: config.allowedHosts },
    config.allowedOrigins,
  );
  const loopbackListener = isLoopback(config.host);
  const scopeOf = createScopes(deps);
  const unanswered = createInFlightTable<ServerResponse>();
  let draining = false;

  return {
    handle(request, response) {
      const path = pathOf(request);
      const route = routeOf(path);
      if (route === undefined) return false;
      const disconnected = new Cancellation();
      // Streams without an end don't count: they end with us.
      if (request.method === 'POST') {
        const id = unanswered.add(response);
        response.on('close', () => {
          unanswered.remove(id);
          if (!response.writableFinished)
            disconnected.abort(new DOMException('the client closed the connection', 'AbortError'));
        });
      }
      void serve(route, request, response, disconnected).catch((error: unknown) => fail(error, request, response));
      return true;
    },
    async drain() {
      draining = true;
      for (const response of unanswered) response.shouldKeepAlive = false;
      await Promise.all([...unanswered].map((response) => once(response, 'close')));
    },
  };

  /** Answers to what we asked are taken to the end: calls in progress wait for them. */
  function refuseNew(messages: readonly unknown[], response: ServerResponse): void {
    if (!draining) return;
    response.shouldKeepAlive = false;
    if (messages.length === 0 || messages.some((message) => isMessage(message) && isRequest(message)))
      throw new AppError('SHUTTING_DOWN', 'The aggregator is shutting down', { retryAfterSeconds: 5 });
  }

  /** Undefined where nobody has to be asked. */
  function admit(messages: readonly RpcMessage[], principal: Principal): Promise<unknown> | undefined {
    const { admitCall } = deps;
    if (admitCall === undefined) return undefined;
    const calls = messages.filter((message) => isRequest(message) && !answeredByUs.has(message.method));
    return Promise.all(calls.map(() => admitCall(principal)));
  }

  async function serve(
    route: McpRoute,
    request: IncomingMessage,
    response: ServerResponse,
    disconnected: Cancellation,
  ): Promise<void> {
    checkEntry(request.headers.host, request.headers.origin);
    const { authorization } = request.headers;
    const address = addressOf(request);
    const known = requestAuthenticator.authenticate({
      authorization,
      loopbackListener,
      path: pathOf(request),
      address,
    });
    // Waiting for what is there costs a call a turn; here and below it is most often there.
    const principal = known instanceof Promise ? await known : known;
    const incoming = { request, response, principal, offer: route.scope, disconnected };
    if (route.kind === 'sse') return openSse(incoming);
    if (route.kind === 'messages') return await postMessage(incoming);
    switch (request.method) {
      case 'POST':
        return await post(incoming);
      case 'GET':
        return await listen(incoming);
      case 'DELETE':
        return await end(incoming);
      default:
        response.setHeader('allow', 'GET, POST, DELETE');
        throw new AppError('METHOD_NOT_ALLOWED', `Method not allowed: ${request.method}`);
    }
  }

  async function post(incoming: IncomingCall): Promise<void> {
    const { request, response, principal, offer } = incoming;
    requireJson(request);
    const body = parseBody(await readBody(request, config.maxBodyBytes));
    const version = one(request.headers['mcp-protocol-version']);
    if (draining) refuseNew(Array.isArray(body) ? body : [body], response);
    if (!Array.isArray(body) && isModern(body, version)) {
      const message = expectMessage(body);
      const scope = scopeOf(offer, principal);
      if (!isRequest(message)) return void writeHead(response, 202).end();
      const admission = admit([message], principal);
      if (admission !== undefined) await admission;
      const reply = deps.replies.begin(response, { acceptsStream: true, acceptsJson: true });
      return await modern.serve(
        {
          message,
          headers: request.headers,
          principal,
          address: addressOf(request),
          scope,
          cancel: incoming.disconnected,
        },
        reply,
      );
    }
    return await postLegacy(incoming, body, version);
  }

  async function postLegacy(
    { request, response, principal, offer }: IncomingCall,
    body: unknown,
    version: string | undefined,
  ): Promise<void> {
    const sent = Array.isArray(body) ? body : [body];
    if (sent.length === 0 || sent.length > maxInBatch)
      throw new ProtocolError(rpcCodes.invalidRequest, `A batch must contain 1 to ${maxInBatch} messages`, {
        status: 400,
      });
    const messages = sent.map(expectMessage);
    const accept = acceptOf(request, Array.isArray(body));
    const initialize = messages.find(
      (message): message is RpcRequest => isRequest(message) && message.method === 'initialize',
    );
    if (initialize !== undefined) {
      if (messages.length > 1)
        throw new ProtocolError(rpcCodes.invalidRequest, 'initialize must not be part of a batch', { status: 400 });
      const scope = (whoever: Principal) => scopeOf(offer, whoever);
      const session = legacy.open(initialize, { principal, address: addressOf(request), scope, kind: 'streamable' });
      return session.post(messages, response, accept);
    }
    if (version !== undefined && !knownVersions.includes(version)) {
      throw new ProtocolError(
        rpcCodes.invalidRequest,
        `Unsupported protocol version: ${version} (supported: ${knownVersions.join(', ')})`,
        { status: 400 },
      );
    }
    const forwarded = forwardToOwner(sessionIdOf(request), request, response, body);
    if (forwarded instanceof Promise ? await forwarded : forwarded) return;
    const session = findSession(request, principal);
    if (Array.isArray(body) && session.protocolVersion !== '2025-03-26') {
      throw new ProtocolError(rpcCodes.invalidRequest, 'Batches are supported in protocol revision 2025-03-26 only', {
        status: 400,
      });
    }
    const admission = admit(messages, principal);
    if (admission !== undefined) await admission;
    session.post(messages, response, accept);
  }

  async function listen({ request, response, principal }: IncomingCall): Promise<void> {
    refuseNew([], response);
    if (isModern(undefined, one(request.headers['mcp-protocol-version']))) throw noStream(response);
    if (request.headers['mcp-session-id'] === undefined) throw noStream(response);
    if (!(request.headers.accept ?? '').includes('text/event-stream')) {
      throw new ProtocolError(rpcCodes.invalidRequest, 'Accept must include text/event-stream', { status: 406 });
    }
    if (await forwardToOwner(sessionIdOf(request), request, response)) return;
    const session = findSession(request, principal);
    if (!session.listen(response, one(request.headers['last-event-id']))) {
      throw new ProtocolError(rpcCodes.invalidRequest, 'The session already has an open stream', { status: 409 });
    }
  }

  async function end({ request, response, principal }: IncomingCall): Promise<void> {
    if (isModern(undefined, one(request.headers['mcp-protocol-version']))) throw noStream(response);
    if (await forwardToOwner(sessionIdOf(request), request, response)) return;
    await findSession(request, principal).close();
    writeHead(response, 200).end();
  }

  /** True when the replica that has the session answers; one that is gone took its sessions with it. */
  function forwardToOwner(
    id: string | undefined,
    request: IncomingMessage,
    response: ServerResponse,
    body?: unknown,
  ): Promise<boolean> | boolean {
    const owner = id === undefined ? undefined : deps.forwarder?.ownerOf(id, request);
    return owner !== undefined && forwardTo(owner, request, response, body);
  }

  async function forwardTo(
    owner: string,
    request: IncomingMessage,
    response: ServerResponse,
    body?: unknown,
  ): Promise<boolean> {
    const sent = body === undefined ? undefined : JSON.stringify(body);
    const forwarding = await deps.forwarder?.forward(owner, request, response, sent);
    if (forwarding !== 'lost') return forwarding === 'answering';
    throw new ProtocolError(
      rpcCodes.internalError,
      'The replica that holds this session was lost during the request; the request may have been executed',
      { status: 502 },
    );
  }

  function findSession(request: IncomingMessage, principal: Principal) {
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

  function openSse({ request, response, principal, offer }: IncomingCall): void {
    if (request.method !== 'GET') {
      response.setHeader('allow', 'GET');
      throw new AppError('METHOD_NOT_ALLOWED', `Method not allowed: ${request.method}`);
    }
    refuseNew([], response);
    const scope = (whoever: Principal) => scopeOf(offer, whoever);
    const pending: RpcRequest = {
      jsonrpc: '2.0',
      id: 0,
      method: 'initialize',
      params: { protocolVersion: '2024-11-05' },
    };
    const session = legacy.open(pending, { principal, address: addressOf(request), scope, kind: 'sse' });
    session.attach(response, '/messages');
  }

  async function postMessage({ request, response, principal }: IncomingCall): Promise<void> {
    const id = new URL(request.url ?? '/', 'http://localhost').searchParams.get('sessionId') ?? '';
    if (await forwardToOwner(id, request, response)) return;
    const session = legacy.find(id, principal);
    if (session === undefined)
      throw new ProtocolError(-32_001, 'Session not found; send GET /sse to start a new session', { status: 404 });
    requireJson(request);
    const message = expectMessage(parseBody(await readBody(request, config.maxBodyBytes)));
    refuseNew([message], response);
    await admit([message], principal);
    session.receive(message, request.headers);
    writeHead(response, 202).end();
  }

  function fail(error: unknown, request: IncomingMessage, response: ServerResponse): void {
    if (response.headersSent) return void response.destroy();
    const status =
      error instanceof ProtocolError
        ? (error.status ?? 400)
        : error instanceof AppError
          ? statusOf(error.code, error.status)
          : 500;
    if (status === 500) deps.onFailure(error, 'http');
    const headers: Record<string, string> = {};
    if (status === 401 || (error instanceof AppError && error.code === 'INSUFFICIENT_SCOPE')) {
      const presented = request.headers.authorization !== undefined;
      headers['www-authenticate'] = requestAuthenticator.challenge({ path: pathOf(request), error, presented });
    }
    if (error instanceof AppError && error.retryAfterSeconds !== undefined)
      headers['retry-after'] = String(error.retryAfterSeconds);
    sendJson(response, status, toFailure(null, error, 'legacy'), headers);
  }
}

/** Their answers are written together, and each may be long. */
const maxInBatch = 100;
const knownVersions: readonly string[] = [...modernVersions, ...legacyVersions];

/** What never reaches a server is no call. */
const answeredByUs = new Set([
  ...['initialize', 'ping', 'server/discover', 'subscriptions/listen', 'logging/setLevel'],
  ...listMethods,
]);

const statusOf = (code: ErrorCode, status: number) => (code === 'VALIDATION_ERROR' ? 400 : status);

interface McpRoute {
  kind: 'streamable' | 'sse' | 'messages';
  scope: ScopeRequest;
}

const sharedRoutes: Record<string, McpRoute> = {
  '/mcp': { kind: 'streamable', scope: { kind: 'all' } },
  '/mcp/': { kind: 'streamable', scope: { kind: 'all' } },
  '/sse': { kind: 'sse', scope: { kind: 'all' } },
  '/messages': { kind: 'messages', scope: { kind: 'all' } },
};

function routeOf(path: string): McpRoute | undefined {
  const shared = sharedRoutes[path];
  if (shared !== undefined) return shared;
  const named = /^\/mcp\/(servers|profiles)\/([^/]+)\/?$/.exec(path);
  if (named?.[2] === undefined) return undefined;
  return {
    kind: 'streamable',
    scope: { kind: named[1] === 'servers' ? 'server' : 'profile', name: decodeName(named[2]) },
  };
}

function decodeName(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // not an encoded name, so no name of ours: it will not be found
  }
}

function pathOf(request: IncomingMessage): string {
  const url = request.url ?? '/';
  const query = url.indexOf('?');
  return query === -1 ? url : url.slice(0, query);
}

function noStream(response: ServerResponse): AppError {
  response.setHeader('allow', 'POST');
  return new AppError('METHOD_NOT_ALLOWED', 'This protocol revision has no sessions; only POST is allowed');
}

function expectMessage(value: unknown): RpcMessage {
  if (isMessage(value)) return value;
  throw new ProtocolError(rpcCodes.invalidRequest, `Not a JSON-RPC message: ${envelopeProblem(value)}`, {
    status: 400,
  });
}

function acceptOf(request: IncomingMessage, batch: boolean) {
  const accept = request.headers.accept ?? '*/*';
  const any = accept.includes('*/*');
  return {
    batch,
    headers: request.headers,
    stream: any || accept.includes('text/event-stream'),
    json: any || accept.includes('application/json') || !accept.includes('text/event-stream'),
  };
}

const sessionIdOf = (request: IncomingMessage) => one(request.headers['mcp-session-id']);
const one = (header: string | string[] | undefined) => (Array.isArray(header) ? header[0] : header);

function requireJson(request: IncomingMessage): void {
  const type = request.headers['content-type'] ?? '';
  if (type === 'application/json' || /^application\/json\b/i.test(type)) return;
  request.resume();
  throw new ProtocolError(rpcCodes.invalidRequest, 'Content-Type must be application/json', { status: 415 });
}

function parseBody(bytes: Buffer): unknown {
  const text = bytes.toString('utf8');
  const scanned = scanDocument(bytes);
  if (scanned !== undefined) return scanned.hasLongNumber ? parseJson(text) : JSON.parse(text);
  if (isBodyTooDeep(text))
    throw new ProtocolError(rpcCodes.invalidRequest, `The body is nested more than ${maxBodyDepth} levels deep`, {
      status: 400,
    });
  try {
    return parseJson(text);
  } catch {
    throw new ProtocolError(rpcCodes.parseError, 'The body is not valid JSON', { status: 400 });
  }
}

function readBody(request: IncomingMessage, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let length = 0;
    request.on('data', (part: Buffer) => {
      length += part.length;
      if (length <= limit) return void parts.push(part);
      request.removeAllListeners('data').resume();
      reject(new AppError('BODY_TOO_LARGE', `The body is larger than ${limit} bytes`));
    });
    request.on('end', () => {
      const [only] = parts;
      resolve(parts.length === 1 && only !== undefined ? only : Buffer.concat(parts));
    });
    request.on('error', () =>
      reject(new ProtocolError(rpcCodes.invalidRequest, 'The request body ended early', { status: 400 })),
    );
  });
}
