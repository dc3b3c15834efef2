/** The HTTP server: checks every request once, routes it, and translates every error once. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { Server as NetServer } from 'node:net';
import { Readable } from 'node:stream';
import { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import type { Config } from '../config/config.ts';
import { maxDescriptors } from '../descriptors.ts';
import { AppError, type Problem, RpcError, ValidationError } from '../errors.ts';
import { parseJson } from '../exact-json.ts';
import { createId } from '../ids.ts';
import { createInFlightTable } from '../in-flight-table.ts';
import { isBodyTooDeep, maxBodyDepth } from '../json-size.ts';
import type { Logger } from '../log.ts';
import { isLoopback } from '../loopback.ts';
import type { Metrics } from '../metrics.ts';
import { RawResult } from '../raw-result.ts';
import type { RequestBodies } from '../request-bodies.ts';
import { type RequestContext, shuttingDownHeader } from '../request-context.ts';
import type { Principal } from '../security/auth.ts';
import type { ThrottledRequestAuthenticator } from '../security/authentication-throttle.ts';
import { createClientAddress, createProxyCheck } from '../security/client-address.ts';
import { isProved, proofHeader } from '../security/identity.ts';
import type { PageSessions } from '../security/page-session.ts';
import { checkHost, checkOrigin, originsOf, requireRole, requireUnbound } from '../security/policy.ts';
import type { Secrets } from '../security/secrets.ts';
import { largeBytes } from '../time-slice.ts';
import { type TraceContext, type Tracer, traceOf } from '../tracing.ts';
import { encodeAnswer } from './answer-encoding.ts';
import { connectionLimits, limitConnections } from './connection-limits.ts';
import { createCors } from './cors.ts';
import { describeApi } from './openapi.ts';
import { mountPages } from './pages.ts';
import { isProbe } from './readiness.ts';
import { createRequestRecorder } from './request-recorder.ts';
import { type AnyRoute, parse, type RouteContext } from './route.ts';
import { cutStalledClients } from './stalled-clients.ts';
import type { ViewOf } from './view.ts';

interface HttpDependencies {
  /** Proves requests of those who can read the data directory. */
  identityKey: string;
  config: Config;
  log: Logger;
  requestAuthenticator: ThrottledRequestAuthenticator;
  requestBodies: RequestBodies;
  viewOf: ViewOf;
  routes: readonly AnyRoute[];
  version: string;
  secrets: Secrets;
  metrics: Metrics;
  tracer: Tracer;
  sessions: PageSessions;
  /** Handles the paths that are not REST (MCP, pages); returns true if it handled the request. */
  raw?: (request: IncomingMessage, response: ServerResponse, context: RequestContext) => boolean;
  /** Resolves when the requests that `raw` took by now are answered, with how many. */
  drainRaw?: () => Promise<number>;
  /** Gives a request to another replica, because this one shuts down; false where none takes it. */
  handOff?: (
    request: IncomingMessage,
    response: ServerResponse,
    context: RequestContext,
    body: Buffer,
  ) => Promise<boolean>;
  /** Whether there are other replicas to give requests to. */
  hasOthers: () => boolean;
  /** Throws if the principal exceeds its call limit. */
  admitCall?: (principal: Principal) => Promise<void>;
}

interface HttpServer {
  /** Requests wait until `open`: only then is it known which of them other replicas have to answer. */
  listen(): Promise<{ host: string; port: number }>;
  open(): void;
  close(): Promise<void>;
}

/** Longer than the minute of proxies: closing an idle connection first would lose a request that is on its way. */
const keepAliveTimeout = 75_000;
/** Of routes that need no token: a code, a form. */
const maxPublicBodyBytes = 65_536;
/** Load balancers use an idle connection within this time, or another one. */
const maxLeaveMs = 1_000;
const unauthenticated: Principal = { id: 'nobody', name: 'nobody', role: 'viewer', servers: new Set(), profile: null };

export function createHttpServer(deps: HttpDependencies): HttpServer {
  const { config, log, requestAuthenticator, requestBodies, routes, metrics, tracer } = deps;
  const recordRequest = createRequestRecorder(log, metrics, tracer);
  const closing = new AbortController();
  const unanswered = createInFlightTable<ServerResponse>();
  /** Event streams that another replica answers through this one: they end with us. */
  const endless = new WeakSet<ServerResponse>();
  const streamPaths = new Set(routes.filter(isStream).map(({ path }) => path));
  const inProgress = new WeakMap<FastifyRequest, RequestNotes>();
  // The remaining time is reserved for closing server sessions, child processes and the last audit records.
  const leaveMs = Math.min(config.shutdownTimeoutMs * 0.1, maxLeaveMs);
  const drainMs = config.shutdownTimeoutMs * 0.8 - leaveMs;
  const addressOf = createClientAddress(config.trustedProxies);
  const origins = originsOf(config);
  const answersPreflight = createCors(origins);
  const loopbackListener = isLoopback(config.host);
  const opened = Promise.withResolvers<void>();
  let isOpen = false;
  let isLeaving = false;
  let boundPort = config.port;

  const app: FastifyInstance = fastify({
    loggerInstance: undefined,
    logger: false,
    genReqId: requestIdOf,
    forceCloseConnections: true,
    // MCP requests bypass the framework, which would cost a fifth of their throughput.
    serverFactory: (handle) =>
      createServer({ keepAliveTimeout, ...deadlinesOf(config) }, (request, response) => {
        if (isProbe(request.url)) return (handle as RequestListener)(request, response);
        const refusal = connections.refusalOf(request.socket);
        if (refusal !== undefined) return turnAway(response, refusal);
        if (isLeaving) response.shouldKeepAlive = false;
        if (isOpen) receive(request, response, handle as RequestListener);
        else void opened.promise.then(() => receive(request, response, handle as RequestListener));
      }),
    // An undecodable path gets the same error format as other invalid requests.
    frameworkErrors: (error, request, reply) => void sendProblem(error, request as FastifyRequest, reply),
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 512 },
  });

  cutStalledClients(app.server);
  const limits = connectionLimits(
    { all: config.maxConnections, perAddress: config.maxConnectionsPerAddress },
    maxDescriptors(),
  );
  const connections = limitConnections(app.server, limits, createProxyCheck(config.trustedProxies));
  connections.onUnaccepted((error) => log.warn({ err: error }, 'cannot accept connections'));
  metrics.watchRequestBodies(requestBodies);
  metrics.watchConnections({ open: () => connections.open, limits, refused: connections.refused });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', async (request: FastifyRequest, body: IncomingMessage) => {
    const { response, maxBodyBytes } = inProgress.get(request) ?? {};
    if (response === undefined) return '';
    return (await requestBodies.read(body, response, maxBodyBytes)).toString('utf8');
  });
  app.setErrorHandler((error, request, reply) => {
    const notes = inProgress.get(request);
    if (notes !== undefined) notes.error = error;
    return sendProblem(error, request, reply);
  });
  app.setNotFoundHandler((request) => {
    throw notFound(request);
  });
  app.addHook('onRequest', async (request, reply) => {
    const parent = traceOf(request.headers);
    // Read the address now: a closed connection no longer has it.
    const address = addressOf(request.raw);
    const startedAt = performance.now();
    const authorization = deps.sessions.authorizationOf(request.raw);
    const trace = tracer.child(parent);
    inProgress.set(request, { fields: {}, response: reply.raw, address, authorization, startedAt, parent, trace });
    reply.header('x-request-id', request.id);
    reply.header('cache-control', 'no-store').header('x-content-type-options', 'nosniff');
    const id = unanswered.add(reply.raw);
    reply.raw.on('close', () => unanswered.remove(id));
    if (isProbe(request.raw.url)) return;
    if (closing.signal.aborted) {
      const context = { requestId: request.id, receivedAt: startedAt, authorization, trace: parent };
      if (deps.hasOthers()) {
        if (streamPaths.has(request.routeOptions.url ?? '')) endless.add(reply.raw);
        const body = await requestBodies.read(request.raw, reply.raw);
        if ((await deps.handOff?.(request.raw, reply.raw, context, body)) === true) return void reply.hijack();
      }
      reply.header('connection', 'close').header(shuttingDownHeader, 'true');
      throw new AppError('SHUTTING_DOWN', 'The aggregator is shutting down', { retryAfterSeconds: 5 });
    }
    const { host: boundHost, allowedHosts, publicUrl } = config;
    checkHost(request.headers.host, { boundHost, boundPort, allowedHosts, publicUrl });
    checkOrigin(request.headers.origin, request.headers.host, origins);
    if (request.is404) throw notFound(request);
    // PostgreSQL rejects queries with a NUL character.
    if (request.url.includes('%00')) {
      throw new ValidationError([{ loc: ['url'], msg: 'must not contain a NUL character', type: 'value_error' }]);
    }
  });

  app.addHook('onSend', async (request, reply, payload) => {
    if (typeof payload !== 'string') return payload;
    const { 'accept-encoding': accepted, 'if-none-match': ifNoneMatch } = request.headers;
    const { method } = request;
    const { statusCode: status } = reply;
    const encoded = await encodeAnswer(payload, {
      method,
      acceptEncoding: String(accepted ?? ''),
      ifNoneMatch,
      status,
    });
    if (encoded.status !== undefined) reply.status(encoded.status).removeHeader('content-type');
    reply.headers(encoded.headers);
    return encoded.body;
  });
  app.addHook('onResponse', async (request, reply) => {
    const notes = inProgress.get(request);
    if (notes === undefined) return;
    const { id, method } = request;
    const route = request.routeOptions.url ?? 'unmatched';
    recordRequest({ ...notes, id, method, route, path: pathOf(request), status: reply.statusCode, isQuiet: false });
  });

  for (const definition of routes) mount(definition);
  mountPages(app);
  let document: object | undefined;
  app.get('/openapi.json', async (request) => {
    await identify('viewer', request);
    document ??= describeApi(routes, deps.version);
    return document;
  });

  function mount(definition: AnyRoute): void {
    app.route({
      method: definition.method,
      url: definition.path.replace(/\{(\w+)\}/g, ':$1'),
      // Before the body is read: strangers must not make us hold what they send.
      async onRequest(request) {
        const principal = await identify(definition.role, request);
        if (definition.unbound) requireUnbound(principal);
        const notes = inProgress.get(request);
        if (notes === undefined) return;
        notes.principal = principal;
        if (definition.role === 'public') notes.maxBodyBytes = Math.min(config.maxBodyBytes, maxPublicBodyBytes);
      },
      async handler(request, reply) {
        const notes = inProgress.get(request);
        const principal = notes?.principal ?? unauthenticated;
        const note = (more: Record<string, unknown>) => void Object.assign(notes?.fields ?? {}, more);
        if (principal !== unauthenticated) note({ principal: principal.name });
        if (definition.role === 'caller') await deps.admitCall?.(principal);
        const gone = new AbortController();
        reply.raw.on('close', () => {
          if (!reply.raw.writableFinished) gone.abort();
        });
        const context = {
          params: parse(definition.params, request.params, 'path'),
          query: parse(definition.query, request.query, 'query'),
          body: parse(definition.body, definition.body === undefined ? undefined : jsonBody(request), 'body'),
          principal,
          view: deps.viewOf(principal),
          address: notes?.address ?? '',
          from: fromOf(request),
          requestId: request.id,
          receivedAt: notes?.startedAt ?? performance.now(),
          authorization: notes?.authorization,
          trace: notes?.trace,
          note,
          signal: gone.signal,
          closing: closing.signal,
          request,
          reply,
        };
        const answer = await definition.handle(context as unknown as RouteContext<never, never, never>);
        return answer instanceof RawResult ? sendRaw(reply, answer) : answer;
      },
    });
  }

  const fromOf = ({ headers, url, body }: FastifyRequest) =>
    isProved(deps.identityKey, { header: headers[proofHeader], path: url, body: String(body ?? '') })
      ? 'local'
      : 'network';

  async function identify(role: AnyRoute['role'], request: FastifyRequest): Promise<Principal> {
    if (role === 'public') return unauthenticated;
    const { authorization, address = '' } = inProgress.get(request) ?? {};
    const path = pathOf(request);
    const principal = await requestAuthenticator.authenticate({ authorization, loopbackListener, path, address });
    requireRole(principal, role);
    return principal;
  }

  function receive(request: IncomingMessage, response: ServerResponse, handle: RequestListener): void {
    if (answersPreflight(request, response)) return;
    if (!takesMcp(request, response)) handle(request, response);
  }

  /** The same for requests that bypass the framework; their principal is logged with each call. */
  function takesMcp(request: IncomingMessage, response: ServerResponse): boolean {
    const path = mcpPathOf(request.url ?? '');
    if (path === undefined || deps.raw === undefined) return false;
    const requestId = requestIdOf(request);
    const address = log.isLevelEnabled('debug') ? addressOf(request) : '';
    const startedAt = performance.now();
    const parent = traceOf(request.headers);
    const trace = tracer.child(parent);
    const authorization = deps.sessions.authorizationOf(request);
    if (!deps.raw(request, response, { requestId, receivedAt: startedAt, authorization, trace })) return false;
    const { method = '' } = request;
    response.on('close', () => {
      const { statusCode: status } = response;
      const ended = { id: requestId, method, route: path, path, status, startedAt, address, parent, trace };
      recordRequest({ ...ended, isQuiet: true });
    });
    return true;
  }

  function sendProblem(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const presented = (inProgress.get(request)?.authorization ?? request.headers.authorization) !== undefined;
    return sendError(error, { path: pathOf(request), presented }, reply, deps);
  }

  return {
    async listen() {
      await app.listen({ host: config.host, port: config.port });
      const address = app.server.address();
      if (typeof address === 'object' && address !== null) boundPort = address.port;
      return { host: config.host, port: boundPort };
    },
    open() {
      isOpen = true;
      opened.resolve();
    },
    async close() {
      const hasOthers = deps.hasOthers();
      const late = AbortSignal.timeout(drainMs);
      closing.abort();
      if (!hasOthers) stopAccepting();
      await within(late, answered());
      if (hasOthers) await leave();
      // What came meanwhile over open connections was given to other replicas, and is answered through this one.
      while (((await within(late, answered())) ?? 0) > 0);
      await app.close();
    },
  };

  /** Resolves when everything that was asked by now is answered, with how many requests. */
  async function answered(): Promise<number> {
    for (const response of unanswered) response.shouldKeepAlive = false;
    const responses = [...unanswered].filter((response) => !endless.has(response));
    const [raw = 0] = await Promise.all([deps.drainRaw?.(), ...responses.map((response) => once(response, 'close'))]);
    return raw + responses.length;
  }

  function stopAccepting(): void {
    app.server.close();
    app.server.closeIdleConnections();
  }

  /**
   * Refuses new connections, which makes load balancers send requests elsewhere, and closes open ones after their next
   * answer. Closing an idle connection could lose a request that is on its way.
   */
  async function leave(): Promise<void> {
    isLeaving = true;
    const closed = once(app.server, 'close');
    NetServer.prototype.close.call(app.server); // that of http.Server closes idle connections
    await within(AbortSignal.timeout(leaveMs), closed);
  }
}

/** Resolves when the work is done, with its result, or when the signal aborts. */
async function within<T>(late: AbortSignal, work: Promise<T>): Promise<T | undefined> {
  if (late.aborted) return undefined;
  const over = new AbortController();
  const aborted = once(late, 'abort', { signal: over.signal }).then(
    () => undefined,
    () => undefined, // the work was done first
  );
  try {
    return await Promise.race([work, aborted]);
  } finally {
    over.abort();
  }
}

/** Node requires the headers timeout to be at most the request timeout. */
function deadlinesOf({ headerTimeoutMs, bodyTimeoutMs }: Config) {
  const headersTimeout = Math.min(headerTimeoutMs, bodyTimeoutMs);
  const connectionsCheckingInterval = Math.min(headersTimeout, maxCheckMs);
  return { headersTimeout, requestTimeout: bodyTimeoutMs, connectionsCheckingInterval };
}

const maxCheckMs = 5_000;

/** Answers before the request is parsed. */
function turnAway(response: ServerResponse, refusal: AppError): void {
  const { status, body, retryAfterSeconds } = toErrorAnswer(refusal);
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'retry-after': String(retryAfterSeconds),
    connection: 'close',
  });
  response.end(JSON.stringify(body));
}

interface RequestNotes {
  fields: Record<string, unknown>;
  response: ServerResponse;
  principal?: Principal;
  /** Where less than usual is allowed. */
  maxBodyBytes?: number;
  address: string;
  authorization: string | undefined;
  startedAt: number;
  parent: TraceContext | undefined;
  trace: TraceContext | undefined;
  error?: unknown;
}

const requestIdPattern = /^[\w.:/+=-]{1,128}$/;

/** Accepts a client's request id only if it cannot be used to forge log lines. */
function requestIdOf({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && requestIdPattern.test(given) ? given : createId();
}

/** Removes names of servers and profiles, because the number of label values must be bounded. */
function mcpPathOf(url: string): string | undefined {
  if (url === '/mcp') return url; // nearly always
  return /^\/(?:mcp(?:\/(?:servers|profiles)(?=\/.))?|sse|messages)(?=[/?]|$)/.exec(url)?.[0];
}

function jsonBody(request: FastifyRequest): unknown {
  if (request.body === undefined || request.body === '') return undefined;
  const type = request.headers['content-type'];
  if (type !== undefined && !/^application\/(.+\+)?json\b/i.test(type)) {
    throw new ValidationError([
      { loc: ['header', 'content-type'], msg: 'must be application/json', type: 'value_error' },
    ]);
  }
  return parseBody(String(request.body));
}

function parseBody(text: string): unknown {
  if (isBodyTooDeep(text)) {
    const msg = `is nested more than ${maxBodyDepth} levels deep`;
    throw new ValidationError([{ loc: ['body'], msg, type: 'value_error' }]);
  }
  try {
    return parseJson(text);
  } catch {
    throw new ValidationError([{ loc: ['body'], msg: 'is not valid JSON', type: 'json_invalid' }]);
  }
}

interface ErrorBody {
  detail: string | Problem[];
  error_code: string;
  context?: Record<string, unknown>;
}

export function toErrorAnswer(error: unknown): { status: number; body: ErrorBody; retryAfterSeconds?: number } {
  if (error instanceof ValidationError) {
    return { status: error.status, body: { detail: error.problems, error_code: error.code } };
  }
  if (error instanceof AppError) {
    const { message, code, context, body, status, retryAfterSeconds } = error;
    return {
      status,
      retryAfterSeconds,
      body: { detail: message, error_code: code, ...(context && { context }), ...body },
    };
  }
  if (error instanceof RpcError) {
    const context = {
      code: error.code,
      message: error.message,
      ...(error.data === undefined ? {} : { data: error.data }),
    };
    return {
      status: 502,
      body: { detail: `The server returned an error: ${error.message}`, error_code: 'EXECUTION_FAILED', context },
    };
  }
  const { statusCode, code } = error as FastifyError;
  if (statusCode !== undefined && statusCode < 500) {
    const place = code === 'FST_ERR_BAD_URL' || code === 'FST_ERR_MAX_PARAM_LENGTH' ? 'path' : 'body';
    const problem = { loc: [place], msg: (error as Error).message, type: 'value_error' };
    return { status: 422, body: { detail: [problem], error_code: 'VALIDATION_ERROR' } };
  }
  return { status: 500, body: lastResort };
}

/** A fixed text, because the message of an unexpected error may contain secrets. */
const lastResort: ErrorBody = {
  detail: 'Internal error in the aggregator; see its log for details',
  error_code: 'INTERNAL_ERROR',
};

const notFound = (request: FastifyRequest) =>
  new AppError('NOT_FOUND', `Route not found: ${request.method} ${pathOf(request)}`);

const isStream = ({ answers }: AnyRoute) => answers[200]?.contentType === 'text/event-stream';

const pathOf = ({ url }: FastifyRequest) => url.split('?')[0] ?? url;

function sendError(
  error: unknown,
  { path, presented }: { path: string; presented: boolean },
  reply: FastifyReply,
  { secrets, requestAuthenticator }: Pick<HttpDependencies, 'secrets' | 'requestAuthenticator'>,
): FastifyReply {
  const { status, body, retryAfterSeconds } = toErrorAnswer(error);
  if (retryAfterSeconds !== undefined) reply.header('retry-after', String(retryAfterSeconds));
  if (status === 401 || (error instanceof AppError && error.code === 'INSUFFICIENT_SCOPE')) {
    reply.header('www-authenticate', requestAuthenticator.challenge({ path, error, presented }));
  }
  const text = maskedText(body, secrets);
  if (text === undefined) return reply.status(500).send(lastResort);
  return reply.status(status).header('content-type', 'application/json; charset=utf-8').send(text);
}

/** Masks secrets, because a server's error may quote its credentials; our own names and codes are kept. */
function maskedText({ error_code, ...body }: ErrorBody, secrets: Secrets): string | undefined {
  try {
    const masked = Object.entries(body).map(([name, value]) => [name, secrets.maskJson(value)]);
    return JSON.stringify({ ...Object.fromEntries(masked), error_code });
  } catch {
    return undefined; // an error thrown here would be answered with its raw message
  }
}

/** The bytes that came are not copied. */
function sendRaw(reply: FastifyReply, result: RawResult): FastifyReply {
  const parts = result.toBuffers();
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  reply.header('content-type', 'application/json; charset=utf-8').header('content-length', length);
  return reply.send(length < largeBytes ? Buffer.concat(parts, length) : Readable.from(parts, { objectMode: false }));
}
