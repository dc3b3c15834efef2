/** 2026-07-28: no sessions. Every request says who asks and what they can do, and its answer is all there is. */
import type { IncomingMessage } from 'node:http';
import { toAbortSignal } from '../cancellation.ts';
import type { Changes } from '../changes.ts';
import type { Config } from '../config/config.ts';
import { AppError } from '../errors.ts';
import {
  hopMeta,
  isObject,
  type JsonObject,
  legacyVersions,
  modernVersions,
  type RequestId,
  type RpcRequest,
  rpcCodes,
} from '../json-rpc.ts';
import type { Result } from '../raw-result.ts';
import type { Server } from '../registry/registry.ts';
import type { Router } from '../routing/router.ts';
import type { Principal } from '../security/auth.ts';
import { requireRole } from '../security/policy.ts';
import { traceOfMessage } from '../tracing.ts';
import { adaptResult, ProtocolError, toFailure } from './adapt-result.ts';
import { isLogLevel, wants } from './log-levels.ts';
import type { Methods } from './methods.ts';
import { checkStandardHeaders, checkVersionHeader } from './modern-headers.ts';
import { type ClientRequest, type McpCall, maxSubscriptions, type Peer } from './peer.ts';
import type { Reply } from './reply.ts';
import type { ResourceOwners } from './resource-owners.ts';
import { concerns, type Scope } from './scope.ts';
import type { TaskIds } from './task-ids.ts';

interface ModernDependencies {
  config: Pick<Config, 'maxSessions' | 'maxSessionsPerPrincipal'>;
  methods: Methods;
  router: Router;
  owners: ResourceOwners;
  taskIds: TaskIds;
  changes: Changes;
  ourInfo: JsonObject;
  onFailure: (error: unknown, method: string) => void;
  findServer: (id: string) => Server | undefined;
}

export interface ModernEndpoint {
  /** A client cancels by closing the connection. */
  serve(incoming: ClientRequest, message: RpcRequest, scope: Scope, reply: Reply): Promise<void>;
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
  const stopped = new AbortController();
  /** By principal: how many streams are open. */
  const listening = new Map<string, number>();
  const sum = () => [...listening.values()].reduce((all, own) => all + own, 0);

  async function serve(incoming: ClientRequest, message: RpcRequest, scope: Scope, reply: Reply): Promise<void> {
    const { id, method } = message;
    try {
      const call = admit(incoming, message, scope, reply);
      const result = await answer(call, id);
      reply.finish({ jsonrpc: '2.0', id, result: adaptResult(call.caller, method, result, infoFor(scope)) });
    } catch (error) {
      if (isGone(incoming)) return;
      deps.onFailure(error, method);
      const failure = toFailure(id, error, 'modern');
      reply.finish(failure, statusOf(error, failure.error.code));
    }
  }

  const infoFor = ({ single }: Scope): JsonObject => single?.server_info ?? ourInfo;

  /** Everything about a request that can be wrong before it runs. */
  function admit(incoming: ClientRequest, message: RpcRequest, scope: Scope, reply: Reply): McpCall {
    const { principal, address, context, disconnected } = incoming;
    const { headers } = incoming.request;
    const { method } = message;
    const params = message.params ?? {};
    const meta = isObject(params._meta) ? params._meta : {};
    const version = meta[hopMeta.protocolVersion];
    // Before the envelope: a body that says another version than the header is a mismatch, whether we know it or not.
    checkVersionHeader(headers, version);
    if (typeof version !== 'string') throw missing(hopMeta.protocolVersion);
    if (!(modernVersions as readonly string[]).includes(version)) throw unsupported(version);
    const capabilities = meta[hopMeta.clientCapabilities];
    if (!isObject(capabilities)) throw missing(hopMeta.clientCapabilities);
    const info = meta[hopMeta.clientInfo];
    const level = meta[hopMeta.logLevel];
    const caller: Peer = {
      era: 'modern',
      protocolVersion: version,
      principal,
      address,
      scope,
      searcher: principal.id,
      client: {
        capabilities,
        info: isObject(info) ? info : undefined,
        logLevel: isLogLevel(level) ? level : undefined,
      },
    };
    if (!isOurs(method) && !methods.knows(caller, method)) {
      throw new ProtocolError(rpcCodes.methodNotFound, `Method not found: ${method}`, { status: 404 });
    }
    checkStandardHeaders(headers, method, params);
    return {
      method,
      params,
      caller,
      signal: disconnected,
      requestId: context.requestId,
      headers,
      trace: traceOfMessage(params, context.trace),
      notify(said, notice) {
        if (wants(caller, said, notice)) reply.push({ jsonrpc: '2.0', method: said, params: notice });
      },
    };
  }

  function answer(call: McpCall, id: RequestId): Promise<Result> | Result {
    if (call.method === 'server/discover') return discover(call.caller);
    if (call.method === 'subscriptions/listen') return listen(call, id);
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

  /** A stream is to this revision what a session is to the others, and bounded like one. */
  function enter({ id }: Principal): () => void {
    const own = listening.get(id) ?? 0;
    if (own >= deps.config.maxSessionsPerPrincipal || sum() >= deps.config.maxSessions)
      throw new AppError('RATE_LIMITED', 'Too many subscriptions are open', { retryAfterSeconds: 5 });
    listening.set(id, own + 1);
    return () => {
      const left = (listening.get(id) ?? 0) - 1;
      if (left > 0) listening.set(id, left);
      else listening.delete(id);
    };
  }

  /** One long answer: the acknowledgement first, then what the filter asks for, each tagged with the request's id. */
  async function listen(call: McpCall, id: RequestId): Promise<JsonObject> {
    const { caller, params } = call;
    const filter = isObject(params.notifications) ? params.notifications : {};
    const tag = { [hopMeta.subscriptionId]: id };
    const send = (method: string, notice: JsonObject) =>
      call.notify(method, { ...notice, _meta: { ...(isObject(notice._meta) ? notice._meta : {}), ...tag } });
    const { scope } = caller;
    const watched = new Map<string, string>();
    const followed = new Map<string, string>();
    const releases: (() => Promise<void>)[] = [];
    const revoked = new AbortController();

    const leave = enter(caller.principal);
    const off = [
      deps.changes.subscribe('principal.ended', ({ principal_id }) => {
        if (principal_id === caller.principal.id) revoked.abort();
      }),
    ];
    try {
      // What cannot be had is left out of the acknowledgement; after it nothing is missed.
      const begin = [
        ...stringsIn(filter.resourceSubscriptions).slice(0, maxSubscriptions).map(watch),
        ...stringsIn(filter.taskIds).slice(0, maxSubscriptions).map(follow),
      ];
      await Promise.all(begin.map((beginning) => beginning.catch(() => undefined)));
      const honoured = {
        ...(filter.resourceSubscriptions === undefined ? {} : { resourceSubscriptions: [...watched.values()] }),
        ...(filter.taskIds === undefined ? {} : { taskIds: [...followed.values()] }),
      };
      send('notifications/subscriptions/acknowledged', { notifications: { ...filter, ...honoured } });
      handleChanges();
      await aborted(AbortSignal.any([toAbortSignal(call.signal), stopped.signal, revoked.signal]));
      return { _meta: tag };
    } finally {
      leave();
      for (const stop of off) stop();
      // Nobody is left to hear that a subscription could not be ended.
      for (const release of releases) void release().catch(() => undefined);
    }

    async function watch(uri: string): Promise<void> {
      requireRole(caller.principal, 'caller');
      const owner = deps.owners.find(scope, uri, caller.principal);
      releases.push(await deps.router.subscribe(owner.server, owner.uri, caller));
      watched.set(`${owner.server.id} ${owner.uri}`, uri);
    }

    async function follow(id: string): Promise<void> {
      const task = deps.taskIds.find(caller, id);
      if (task === undefined) return;
      releases.push(await deps.router.follow(task.server, task.taskId, caller));
      followed.set(`${task.server.id} ${task.taskId}`, id);
    }

    function handleChanges(): void {
      off.push(
        deps.changes.subscribe('task.changed', ({ server_id, method, params: task }) => {
          const known = followed.get(`${server_id} ${task.taskId}`);
          if (known !== undefined) send(method, { ...task, taskId: known });
        }),
        deps.changes.subscribe('catalog.changed', (changed) => {
          if (!concerns(scope, deps.findServer(changed.server_id), changed.server_id)) return;
          if (changed.tools && filter.toolsListChanged === true) send('notifications/tools/list_changed', {});
          if (changed.prompts && filter.promptsListChanged === true) send('notifications/prompts/list_changed', {});
          if (changed.resources && filter.resourcesListChanged === true)
            send('notifications/resources/list_changed', {});
        }),
        deps.changes.subscribe('resource.updated', ({ server_id, uri, principal_id: only }) => {
          if (only !== undefined && only !== caller.principal.id) return;
          const known = watched.get(`${server_id} ${uri}`);
          if (known !== undefined) send('notifications/resources/updated', { uri: known });
        }),
      );
    }
  }

  return {
    serve,
    get listening() {
      return sum();
    },
    stopListening: () => stopped.abort(),
  };
}

/** A call that took too long is aborted as well, but there is somebody to hear so. */
const isGone = ({ disconnected }: ClientRequest) =>
  disconnected.aborted && disconnected.reason?.name !== 'TimeoutError';

const stringsIn = (list: unknown): string[] =>
  Array.isArray(list) ? list.filter((entry) => typeof entry === 'string') : [];

const isOurs = (method: string) => method === 'server/discover' || method === 'subscriptions/listen';

function missing(key: string): ProtocolError {
  return new ProtocolError(rpcCodes.invalidParams, `params._meta lacks ${key}`, { status: 400 });
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

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
