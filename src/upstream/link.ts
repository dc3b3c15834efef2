/**
 * Everything we hold towards one server: the shared connection, the sessions of single clients, the calls in progress.
 * It decides which session a call goes over.
 */
import type { CancelSignal } from '../cancellation.ts';
import type { Changes } from '../changes.ts';
import { AppError } from '../errors.ts';
import type { JsonObject } from '../json-rpc.ts';
import { behaviour } from '../registry/lifecycle.ts';
import type { Server } from '../registry/registry.ts';
import { type ConcurrencyLimit, createConcurrencyLimit } from './concurrency-limit.ts';
import { createDrain } from './drain.ts';
import { isEnding } from './link-state.ts';
import { createOwnedSessions, type Followers, type SessionOwner } from './owned-sessions.ts';
import { createQuestionAttribution } from './question-attribution.ts';
import { ourInfo, type Session } from './session.ts';
import { createSessionOpener, type ServerConstants, type SessionOpenerDependencies } from './session-opener.ts';
import {
  createSharedConnection,
  everythingAClientCan,
  hasOwnCredentials,
  type SharedConnectionDependencies,
} from './shared-connection.ts';
import { unavailable } from './unavailable.ts';
import { createWatch, type Topic, type Watch } from './watch.ts';

export interface LinkDependencies extends SessionOpenerDependencies, SharedConnectionDependencies {
  changes: Changes;
  /**
   * A notification of the shared session, or of a client's own where its owner does not take it. With a principal: of
   * the session with that principal's credentials, and nobody else's business.
   */
  onNotification: (server: Server, method: string, params: JsonObject, principal?: string) => void;
}

/** What clients follow of a server: it holds for the link that takes another one's place. */
interface Following {
  watch: Watch;
  followers: Followers;
}

/** Decides which session a call goes over. */
interface SessionCaller {
  /** An MCP client that can be asked. */
  readonly owner?: SessionOwner;
  readonly principal: { readonly id: string };
}

export interface Link {
  /** As it is at the moment of reading. */
  readonly server: Server;
  readonly concurrency: ConcurrencyLimit;
  readonly shared: Session | undefined;
  readonly ownedSessions: number;
  readonly childPids: number[];
  /** The last lines a child wrote to stderr, masked. */
  readonly output: string | undefined;
  /** Tools stay listed: connected, or lost so recently that clients' lists should not flicker. */
  readonly listed: boolean;
  connect(attempts?: number): void;
  session(caller: SessionCaller, signal?: CancelSignal): Session | Promise<Session>;
  /** Until what it returns is called, whatever becomes of the connection meanwhile. */
  subscribe(topic: Topic, key: string, caller: SessionCaller): Promise<() => Promise<void>>;
  readonly following: Following;
  /** A login was made: worth connecting again. */
  loggedIn(): void;
  release(ownerKey: string): Promise<void>;
  /** Forwards a client's notification to the session that only it uses, if there is one. */
  notify(ownerKey: string, method: string, params: JsonObject): void;
  /** The server asked its client something: from now on, clients that can answer get sessions of their own. */
  recordAsked(): void;
  /** A call found the connection broken: passive evidence that counts at once. Resolves when it is decided. */
  reportLost(session: Session, error: Error): Promise<void>;
  /** Hides the secrets of the server's connection in a text. */
  mask(text: string): string;
  disconnect(options: { force: boolean }): { pending: number; done: Promise<void> };
  close(): Promise<void>;
}

/** Each is a process on STDIO, and hardly more than an id elsewhere. */
const maxOwnedSessions = { STDIO: 100, SSE: 1_000, HTTP: 1_000 };

export function createLink(given: Server, deps: LinkDependencies, before?: Following): Link {
  const { config, registry, log } = deps;
  const server: ServerConstants = given;
  let latest = given;
  let isModernOnly = false;
  const concurrency = createConcurrencyLimit(server.name, {
    concurrent: given.options.max_concurrent_calls ?? config.maxConcurrentCalls,
    queued: given.options.max_queued_calls ?? config.maxQueuedCalls,
  });
  const watch = before?.watch ?? createWatch({ onNotification: handleNotification, onUnfollowed });
  const followers = before?.followers ?? new Map();
  const recordAsked = () => registry.recordInteractive(server.id);
  const answerShared = createQuestionAttribution(recordAsked);
  const opener = createSessionOpener(deps, {
    server,
    current,
    isEraInDoubt: () => connection.state.isEraInDoubt,
    onRefused: (error) => connection.handleRefusal(error),
  });
  const connection = createSharedConnection(deps, {
    server,
    current,
    opener,
    watch,
    events: { onNotification: handleShared, onRequest: answerShared },
    onConnected: () => owned.resume(),
    onUnlisted: () => deps.changes.publish('catalog.changed', { ...allKinds, server_id: server.id }),
  });
  const owned = createOwnedSessions({
    current,
    followers,
    most: maxOwnedSessions[server.transport_type],
    // A session that belongs to no client is used no longer than a call may take, which may just have begun.
    unusedMs: Math.max(config.sessionIdleMs, config.requestTimeoutCapMs),
    open: opener.openOwned,
    isReachable: () => !isEnding(connection.state) && executes(current()),
    onListChanged: handleNotification,
    onClosed: opener.forget,
    onUnfollowed,
    onFailure: (what, error) => log.debug({ server: server.name, error: opener.explain(error) }, what),
  });
  const drain = createDrain({
    concurrency,
    timeoutMs: config.drainTimeoutMs,
    begin: connection.disconnect,
    closeSessions,
    onDrained: connection.handleDisconnected,
  });

  /** The server's record as it is now; once it is removed, as it was last. */
  function current(): Server {
    latest = registry.find(server.id) ?? latest;
    return latest;
  }

  function handleNotification(method: string, params: JsonObject): void {
    deps.onNotification(current(), method, params);
  }

  function handleShared(method: string, params: JsonObject): void {
    // Opened with one person's credentials: what it tells of their account is not for the others.
    if (hasOwnCredentials(current()) && !method.endsWith('/list_changed')) return;
    handleNotification(method, params);
  }

  function onUnfollowed(uri: string, error: unknown): void {
    const reason = opener.explain(error);
    log.warn(
      { server: server.name, uri, error: reason },
      'could not restore a resource subscription after reconnecting',
    );
  }

  function session({ owner, principal }: SessionCaller, signal?: CancelSignal): Session | Promise<Session> {
    if (connection.state.phase === 'draining') throw unavailable(current());
    if (hasOwnCredentials(current())) return principalSession(principal.id, owner);
    if (owner !== undefined && wantsOwnSession(current())) return ownSession(owner, signal);
    if (owner?.era === 'legacy' && current().era === 'modern' && !isModernOnly) return legacySession(owner, signal);
    return connection.session !== undefined && executes(current()) ? connection.session : connection.wait(signal);
  }

  async function ownSession(owner: SessionOwner, signal?: CancelSignal): Promise<Session> {
    if (!owned.has(owner.key) && !executes(current())) await connection.wait(signal);
    return await owned.get(owner);
  }

  /**
   * A server that speaks both eras asks clients of the old one in the old way only, which a session of the new era
   * cannot carry. Whether it speaks the old one shows when it is tried.
   */
  async function legacySession(owner: SessionOwner, signal?: CancelSignal): Promise<Session> {
    const shared = executes(current()) ? connection.session : undefined;
    const fallback = shared ?? (await connection.wait(signal));
    const own = asksClients(current()) ? owner : legacyOwner;
    try {
      const session = await owned.get(own);
      if (own !== owner) owned.expireUnused(own.key);
      return session;
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'SERVER_CONNECTION_FAILED') throw error;
      log.debug({ server: server.name, error: error.message }, 'the server speaks the new era only');
      isModernOnly = true;
      return fallback;
    }
  }

  /** Everybody has credentials of their own, so nobody's calls may go over a session that was opened with another's. */
  async function principalSession(principal: string, owner: SessionOwner | undefined): Promise<Session> {
    if (connection.state.phase === 'closed' || !config.enabled || current().desired !== 'connected')
      throw unavailable(current());
    if (owner !== undefined && wantsOwnSession(current())) return await owned.get(owner, principal);
    const common = commonOwner(principal);
    const session = await owned.get(common, principal);
    owned.expireUnused(common.key);
    return session;
  }

  /** Stands for all clients of the old era, as long as the server asks them nothing. */
  const legacyOwner: SessionOwner = {
    key: 'legacy',
    era: 'legacy',
    client: { info: ourInfo, capabilities: everythingAClientCan },
    attribute: answerShared,
    onNotification: handleShared,
  };

  /** Stands for all clients of one principal. */
  function commonOwner(principal: string): SessionOwner {
    return {
      key: principalKey(principal),
      client: { info: ourInfo, capabilities: everythingAClientCan },
      attribute: answerShared,
      onNotification(method, params) {
        if (method === 'notifications/resources/updated') deps.onNotification(current(), method, params, principal);
      },
    };
  }

  async function subscribe(topic: Topic, key: string, { owner, principal }: SessionCaller) {
    const own = owner !== undefined && wantsOwnSession(current()) ? owner : undefined;
    if (hasOwnCredentials(current())) {
      // The shared session has somebody else's credentials.
      await session({ owner: own, principal });
      return await owned.follow(own ?? commonOwner(principal.id), topic, key, principal.id);
    }
    if (own !== undefined) {
      await session({ owner: own, principal });
      return await owned.follow(own, topic, key, undefined);
    }
    await watch.subscribe(topic, key);
    return () => watch.unsubscribe(topic, key);
  }

  async function closeSessions(): Promise<void> {
    await Promise.all([connection.closeSession(), owned.closeAll()]);
    opener.forgetAll();
  }

  return {
    get server() {
      return current();
    },
    concurrency,
    get shared() {
      return connection.session;
    },
    get ownedSessions() {
      return owned.size;
    },
    get childPids() {
      return opener.childPids;
    },
    get output() {
      return opener.output.length === 0 ? undefined : opener.output.join('\n');
    },
    get listed() {
      return connection.isListed;
    },
    connect: connection.connect,
    session,
    loggedIn: connection.loggedIn,
    subscribe,
    following: { watch, followers },
    release: (ownerKey) => owned.release(ownerKey),
    notify: (ownerKey, method, params) => owned.notify(ownerKey, method, params),
    recordAsked,
    reportLost: connection.reportLost,
    mask: opener.mask,
    disconnect({ force }) {
      connection.forgetLogin();
      return drain(force);
    },
    async close() {
      await Promise.all([connection.close(), closeSessions()]);
    },
  };
}

export const allKinds = { tools: true, prompts: true, resources: true };

/** The server asks its clients questions, so that each needs a session to be asked in. */
function wantsOwnSession(server: Server): boolean {
  // A server of the new era asks within the call's own answer, so it needs no session to ask in.
  return server.era !== 'modern' && asksClients(server);
}

function asksClients({ options: { sessions = 'auto' }, interactive }: Server): boolean {
  return sessions === 'per_client' || (sessions === 'auto' && interactive);
}

const executes = (server: Server): boolean => behaviour[server.lifecycle.status].executes;

/** Of the session that has one principal's credentials. */
export const principalKey = (principal: string) => `principal:${principal}`;
