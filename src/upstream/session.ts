/**
 * A live MCP connection to one server, at the JSON-RPC level: what goes in comes out unchanged but for what a hop
 * requires (ids, progress tokens, the per-hop keys of `_meta`).
 */
import type { CancelSignal } from '../cancellation.ts';
import { describe, RpcError } from '../errors.ts';
import { createInFlightTable } from '../in-flight-table.ts';
import {
  type Era,
  errorOf,
  hopMeta,
  isObject,
  isRequest,
  isResponse,
  type JsonObject,
  type RpcFailure,
  type RpcMessage,
  type RpcRequest,
  type RpcSuccess,
  toOwnNumber,
} from '../json-rpc.ts';
import { type Result, toObject } from '../raw-result.ts';
import type { Server } from '../registry/registry.ts';
import { version } from '../version.ts';
import type { SessionOwner } from './owned-sessions.ts';
import { createQuestions } from './questions.ts';

/** Who is behind a request, told to servers that want to know it with every request. */
export interface ClientIdentity {
  info?: JsonObject;
  capabilities: JsonObject;
  logLevel?: string;
  /** For servers that send no log messages without a level, where the client named none. */
  defaultLogLevel?: string;
}

/** A request on its way to a server. A caller's is a `Call` of routing; our own (pings, lists) are no more than this. */
export interface SessionRequest {
  readonly method: string;
  readonly params: JsonObject;
  readonly caller?: {
    readonly client?: ClientIdentity;
    /** Two requests of one owner may be taken for one another. */
    readonly owner?: (server: Server) => SessionOwner;
  };
  readonly signal?: CancelSignal;
  /** `Mcp-Param-*` of 2026-07-28. */
  readonly parameterHeaders?: Readonly<Record<string, string>>;
  /** Takes what the server says while it works on the request. */
  readonly notify?: (method: string, params: JsonObject) => void;
  /** Answers what the server asks while it works on the request. */
  readonly ask?: (method: string, params: JsonObject, signal?: AbortSignal) => Promise<JsonObject>;
  /** The server closed the stream of the request and will go on when it is asked for the rest (2025-11-25). */
  readonly pause?: () => void;
}

interface OwnRequestOptions extends Pick<SessionRequest, 'signal' | 'notify'> {
  client?: ClientIdentity;
}

export interface ServerIdentity {
  era: Era;
  protocolVersion: string;
  capabilities: JsonObject;
  serverInfo: JsonObject;
  instructions?: string;
}

export interface Session extends ServerIdentity {
  /** When the server last said anything at all (epoch, ms). */
  readonly heardAt: number;
  /** How often the server had to open it again, without what was set before. */
  readonly generation?: number;
  /** One of our own. */
  request(method: string, params: JsonObject, options?: OwnRequestOptions): Promise<JsonObject>;
  /** A caller's, to whom the result is passed on. */
  relay(request: SessionRequest): Promise<Result>;
  notify(method: string, params?: JsonObject): Promise<void>;
  close(): Promise<void>;
}

export interface SessionEvents {
  /** A notification that belongs to no single request. */
  onNotification: (method: string, params: JsonObject) => void;
  /**
   * A request of the server that its stream does not tie to a call; `inFlight` tells the candidates as they are,
   * with those that were given up and that the server may still work on.
   */
  onRequest: (
    method: string,
    params: JsonObject,
    inFlight: () => SessionRequest[],
    signal: AbortSignal,
  ) => Promise<JsonObject>;
  /** Called once, when the connection ended without our asking. */
  onClose: (error: ConnectionLost) => void;
}

/** The connection broke. `executed` tells whether the server may have begun with the request. */
export class ConnectionLost extends Error {
  readonly executed: 'no' | 'maybe';

  constructor(message: string, executed: 'no' | 'maybe', cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'ConnectionLost';
    this.executed = executed;
  }
}

/** What the server sent is larger than we take. It would be so again, so the request is not repeated. */
export class MessageTooLarge extends ConnectionLost {
  constructor(limit: number, which = '(MCP_AGGREGATOR_MAX_MESSAGE_BYTES)') {
    super(`the server sent a message of more than ${limit} bytes ${which}`, 'maybe');
    this.name = 'MessageTooLarge';
  }
}

/** The server wants other credentials than it got. Never evidence of its era. */
export class AccessDenied extends Error {
  readonly status: number;
  readonly challenge: string | undefined;

  constructor(status: number, challenge: string | undefined) {
    super(`the server rejected the credentials (HTTP ${status}); check the headers in connection_config`);
    this.name = 'AccessDenied';
    this.status = status;
    this.challenge = challenge;
  }
}

export interface Channel {
  send(message: RpcMessage): void | Promise<void>;
  close(): Promise<void>;
}

export interface ChannelHandlers {
  onMessage: (message: RpcMessage) => void;
  onClose: (error: ConnectionLost) => void;
}

interface Pending {
  request: SessionRequest;
  resolve: (result: Result) => void;
  reject: (error: Error) => void;
  progressToken: unknown;
}

const floodLimitPerSecond = 20_000;
/** A stream that lasted this long is opened again soon: proxies end them from time to time. */
export const steadyStreamMs = 10_000;
/** The first message of `subscriptions/listen`: from here on nothing is missed. */
export const subscriptionAcknowledged = 'notifications/subscriptions/acknowledged';

/** Requests, answers and everything in between on one two-way channel (STDIO, HTTP+SSE). */
export function createConversation(open: (handlers: ChannelHandlers) => Channel, events: SessionEvents) {
  let pending = createInFlightTable<Pending>();
  let identity: Pick<ServerIdentity, 'era' | 'protocolVersion'> = { era: 'legacy', protocolVersion: '' };
  let lost: ConnectionLost | undefined;
  let closing = false;
  let heardAt = performance.now();
  const isFlooding = createFloodGuard();
  const abandoned = createAbandoned();

  const questions = createQuestions((answer) => channel.send(answer));
  const channel = open({ onMessage, onClose: fail });

  function relay(request: SessionRequest): Promise<Result> {
    const { method, signal } = request;
    if (lost !== undefined) return Promise.reject(new ConnectionLost(lost.message, 'no', lost));
    if (signal?.aborted) return Promise.reject(signal.reason);
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const adapted = adaptParams(request.params, identity, request.caller?.client);
    // Tokens are unique per channel only if we choose them: two clients may both use 1.
    const meta = isObject(adapted._meta) ? adapted._meta : undefined;
    const progressToken = meta?.progressToken;
    const id = pending.add({ request, resolve, reject, progressToken });
    const sent = progressToken === undefined ? adapted : { ...adapted, _meta: { ...meta, progressToken: id } };

    const cancel = () => {
      if (pending.remove(id) === undefined) return;
      abandoned.add(id, request);
      void Promise.resolve(
        channel.send({
          jsonrpc: '2.0',
          method: 'notifications/cancelled',
          params: { requestId: id, reason: 'cancelled' },
        }),
      ).catch(() => undefined); // the channel reports its own end through onClose
      reject(signal?.reason);
    };
    signal?.addEventListener('abort', cancel, { once: true });
    const message: RpcRequest = { jsonrpc: '2.0', id, method, params: sent };
    void Promise.resolve(channel.send(message)).catch((error: Error) => {
      if (pending.remove(id) !== undefined) reject(error);
    });
    return promise.finally(() => signal?.removeEventListener('abort', cancel));
  }

  /** What a server sends ends its own connection at worst. */
  function onMessage(message: RpcMessage): void {
    try {
      receive(message);
    } catch (error) {
      fail(new ConnectionLost(`a message of the server could not be handled: ${describe(error)}`, 'maybe', error));
      void channel.close();
    }
  }

  function receive(message: RpcMessage): void {
    heardAt = performance.now();
    if (isResponse(message)) return settleResponse(message);
    const params = message.params ?? {};
    if (isRequest(message)) return take(message);
    if (message.method === 'notifications/progress') {
      const owner = pending.get(toOwnNumber(params.progressToken));
      countUnasked();
      return owner?.request.notify?.(message.method, { ...params, progressToken: owner.progressToken });
    }
    if (message.method === 'notifications/cancelled') {
      return questions.withdraw(params.requestId);
    }
    countUnasked();
    if (concernsAll(message.method)) return events.onNotification(message.method, params);
    const acknowledged = subscriber(message.method, params);
    if (acknowledged !== undefined) return acknowledged.notify?.(message.method, params);
    // It does not say which call it is about: that is certain only while there is just one.
    const [only, ...others] = listeners();
    if (only === undefined) events.onNotification(message.method, params);
    else if (others.length === 0) only.notify?.(message.method, params);
  }

  function listeners(): SessionRequest[] {
    return Array.from(pending, ({ request }) => request).filter(
      ({ method, notify }) => notify !== undefined && method !== 'subscriptions/listen',
    );
  }

  function subscriber(method: string, { _meta: meta }: JsonObject): SessionRequest | undefined {
    if (method !== subscriptionAcknowledged || !isObject(meta)) return undefined;
    return pending.get(toOwnNumber(meta[hopMeta.subscriptionId]))?.request;
  }

  function settleResponse(response: RpcSuccess | RpcFailure): void {
    const id = toOwnNumber(response.id);
    abandoned.remove(id);
    const owner = pending.remove(id);
    if (owner === undefined) return countUnasked();
    const error = errorOf(response);
    if (error !== undefined) owner.reject(new RpcError(error.code, error.message, error.data));
    else owner.resolve('result' in response ? response.result : {});
  }

  function take(message: RpcRequest): void {
    countUnasked();
    const inFlight = () => [...abandoned.list(), ...Array.from(pending, (owner) => owner.request)];
    void questions.answer(message, (params, signal) => events.onRequest(message.method, params, inFlight, signal));
  }

  function countUnasked(): void {
    if (lost !== undefined || !isFlooding()) return;
    fail(flooded());
    void channel.close();
  }

  function fail(error: ConnectionLost): void {
    if (lost !== undefined) return;
    lost = error;
    for (const owner of pending) owner.reject(error);
    pending = createInFlightTable();
    questions.withdrawAll();
    if (!closing) events.onClose(error);
  }

  return {
    get heardAt() {
      return heardAt;
    },
    relay,
    request: (method: string, params: JsonObject, options?: OwnRequestOptions): Promise<JsonObject> =>
      relay(ownRequest(method, params, options)).then(toObject),
    async notify(method: string, params: JsonObject = {}): Promise<void> {
      await channel.send({ jsonrpc: '2.0', method, params: adaptParams(params, identity, undefined) });
    },
    settle(settled: Pick<ServerIdentity, 'era' | 'protocolVersion'>): void {
      identity = settled;
    },
    async close(): Promise<void> {
      closing = true;
      fail(new ConnectionLost('the connection was closed', 'maybe'));
      await channel.close();
    },
  };
}

export function ownRequest(
  method: string,
  params: JsonObject,
  { client, signal, notify }: OwnRequestOptions = {},
): SessionRequest {
  return { method, params, caller: client && { client }, signal, notify };
}

const abandonedMs = 600_000;
const maxAbandoned = 1_000;

/** Requests that were given up. A server may go on with one, and ask, until it answers all the same. */
export function createAbandoned() {
  const requests = new Map<number, { request: SessionRequest; until: number }>();
  return {
    add(id: number, request: SessionRequest): void {
      requests.set(id, { request, until: performance.now() + abandonedMs });
      const [oldest] = requests.keys();
      if (requests.size > maxAbandoned && oldest !== undefined) requests.delete(oldest);
    },
    remove: (id: number) => requests.delete(id),
    list(): SessionRequest[] {
      const now = performance.now();
      for (const [id, { until }] of requests) if (until <= now) requests.delete(id);
      return Array.from(requests.values(), ({ request }) => request);
    },
  };
}

/** Detects a server that sends more unsolicited messages than any client can use. */
export function createFloodGuard(): () => boolean {
  let current = 0;
  let count = 0;
  return () => {
    const second = Math.floor(performance.now() / 1_000);
    if (second !== current) {
      current = second;
      count = 0;
    }
    count += 1;
    return count > floodLimitPerSecond;
  };
}

export function flooded(): ConnectionLost {
  return new ConnectionLost(
    `the server sent more than ${floodLimitPerSecond} unsolicited messages per second`,
    'maybe',
  );
}

/** Said to all clients, whatever calls are in progress. */
const concernsAll = (method: string): boolean =>
  method.endsWith('/list_changed') ||
  method === 'notifications/resources/updated' ||
  method.startsWith('notifications/tasks');

const hopKeys = new Set<string>(Object.values(hopMeta));

/** Params as a server of this era expects them: without the hop keys, or with ours. */
export function adaptParams(
  params: JsonObject,
  server: Pick<ServerIdentity, 'era' | 'protocolVersion'>,
  client: ClientIdentity | undefined,
): JsonObject {
  const meta = isObject(params._meta) ? params._meta : undefined;
  if (server.era === 'legacy') {
    if (meta === undefined || !Object.keys(meta).some((key) => hopKeys.has(key))) return params;
    const kept = Object.fromEntries(Object.entries(meta).filter(([key]) => !hopKeys.has(key)));
    if (Object.keys(kept).length > 0) return { ...params, _meta: kept };
    const { _meta: _dropped, ...rest } = params;
    return rest;
  }
  if (meta !== undefined && saysTheSame(meta, server, client)) return params;
  const { [hopMeta.logLevel]: _level, ...kept } = meta ?? {};
  const logLevel = client?.logLevel ?? client?.defaultLogLevel;
  return {
    ...params,
    _meta: {
      ...kept,
      [hopMeta.protocolVersion]: server.protocolVersion,
      [hopMeta.clientInfo]: client?.info ?? ourInfo,
      [hopMeta.clientCapabilities]: client?.capabilities ?? {},
      ...(logLevel === undefined ? {} : { [hopMeta.logLevel]: logLevel }),
    },
  };
}

/** True of a client that speaks the server's revision itself. */
function saysTheSame(
  meta: JsonObject,
  { protocolVersion }: Pick<ServerIdentity, 'protocolVersion'>,
  client: ClientIdentity | undefined,
): boolean {
  return (
    meta[hopMeta.protocolVersion] === protocolVersion &&
    client?.info !== undefined &&
    meta[hopMeta.clientInfo] === client.info &&
    meta[hopMeta.clientCapabilities] === client.capabilities &&
    meta[hopMeta.logLevel] === client.logLevel
  );
}

export const ourInfo = { name: 'mcp-aggregator', version };
