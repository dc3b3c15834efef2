/** Forwards requests to the replica that holds their MCP session, because a load balancer may send them to any replica. */
import { type IncomingHttpHeaders, type IncomingMessage, request as requestHttp, type ServerResponse } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { RequestContext } from '../request-context.ts';
import { formatTraceparent } from '../tracing.ts';

/** Marks forwarded requests, which are never forwarded again, to prevent loops. */
const forwardedBy = 'mcp-aggregator-forwarded-by';
const connectTimeoutMs = 2_000;
/** Hop-by-hop headers. All others, including Host and Authorization, are forwarded, because the owner checks them. */
const hopHeaders = new Set(['connection', 'keep-alive', 'transfer-encoding', 'upgrade', 'te', 'trailer', 'expect']);

type Forwarding =
  /** The owner answers. */
  | 'answering'
  /** It never got the request. */
  | 'unreachable'
  /** It may have executed it. */
  | 'lost';

interface Forwarder {
  /** The address of the replica in a session id; undefined if it is this one, gone, or the sender of the request. */
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

/** Session ids start with the id of their replica. */
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
          // If one side closes, close the other.
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
