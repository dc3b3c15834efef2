/** Forwards requests to the replica that holds their MCP session, because a load balancer may send them to any replica. */
import { type IncomingHttpHeaders, type IncomingMessage, request as requestHttp, type ServerResponse } from 'node:http';
import { request as requestHttps } from 'node:https';
import { AppError } from '../errors.ts';
import { type RequestContext, shuttingDownHeader } from '../request-context.ts';
import { formatTraceparent } from '../tracing.ts';

/** Marks forwarded requests, which are never forwarded again, to prevent loops. */
const forwardedBy = 'mcp-aggregator-forwarded-by';
const connectTimeoutMs = 2_000;
const withBody = new Set(['POST', 'PUT', 'PATCH']);
/** Whether such a request was executed makes no difference. */
const safeMethods = new Set(['GET', 'HEAD']);
/** A proxy between the replicas may not know that the body is waited for. */
const continueTimeoutMs = 1_000;
/** Hop-by-hop headers. All others, including Host and Authorization, are forwarded, because the owner checks them. */
const hopHeaders = new Set(['connection', 'keep-alive', 'transfer-encoding', 'upgrade', 'te', 'trailer', 'expect']);

type Forwarding =
  /** The other replica answers. */
  | 'answering'
  /** It never got the request, or refused it because it shuts down. */
  | 'unreachable'
  /** It may have executed it. */
  | 'lost';

interface Forwarder {
  /** The replica that forwarded this request. */
  senderOf(request: IncomingMessage): string | undefined;
  /** The replica that has the session; undefined if it is this one or gone. */
  ownerOf(sessionId: string): string | undefined;
  /** Another replica continues the session than the one that its id names. */
  recordOwner(sessionId: string, replica: string): void;
  /** Gives a request, whose body was read, to any other replica, because this one shuts down; false where none takes it. */
  handOff(
    request: IncomingMessage,
    response: ServerResponse,
    context: RequestContext,
    body: string | Buffer,
  ): Promise<boolean>;
  /** `body`: what was read of the request already; without it, the request can be sent only once. */
  forward(
    replica: string,
    request: IncomingMessage,
    response: ServerResponse,
    context: RequestContext,
    body?: string | Buffer,
  ): Promise<Forwarding>;
}

interface ForwarderDependencies {
  id: string;
  addressOf(replicaId: string): string | undefined;
  others(): readonly string[];
}

const maxMoved = 10_000;

export function createForwarder(replicas: ForwarderDependencies): Forwarder {
  /** By session id: the replica that continues it. */
  const moved = new Map<string, string>();

  return {
    senderOf({ headers }) {
      const sender = headers[forwardedBy];
      return typeof sender === 'string' ? sender : undefined;
    },
    ownerOf(sessionId) {
      const owner = moved.get(sessionId) ?? sessionId.slice(0, Math.max(0, sessionId.indexOf('.')));
      return replicas.addressOf(owner) === undefined ? undefined : owner;
    },
    recordOwner(sessionId, replica) {
      moved.set(sessionId, replica);
      const [oldest] = moved.keys();
      if (moved.size > maxMoved && oldest !== undefined) moved.delete(oldest);
    },
    async handOff(request, response, context, body) {
      if (request.headers[forwardedBy] !== undefined) return false;
      for (const replica of replicas.others()) {
        const forwarding = await forward(replica, request, response, context, body);
        if (forwarding === 'answering') return true;
        if (forwarding === 'lost')
          throw new AppError(
            'EXECUTION_FAILED',
            'The replica was lost during the request, which may have been executed',
          );
      }
      return false;
    },
    forward,
  };

  function forward(
    replica: string,
    request: IncomingMessage,
    response: ServerResponse,
    { requestId, trace }: RequestContext,
    body?: string | Buffer,
  ): Promise<Forwarding> {
    const address = replicas.addressOf(replica);
    if (address === undefined) return Promise.resolve('unreachable');
    const send = address.startsWith('https:') ? requestHttps : requestHttp;
    const before = request.headers['x-forwarded-for'];
    const addresses = [before, request.socket.remoteAddress].filter((address) => address !== undefined);
    const { 'content-length': givenLength, ...given } = kept(request.headers);
    const waits = body !== undefined && withBody.has(request.method ?? '');
    const length = body === undefined ? givenLength : Buffer.byteLength(body) || undefined;
    const headers = {
      ...given,
      [forwardedBy]: replicas.id,
      'x-forwarded-for': addresses.join(', '),
      'x-request-id': requestId,
      ...(trace === undefined ? {} : { traceparent: formatTraceparent(trace) }),
      ...(length === undefined ? {} : { 'content-length': length }),
      ...(waits ? { expect: '100-continue' } : {}),
    };
    return new Promise((resolve) => {
      // A new connection each time: whether a request on one that was just closed was executed cannot be told.
      const options = { method: request.method, headers, agent: false };
      const passed = send(new URL(request.url ?? '/', address), options);
      let isSent = false;
      let late = setTimeout(() => passed.destroy(new Error('no connection')), connectTimeoutMs);
      passed.on('socket', (socket) => {
        socket.once('connect', () => {
          clearTimeout(late);
          if (waits) late = setTimeout(sendBody, continueTimeoutMs);
        });
      });
      /** Without its body a request is not executed: until the other replica has asked for it, another one can be asked. */
      function sendBody(): void {
        clearTimeout(late);
        isSent = true;
        passed.end(body);
      }
      passed.on('continue', sendBody);
      passed.on('response', (answer) => {
        clearTimeout(late);
        if (answer.headers[shuttingDownHeader] !== undefined) {
          answer.resume();
          return resolve('unreachable');
        }
        response.writeHead(answer.statusCode ?? 502, kept(answer.headers));
        response.flushHeaders();
        answer.pipe(response);
        // If one side closes, close the other.
        answer.on('error', () => response.destroy());
        resolve('answering');
      });
      passed.on('error', () => {
        clearTimeout(late);
        resolve(isSent ? 'lost' : 'unreachable');
      });
      response.on('close', () => {
        clearTimeout(late);
        passed.destroy();
      });
      if (waits) return;
      isSent = !safeMethods.has(request.method ?? '');
      if (body === undefined) request.pipe(passed);
      else passed.end();
    });
  }
}

function kept(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !hopHeaders.has(name)));
}
