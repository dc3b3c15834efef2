/** 2026-07-28: no sessions. Every request says who asks and what they can do, and its answer is all there is. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { OwnerKeyOf } from '../catalog/own-lists.ts';
import { AppError } from '../errors.ts';
import {
  decodeHeader,
  hopMeta,
  isObject,
  type JsonObject,
  legacyVersions,
  modernVersions,
  namedBy,
  type RequestId,
  type RpcRequest,
  rpcCodes,
} from '../json-rpc.ts';
import { jsonSize } from '../json-size.ts';
import type { Result } from '../raw-result.ts';
import type { Server } from '../registry/registry.ts';
import { traceOfMessage } from '../tracing.ts';
import { adaptResult, ProtocolError, toFailure } from './adapt-result.ts';
import { isLogLevel, wants } from './log-levels.ts';
import type { Methods } from './methods.ts';
import { createModernSubscriptions, type SubscriptionDependencies } from './modern-subscriptions.ts';
import type { ClientRequest, McpCall, Peer } from './peer.ts';
import type { Reply } from './reply.ts';
import type { Scope } from './scope.ts';

interface ModernDependencies extends SubscriptionDependencies {
  methods: Methods;
  ourInfo: JsonObject;
  onFailure: (error: unknown, method: string) => void;
}

interface Offered {
  readonly scope: Scope;
  /** The same with the lists of the client's own sessions. */
  seenBy(ownerKeyOf: OwnerKeyOf): Scope;
}

export interface ModernEndpoint {
  /** A client cancels by closing the connection. */
  serve(incoming: ClientRequest, message: RpcRequest, offered: Offered, reply: Reply): Promise<void>;
  readonly listening: number;
  /** Ends every subscription, as the revision wants it: with an answer. */
  stopListening(): void;
}

export function isModern(message: unknown, { headers }: IncomingMessage): boolean {
  const params = isObject(message) && isObject(message.params) ? message.params : {};
  const meta = isObject(params._meta) ? params._meta : {};
  if (meta[hopMeta.protocolVersion] !== undefined) return true;
  const version = headers['mcp-protocol-version'];
  return typeof version === 'string' && (modernVersions as readonly string[]).includes(version);
}

export function createModernEndpoint(deps: ModernDependencies): ModernEndpoint {
  const { methods, ourInfo } = deps;
  const subscriptions = createModernSubscriptions(deps);

  async function serve(incoming: ClientRequest, message: RpcRequest, offered: Offered, reply: Reply): Promise<void> {
    const { id, method } = message;
    const { single } = offered.scope;
    try {
      const call = admit(incoming, message, offered, reply);
      const result = await answer(call, id);
      reply.finish({
        jsonrpc: '2.0',
        id,
        result: adaptResult(call.caller, method, result, single?.server_info ?? ourInfo),
      });
    } catch (error) {
      if (isGone(incoming)) return;
      deps.onFailure(error, method);
      const failure = toFailure(id, error, 'modern');
      reply.finish(failure, statusOf(error, failure.error.code));
    }
  }

  /** Everything about a request that can be wrong before it runs. */
  function admit(incoming: ClientRequest, message: RpcRequest, offered: Offered, reply: Reply): McpCall {
    const { principal, address, context, disconnected } = incoming;
    const { headers } = incoming.request;
    const { method } = message;
    const params = message.params ?? {};
    const meta = isObject(params._meta) ? params._meta : {};
    const version = meta[hopMeta.protocolVersion];
    // Before the envelope: a body that says another version than the header is a mismatch, whether we know it or not.
    if (version !== undefined) expectHeader(headers, 'mcp-protocol-version', String(version));
    if (typeof version !== 'string') throw missing(hopMeta.protocolVersion);
    if (!(modernVersions as readonly string[]).includes(version)) throw unsupported(version);
    const capabilities = meta[hopMeta.clientCapabilities];
    if (!isObject(capabilities)) throw missing(hopMeta.clientCapabilities);
    const info = meta[hopMeta.clientInfo];
    if (isLong(headers) && jsonSize([capabilities, info], maxIdentityBytes).bytes > maxIdentityBytes) throw tooLong();
    const level = meta[hopMeta.logLevel];
    const client = {
      capabilities,
      info: isObject(info) ? info : undefined,
      logLevel: isLogLevel(level) ? level : undefined,
    };
    const modern = deps.clients.of(incoming, client);
    const owner = (server: Server) => modern.owner(server);
    const caller: Peer = {
      era: 'modern',
      protocolVersion: version,
      principal,
      address,
      scope: offered.seenBy((server) => owner(server).key),
      searcher: principal.id,
      client,
      modern,
      owner,
    };
    if (!answeredHere.has(method) && !methods.knows(caller, method)) {
      throw new ProtocolError(rpcCodes.methodNotFound, `Method not found: ${method}`, { status: 404 });
    }
    checkStandardHeaders(headers, method, params);
    return {
      method,
      params,
      caller,
      signal: disconnected,
      requestId: context.requestId,
      receivedAt: context.receivedAt,
      headers,
      trace: traceOfMessage(params, context.trace),
      notify(said, notice) {
        if (wants(caller, said, notice)) reply.push({ jsonrpc: '2.0', method: said, params: notice });
      },
    };
  }

  function answer(call: McpCall, id: RequestId): Promise<Result> | Result {
    if (call.method === 'server/discover') return discover(call.caller);
    if (call.method === 'subscriptions/listen') return subscriptions.listen(call, id);
    return methods.handle(call);
  }

  function discover({ scope }: Peer): JsonObject {
    const instructions = methods.instructions(scope);
    return {
      supportedVersions: [...modernVersions, ...legacyVersions],
      capabilities: methods.capabilities(scope, 'modern'),
      ...(instructions === undefined ? {} : { instructions }),
    };
  }

  return {
    serve,
    get listening() {
      return subscriptions.open;
    },
    stopListening: subscriptions.stop,
  };
}

/** A call that timed out or that an admin cancelled is aborted as well, but its client is still connected. */
const isGone = ({ disconnected: { aborted, reason } }: ClientRequest) =>
  aborted && reason?.name !== 'TimeoutError' && !(reason instanceof AppError);

const answeredHere = new Set(['server/discover', 'subscriptions/listen']);

/** It is held as long as the client has sessions with servers. */
const maxIdentityBytes = 65_536;

/** Measured only where the body has the length for it. */
const isLong = ({ 'content-length': length }: IncomingHttpHeaders): boolean =>
  length === undefined || Number(length) > maxIdentityBytes;

function tooLong(): ProtocolError {
  const problem = `params._meta: the client has more than ${maxIdentityBytes} bytes`;
  return new ProtocolError(rpcCodes.invalidParams, problem, { status: 400 });
}

function missing(key: string): ProtocolError {
  return new ProtocolError(rpcCodes.invalidParams, `params._meta is missing ${key}`, { status: 400 });
}

function unsupported(requested: string): ProtocolError {
  return new ProtocolError(rpcCodes.unsupportedVersion, 'Unsupported protocol version', {
    status: 400,
    data: { supported: [...modernVersions, ...legacyVersions], requested },
  });
}

/** Requests that never ran have a status of their own; errors of requests that ran come with 200. */
function statusOf(error: unknown, code: number): number {
  if (error instanceof ProtocolError && error.status !== undefined) return error.status;
  if (code === rpcCodes.methodNotFound) return 404;
  return code === rpcCodes.missingClientCapability ? 400 : 200;
}

/** The headers repeat parts of the request, for routers that do not read bodies. */
function checkStandardHeaders(headers: IncomingHttpHeaders, method: string, params: JsonObject): void {
  expectHeader(headers, 'mcp-method', method);
  const name = params[namedBy[method] ?? ''];
  if (isObject(name) || name === undefined) return;
  expectHeader(headers, 'mcp-name', String(name));
}

function expectHeader(headers: IncomingHttpHeaders, name: string, expected: string): void {
  const sent = headers[name];
  if (sent !== undefined && decodeHeader(String(sent)) === expected) return;
  const problem = sent === undefined ? 'is missing' : 'does not match the body';
  throw new ProtocolError(rpcCodes.headerMismatch, `Header ${name} ${problem}`, { status: 400 });
}
