/**
 * A request that belongs to another replica, passed on to it: an MCP session lives in the process that opened it, and
 * a proxy that deals requests in turn knows nothing of that.
 */
import { type IncomingHttpHeaders, type IncomingMessage, request as requestHttp, type ServerResponse } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { RequestContext } from '../request-context.ts';
import { formatTraceparent } from '../tracing.ts';

/** What is passed on is never passed on again: two replicas that disagree must not play ball. */
const forwardedBy = 'mcp-aggregator-forwarded-by';
const connectTimeoutMs = 2_000;
/** Headers of one hop; the rest, Host and Authorization included, is what the owner must judge by itself. */
const hopHeaders = new Set(['connection', 'keep-alive', 'transfer-encoding', 'upgrade', 'te', 'trailer', 'expect']);

type Forwarding =
  /** The owner answers. */
  | 'answering'
  /** It never got the request. */
  | 'unreachable'
  /** It may have executed it. */
  | 'lost';

interface Forwarder {
  /** The address of the replica that a session's id names, unless that is us, or dead, or asked us already. */
  ownerOf(sessionId: string, request: IncomingMessage): string | undefined;
  /** `body`: what was read of the request already. */
  forward(
    address: string,
    request: IncomingMessage,
    response: ServerResponse,
    context: RequestContext,
    body?: string,
  ): Promise<Forwarding>;
}

interface ForwarderDependencies {
  id: string;
  addressOf(replicaId: string): string | undefined;
}

/** The id of a session says which replica has it. */
export function toSessionId(replicaId: string, sessionId: string): string {
  return `${replicaId}.${sessionId}`;
}

export function createForwarder(replicas: ForwarderDependencies): Forwarder {
  return {
    ownerOf(sessionId, request) {
      const dot = sessionId.indexOf('.');
      if (dot === -1 || request.headers[forwardedBy] !== undefined) return undefined;
      return replicas.addressOf(sessionId.slice(0, dot));
    },

    forward(address, request, response, { requestId, trace }, body) {
      const send = address.startsWith('https:') ? requestHttps : requestHttp;
      const before = request.headers['x-forwarded-for'];
      const addresses = [before, request.socket.remoteAddress].filter((address) => address !== undefined);
      const headers = {
        ...kept(request.headers),
        [forwardedBy]: replicas.id,
        'x-forwarded-for': addresses.join(', '),
        'x-request-id': requestId,
        ...(trace === undefined ? {} : { traceparent: formatTraceparent(trace) }),
        ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
      };
      return new Promise((resolve) => {
        const passed = send(new URL(request.url ?? '/', address), { method: request.method, headers });
        let connected = false;
        const late = setTimeout(() => passed.destroy(new Error('no connection')), connectTimeoutMs);
        passed.on('socket', (socket) => {
          const begin = () => {
            connected = true;
            clearTimeout(late);
          };
          if (socket.connecting) socket.once('connect', begin);
          else begin();
        });
        passed.on('response', (answer) => {
          response.writeHead(answer.statusCode ?? 502, kept(answer.headers));
          response.flushHeaders();
          answer.pipe(response);
          // Cut off on either side, it is cut off on the other.
          answer.on('error', () => response.destroy());
          resolve('answering');
        });
        passed.on('error', () => {
          clearTimeout(late);
          resolve(connected ? 'lost' : 'unreachable');
        });
        response.on('close', () => passed.destroy());
        if (body === undefined) request.pipe(passed);
        else passed.end(body);
      });
    },
  };
}

function kept(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !hopHeaders.has(name)));
}
