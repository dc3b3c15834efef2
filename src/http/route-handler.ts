/** One REST route, mounted in Fastify: authentication before the body is read, validation, the answer. */
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { RawResult } from '../raw-result.ts';
import type { RequestContext } from '../request-context.ts';
import type { Principal } from '../security/auth.ts';
import type { ThrottledRequestAuthenticator } from '../security/authentication-throttle.ts';
import { isProved, proofHeader } from '../security/identity.ts';
import { requireRole, requireUnbound } from '../security/policy.ts';
import { largeBytes } from '../time-slice.ts';
import type { TraceContext } from '../tracing.ts';
import { readJsonBody } from './json-body.ts';
import { type AnyRoute, parse, type RouteContext } from './route.ts';
import type { ViewOf } from './view.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Undefined for a request that Fastify refuses before its first hook. */
    record?: RequestRecord;
  }
}

/** What is found out about a request while it is answered. */
interface RequestRecord {
  response: ServerResponse;
  address: string;
  authorization: string | undefined;
  startedAt: number;
  parent: TraceContext | undefined;
  trace: TraceContext | undefined;
  principal?: Principal;
  /** Where less than usual is allowed. */
  maxBodyBytes?: number;
  /** What the route adds to the line in the log. */
  fields: Record<string, unknown>;
  error?: unknown;
}

export interface RouteHandlerDependencies {
  /** Proves requests of those who can read the data directory. */
  identityKey: string;
  maxBodyBytes: number;
  loopbackListener: boolean;
  requestAuthenticator: ThrottledRequestAuthenticator;
  viewOf: ViewOf;
  /** Throws if the principal exceeds its call limit. */
  admitCall?: (principal: Principal) => Promise<void>;
  /** Aborts when the aggregator shuts down. */
  closing: AbortSignal;
}

/** Of routes that need no token: a code, a form. */
const maxPublicBodyBytes = 65_536;
const unauthenticated: Principal = { id: 'nobody', name: 'nobody', role: 'viewer', servers: new Set(), profile: null };

export const pathOf = ({ url }: FastifyRequest) => url.split('?')[0] ?? url;

/** Throws unless the request may use what this role may use. */
export async function authenticate(
  request: FastifyRequest,
  role: AnyRoute['role'],
  { requestAuthenticator, loopbackListener }: RouteHandlerDependencies,
): Promise<Principal> {
  if (role === 'public') return unauthenticated;
  const { authorization, address = '' } = request.record ?? {};
  const path = pathOf(request);
  const principal = await requestAuthenticator.authenticate({ authorization, loopbackListener, path, address });
  requireRole(principal, role);
  return principal;
}

export function toFastifyRoute(definition: AnyRoute, deps: RouteHandlerDependencies): RouteOptions {
  return {
    method: definition.method,
    url: definition.path.replace(/\{(\w+)\}/g, ':$1'),
    // Before the body is read: strangers must not make us hold what they send.
    async onRequest(request) {
      const principal = await authenticate(request, definition.role, deps);
      if (definition.unbound) requireUnbound(principal);
      if (request.record === undefined) return;
      request.record.principal = principal;
      if (definition.role === 'public') request.record.maxBodyBytes = Math.min(deps.maxBodyBytes, maxPublicBodyBytes);
    },
    async handler(request, reply) {
      const { principal = unauthenticated } = request.record ?? {};
      if (principal !== unauthenticated) addFields(request, { principal: principal.name });
      if (definition.role === 'caller') await deps.admitCall?.(principal);
      const context = {
        ...requestContextOf(request),
        params: parse(definition.params, request.params, 'path'),
        query: parse(definition.query, request.query, 'query'),
        body: parse(definition.body, definition.body === undefined ? undefined : jsonBodyOf(request), 'body'),
        principal,
        view: deps.viewOf(principal),
        address: request.record?.address ?? '',
        from: originOf(request, deps.identityKey),
        note: (fields: Record<string, unknown>) => addFields(request, fields),
        signal: disconnected(reply),
        closing: deps.closing,
        request,
        reply,
      };
      const answer = await definition.handle(context as unknown as RouteContext<never, never, never>);
      return answer instanceof RawResult ? sendRaw(reply, answer) : answer;
    },
  };
}

export function requestContextOf({ id, record }: FastifyRequest): RequestContext {
  const { startedAt = performance.now(), authorization, trace } = record ?? {};
  return { requestId: id, receivedAt: startedAt, authorization, trace };
}

const addFields = ({ record }: FastifyRequest, fields: Record<string, unknown>) =>
  void Object.assign(record?.fields ?? {}, fields);

const jsonBodyOf = ({ body, headers }: FastifyRequest) =>
  readJsonBody(body === undefined ? undefined : String(body), headers['content-type']);

const originOf = ({ headers, url, body }: FastifyRequest, identityKey: string): 'local' | 'network' =>
  isProved(identityKey, { header: headers[proofHeader], path: url, body: String(body ?? '') }) ? 'local' : 'network';

/** Aborts when the client disconnects before it has its answer. */
function disconnected({ raw }: FastifyReply): AbortSignal {
  const controller = new AbortController();
  raw.on('close', () => {
    if (!raw.writableFinished) controller.abort();
  });
  return controller.signal;
}

/** The bytes that came are not copied. */
function sendRaw(reply: FastifyReply, result: RawResult): FastifyReply {
  const parts = result.toBuffers();
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  reply.header('content-type', 'application/json; charset=utf-8').header('content-length', length);
  return reply.send(length < largeBytes ? Buffer.concat(parts, length) : Readable.from(parts, { objectMode: false }));
}
