/**
 * Everything we hold towards one server: the shared connection, the sessions of single clients, the calls in progress.
 * `session-selection` decides which session a call goes over.
 */
import type { CancelSignal } from '../cancellation.ts';
import type { JsonObject } from '../json-rpc.ts';
import type { Server } from '../registry/registry.ts';
import { hasOwnCredentials, ownershipOf } from '../registry/session-ownership.ts';
import { type ConcurrencyLimit, createConcurrencyLimit } from './concurrency-limit.ts';
import { createDrain } from './drain.ts';
import { isEnding } from './link-state.ts';
import { createOwnedSessions, type Followers } from './owned-sessions.ts';
import { createQuestionAttribution } from './question-attribution.ts';
import type { Session, SessionRequest } from './session.ts';
import { createSessionOpener, type ServerConstants, type SessionOpenerDependencies } from './session-opener.ts';
import { createSessionSelection, principalKey, type SessionUser } from './session-selection.ts';
import { createSharedConnection, executes, type SharedConnectionDependencies } from './shared-connection.ts';
import { startsOnDemand } from './start-mode.ts';
import { createWatch, type Topic, type Watch } from './watch.ts';

export interface LinkDependencies extends SessionOpenerDependencies, SharedConnectionDependencies {
  /**
   * A notification of the shared session, or of a client's own where its owner does not take it. With a principal: of
   * the session with that principal's credentials, and for that principal only.
   */
  onNotification: (
    server: Server,
    method: string,
    params: JsonObject,
    of?: { principal?: string; owner?: string },
  ) => void;
}

/** What clients follow of a server: it holds for the link that takes another one's place. */
interface Following {
  watch: Watch;
  followers: Followers;
}

export interface Link {
  /** As it is at the moment of reading. */
  readonly server: Server;
  readonly concurrency: ConcurrencyLimit;
  readonly shared: Session | undefined;
  readonly ownedSessions: number;
  /** An admin removes the server, or has done so: calls that have not reached it have no route any more. */
  readonly isRemoved: boolean;
  /** The session that only this client uses, if it is open. */
  ownedSession(ownerKey: string): Session | undefined;
  readonly childPids: number[];
  /** The last lines a child wrote to stderr, masked. */
  readonly output: string | undefined;
  /** Tools stay listed: connected, or lost so recently that clients' lists should not flicker. */
  readonly listed: boolean;
  /** Connects, unless the server is known and started on demand: then it is parked. */
  start(): void;
  connect(attempts?: number): void;
  session(user: SessionUser): Session | Promise<Session>;
  /** The shared session, opened if it is parked; it is not parked before `release` is called. */
  hold(signal?: CancelSignal): Promise<{ session: Session; release: () => void }>;
  /** Until what it returns is called, whatever becomes of the connection meanwhile. */
  subscribe(topic: Topic, key: string, user: SessionUser): Promise<() => Promise<void>>;
  readonly following: Following;
  /** Parks the server if it is started on demand and was not used for the idle time. */
  parkIfIdle(now: number): void;
  /** The lists of the server were read after it was opened, or could not be read. */
  handleDiscoveryFinished(): void;
  /** A login was made: worth connecting again. */
  loggedIn(): void;
  /** A user entered or removed keys: sessions that were opened with the former ones are of no use. */
  handleKeysChanged(user: string): void;
  /** The sessions with a principal's credentials end with the principal. */
  handlePrincipalEnded(id: string): void;
  release(ownerKey: string): Promise<void>;
  /** Forwards a client's notification to the session that only it uses, if there is one. */
  notify(ownerKey: string, method: string, params: JsonObject): void;
  /** The server asked its client something: from now on, each client gets a session of its own. */
  recordAsked(method: string): void;
  /** A call found the connection broken: passive evidence that counts at once. Resolves when it is decided. */
  reportLost(session: Session, error: Error): Promise<void>;
  /** Hides the secrets of the server's connection in a text, and those that the user entered. */
  mask(text: string, user?: string): string;
  disconnect(options: { force: boolean; isRemoval?: boolean }): { pending: number; done: Promise<void> };
  close(): Promise<void>;
}

/** Each is a process on STDIO, and hardly more than an id elsewhere. */
const maxOwnedSessions = { STDIO: 100, SSE: 1_000, HTTP: 1_000 };

export function createLink(given: Server, deps: LinkDependencies, before?: Following): Link {
  const { config, registry, log } = deps;
  const { id, transport_type } = given;
  const server: ServerConstants = {
    id,
    transport_type,
    // It may be renamed while its sessions go on.
    get name() {
      return current().name;
    },
  };
  let latest = given;
  let isBeingRemoved = false;
  const concurrency = createConcurrencyLimit(server.name, {
    concurrent: given.options.max_concurrent_calls ?? config.maxConcurrentCalls,
    queued: given.options.max_queued_calls ?? config.maxQueuedCalls,
  });
  const idle = createIdleClock(() => concurrency.entered);
  const watch = before?.watch ?? createWatch({ onNotification: handleNotification, onUnfollowed });
  const followers = before?.followers ?? new Map();
  const answerShared = createQuestionAttribution({ current, onAsked: recordAsked, onAttributed: adoptShared });
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
    unusedMs: config.idleTimeoutMs === 0 ? config.sessionIdleMs : config.idleTimeoutMs,
    maxCallMs: config.requestTimeoutCapMs,
    isInUse: () => concurrency.active > 0,
    open: opener.openOwned,
    isReachable: () => !isEnding(connection.state) && executes(current()),
    asksAtStart: () => current().session_evidence.asked_at_start?.includes('roots/list') === true,
    eraFor: (owner) => selection.eraFor(owner),
    onListChanged: handleNotification,
    onOwnListChanged: (owner, method, params) => deps.onNotification(current(), method, params, { owner }),
    onEnded: (owner_key) => deps.changes.publish('own_session.ended', { server_id: server.id, owner_key }),
    onClosed: opener.forget,
    onUnfollowed,
    onFailure: (what, error) => log.debug({ server: server.name, error: opener.explain(error) }, what),
  });
  const selection = createSessionSelection({
    server,
    current,
    config,
    log,
    connection,
    owned,
    watch,
    events: { onNotification: handleShared, onRequest: answerShared },
    onUserUpdate: (principal, method, params) => deps.onNotification(current(), method, params, { principal }),
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

  function recordAsked(method: string, { atStart } = { atStart: false }): void {
    registry.recordAsked(server.id, method, { atStart });
  }

  /** The shared session keeps what this client's call began, so it is this client's from now on. */
  function adoptShared({ caller }: SessionRequest): void {
    const owner = caller?.owner?.(current());
    if (owner === undefined || ownershipOf(current()).ownership !== 'client' || hasOwnCredentials(current())) return;
    if (owner.gone?.aborted === true || owned.has(owner.key)) return;
    const given = connection.handOver();
    if (given !== undefined && !owned.adopt(owner, given)) void given.session.close();
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
    get isRemoved() {
      return isBeingRemoved || registry.find(id) === undefined;
    },
    ownedSession: owned.find,
    get childPids() {
      return opener.childPids;
    },
    get output() {
      return opener.output.length === 0 ? undefined : opener.output.join('\n');
    },
    get listed() {
      return connection.isListed;
    },
    start: connection.start,
    connect: connection.connect,
    session: selection.session,
    async hold(signal) {
      const release = idle.hold();
      try {
        return { session: connection.session ?? (await connection.wait(signal)), release };
      } catch (error) {
        release();
        throw error;
      }
    },
    parkIfIdle(now) {
      const isIdle = idle.since(now) >= config.idleTimeoutMs && concurrency.active === 0 && !watch.isNeeded;
      if (isIdle && startsOnDemand(current(), config)) void connection.park();
    },
    handleDiscoveryFinished: connection.handleDiscoveryFinished,
    loggedIn: connection.loggedIn,
    handleKeysChanged(user) {
      void owned.renew(user);
      if (user === opener.keyHolder) connection.renew();
      else if (deps.isAdmin?.(user) === true && connection.state.loginNeed !== undefined) connection.loggedIn();
    },
    handlePrincipalEnded(id) {
      void owned.release(principalKey(id));
      void owned.renew(id);
      if (id === opener.keyHolder) connection.renew();
    },
    subscribe: selection.subscribe,
    following: { watch, followers },
    release: (ownerKey) => owned.release(ownerKey),
    notify: (ownerKey, method, params) => owned.notify(ownerKey, method, params),
    recordAsked,
    reportLost: connection.reportLost,
    mask: opener.mask,
    disconnect({ force, isRemoval = false }) {
      isBeingRemoved ||= isRemoval;
      connection.forgetLogin();
      return drain(force);
    },
    async close() {
      await Promise.all([connection.close(), closeSessions()]);
    },
  };
}

/** For how long nothing was asked of a server: counted from outside, so that calls need not look at a clock. */
function createIdleClock(counter: () => number) {
  let seen = -1;
  let seenAt = 0;
  let held = 0;
  return {
    since(now: number): number {
      if (held > 0 || counter() !== seen) {
        seen = counter();
        seenAt = now;
      }
      return now - seenAt;
    },
    /** Counts as being used until what it returns is called. */
    hold(): () => void {
      held += 1;
      return () => {
        held -= 1;
        seen = -1;
      };
    },
  };
}

export const allKinds = { tools: true, prompts: true, resources: true };
