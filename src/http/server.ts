/** The HTTP server: checks every request once, routes it, and translates every error once. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { type Config, isLoopback } from '../config.ts';
import { AppError, type Problem, RpcError, ValidationError } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { Authenticator, Principal } from '../security/auth.ts';
import { checkHost, checkOrigin, requireRole } from '../security/policy.ts';
import { describeApi } from './openapi.ts';
import { type AnyRoute, parse, type RouteContext } from './route.ts';

export interface HttpDependencies {
  config: Config;
  log: Logger;
  authenticator: Authenticator;
  routes: readonly AnyRoute[];
  version: string;
  /** Takes the paths that are not REST (MCP, pages); true when it took the request. */
  raw?: (request: IncomingMessage, response: ServerResponse) => boolean;
}

export interface HttpServer {
  listen(): Promise<{ host: string; port: number }>;
  close(): Promise<void>;
}

const nobody: Principal = { id: 'nobody', name: 'nobody', role: 'viewer', servers: new Set(), profile: null };

export function createHttpServer(deps: HttpDependencies): HttpServer {
  const { config, log, authenticator, routes } = deps;
  const closing = new AbortController();
  const unanswered = new Set<ServerResponse>();
  let boundPort = config.port;

  const app: FastifyInstance = fastify({
    loggerInstance: undefined,
    logger: false,
    bodyLimit: config.maxBodyBytes,
    forceCloseConnections: true,
    // MCP requests never see the framework: it would cost them a fifth of their speed.
    serverFactory: (handle) =>
      createServer(
        deps.raw === undefined ? (handle as RequestListener) : rawFirst(deps.raw, handle as RequestListener),
      ),
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 512 },
  });

  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, text, done) => done(null, text));
  app.setErrorHandler((error, request, reply) => sendError(error, request, reply, log));
  app.setNotFoundHandler((request) => {
    throw new AppError('NOT_FOUND', `There is nothing at ${request.method} ${request.url.split('?')[0]}`);
  });
  app.addHook('onRequest', async (request, reply) => {
    reply.header('cache-control', 'no-store').header('x-content-type-options', 'nosniff');
    if (closing.signal.aborted) {
      reply.header('connection', 'close');
      throw new AppError('SHUTTING_DOWN', 'The aggregator is shutting down', { retryAfterSeconds: 5 });
    }
    unanswered.add(reply.raw);
    reply.raw.on('close', () => unanswered.delete(reply.raw));
    checkHost(request.headers.host, { boundHost: config.host, boundPort, allowedHosts: config.allowedHosts });
    checkOrigin(request.headers.origin, request.headers.host, config.allowedOrigins);
    // Nothing has such a name, and PostgreSQL would refuse to look for it.
    if (request.url.includes('%00')) {
      throw new ValidationError([{ loc: ['url'], msg: 'must not contain a NUL character', type: 'value_error' }]);
    }
  });

  for (const definition of routes) mount(definition);
  const document = describeApi(routes, deps.version);
  app.get('/openapi.json', async (request) => {
    identify('viewer', request);
    return document;
  });

  function mount(definition: AnyRoute): void {
    app.route({
      method: definition.method,
      url: definition.path.replace(/\{(\w+)\}/g, ':$1'),
      async handler(request, reply) {
        const principal = identify(definition.role, request);
        const gone = new AbortController();
        reply.raw.on('close', () => {
          if (!reply.raw.writableFinished) gone.abort();
        });
        const context = {
          params: parse(definition.params, request.params, 'path'),
          query: parse(definition.query, request.query, 'query'),
          body: parse(definition.body, definition.body === undefined ? undefined : jsonBody(request), 'body'),
          principal,
          address: request.ip,
          signal: gone.signal,
          closing: closing.signal,
          request,
          reply,
        };
        return await definition.handle(context as unknown as RouteContext<never, never, never>);
      },
    });
  }

  function identify(role: AnyRoute['role'], request: FastifyRequest): Principal {
    if (role === 'public') return nobody;
    const principal = authenticator.authenticate({
      authorization: request.headers.authorization,
      loopbackListener: isLoopback(config.host),
    });
    requireRole(principal, role);
    return principal;
  }

  return {
    async listen() {
      await app.listen({ host: config.host, port: config.port });
      const address = app.server.address();
      if (typeof address === 'object' && address !== null) boundPort = address.port;
      return { host: config.host, port: boundPort };
    },
    async close() {
      closing.abort();
      const answered = [...unanswered].map((response) => once(response, 'close'));
      const late = new AbortController();
      await Promise.race([
        Promise.all(answered),
        delay(config.shutdownTimeoutMs, undefined, { signal: late.signal }).catch(() => undefined), // all answered
      ]);
      late.abort();
      await app.close();
    },
  };
}

function rawFirst(
  raw: (request: IncomingMessage, response: ServerResponse) => boolean,
  handle: RequestListener,
): RequestListener {
  return (request, response) => {
    if (!raw(request, response)) handle(request, response);
  };
}

function jsonBody(request: FastifyRequest): unknown {
  if (request.body === undefined || request.body === '') return undefined;
  const type = request.headers['content-type'];
  if (type !== undefined && !/^application\/(.+\+)?json\b/i.test(type)) {
    throw new ValidationError([
      { loc: ['header', 'content-type'], msg: 'must be application/json', type: 'value_error' },
    ]);
  }
  try {
    return JSON.parse(String(request.body));
  } catch {
    throw new ValidationError([{ loc: ['body'], msg: 'is not valid JSON', type: 'json_invalid' }]);
  }
}

export interface ErrorBody {
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
      body: { detail: `The server answered with an error: ${error.message}`, error_code: 'EXECUTION_FAILED', context },
    };
  }
  const { statusCode, code } = error as FastifyError;
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE')
    return toErrorAnswer(new AppError('BODY_TOO_LARGE', 'The request body is too large'));
  if (statusCode !== undefined && statusCode < 500) {
    const problem = { loc: ['body'], msg: (error as Error).message, type: 'value_error' };
    return { status: 422, body: { detail: [problem], error_code: 'VALIDATION_ERROR' } };
  }
  return {
    status: 500,
    body: { detail: 'Something went wrong in the aggregator; its log has the details', error_code: 'INTERNAL_ERROR' },
  };
}

function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply, log: Logger): FastifyReply {
  const { status, body, retryAfterSeconds } = toErrorAnswer(error);
  if (status === 500)
    log.error({ err: error, method: request.method, path: request.url.split('?')[0] }, 'request failed');
  if (retryAfterSeconds !== undefined) reply.header('retry-after', String(retryAfterSeconds));
  if (status === 401) reply.header('www-authenticate', 'Bearer realm="mcp-aggregator"');
  return reply.status(status).send(body);
}
