/**
 * The revisions with sessions, 2024-11-05 to 2025-11-25: `initialize` opens one, requests run in it, the server side may
 * ask and notify, and streams can be resumed. A session belongs to the principal that opened it.
 */
import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { Cancellation } from '../cancellation.ts';
import type { Config } from '../config.ts';
import { AppError, RpcError } from '../errors.ts';
import { isOpen, streamHeaders, writeTo } from '../event-stream.ts';
import type { Events } from '../events.ts';
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
import { type Result, toObject } from '../raw-result.ts';
import type { Server } from '../registry/registry.ts';
import type { Router } from '../routing/call.ts';
import type { Principal } from '../security/auth.ts';
import { requireRole } from '../security/policy.ts';
import { traceOf } from '../tracing.ts';
import { adaptResult, ProtocolError, toFailure } from './adapt-result.ts';
import { callerOf, capabilityOf, requireRoom } from './bridge.ts';
import { isLogLevel, wants } from './log-levels.ts';
import type { Methods } from './methods.ts';
import { type Call, maxSubscriptions, type Peer } from './peer.ts';
import { createReplayBuffer } from './replay-buffer.ts';
import { type Recorder, type Replies, type Reply, serialize, toEvent, writeHead } from './reply.ts';
import type { ResourceOwners } from './resource-owners.ts';
import { concerns, type Scope } from './scope.ts';

export interface LegacyDependencies {
  config: Config;
  methods: Methods;
  replies: Replies;
  router: Router;
  owners: ResourceOwners;
  events: Events;
  ourInfo: JsonObject;
  onFailure: (error: unknown, method: string) => void;
  findServer: (id: string) => Server | undefined;
  /** A session's id says which replica has it. */
  createSessionId?: () => string;
}

export interface LegacyEndpoint {
  /** `initialize`: the session and the answer to the request. */
  open(request: RpcRequest, who: Opener): LegacySession;
  find(id: string, principal: Principal): LegacySession | undefined;
  readonly sessions: number;
  close(): Promise<void>;
}

export interface Opener {
  principal: Principal;
  address: string;
  /** Asked for every request: a profile may change while a session is open. */
  scope: (principal: Principal) => Scope;
  kind: 'streamable' | 'sse';
}

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

/** What a server asked the client and the client has not answered yet. */
interface Question {
  /** Of which it was asked, where that is known. */
  call: Cancellation | undefined;
  resolve: (answer: JsonObject) => void;
  reject: (error: Error) => void;
  withdraw: () => void;
}

const keepAliveMs = 15_000;
const retryMs = 1_000;
/** People may have to think. */
const maxQuestionMs = 3_600_000;
const standalone = 0;
/** The first revision in which a server may close the stream of a request before it has answered. */
const comingBackSince = '2025-11-25';

export function createLegacyEndpoint(deps: LegacyDependencies): LegacyEndpoint {
  const { config, methods, replies, router, owners, events, ourInfo, createSessionId = randomUUID } = deps;
  const sessions = new Map<string, ManagedSession>();
  const sweep = setInterval(closeIdle, Math.min(config.sessionIdleMs / 2, 30_000)).unref();

  const off = [
    events.on('principal.ended', ({ principal_id: id }) => {
      for (const session of sessions.values()) if (session.principal.id === id) void session.close();
    }),
    events.on('catalog.changed', (changed) => {
      for (const session of sessions.values()) session.handleListChange(changed);
    }),
    events.on('resource.updated', ({ server_id, uri, principal_id: only }) => {
      for (const session of sessions.values())
        if (only === undefined || session.principal.id === only) session.handleResourceUpdate(`${server_id} ${uri}`);
    }),
  ];

  function closeIdle(): void {
    const before = performance.now() - config.sessionIdleMs;
    for (const session of sessions.values()) {
      if (!session.isBusy() && !session.isListening() && session.usedAt <= before) void session.close();
    }
  }

  /** Clients that never say goodbye must not keep others out: whoever was quiet longest makes room, listeners last. */
  function makeRoom(principal: Principal): void {
    const own = [...sessions.values()].filter((session) => session.principal.id === principal.id);
    const crowded =
      own.length >= config.maxSessionsPerPrincipal
        ? own
        : sessions.size >= config.maxSessions
          ? [...sessions.values()]
          : undefined;
    if (crowded === undefined) return;
    const [oldest] = crowded
      .filter((session) => !session.isBusy())
      .sort((a, b) => Number(a.isListening()) - Number(b.isListening()) || a.usedAt - b.usedAt);
    if (oldest === undefined)
      throw new AppError('RATE_LIMITED', 'Too many MCP sessions are open', { retryAfterSeconds: 5 });
    void oldest.close();
  }

  interface ManagedSession extends LegacySession {
    readonly principal: Principal;
    /** As the latest request shows it: an identity provider may give another role than before. */
    recognise(principal: Principal): void;
    readonly usedAt: number;
    /** Its client waits for something that would be lost. */
    isBusy(): boolean;
    /** Its client is there, though it may not ask for anything. */
    isListening(): boolean;
    handleListChange(changed: { server_id: string; tools: boolean; prompts: boolean; resources: boolean }): void;
    handleResourceUpdate(key: string): void;
  }

  function open(request: RpcRequest, { principal, address, scope, kind }: Opener): LegacySession {
    makeRoom(principal);
    const session = createSession(request.params ?? {}, { principal, address, scope, kind });
    sessions.set(session.id, session);
    return session;
  }

  function createSession(params: JsonObject, { principal: opener, address, scope, kind }: Opener): ManagedSession {
    const id = createSessionId();
    const ownerKey = `session:${id}`;
    const running = createInFlightTable<{ requestId: RequestId; cancel: Cancellation }>();
    const questions = new Map<string, Question>();
    const subscriptions = new Map<string, { key: string; opened: Promise<() => Promise<void>> }>();
    const memory = createReplayBuffer();
    const openStreams = new Map<number, ServerResponse>();
    const unfinished = new Set<number>([standalone]);
    const closed = new AbortController();
    let streams = standalone;
    let nextQuestion = 1;
    // Not the time of day: a clock that jumps must not end every session.
    let usedAt = performance.now();

    let peer = introduce(opener, params);

    /** Who the client is, as its `initialize` says. */
    function introduce(principal: Principal, { protocolVersion: asked, capabilities, clientInfo }: JsonObject): Peer {
      const client = {
        // What this hop cannot carry is not promised to servers.
        capabilities: withoutTasks(isObject(capabilities) ? capabilities : {}),
        info: isObject(clientInfo) ? clientInfo : undefined,
      };
      return {
        era: 'legacy',
        protocolVersion: legacyVersions.find((version) => version === asked) ?? newestLegacy,
        principal,
        address,
        scope: scope(principal),
        client,
        owner: {
          key: ownerKey,
          client,
          gone: closed.signal,
          onNotification: handleOwn,
          onRequest: (method, question, signal) => ask(standaloneOutlet, method, question, { signal }),
        },
      };
    }

    /** With what it is offered now. */
    function peerNow(): Peer {
      const offered = scope(peer.principal);
      if (offered !== peer.scope) peer = { ...peer, scope: offered };
      return peer;
    }

    /** Where messages of one request, or of none, go. */
    interface Outlet {
      send: (message: RpcMessage) => void;
      pause?: () => void;
    }

    const standaloneOutlet: Outlet = { send: (message) => send(standalone, message) };

    function send(stream: number, message: RpcMessage): void {
      const text = serialize(message);
      // A stream of 2024-11-05 cannot be resumed: its end is the end of the session.
      const eventId = kind === 'sse' ? undefined : memory.record(stream, text);
      const response = openStreams.get(stream);
      if (response !== undefined) writeTo(response, toEvent(text, eventId));
    }

    /** A stream that was resumed has a new response while the old one may still be closing. */
    function attachStream(stream: number, response: ServerResponse): void {
      openStreams.set(stream, response);
      response.on('close', () => {
        if (openStreams.get(stream) === response) openStreams.delete(stream);
        usedAt = performance.now();
      });
    }

    const recorder: Recorder = {
      opened(stream, response) {
        unfinished.add(stream);
        attachStream(stream, response);
      },
      primer: (stream) =>
        peer.protocolVersion >= comingBackSince ? `id: ${stream}-0\nretry: ${retryMs}\ndata: \n\n` : undefined,
      record: memory.record,
    };

    function isCut(stream: number, response: ServerResponse, reply: Reply): boolean {
      return reply.isStreaming() && (!isOpen(response) || openStreams.get(stream) !== response);
    }

    function handleOwn(method: string, notice: JsonObject, server: Server): void {
      // The client may know the resource by another address than the server does.
      if (method === 'notifications/resources/updated') return handleResourceUpdate(`${server.id} ${notice.uri}`);
      if (!wants(peer, method, notice)) return;
      standaloneOutlet.send({ jsonrpc: '2.0', method, params: notice });
    }

    async function ask(
      { send: tell }: Outlet,
      method: string,
      question: JsonObject,
      { signal, call }: { signal?: AbortSignal; call?: Cancellation } = {},
    ): Promise<JsonObject> {
      const capability = capabilityOf[method];
      if (capability !== undefined && peer.client.capabilities[capability] === undefined)
        throw new RpcError(rpcCodes.methodNotFound, `The client does not support ${capability}`);
      requireRoom(questions.size);
      const requestId = `ask-${nextQuestion++}`;
      const { promise, resolve, reject } = Promise.withResolvers<JsonObject>();
      const withdraw = () => {
        if (!questions.delete(requestId)) return;
        tell({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId, reason: 'no longer needed' } });
        reject(new RpcError(rpcCodes.internalError, 'The question was withdrawn'));
      };
      questions.set(requestId, { call, resolve, reject, withdraw });
      const timer = setTimeout(withdraw, maxQuestionMs).unref();
      signal?.addEventListener('abort', withdraw, { once: true });
      tell({ jsonrpc: '2.0', id: requestId, method, params: question });
      return await promise.finally(() => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', withdraw);
      });
    }

    /** Never throws: whatever becomes of a request is its answer. */
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
        if (cancel.aborted) withdrawQuestions(cancel);
        usedAt = performance.now();
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
        ask: (asked, question, signal) => ask(outlet, asked, question, { signal, call: cancel }),
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
          return subscribe(call, input);
        case 'resources/unsubscribe':
          return unsubscribe(String(input.uri));
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

    async function unsubscribe(uri: string): Promise<JsonObject> {
      const subscription = subscriptions.get(uri);
      subscriptions.delete(uri);
      const release = await subscription?.opened;
      await release?.();
      return {};
    }

    async function subscribe(call: Call, { uri }: JsonObject): Promise<JsonObject> {
      if (typeof uri !== 'string') throw new ProtocolError(rpcCodes.invalidParams, 'params.uri must be a string');
      await (subscriptions.get(uri) ?? beginSubscription(call, uri)).opened;
      return {};
    }

    function beginSubscription(call: Call, uri: string) {
      requireRole(call.peer.principal, 'caller');
      if (subscriptions.size >= maxSubscriptions)
        throw new ProtocolError(rpcCodes.invalidParams, `A session may have ${maxSubscriptions} subscriptions`);
      const { server, uri: theirs } = owners.find(call.peer.scope, uri, call.peer.principal);
      const opened = router.subscribe(server, theirs, callerOf(call));
      const subscription = { key: `${server.id} ${theirs}`, opened };
      subscriptions.set(uri, subscription);
      // Whoever waits for it hears why it failed.
      opened.catch(() => subscriptions.get(uri) === subscription && subscriptions.delete(uri));
      return subscription;
    }

    function handleResourceUpdate(key: string): void {
      for (const [uri, subscription] of subscriptions) {
        if (subscription.key === key)
          standaloneOutlet.send({ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri } });
      }
    }

    function take(message: RpcMessage): void {
      if (isResponse(message)) {
        const questionId = String(keyOf(message.id));
        const question = questions.get(questionId);
        questions.delete(questionId);
        if ('error' in message)
          question?.reject(new RpcError(message.error.code, message.error.message, message.error.data));
        else question?.resolve(toObject(message.result));
      } else if (isNotification(message)) {
        const { method, params: notice = {} } = message;
        if (method === 'notifications/cancelled') cancel(notice.requestId);
        else if (method === 'notifications/roots/list_changed') router.notify(ownerKey, method, notice);
      }
    }

    function cancel(requestId: unknown): void {
      const reason = new DOMException('cancelled by the client', 'AbortError');
      for (const call of running) if (keyOf(call.requestId) === keyOf(requestId)) call.cancel.abort(reason);
    }

    /** Those that nobody waits for any more: of one call, or all. */
    function withdrawQuestions(of?: Cancellation): void {
      for (const question of questions.values()) if (of === undefined || question.call === of) question.withdraw();
    }

    return {
      id,
      get protocolVersion() {
        return peer.protocolVersion;
      },
      get principal() {
        return peer.principal;
      },
      recognise(principal) {
        if (principal !== peer.principal) peer = { ...peer, principal };
      },
      get usedAt() {
        return usedAt;
      },
      isBusy: () => running.size > 0 || (kind === 'sse' && openStreams.size > 0),
      isListening: () => openStreams.size > 0,

      post(messages, response, accept) {
        usedAt = performance.now();
        for (const message of messages) if (!isRequest(message)) take(message);
        const requests = messages.filter(isRequest);
        if (requests.length === 0) return void writeHead(response, 202).end();

        const stream = ++streams;
        const reply = replies.begin(response, {
          acceptsStream: accept.stream,
          acceptsJson: accept.json,
          headers: requests[0]?.method === 'initialize' ? { 'mcp-session-id': id } : undefined,
          recorder,
          stream,
        });
        // Whether the stream is cut and resumed or not, the messages of a request go to its stream.
        const outlet: Outlet = {
          send(message) {
            if (isCut(stream, response, reply)) send(stream, message);
            else reply.push(message);
          },
          pause() {
            if (peer.protocolVersion < comingBackSince) return;
            if (isCut(stream, response, reply)) openStreams.get(stream)?.end();
            else reply.pause();
          },
        };
        const finish = (answers: RpcMessage | RpcMessage[]) => {
          unfinished.delete(stream);
          if (!isCut(stream, response, reply)) return reply.finish(answers);
          for (const message of [answers].flat()) send(stream, message);
          openStreams.get(stream)?.end();
        };
        const answers = requests.map((request) => answer(request, outlet, accept.headers));
        const [only] = answers;
        void (accept.batch || only === undefined ? Promise.all(answers).then(finish) : only.then(finish));
      },

      listen(response, lastEventId) {
        usedAt = performance.now();
        const { stream, events: missed } =
          lastEventId === undefined ? { stream: standalone, events: [] } : memory.since(lastEventId);
        if (lastEventId === undefined && openStreams.has(standalone)) return false;
        openStreams.get(stream)?.end();
        writeHead(response, 200, { ...streamHeaders, 'mcp-session-id': id });
        response.flushHeaders();
        keepAlive(response);
        attachStream(stream, response);
        if (lastEventId === undefined) return true;
        for (const { id: eventId, text } of missed) writeTo(response, toEvent(text, eventId));
        if (!unfinished.has(stream)) response.end();
        return true;
      },

      attach(response, messagesPath) {
        writeHead(response, 200, { ...streamHeaders });
        response.write(`event: endpoint\ndata: ${messagesPath}?sessionId=${id}\n\n`);
        keepAlive(response);
        openStreams.set(standalone, response);
        response.on('close', () => void this.close());
      },

      receive(message, headers) {
        usedAt = performance.now();
        if (!isRequest(message)) return take(message);
        void answer(message, standaloneOutlet, headers).then(standaloneOutlet.send);
      },

      handleListChange(changed) {
        if (!concerns(peer.scope, deps.findServer(changed.server_id), changed.server_id)) return;
        const lists = { tools: changed.tools, prompts: changed.prompts, resources: changed.resources };
        for (const [kindOfList, hasChanged] of Object.entries(lists)) {
          if (hasChanged) standaloneOutlet.send({ jsonrpc: '2.0', method: `notifications/${kindOfList}/list_changed` });
        }
      },

      handleResourceUpdate,

      async close() {
        if (!sessions.delete(id)) return;
        const reason = new DOMException('the session was closed', 'AbortError');
        closed.abort(reason);
        withdrawQuestions();
        for (const call of running) call.cancel.abort(reason);
        for (const response of openStreams.values()) response.end();
        // The servers may be gone as well; what is left of a subscription ends with their sessions.
        for (const { opened } of subscriptions.values())
          void opened.then((release) => release()).catch(() => undefined);
        await router.release(ownerKey);
      },
    };
  }

  return {
    open,
    find(id, principal) {
      const session = sessions.get(id);
      if (session?.principal.id !== principal.id) return undefined;
      session.recognise(principal);
      return session;
    },
    get sessions() {
      return sessions.size;
    },
    async close() {
      clearInterval(sweep);
      for (const stop of off) stop();
      await Promise.all([...sessions.values()].map((session) => session.close()));
    },
  };
}

function withoutTasks({ tasks: _tasks, extensions: _extensions, ...capabilities }: JsonObject): JsonObject {
  return capabilities;
}

function keepAlive(response: ServerResponse): void {
  const timer = setInterval(() => writeTo(response, ': still here\n\n'), keepAliveMs);
  response.on('close', () => clearInterval(timer));
}
