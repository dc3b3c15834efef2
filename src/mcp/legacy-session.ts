/** One session of a client of the revisions with `initialize`: its requests, and what servers send it between them. */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
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
import type { Router } from '../routing/call.ts';
import type { Principal } from '../security/auth.ts';
import { traceOf } from '../tracing.ts';
import { adaptResult, ProtocolError, toFailure } from './adapt-result.ts';
import { createClientRequests } from './client-requests.ts';
import { isLogLevel, wants } from './log-levels.ts';
import type { Methods } from './methods.ts';
import type { Call, Peer } from './peer.ts';
import { type Replies, writeHead } from './reply.ts';
import type { ResourceOwners } from './resource-owners.ts';
import { createResourceSubscriptions } from './resource-subscriptions.ts';
import type { Scope } from './scope.ts';
import type { SessionUse } from './session-limits.ts';
import { createSessionStreams, type Outlet } from './session-streams.ts';

export interface LegacySession {
  readonly id: string;
  readonly protocolVersion: string;
  /** Requests, notifications and answers of the client. `batch` answers all requests together. */
  post(
    messages: RpcMessage[],
    response: ServerResponse,
    accept: { stream: boolean; json: boolean; batch: boolean; headers: IncomingHttpHeaders },
  ): void;
  /** The stream for what belongs to no request; false when it is open already. */
  listen(response: ServerResponse, lastEventId: string | undefined): boolean;
  /** 2024-11-05: everything goes through one stream. */
  attach(response: ServerResponse, messagesPath: string): void;
  receive(message: RpcMessage, headers: IncomingHttpHeaders): void;
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
  { principal: opener, address, scope, kind }: Opener,
): ManagedSession {
  const { methods, replies, router, owners, ourInfo } = deps;
  const ownerKey = `session:${id}`;
  const running = createInFlightTable<{ requestId: RequestId; cancel: Cancellation }>();
  const closed = new AbortController();
  let usedAt = performance.now();
  const touch = () => {
    usedAt = performance.now();
  };

  const streams = createSessionStreams({
    sessionId: id,
    replies,
    canResume: kind === 'streamable',
    mayPause: () => peer.protocolVersion >= pausesSince,
    onClosed: touch,
  });
  const clientRequests = createClientRequests(() => peer.client.capabilities);
  const subscriptions = createResourceSubscriptions(router, owners);
  let peer = introduce(opener, params);

  /** The client as its `initialize` describes it. */
  function introduce(principal: Principal, input: JsonObject): Peer {
    const client = clientOf(input);
    return {
      era: 'legacy',
      protocolVersion: legacyVersions.find((version) => version === input.protocolVersion) ?? newestLegacy,
      principal,
      address,
      scope: scope(principal),
      client,
      owner: {
        key: ownerKey,
        client,
        gone: closed.signal,
        onNotification: handleOwn,
        onRequest: (method, question, signal) =>
          clientRequests.ask(streams.standalone.send, method, question, { signal }),
      },
    };
  }

  /** With what it is offered now. */
  function peerNow(): Peer {
    const offered = scope(peer.principal);
    if (offered !== peer.scope) peer = { ...peer, scope: offered };
    return peer;
  }

  function handleOwn(method: string, notice: JsonObject, server: Server): void {
    // The client may know the resource by another address than the server does.
    if (method === 'notifications/resources/updated') return handleResourceUpdate(server.id, String(notice.uri));
    if (!wants(peer, method, notice)) return;
    streams.standalone.send({ jsonrpc: '2.0', method, params: notice });
  }

  function handleResourceUpdate(serverId: string, theirs: string): void {
    for (const uri of subscriptions.followed(serverId, theirs))
      streams.standalone.send({ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri } });
  }

  /** Never throws: a failure is the answer. */
  async function answer(request: RpcRequest, outlet: Outlet, headers: IncomingHttpHeaders): Promise<RpcMessage> {
    const { id: requestId, method } = request;
    const cancel = new Cancellation();
    const place = running.add({ requestId, cancel });
    try {
      const call = callOf(method, outlet, cancel, traceOf(headers, request.params));
      const result = await handle(call, method, request.params ?? {});
      return { jsonrpc: '2.0', id: requestId, result: adaptResult(peer, method, result, ourInfo) };
    } catch (error) {
      deps.onFailure(error, method);
      return toFailure(requestId, error, 'legacy');
    } finally {
      running.remove(place);
      if (cancel.aborted) clientRequests.withdraw(cancel);
      touch();
    }
  }

  function callOf(method: string, outlet: Outlet, cancel: Cancellation, trace: Call['trace']): Call {
    return {
      method,
      peer: peerNow(),
      cancel,
      trace,
      notify(notice, noticeParams) {
        if (wants(peer, notice, noticeParams)) outlet.send({ jsonrpc: '2.0', method: notice, params: noticeParams });
      },
      ask: (asked, question, signal) => clientRequests.ask(outlet.send, asked, question, { signal, call: cancel }),
      pause: outlet.pause,
    };
  }

  function handle(call: Call, method: string, input: JsonObject): Result | Promise<Result> {
    switch (method) {
      case 'initialize':
        if (kind === 'sse') peer = introduce(peer.principal, input);
        return initializeResult(call.peer.scope);
      case 'ping':
        return {};
      case 'logging/setLevel':
        if (!isLogLevel(input.level))
          throw new ProtocolError(rpcCodes.invalidParams, 'params.level is not a log level');
        peer.client.logLevel = input.level;
        return {};
      case 'resources/subscribe':
        return subscriptions.subscribe(call, input);
      case 'resources/unsubscribe':
        return subscriptions.unsubscribe(String(input.uri));
      default:
        return methods.handle(call, method, input);
    }
  }

  function initializeResult(offered: Scope): JsonObject {
    const instructions = methods.instructions(offered);
    return {
      protocolVersion: peer.protocolVersion,
      capabilities: methods.capabilities(offered, 'legacy'),
      serverInfo: offered.single?.server_info ?? ourInfo,
      ...(instructions === undefined ? {} : { instructions }),
    };
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
    isBusy: () => running.size > 0 || (kind === 'sse' && streams.size > 0),
    isListening: () => streams.size > 0,

    post(messages, response, { stream, json, batch, headers }) {
      touch();
      for (const message of messages) if (!isRequest(message)) handleMessage(message);
      const requests = messages.filter(isRequest);
      if (requests.length === 0) return void writeHead(response, 202).end();
      const outlet = streams.reply(response, {
        stream,
        json,
        headers: requests[0]?.method === 'initialize' ? { 'mcp-session-id': id } : undefined,
      });
      const answers = requests.map((request) => answer(request, outlet, headers));
      const [only] = answers;
      void (batch || only === undefined ? Promise.all(answers).then(outlet.finish) : only.then(outlet.finish));
    },

    listen(response, lastEventId) {
      touch();
      return streams.listen(response, lastEventId);
    },

    attach(response, messagesPath) {
      streams.attach(response, `${messagesPath}?sessionId=${id}`);
      response.on('close', () => void this.close());
    },

    receive(message, headers) {
      touch();
      if (!isRequest(message)) return handleMessage(message);
      void answer(message, streams.standalone, headers).then(streams.standalone.send);
    },

    handleListChange(changed) {
      const lists = { tools: changed.tools, prompts: changed.prompts, resources: changed.resources };
      for (const [list, hasChanged] of Object.entries(lists)) {
        if (hasChanged) streams.standalone.send({ jsonrpc: '2.0', method: `notifications/${list}/list_changed` });
      }
    },

    handleResourceUpdate,

    async close() {
      if (closed.signal.aborted) return;
      deps.onClosed(id);
      const reason = new DOMException('the session was closed', 'AbortError');
      closed.abort(reason);
      clientRequests.withdraw();
      for (const call of running) call.cancel.abort(reason);
      streams.close();
      subscriptions.close();
      await router.release(ownerKey);
    },
  };
}

/** What this hop cannot carry is not promised to servers. */
function clientOf({ capabilities, clientInfo }: JsonObject): Peer['client'] {
  const { tasks: _tasks, extensions: _extensions, ...carried } = isObject(capabilities) ? capabilities : {};
  return { capabilities: carried, info: isObject(clientInfo) ? clientInfo : undefined };
}
