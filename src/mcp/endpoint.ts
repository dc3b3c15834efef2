/** The MCP endpoint over HTTP: who asks, for which servers, in which era. */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Cancellation } from '../cancellation.ts';
import { listMethods } from '../catalog/discover.ts';
import type { OwnerKeyOf } from '../catalog/own-lists.ts';
import type { Config } from '../config/config.ts';
import { AppError, type ErrorCode } from '../errors.ts';
import { createInFlightTable } from '../in-flight-table.ts';
import { isMessage, isRequest, type RpcMessage } from '../json-rpc.ts';
import { isLoopback } from '../loopback.ts';
import type { RequestBodies } from '../request-bodies.ts';
import { type RequestContext, shuttingDownHeader } from '../request-context.ts';
import type { Principal } from '../security/auth.ts';
import type { ThrottledRequestAuthenticator } from '../security/authentication-throttle.ts';
import { createClientAddress } from '../security/client-address.ts';
import { createEntryCheck, originsOf } from '../security/policy.ts';
import { ProtocolError, toFailure } from './adapt-result.ts';
import type { LegacyEndpoint } from './legacy.ts';
import { createLegacyTransport, type SessionForwarder } from './legacy-transport.ts';
import { isModern, type ModernEndpoint } from './modern.ts';
import type { ClientRequest, HttpRequest } from './peer.ts';
import { preferredForm, type Replies, sendJson } from './reply.ts';
import { expectMessage, readJson } from './request-body.ts';
import { createScopes, type ScopeDependencies, type ScopeRequest } from './scope.ts';

interface EndpointDependencies extends ScopeDependencies {
  config: Config;
  requestBodies: RequestBodies;
  requestAuthenticator: ThrottledRequestAuthenticator;
  modern: ModernEndpoint;
  legacy: LegacyEndpoint;
  replies: Replies;
  onFailure: (error: unknown, method: string) => void;
  forwarder?: SessionForwarder;
  /** Throws where the principal made too many calls. */
  admitCall?: (principal: Principal) => Promise<void>;
}

interface Endpoint {
  /** True when the path is ours; the answer is then under way. */
  handle(request: IncomingMessage, response: ServerResponse, context: RequestContext): boolean;
  /** Nothing new is taken from here on; resolves when everything that was asked by now is answered, with how many. */
  drain(): Promise<number>;
}

export function createEndpoint(deps: EndpointDependencies): Endpoint {
  const { config, requestAuthenticator, modern } = deps;
  const addressOf = createClientAddress(config.trustedProxies);
  const { host: boundHost, port: boundPort, allowedHosts, publicUrl } = config;
  const checkEntry = createEntryCheck({ boundHost, boundPort, allowedHosts, publicUrl }, originsOf(config));
  const loopbackListener = isLoopback(config.host);
  const scopeOf = createScopes(deps);
  const legacy = createLegacyTransport({ ...deps, scopeOf, admit, refuseNew });
  const unanswered = createInFlightTable<ServerResponse>();
  /** Subscriptions that another replica answers through this one: they end with us. */
  const endless = new WeakSet<ServerResponse>();
  let draining = false;

  return {
    handle(request, response, context) {
      const path = pathOf(request);
      const route = routeOf(path);
      if (route === undefined) return false;
      const disconnected = new Cancellation();
      const arrived = { request, response, context, path, disconnected };
      // Streams without an end don't count: they end with us.
      if (request.method === 'POST') {
        const id = unanswered.add(response);
        response.on('close', () => {
          unanswered.remove(id);
          if (!response.writableFinished)
            disconnected.abort(new DOMException('the client closed the connection', 'AbortError'));
        });
      }
      void serve(route, arrived).catch((error: unknown) => fail(error, arrived));
      return true;
    },
    async drain() {
      draining = true;
      for (const response of unanswered) response.shouldKeepAlive = false;
      const responses = [...unanswered].filter((response) => !endless.has(response));
      await Promise.all(responses.map((response) => once(response, 'close')));
      return responses.length;
    },
  };

  /** Answers to what we asked are taken to the end: calls in progress wait for them. */
  function refuseNew(messages: readonly unknown[], response: ServerResponse): void {
    if (!draining) return;
    response.shouldKeepAlive = false;
    if (isNewWork(messages))
      throw new AppError('SHUTTING_DOWN', 'The aggregator is shutting down', { retryAfterSeconds: 5 });
  }

  /** While this replica shuts down, another one takes what is new. */
  async function isHandedOff({ request, response, context }: HttpRequest, body?: unknown): Promise<boolean> {
    const { forwarder } = deps;
    if (!draining || forwarder === undefined) return false;
    const messages = body === undefined ? [] : [body].flat();
    if (!isNewWork(messages)) return false;
    if (
      messages.some((message) => isMessage(message) && isRequest(message) && message.method === 'subscriptions/listen')
    )
      endless.add(response);
    return await forwarder.handOff(request, response, context, body === undefined ? '' : JSON.stringify(body));
  }

  /** Undefined where calls are not limited. */
  function admit(messages: readonly RpcMessage[], principal: Principal): Promise<unknown> | undefined {
    const { admitCall } = deps;
    if (admitCall === undefined) return undefined;
    const calls = messages.filter((message) => isRequest(message) && !answeredByUs.has(message.method));
    return Promise.all(calls.map(() => admitCall(principal)));
  }

  async function serve(route: McpRoute, arrived: HttpRequest): Promise<void> {
    const { request, response, context, path } = arrived;
    checkEntry(request.headers.host, request.headers.origin);
    const { authorization, requestId } = context;
    const address = addressOf(request);
    const known = requestAuthenticator.authenticate({ authorization, loopbackListener, path, address });
    // Waiting for what is there costs a call a turn; here and below it is most often there.
    const principal = known instanceof Promise ? await known : known;
    const answerHeaders = { 'x-request-id': requestId };
    const incoming = { ...arrived, principal, address, offer: route.scope, answerHeaders };
    if (request.method !== 'POST' && draining && (await isHandedOff(arrived))) return;
    // What stays open without requests: the principal is checked as long as it listens.
    if (request.method === 'GET') response.on('close', requestAuthenticator.attend(principal));
    if (route.kind === 'sse') return legacy.openSse(incoming);
    if (route.kind === 'messages') return await legacy.postMessage(incoming);
    switch (request.method) {
      case 'POST':
        return await post(incoming);
      case 'GET':
        return await legacy.listen(incoming);
      case 'DELETE':
        return await legacy.end(incoming);
      default:
        response.setHeader('allow', 'GET, POST, DELETE');
        throw new AppError('METHOD_NOT_ALLOWED', `Method not allowed: ${request.method}`);
    }
  }

  async function post(incoming: ClientRequest): Promise<void> {
    const { request, response, principal, answerHeaders } = incoming;
    const body = await readJson(request, response, deps.requestBodies);
    if (draining && (await isHandedOff(incoming, body))) return;
    if (draining) refuseNew([body].flat(), response);
    if (Array.isArray(body) || !isModern(body, request)) return await legacy.post(incoming, body);
    const message = expectMessage(body);
    const scope = scopeOf(incoming.offer, principal);
    if (!isRequest(message)) return void response.writeHead(202, answerHeaders).end();
    const admission = admit([message], principal);
    if (admission !== undefined) await admission;
    if (message.method === 'subscriptions/listen') response.on('close', requestAuthenticator.attend(principal));
    const reply = deps.replies.begin(response, {
      headers: answerHeaders,
      streams: preferredForm(request.headers.accept) === 'stream' ? 'for_results' : 'if_needed',
    });
    const seenBy = (ownerKeyOf: OwnerKeyOf) => scopeOf(incoming.offer, principal, ownerKeyOf);
    await modern.serve(incoming, message, { scope, seenBy }, reply);
  }

  function fail(error: unknown, { response, context, path }: HttpRequest): void {
    if (response.headersSent) return void response.destroy();
    const status =
      error instanceof ProtocolError
        ? (error.status ?? 400)
        : error instanceof AppError
          ? statusOf(error.code, error.status)
          : 500;
    if (status === 500) deps.onFailure(error, 'http');
    const headers: Record<string, string> = { 'x-request-id': context.requestId };
    if (status === 401 || (error instanceof AppError && error.code === 'INSUFFICIENT_SCOPE')) {
      const presented = context.authorization !== undefined;
      headers['www-authenticate'] = requestAuthenticator.challenge({ path, error, presented });
    }
    if (error instanceof AppError && error.code === 'SHUTTING_DOWN') headers[shuttingDownHeader] = 'true';
    if (error instanceof AppError && error.retryAfterSeconds !== undefined)
      headers['retry-after'] = String(error.retryAfterSeconds);
    sendJson(response, status, toFailure(null, error, 'legacy'), headers);
  }
}

/** A stream that is to be opened, or a request. */
const isNewWork = (messages: readonly unknown[]): boolean =>
  messages.length === 0 || messages.some((message) => isMessage(message) && isRequest(message));

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
    return part; // not an encoded name, so it will not be found
  }
}

function pathOf(request: IncomingMessage): string {
  const url = request.url ?? '/';
  const query = url.indexOf('?');
  return query === -1 ? url : url.slice(0, query);
}
