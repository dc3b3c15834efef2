/** The REST API and the pages in Fastify: checks every request once, and translates every error once. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import type { Config } from '../config/config.ts';
import { AppError, ValidationError } from '../errors.ts';
import { toRequestId } from '../ids.ts';
import { isLoopback } from '../loopback.ts';
import type { RequestBodies } from '../request-bodies.ts';
import { type RequestContext, shuttingDownHeader } from '../request-context.ts';
import { createClientAddress } from '../security/client-address.ts';
import type { PageSessions } from '../security/page-session.ts';
import { checkHost, checkOrigin, originsOf } from '../security/policy.ts';
import type { Secrets } from '../security/secrets.ts';
import { type Tracer, traceOf } from '../tracing.ts';
import { encodeAnswer } from './answer-encoding.ts';
import { needsChallenge, toErrorAnswer, toMaskedText } from './error-answer.ts';
import { describeApi } from './openapi.ts';
import { mountPages } from './pages.ts';
import type { PendingResponses } from './pending-responses.ts';
import { isProbe } from './readiness.ts';
import type { RecordRequest } from './request-recorder.ts';
import type { AnyRoute } from './route.ts';
import {
  authenticate,
  pathOf,
  type RouteHandlerDependencies,
  requestContextOf,
  toFastifyRoute,
} from './route-handler.ts';

export interface RestApiDependencies extends Omit<RouteHandlerDependencies, 'maxBodyBytes' | 'loopbackListener'> {
  config: Config;
  routes: readonly AnyRoute[];
  version: string;
  secrets: Secrets;
  tracer: Tracer;
  requestBodies: RequestBodies;
  sessions: PageSessions;
  /** Gives a request to another replica, because this one shuts down; false where none takes it. */
  handOff?: (
    request: IncomingMessage,
    response: ServerResponse,
    context: RequestContext,
    body: Buffer,
  ) => Promise<boolean>;
  /** Whether there are other replicas to give requests to. */
  hasOthers: () => boolean;
}

/** What the REST API shares with the server that it answers requests of. */
interface ServedBy {
  server: Server;
  /** Known after listening. */
  boundPort: () => number;
  pendingResponses: PendingResponses;
  recordRequest: RecordRequest;
}

export function createRestApi(given: RestApiDependencies & ServedBy): FastifyInstance {
  const { config, routes, server, requestBodies, recordRequest } = given;
  const deps = { ...given, maxBodyBytes: config.maxBodyBytes, loopbackListener: isLoopback(config.host) };
  const beginRequest = createRequestBeginning(given);
  const refuseWhenClosing = createClosingRefusal(given);
  const refuseForeign = createForeignRefusal(given);

  const app: FastifyInstance = fastify({
    loggerInstance: undefined,
    logger: false,
    genReqId: toRequestId,
    forceCloseConnections: true,
    serverFactory: () => server,
    // An undecodable path gets the same error format as other invalid requests.
    frameworkErrors: (error, request, reply) => void sendError(error, request as FastifyRequest, reply, deps),
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 512 },
  });
  app.decorateRequest('record');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', async ({ record }: FastifyRequest, body: IncomingMessage) => {
    if (record === undefined) return '';
    return (await requestBodies.read(body, record.response, record.maxBodyBytes)).toString('utf8');
  });
  app.setErrorHandler((error, request, reply) => {
    if (request.record !== undefined) request.record.error = error;
    return sendError(error, request, reply, deps);
  });
  app.setNotFoundHandler((request) => {
    throw notFound(request);
  });
  app.addHook('onRequest', async (request, reply) => {
    beginRequest(request, reply);
    if (isProbe(request.raw.url)) return;
    if (await refuseWhenClosing(request, reply)) return;
    refuseForeign(request);
  });
  app.addHook('onSend', encode);
  app.addHook('onResponse', async (request, reply) => {
    if (request.record === undefined) return;
    const { id, method, record } = request;
    const route = request.routeOptions.url ?? 'unmatched';
    recordRequest({ ...record, id, method, route, path: pathOf(request), status: reply.statusCode, isQuiet: false });
  });

  for (const definition of routes) app.route(toFastifyRoute(definition, deps));
  mountPages(app);
  let document: object | undefined;
  app.get('/openapi.json', async (request) => {
    await authenticate(request, 'viewer', deps);
    document ??= describeApi(routes, deps.version);
    return document;
  });
  return app;
}

function createRequestBeginning({ config, sessions, tracer, pendingResponses }: RestApiDependencies & ServedBy) {
  const addressOf = createClientAddress(config.trustedProxies);

  return (request: FastifyRequest, reply: FastifyReply): void => {
    const parent = traceOf(request.headers);
    request.record = {
      response: reply.raw,
      // Read now: a closed connection no longer has it.
      address: addressOf(request.raw),
      authorization: sessions.authorizationOf(request.raw),
      startedAt: performance.now(),
      parent,
      trace: tracer.child(parent),
      fields: {},
    };
    reply.header('x-request-id', request.id);
    reply.header('cache-control', 'no-store').header('x-content-type-options', 'nosniff');
    pendingResponses.add(reply.raw);
  };
}

/** While the aggregator shuts down, another replica answers a request; without another replica it is refused. */
function createClosingRefusal(deps: RestApiDependencies & ServedBy) {
  const { closing, handOff, hasOthers, requestBodies, routes, pendingResponses } = deps;
  const streamPaths = new Set(routes.filter(isStream).map(({ path }) => path));

  /** Returns true if another replica answers. */
  return async (request: FastifyRequest, reply: FastifyReply): Promise<boolean> => {
    if (!closing.aborted) return false;
    if (hasOthers()) {
      if (streamPaths.has(request.routeOptions.url ?? '')) pendingResponses.addForwardedStream(reply.raw);
      const context = { ...requestContextOf(request), trace: request.record?.parent };
      const body = await requestBodies.read(request.raw, reply.raw);
      if ((await handOff?.(request.raw, reply.raw, context, body)) === true) {
        reply.hijack();
        return true;
      }
    }
    reply.header('connection', 'close').header(shuttingDownHeader, 'true');
    throw new AppError('SHUTTING_DOWN', 'The aggregator is shutting down', { retryAfterSeconds: 5 });
  };
}

function createForeignRefusal({ config, boundPort }: RestApiDependencies & ServedBy) {
  const { host: boundHost, allowedHosts, publicUrl } = config;
  const origins = originsOf(config);

  return (request: FastifyRequest): void => {
    const { host, origin } = request.headers;
    checkHost(host, { boundHost, boundPort: boundPort(), allowedHosts, publicUrl });
    checkOrigin(origin, host, origins);
    if (request.is404) throw notFound(request);
    // PostgreSQL rejects queries with a NUL character.
    if (request.url.includes('%00')) {
      throw new ValidationError([{ loc: ['url'], msg: 'must not contain a NUL character', type: 'value_error' }]);
    }
  };
}

async function encode({ method, headers }: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<unknown> {
  if (typeof payload !== 'string') return payload;
  const {
    status,
    headers: added,
    body,
  } = await encodeAnswer(payload, {
    method,
    acceptEncoding: String(headers['accept-encoding'] ?? ''),
    ifNoneMatch: headers['if-none-match'],
    status: reply.statusCode,
  });
  if (status !== undefined) reply.status(status).removeHeader('content-type');
  reply.headers(added);
  return body;
}

function sendError(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  { secrets, requestAuthenticator }: Pick<RestApiDependencies, 'secrets' | 'requestAuthenticator'>,
): FastifyReply {
  const answer = toErrorAnswer(error);
  if (answer.retryAfterSeconds !== undefined) reply.header('retry-after', String(answer.retryAfterSeconds));
  if (needsChallenge(error, answer.status)) {
    const presented = (request.record?.authorization ?? request.headers.authorization) !== undefined;
    reply.header('www-authenticate', requestAuthenticator.challenge({ path: pathOf(request), error, presented }));
  }
  const { status, text } = toMaskedText(answer, (value) => secrets.maskJson(value));
  return reply.status(status).header('content-type', 'application/json; charset=utf-8').send(text);
}

const notFound = (request: FastifyRequest) =>
  new AppError('NOT_FOUND', `Route not found: ${request.method} ${pathOf(request)}`);

const isStream = ({ answers }: AnyRoute) => answers[200]?.contentType === 'text/event-stream';
