/** The HTTP server: limits connections, gives each request to MCP or to the REST API, and closes without losing any. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Server as NetServer } from 'node:net';
import type { Config } from '../config/config.ts';
import { maxDescriptors } from '../descriptors.ts';
import type { AppError } from '../errors.ts';
import { toRequestId } from '../ids.ts';
import type { Logger } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import type { RequestContext } from '../request-context.ts';
import { createClientAddress, createProxyCheck } from '../security/client-address.ts';
import { originsOf } from '../security/policy.ts';
import { traceOf } from '../tracing.ts';
import { connectionLimits, limitConnections } from './connection-limits.ts';
import { createCors } from './cors.ts';
import { toErrorAnswer } from './error-answer.ts';
import { createPendingResponses } from './pending-responses.ts';
import { isProbe } from './readiness.ts';
import { createRequestRecorder, type RecordRequest } from './request-recorder.ts';
import { createRestApi, type RestApiDependencies } from './rest-api.ts';
import { cutStalledClients } from './stalled-clients.ts';

interface HttpDependencies extends Omit<RestApiDependencies, 'closing'> {
  log: Logger;
  metrics: Metrics;
  /** Handles the paths that are not REST (MCP, pages); returns true if it handled the request. */
  raw?: (request: IncomingMessage, response: ServerResponse, context: RequestContext) => boolean;
  /** Resolves when the requests that `raw` took by now are answered, with how many. */
  drainRaw?: () => Promise<number>;
}

interface HttpServer {
  /** Requests wait until `open`: only then is it known which of them other replicas have to answer. */
  listen(): Promise<{ host: string; port: number }>;
  open(): void;
  close(): Promise<void>;
}

/** Longer than the minute of proxies: closing an idle connection first would lose a request that is on its way. */
const keepAliveTimeout = 75_000;
/** Load balancers use an idle connection within this time, or another one. */
const maxLeaveMs = 1_000;

export function createHttpServer(deps: HttpDependencies): HttpServer {
  const { config, log, metrics, requestBodies, tracer } = deps;
  const closing = new AbortController();
  const pendingResponses = createPendingResponses();
  const recordRequest = createRequestRecorder(log, metrics, tracer);
  const handleMcp = createMcpHandler(deps, recordRequest);
  const answersPreflight = createCors(originsOf(config));
  const opened = Promise.withResolvers<void>();
  let isOpen = false;
  let isLeaving = false;
  let boundPort = config.port;

  const server = createServer({ keepAliveTimeout, ...deadlinesOf(config) }, (request, response) => {
    if (isProbe(request.url)) return app.routing(request, response);
    const refusal = connections.refusalOf(request.socket);
    if (refusal !== undefined) return turnAway(response, refusal);
    if (isLeaving) response.shouldKeepAlive = false;
    if (isOpen) receive(request, response);
    else void opened.promise.then(() => receive(request, response));
  });
  const app = createRestApi({
    ...deps,
    server,
    boundPort: () => boundPort,
    closing: closing.signal,
    pendingResponses,
    recordRequest,
  });
  cutStalledClients(server);
  const { maxConnections: all, maxConnectionsPerAddress: perAddress } = config;
  const limits = connectionLimits({ all, perAddress }, maxDescriptors());
  const connections = limitConnections(server, limits, createProxyCheck(config.trustedProxies));
  connections.onUnaccepted((error) => log.warn({ err: error }, 'cannot accept connections'));
  metrics.watchRequestBodies(requestBodies);
  metrics.watchConnections({ open: () => connections.open, limits, refused: connections.refused });

  function receive(request: IncomingMessage, response: ServerResponse): void {
    if (answersPreflight(request, response)) return;
    // MCP requests bypass the framework, which would cost a fifth of their throughput.
    if (!handleMcp(request, response)) app.routing(request, response);
  }

  /** Resolves when everything that was asked by now is answered, with how many requests. */
  async function answered(): Promise<number> {
    const [raw = 0, rest] = await Promise.all([deps.drainRaw?.(), pendingResponses.completed()]);
    return raw + rest;
  }

  function stopAccepting(): void {
    server.close();
    server.closeIdleConnections();
  }

  /**
   * Refuses new connections, which makes load balancers send requests elsewhere, and closes open ones after their next
   * answer. Closing an idle connection could lose a request that is on its way.
   */
  async function leave(leaveMs: number): Promise<void> {
    isLeaving = true;
    const closed = once(server, 'close');
    NetServer.prototype.close.call(server); // that of http.Server closes idle connections
    await within(AbortSignal.timeout(leaveMs), closed);
  }

  return {
    async listen() {
      await app.listen({ host: config.host, port: config.port });
      const address = server.address();
      if (typeof address === 'object' && address !== null) boundPort = address.port;
      return { host: config.host, port: boundPort };
    },
    open() {
      isOpen = true;
      opened.resolve();
    },
    async close() {
      const hasOthers = deps.hasOthers();
      const { drainMs, leaveMs } = closingTimesOf(config.shutdownTimeoutMs);
      const late = AbortSignal.timeout(drainMs);
      closing.abort();
      if (!hasOthers) stopAccepting();
      await within(late, answered());
      if (hasOthers) await leave(leaveMs);
      // What came meanwhile over open connections was given to other replicas, and is answered through this one.
      while (((await within(late, answered())) ?? 0) > 0);
      await app.close();
    },
  };
}

/** Answers MCP requests, which are recorded quietly because their calls have lines of their own. */
function createMcpHandler({ raw, config, log, sessions, tracer }: HttpDependencies, recordRequest: RecordRequest) {
  const addressOf = createClientAddress(config.trustedProxies);

  return function handleMcp(request: IncomingMessage, response: ServerResponse): boolean {
    const path = mcpPathOf(request.url ?? '');
    if (path === undefined || raw === undefined) return false;
    const requestId = toRequestId(request);
    const address = log.isLevelEnabled('debug') ? addressOf(request) : '';
    const startedAt = performance.now();
    const parent = traceOf(request.headers);
    const trace = tracer.child(parent);
    const authorization = sessions.authorizationOf(request);
    if (!raw(request, response, { requestId, receivedAt: startedAt, authorization, trace })) return false;
    const { method = '' } = request;
    response.on('close', () => {
      const { statusCode: status } = response;
      const ended = { id: requestId, method, route: path, path, status, startedAt, address, parent, trace };
      recordRequest({ ...ended, isQuiet: true });
    });
    return true;
  };
}

/** Removes names of servers and profiles, because the number of label values must be bounded. */
function mcpPathOf(url: string): string | undefined {
  if (url === '/mcp') return url; // nearly always
  return /^\/(?:mcp(?:\/(?:servers|profiles)(?=\/.))?|sse|messages)(?=[/?]|$)/.exec(url)?.[0];
}

/** The remaining time is reserved for closing server sessions, child processes and the last audit records. */
function closingTimesOf(shutdownTimeoutMs: number) {
  const leaveMs = Math.min(shutdownTimeoutMs * 0.1, maxLeaveMs);
  return { leaveMs, drainMs: shutdownTimeoutMs * 0.8 - leaveMs };
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
