/** One session of a client of the revisions with `initialize`: what the client sends, and what servers send it. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Topics } from '../changes.ts';
import { isNotification, isRequest, isResponse, type JsonObject, type RpcMessage } from '../json-rpc.ts';
import type { RequestContext } from '../request-context.ts';
import type { Router } from '../routing/router.ts';
import type { Principal } from '../security/auth.ts';
import { createLegacyPeer, type LegacyPeer, type Opener } from './legacy-peer.ts';
import { isLogLevel } from './log-levels.ts';
import type { Methods } from './methods.ts';
import type { ClientRequest } from './peer.ts';
import type { Replies } from './reply.ts';
import type { ResourceOwners } from './resource-owners.ts';
import { createResourceSubscriptions, type ResourceSubscriptions } from './resource-subscriptions.ts';
import type { Scope } from './scope.ts';
import type { SessionSeed } from './session-ids.ts';
import type { SessionUse } from './session-limits.ts';
import { createSessionMethods } from './session-methods.ts';
import { createSessionNotices } from './session-notices.ts';
import { createSessionQuestions } from './session-questions.ts';
import type { SessionDetails } from './session-records.ts';
import { createSessionRequests } from './session-requests.ts';
import { createSessionStreams } from './session-streams.ts';

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
  const questions = createSessionQuestions(() => peer.current.client.capabilities, streams);
  const subscriptions = createResourceSubscriptions(router, deps.owners);
  const notices = createSessionNotices(() => peer.current, standalone, subscriptions);
  const peer = createLegacyPeer(seed.params, opener, {
    key: ownerKey,
    era: 'legacy',
    gone: closed.signal,
    onNotification: notices.handleOwn,
    onRequest: questions.outsideCalls,
  });
  let restoring: Promise<unknown> | undefined = restore(restored, peer, subscriptions)?.finally(() => {
    restoring = undefined;
  });
  /** Nothing told the client what changed before the session was opened again. */
  let mayHaveMissed = restored !== undefined;
  const requests = createSessionRequests({
    ...deps,
    peer,
    notices,
    questions,
    handle: createSessionMethods({
      ...deps,
      kind: opener.kind,
      peer,
      subscriptions,
      save: (details) => deps.onDetails(seed, details),
    }),
    restoring: () => restoring,
    onAnswered: touch,
  });

  /** What needs no answer. */
  function handleMessage(message: RpcMessage): void {
    if (isResponse(message)) return questions.handleAnswer(message);
    if (!isNotification(message)) return;
    const { method, params = {} } = message;
    if (method === 'notifications/cancelled') requests.cancel(params.requestId);
    else if (method === 'notifications/roots/list_changed') {
      questions.handleRootsChanged();
      router.notify(ownerKey, method, params);
    }
  }

  async function close(): Promise<void> {
    if (closed.signal.aborted) return;
    deps.onClosed(id);
    const reason = new DOMException('the session was closed', 'AbortError');
    closed.abort(reason);
    questions.withdraw();
    requests.cancelAll(reason);
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
    isBusy: () => requests.size > 0 || (opener.kind === 'sse' && streams.size > 0),
    isListening: () => streams.size > 0,
    hasListened: () => hasListened,

    post(messages, incoming, isBatch) {
      touch();
      for (const message of messages) if (!isRequest(message)) handleMessage(message);
      const asked = messages.filter(isRequest);
      if (asked.length === 0) return void incoming.response.writeHead(202, incoming.answerHeaders).end();
      const opens = asked[0]?.method === 'initialize';
      const only = asked.length === 1 ? asked[0]?.id : undefined;
      const outlet = streams.reply(incoming, opens ? { 'mcp-session-id': id } : undefined, only);
      if (!opens) questions.handleStream(outlet.send);
      requests.answerAll(asked, outlet, incoming.context, isBatch);
    },

    listen(incoming, lastEventId) {
      touch();
      const isOpen = streams.listen(incoming, lastEventId);
      hasListened ||= isOpen;
      if (isOpen) questions.handleStream(standalone.send);
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
      void requests.answer(message, standalone, context).then(standalone.send);
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

/** Sets what the client had set before the session was opened again; resolves when it follows the same resources. */
function restore(
  restored: SessionDetails | undefined,
  peer: LegacyPeer,
  subscriptions: ResourceSubscriptions,
): Promise<unknown> | undefined {
  if (isLogLevel(restored?.logLevel)) peer.current.client.logLevel = restored.logLevel;
  const uris = restored?.subscriptions ?? [];
  if (uris.length === 0) return undefined;
  return Promise.race([
    subscriptions.restore(() => peer.current, uris),
    delay(maxRestoreMs, undefined, { ref: false }),
  ]);
}
