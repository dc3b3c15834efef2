/** One session of a client of the revisions with `initialize`: its requests, and what servers send it between them. */
import { setTimeout as delay } from 'node:timers/promises';
import { Cancellation } from '../cancellation.ts';
import type { Topics } from '../changes.ts';
import { createInFlightTable } from '../in-flight-table.ts';
import {
  isNotification,
  isRequest,
  isResponse,
  type JsonObject,
  keyOf,
  type RequestId,
  type RpcMessage,
  type RpcRequest,
  rpcCodes,
} from '../json-rpc.ts';
import type { Result } from '../raw-result.ts';
import type { RequestContext } from '../request-context.ts';
import type { Router } from '../routing/router.ts';
import type { Principal } from '../security/auth.ts';
import { traceOfMessage } from '../tracing.ts';
import { adaptResult, ProtocolError, toFailure } from './adapt-result.ts';
import { createClientRequests } from './client-requests.ts';
import { createClientRoots } from './client-roots.ts';
import { createLegacyPeer, type Opener } from './legacy-peer.ts';
import { isLogLevel } from './log-levels.ts';
import type { Methods } from './methods.ts';
import type { ClientRequest, McpCall } from './peer.ts';
import type { Replies } from './reply.ts';
import type { ResourceOwners } from './resource-owners.ts';
import { createResourceSubscriptions } from './resource-subscriptions.ts';
import type { Scope } from './scope.ts';
import { type SessionSeed, shortened } from './session-ids.ts';
import type { SessionUse } from './session-limits.ts';
import { createSessionNotices } from './session-notices.ts';
import type { SessionDetails } from './session-records.ts';
import { createSessionStreams, type Outlet } from './session-streams.ts';

export interface LegacySession {
  readonly id: string;
  readonly protocolVersion: string;
  /** Requests, notifications and answers of the client. A batch answers all requests together. */
  post(messages: RpcMessage[], incoming: ClientRequest, isBatch: boolean): void;
  /** The stream for what belongs to no request; false when it is open already. */
  listen(incoming: ClientRequest, lastEventId: string | undefined): boolean;
  /** 2024-11-05: everything goes through one stream. */
  attach(incoming: ClientRequest, messagesPath: string): void;
  receive(message: RpcMessage, context: RequestContext): void;
  close(): Promise<void>;
}

/** As the endpoint sees it. */
export interface ManagedSession extends LegacySession, SessionUse {
  readonly principal: Principal;
  readonly scope: Scope;
  /** Of the sessions with servers that only this client uses. */
  readonly ownerKey: string;
  /** As the latest request shows it: an identity provider may give another role than before. */
  recognise(principal: Principal): void;
  handleListChange(changed: Topics['catalog.changed']): void;
  /** Of a server, to all its clients. */
  handleNotification(method: string, params: JsonObject): void;
  handleResourceUpdate(serverId: string, uri: string): void;
}

export interface SessionDependencies {
  methods: Methods;
  replies: Replies;
  router: Router;
  owners: ResourceOwners;
  ourInfo: JsonObject;
  onFailure: (error: unknown, method: string) => void;
  onClosed: (sessionId: string) => void;
  /** The client set something that a new session would not know. */
  onDetails: (seed: SessionSeed, details: SessionDetails) => Promise<void>;
}

const maxRestoreMs = 5_000;
/** The first revision in which a server may close the stream of a request before it has answered. */
const pausesSince = '2025-11-25';

export interface SessionBeginning {
  id: string;
  seed: SessionSeed;
  /** What the client had set before the session was opened again. */
  restored?: SessionDetails;
}

export function createLegacySession(
  deps: SessionDependencies,
  { id, seed, restored }: SessionBeginning,
  opener: Opener,
): ManagedSession {
  const { router } = deps;
  const ownerKey = `session:${id}`;
  const running = createInFlightTable<{ requestId: RequestId; cancel: Cancellation }>();
  const closed = new AbortController();
  let usedAt = performance.now();
  let hasListened = false;
  const touch = () => {
    usedAt = performance.now();
  };
  const streams = createSessionStreams({
    sessionId: id,
    replies: deps.replies,
    canResume: opener.kind === 'streamable',
    mayPause: () => peer.current.protocolVersion >= pausesSince,
    onClosed: touch,
  });
  const { standalone } = streams;
  const clientRequests = createClientRequests(() => peer.current.client.capabilities);
  const roots = createClientRoots({
    capabilities: () => peer.current.client.capabilities,
    ask: (send, options) => clientRequests.ask(send, 'roots/list', {}, options),
    openStream: () => (streams.isListening ? standalone.send : undefined),
  });
  const subscriptions = createResourceSubscriptions(router, deps.owners);
  const notices = createSessionNotices(() => peer.current, standalone, subscriptions);
  const peer = createLegacyPeer(seed.params, opener, {
    key: ownerKey,
    era: 'legacy',
    gone: closed.signal,
    onNotification: notices.handleOwn,
    onRequest: (method, question, signal) =>
      method === 'roots/list'
        ? roots.outsideCalls(signal)
        : clientRequests.ask(standalone.send, method, question, { signal }),
  });

  /** Until what the client followed before is followed again: its calls may change just that. */
  let restoring: Promise<unknown> | undefined;
  if (restored !== undefined) {
    if (isLogLevel(restored.logLevel)) peer.current.client.logLevel = restored.logLevel;
    const { subscriptions: uris = [] } = restored;
    if (uris.length > 0) {
      const followed = subscriptions.restore(() => peer.current, uris);
      restoring = Promise.race([followed, delay(maxRestoreMs, undefined, { ref: false })]).finally(() => {
        restoring = undefined;
      });
    }
  }
  /** Nothing told the client what changed before the session was opened again. */
  let mayHaveMissed = restored !== undefined;

  const saveDetails = () =>
    deps.onDetails(seed, { logLevel: peer.current.client.logLevel, subscriptions: subscriptions.uris() });

  async function saving(change: Promise<JsonObject>): Promise<JsonObject> {
    const result = await change;
    await saveDetails();
    return result;
  }

  /** Never throws: a failure is the answer. */
  async function answer(request: RpcRequest, outlet: Outlet, context: RequestContext): Promise<RpcMessage> {
    const { id: requestId, method } = request;
    const cancel = new Cancellation();
    const place = running.add({ requestId, cancel });
    try {
      if (restoring !== undefined) await restoring;
      const result = await handle(callOf(request, outlet, cancel, context));
      return { jsonrpc: '2.0', id: requestId, result: adaptResult(peer.current, method, result, deps.ourInfo) };
    } catch (error) {
      deps.onFailure(error, method);
      return toFailure(requestId, error, 'legacy');
    } finally {
      running.remove(place);
      if (cancel.aborted) clientRequests.withdraw(cancel);
      touch();
    }
  }

  function callOf(
    { method, params: input = {} }: RpcRequest,
    outlet: Outlet,
    cancel: Cancellation,
    { requestId, receivedAt, trace }: RequestContext,
  ): McpCall {
    return {
      method,
      params: input,
      caller: peer.refresh(),
      signal: cancel,
      requestId,
      receivedAt,
      trace: traceOfMessage(input, trace),
      notify: (notice, noticeParams) => notices.send(outlet, notice, noticeParams),
      ask: (asked, question, signal) =>
        asked === 'roots/list'
          ? roots.duringCall(outlet.send, cancel, signal)
          : clientRequests.ask(outlet.send, asked, question, { signal, call: cancel }),
      pause: outlet.pause,
    };
  }

  function handle(call: McpCall): Result | Promise<Result> {
    const { method, params: input } = call;
    switch (method) {
      case 'initialize':
        if (opener.kind === 'sse') peer.introduce(shortened(input));
        return initializeResult(peer.current.protocolVersion, call.caller.scope, deps);
      case 'ping':
        return {};
      case 'logging/setLevel':
        if (!isLogLevel(input.level))
          throw new ProtocolError(rpcCodes.invalidParams, 'params.level is not a log level');
        peer.current.client.logLevel = input.level;
        return saveDetails().then(() => ({}));
      case 'resources/subscribe':
        return saving(subscriptions.subscribe(call));
      case 'resources/unsubscribe':
        return saving(subscriptions.unsubscribe(String(input.uri)));
      default:
        return deps.methods.handle(call);
    }
  }

  /** What needs no answer. */
  function handleMessage(message: RpcMessage): void {
    if (isResponse(message)) return clientRequests.settle(message);
    if (!isNotification(message)) return;
    const { method, params: notice = {} } = message;
    if (method === 'notifications/cancelled') cancelRequest(notice.requestId);
    else if (method === 'notifications/roots/list_changed') {
      roots.invalidate();
      router.notify(ownerKey, method, notice);
    }
  }

  function cancelRequest(requestId: unknown): void {
    const reason = new DOMException('cancelled by the client', 'AbortError');
    for (const call of running) if (keyOf(call.requestId) === keyOf(requestId)) call.cancel.abort(reason);
  }

  async function close(): Promise<void> {
    if (closed.signal.aborted) return;
    deps.onClosed(id);
    const reason = new DOMException('the session was closed', 'AbortError');
    closed.abort(reason);
    clientRequests.withdraw();
    for (const call of running) call.cancel.abort(reason);
    streams.close();
    subscriptions.close();
    await router.release(ownerKey);
  }

  return {
    id,
    get protocolVersion() {
      return peer.current.protocolVersion;
    },
    get principal() {
      return peer.current.principal;
    },
    get scope() {
      return peer.current.scope;
    },
    ownerKey,
    recognise: peer.recognise,
    get usedAt() {
      return usedAt;
    },
    isBusy: () => running.size > 0 || (opener.kind === 'sse' && streams.size > 0),
    isListening: () => streams.size > 0,
    hasListened: () => hasListened,

    post(messages, incoming, isBatch) {
      touch();
      for (const message of messages) if (!isRequest(message)) handleMessage(message);
      const requests = messages.filter(isRequest);
      if (requests.length === 0) return void incoming.response.writeHead(202, incoming.answerHeaders).end();
      const opens = requests[0]?.method === 'initialize';
      const only = requests.length === 1 ? requests[0]?.id : undefined;
      const outlet = streams.reply(incoming, opens ? { 'mcp-session-id': id } : undefined, only);
      if (!opens) roots.handleStream(outlet.send);
      const answers = requests.map((request) => answer(request, outlet, incoming.context));
      const [first] = answers;
      void (isBatch || first === undefined ? Promise.all(answers).then(outlet.finish) : first.then(outlet.finish));
    },

    listen(incoming, lastEventId) {
      touch();
      const isOpen = streams.listen(incoming, lastEventId);
      hasListened ||= isOpen;
      if (isOpen) roots.handleStream(standalone.send);
      if (isOpen && mayHaveMissed) {
        mayHaveMissed = false;
        notices.handleListChange({ tools: true, prompts: true, resources: true });
      }
      return isOpen;
    },

    attach(incoming, messagesPath) {
      streams.attach(incoming, `${messagesPath}?sessionId=${id}`);
      incoming.response.on('close', () => void close());
    },

    receive(message, context) {
      touch();
      if (!isRequest(message)) return handleMessage(message);
      void answer(message, standalone, context).then(standalone.send);
    },

    handleListChange(changed) {
      if (changed.resources) void subscriptions.restore(peer.refresh);
      notices.handleListChange(changed);
    },
    handleNotification: (method, notice) => notices.send(standalone, method, notice),
    handleResourceUpdate: notices.handleResourceUpdate,
    close,
  };
}

function initializeResult(
  protocolVersion: string,
  offered: Scope,
  { methods, ourInfo }: Pick<SessionDependencies, 'methods' | 'ourInfo'>,
): JsonObject {
  const instructions = methods.instructions(offered);
  return {
    protocolVersion,
    capabilities: methods.capabilities(offered, 'legacy'),
    serverInfo: offered.single?.server_info ?? ourInfo,
    ...(instructions === undefined ? {} : { instructions }),
  };
}
