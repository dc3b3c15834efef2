/** One session of a client of the revisions with `initialize`: its requests, and what servers send it between them. */
import { Cancellation } from '../cancellation.ts';
import { createInFlightTable } from '../in-flight-table.ts';
import {
  isNotification,
  isObject,
  isRequest,
  isResponse,
  type JsonObject,
  keyOf,
  legacyVersions,
  newestLegacy,
  type RequestId,
  type RpcMessage,
  type RpcRequest,
  rpcCodes,
} from '../json-rpc.ts';
import type { Result } from '../raw-result.ts';
import type { Server } from '../registry/registry.ts';
import type { RequestContext } from '../request-context.ts';
import type { Router } from '../routing/router.ts';
import type { Principal } from '../security/auth.ts';
import { traceOfMessage } from '../tracing.ts';
import { adaptResult, ProtocolError, toFailure } from './adapt-result.ts';
import { canAnswer } from './client-questions.ts';
import { createClientRequests } from './client-requests.ts';
import { isLogLevel, wants } from './log-levels.ts';
import type { Methods } from './methods.ts';
import type { ClientRequest, McpCall, Peer } from './peer.ts';
import type { Replies } from './reply.ts';
import type { ResourceOwners } from './resource-owners.ts';
import { createResourceSubscriptions } from './resource-subscriptions.ts';
import type { Scope } from './scope.ts';
import type { SessionUse } from './session-limits.ts';
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
  /** As the latest request shows it: an identity provider may give another role than before. */
  recognise(principal: Principal): void;
  handleListChange(changed: { tools: boolean; prompts: boolean; resources: boolean }): void;
  handleResourceUpdate(serverId: string, uri: string): void;
}

export interface Opener {
  principal: Principal;
  address: string;
  /** Asked for every request: a profile may change while a session is open. */
  scope: (principal: Principal) => Scope;
  kind: 'streamable' | 'sse';
}

export interface SessionDependencies {
  methods: Methods;
  replies: Replies;
  router: Router;
  owners: ResourceOwners;
  ourInfo: JsonObject;
  onFailure: (error: unknown, method: string) => void;
  onClosed: (sessionId: string) => void;
}

/** The first revision in which a server may close the stream of a request before it has answered. */
const pausesSince = '2025-11-25';

export function createLegacySession(
  deps: SessionDependencies,
  id: string,
  params: JsonObject,
  opener: Opener,
): ManagedSession {
  const { router } = deps;
  const ownerKey = `session:${id}`;
  const running = createInFlightTable<{ requestId: RequestId; cancel: Cancellation }>();
  const closed = new AbortController();
  let usedAt = performance.now();
  const touch = () => {
    usedAt = performance.now();
  };
  const streams = createSessionStreams({
    sessionId: id,
    replies: deps.replies,
    canResume: opener.kind === 'streamable',
    mayPause: () => peer.protocolVersion >= pausesSince,
    onClosed: touch,
  });
  const { standalone } = streams;
  const clientRequests = createClientRequests(() => peer.client.capabilities);
  const subscriptions = createResourceSubscriptions(router, deps.owners);
  const ownerOf = (client: Peer['client']): Peer['owner'] => ({
    key: ownerKey,
    client,
    gone: closed.signal,
    onNotification: handleOwn,
    onRequest: (method, question, signal) => clientRequests.ask(standalone.send, method, question, { signal }),
  });
  let peer = introduce(params, opener.principal, opener);

  /** The client as its `initialize` describes it. */
  function introduce(input: JsonObject, principal: Principal, { address, scope }: Opener): Peer {
    const client = clientOf(input);
    return {
      era: 'legacy',
      protocolVersion: legacyVersions.find((version) => version === input.protocolVersion) ?? newestLegacy,
      principal,
      address,
      scope: scope(principal),
      client,
      searcher: ownerKey,
      owner: canAnswer(client.capabilities) ? ownerOf(client) : undefined,
    };
  }

  /** With what it is offered now. */
  function peerNow(): Peer {
    const offered = opener.scope(peer.principal);
    if (offered !== peer.scope) peer = { ...peer, scope: offered };
    return peer;
  }

  function notify(outlet: Outlet, method: string, notice: JsonObject): void {
    if (wants(peer, method, notice)) outlet.send({ jsonrpc: '2.0', method, params: notice });
  }

  function handleOwn(method: string, notice: JsonObject, server: Server): void {
    // The client may know the resource by another address than the server does.
    if (method === 'notifications/resources/updated') handleResourceUpdate(server.id, String(notice.uri));
    else notify(standalone, method, notice);
  }

  function handleResourceUpdate(serverId: string, theirs: string): void {
    for (const uri of subscriptions.followed(serverId, theirs))
      standalone.send({ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri } });
  }

  /** Never throws: a failure is the answer. */
  async function answer(request: RpcRequest, outlet: Outlet, context: RequestContext): Promise<RpcMessage> {
    const { id: requestId, method } = request;
    const cancel = new Cancellation();
    const place = running.add({ requestId, cancel });
    try {
      const result = await handle(callOf(request, outlet, cancel, context));
      return { jsonrpc: '2.0', id: requestId, result: adaptResult(peer, method, result, deps.ourInfo) };
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
    { requestId, trace }: RequestContext,
  ): McpCall {
    return {
      method,
      params: input,
      caller: peerNow(),
      signal: cancel,
      requestId,
      trace: traceOfMessage(input, trace),
      notify: (notice, noticeParams) => notify(outlet, notice, noticeParams),
      ask: (asked, question, signal) => clientRequests.ask(outlet.send, asked, question, { signal, call: cancel }),
      pause: outlet.pause,
    };
  }

  function handle(call: McpCall): Result | Promise<Result> {
    const { method, params: input } = call;
    switch (method) {
      case 'initialize':
        if (opener.kind === 'sse') peer = introduce(input, peer.principal, opener);
        return initializeResult(peer.protocolVersion, call.caller.scope, deps);
      case 'ping':
        return {};
      case 'logging/setLevel':
        if (!isLogLevel(input.level))
          throw new ProtocolError(rpcCodes.invalidParams, 'params.level is not a log level');
        peer.client.logLevel = input.level;
        return {};
      case 'resources/subscribe':
        return subscriptions.subscribe(call);
      case 'resources/unsubscribe':
        return subscriptions.unsubscribe(String(input.uri));
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
    else if (method === 'notifications/roots/list_changed') router.notify(ownerKey, method, notice);
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
      return peer.protocolVersion;
    },
    get principal() {
      return peer.principal;
    },
    get scope() {
      return peer.scope;
    },
    recognise(principal) {
      if (principal !== peer.principal) peer = { ...peer, principal };
    },
    get usedAt() {
      return usedAt;
    },
    isBusy: () => running.size > 0 || (opener.kind === 'sse' && streams.size > 0),
    isListening: () => streams.size > 0,

    post(messages, incoming, isBatch) {
      touch();
      for (const message of messages) if (!isRequest(message)) handleMessage(message);
      const requests = messages.filter(isRequest);
      if (requests.length === 0) return void incoming.response.writeHead(202, incoming.answerHeaders).end();
      const opens = requests[0]?.method === 'initialize';
      const outlet = streams.reply(incoming, opens ? { 'mcp-session-id': id } : undefined);
      const answers = requests.map((request) => answer(request, outlet, incoming.context));
      const [only] = answers;
      void (isBatch || only === undefined ? Promise.all(answers).then(outlet.finish) : only.then(outlet.finish));
    },

    listen(incoming, lastEventId) {
      touch();
      return streams.listen(incoming, lastEventId);
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
      const lists = { tools: changed.tools, prompts: changed.prompts, resources: changed.resources };
      for (const [list, hasChanged] of Object.entries(lists)) {
        if (hasChanged) standalone.send({ jsonrpc: '2.0', method: `notifications/${list}/list_changed` });
      }
    },

    handleResourceUpdate,
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

/** What this hop cannot carry is not promised to servers. */
function clientOf({ capabilities, clientInfo }: JsonObject): Peer['client'] {
  const { tasks: _tasks, extensions: _extensions, ...carried } = isObject(capabilities) ? capabilities : {};
  return { capabilities: carried, info: isObject(clientInfo) ? clientInfo : undefined };
}
