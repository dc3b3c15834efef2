/**
 * Everything we hold towards one server: its shared session, the sessions of single clients, the calls in progress,
 * and the attempts to connect. The lifecycle itself is a pure function in the registry; this is its effects.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type CancelSignal, toAbortSignal } from '../cancellation.ts';
import type { Changes } from '../changes.ts';
import type { Config } from '../config/config.ts';
import { AppError, describe, RpcError } from '../errors.ts';
import { interruptibleDelay } from '../interruptible-delay.ts';
import type { JsonObject } from '../json-rpc.ts';
import { jsonSize } from '../json-size.ts';
import type { Logger } from '../log.ts';
import { behaviour, type Status } from '../registry/lifecycle.ts';
import type { Registry, Server } from '../registry/registry.ts';
import type { Connection } from '../registry/server.ts';
import { maskBeginning } from '../security/mask.ts';
import { type ConcurrencyLimit, createConcurrencyLimit } from './concurrency-limit.ts';
import type { EraVerdict } from './era.ts';
import {
  initialLinkState,
  isEnding,
  isListed,
  type LinkEvent,
  type LinkSurroundings,
  mayComeBack,
  mayConnect,
  nextLinkState,
} from './link-state.ts';
import { maskNotice } from './notice.ts';
import type { OrphanReaper } from './orphan-reaper.ts';
import { createOwnedSessions, type Followers, type SessionOwner } from './owned-sessions.ts';
import { createQuestionAttribution } from './question-attribution.ts';
import {
  AccessDenied,
  type ClientIdentity,
  ConnectionLost,
  ourInfo,
  type Session,
  type SessionEvents,
} from './session.ts';
import { openSession } from './transport.ts';
import { createWatch, type Topic, type Watch } from './watch.ts';
import type { Credentials } from './wire.ts';

export interface LinkDependencies {
  config: Config;
  registry: Registry;
  changes: Changes;
  log: Logger;
  orphanReaper: OrphanReaper;
  childEnvironment: (own: Record<string, string>) => NodeJS.ProcessEnv;
  /** Tokens of servers that want some; undefined where this one gets none. Without a principal: the shared session's. */
  credentials?: (server: Server, connection: Connection, principal: string | undefined) => Credentials | undefined;
  /** Somebody logged in to the server, perhaps at another replica. */
  isLoggedIn?: (server: Server) => Promise<boolean>;
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

const everythingAClientCan: JsonObject = {
  sampling: {},
  elicitation: { form: {}, url: {} },
  roots: { listChanged: true },
};
const retryDelaysMs = [1_000, 2_000, 4_000];
const waitForReconnectionMs = 5_000;
const signOfLifeMs = 2_000;
/** Each is a process on STDIO, and hardly more than an id elsewhere. */
const maxOwnedSessions = { STDIO: 100, SSE: 1_000, HTTP: 1_000 };
const stderrLines = 40;
/** How often we look whether somebody logged in at another replica. */
const loginPollMs = 15_000;

export function createLink(server: Server, deps: LinkDependencies, before?: Following): Link {
  const { config, registry, log } = deps;
  const concurrency = createConcurrencyLimit(server.name, {
    concurrent: server.options.max_concurrent_calls ?? config.maxConcurrentCalls,
    queued: server.options.max_queued_calls ?? config.maxQueuedCalls,
  });
  const watch = before?.watch ?? createWatch({ onNotification: handleNotification, onUnfollowed });
  const followers = before?.followers ?? new Map();
  const pids = new Map<Session, number>();
  const owned = createOwnedSessions({
    server,
    followers,
    most: maxOwnedSessions[server.transport_type],
    // A session that belongs to no client is used no longer than a call may take, which may just have begun.
    unusedMs: Math.max(config.sessionIdleMs, config.requestTimeoutCapMs),
    open: openOwned,
    isReachable: () => !isEnding(state) && behaviour[server.lifecycle.status].executes,
    onListChanged: handleNotification,
    onClosed: (session) => pids.delete(session),
    onUnfollowed,
    onFailure: (what, error) => log.debug({ server: server.name, error: explain(error) }, what),
  });
  const answerShared = createQuestionAttribution(() => registry.recordInteractive(server.id));
  const waiting = new Set<() => void>();
  const output: string[] = [];
  let shared: Session | undefined;
  let attempt: { controller: AbortController; done: Promise<void> } | undefined;
  let draining: { done: Promise<void>; force: () => void } | undefined;
  let graceTimer: NodeJS.Timeout | undefined;
  let mask = (text: string) => text;
  let loginTimer: NodeJS.Timeout | undefined;
  let state = initialLinkState(server.connected_at !== null);

  function advance(event: LinkEvent): void {
    state = nextLinkState(state, event) ?? state;
  }

  const surroundings = (): LinkSurroundings => ({
    status: server.lifecycle.status,
    desired: server.desired,
    now: performance.now(),
    listGraceMs: config.listGraceMs,
  });

  function connect(attempts = retryDelaysMs.length): void {
    if (!config.enabled || !mayConnect(state, { isBackground: attempts === 1 })) return;
    if (registry.apply(server.id, 'connect') === undefined) return;
    advance({ type: 'connect' });
    const controller = new AbortController();
    attempt = { controller, done: tryToConnect(attempts, controller.signal) };
  }

  async function tryToConnect(attempts: number, signal: AbortSignal): Promise<void> {
    let failure: unknown;
    for (let number = 0; number < attempts; number += 1) {
      try {
        if (number > 0) await delay(retryDelaysMs[number - 1] ?? 0, undefined, { signal });
        const session = await open({ info: ourInfo, capabilities: everythingAClientCan }, sharedEvents(), signal);
        // Given up in the very moment in which it succeeded.
        if (signal.aborted) return await session.close();
        attempt = undefined;
        return becomeConnected(session);
      } catch (error) {
        if (signal.aborted) return;
        failure = error;
        advance({ type: 'attempt_failed' });
        recordLoginNeed(error);
        if (error instanceof AppError) break; // nothing that another attempt would mend
        log.debug({ server: server.name, attempt: number + 1, error: explain(error) }, 'connection attempt failed');
      }
    }
    attempt = undefined;
    advance({ type: 'connect_failed' });
    if (failure instanceof AccessDenied)
      log.warn({ server: server.name, status: failure.status }, 'server refused our credentials');
    registry.apply(server.id, 'connect_failed', { error: explain(failure), stderr: output });
    wake();
  }

  function becomeConnected(session: Session): void {
    shared = session;
    advance({ type: 'connect_succeeded' });
    clearLoginNeed();
    registry.recordIdentity(server.id, session);
    watch.attach(session);
    registry.apply(server.id, 'connect_succeeded', {
      details: { protocol_version: session.protocolVersion, era: session.era },
    });
    wake();
    owned.resume();
  }

  function recordLoginNeed(error: unknown): void {
    if (!(error instanceof AppError) || error.code !== 'LOGIN_REQUIRED' || error.context?.step_up === true) return;
    advance({ type: 'login_required', reason: error });
    registry.recordLogin(server.id, error.context?.login === 'expired' ? 'expired' : 'required');
    clearInterval(loginTimer);
    loginTimer = setInterval(() => void lookForLogin(), loginPollMs).unref();
  }

  function clearLoginNeed(): void {
    advance({ type: 'logged_in' });
    clearInterval(loginTimer);
    registry.recordLogin(server.id, null);
  }

  function handleNotification(method: string, params: JsonObject): void {
    deps.onNotification(server, method, params);
  }

  function onUnfollowed(uri: string, error: unknown): void {
    log.warn({ server: server.name, uri, error: explain(error) }, 'resource no longer followed after reconnecting');
  }

  async function lookForLogin(): Promise<void> {
    const known = await deps.isLoggedIn?.(server).catch((error: unknown) => {
      log.warn({ server: server.name, err: error }, 'login state not read; retrying automatically');
      return false;
    });
    if (known === true && state.loginNeed !== undefined) loggedIn();
  }

  function loggedIn(): void {
    clearLoginNeed();
    if (server.desired === 'connected') connect();
  }

  /** The credentials of a session, watched: a refusal ends the shared session, whichever request met it. */
  function credentialsOf(connection: Connection, principal: string | undefined): Credentials | undefined {
    const given = deps.credentials?.(server, connection, principal);
    if (given === undefined) return undefined;
    const watched = async <T>(asked: Promise<T>): Promise<T> => {
      try {
        return await asked;
      } catch (error) {
        if (principal === undefined && shared !== undefined) {
          recordLoginNeed(error);
          if (error instanceof AppError && state.loginNeed === error) lose(error);
        }
        throw error;
      }
    };
    return {
      headers() {
        const headers = given.headers();
        return headers instanceof Promise ? watched(headers) : headers;
      },
      refused: (refusal) => watched(given.refused(refusal)),
    };
  }

  function sharedEvents(): SessionEvents {
    return {
      onNotification(method, params) {
        // Opened with one person's credentials: what it tells of their account is not for the others.
        if (hasOwnCredentials(server) && !method.endsWith('/list_changed')) return;
        deps.onNotification(server, method, params);
      },
      onRequest: answerShared,
      onClose: (error) => lose(error),
    };
  }

  function lose(error: Error): void {
    const session = shared;
    shared = undefined;
    if (session === undefined) return;
    pids.delete(session);
    watch.detach();
    void session.close();
    advance({ type: 'connection_lost', at: performance.now() });
    clearTimeout(graceTimer);
    graceTimer = setTimeout(
      () => deps.changes.publish('catalog.changed', { ...allKinds, server_id: server.id }),
      config.listGraceMs,
    ).unref();
    registry.apply(server.id, 'connection_lost', { error: explain(error), stderr: output });
  }

  function session({ owner, principal }: SessionCaller, signal?: CancelSignal): Session | Promise<Session> {
    if (state.phase === 'draining') throw unavailable();
    if (hasOwnCredentials(server)) return principalSession(principal.id, owner);
    if (owner !== undefined && wantsOwnSession(server)) return ownSession(owner, signal);
    if (shared !== undefined && behaviour[server.lifecycle.status].executes) return shared;
    return awaitSession(signal);
  }

  const mayReturn = (): boolean => config.enabled && mayComeBack(state, surroundings());

  async function awaitSession(signal?: CancelSignal): Promise<Session> {
    if (state.loginNeed !== undefined) throw state.loginNeed;
    if (!mayReturn()) throw unavailable();
    const deadline = AbortSignal.timeout(waitForReconnectionMs);
    const ended = signal === undefined ? deadline : AbortSignal.any([toAbortSignal(signal), deadline]);
    while (shared === undefined && !ended.aborted && mayReturn()) {
      connect(1);
      await new Promise<void>((resolve) => {
        waiting.add(resolve);
        ended.addEventListener('abort', () => resolve(), { once: true });
      });
      if (shared === undefined && !ended.aborted) await interruptibleDelay(200, ended);
    }
    if (signal?.aborted) throw signal.reason;
    if (shared === undefined) throw state.loginNeed ?? unavailable();
    return shared;
  }

  async function ownSession(owner: SessionOwner, signal?: CancelSignal): Promise<Session> {
    if (!owned.has(owner.key) && !behaviour[server.lifecycle.status].executes) await awaitSession(signal);
    return await owned.get(owner);
  }

  /** Everybody has credentials of their own, so nobody's calls may go over a session that was opened with another's. */
  async function principalSession(principal: string, owner: SessionOwner | undefined): Promise<Session> {
    if (state.phase === 'closed' || !config.enabled || server.desired !== 'connected') throw unavailable();
    if (owner !== undefined && wantsOwnSession(server)) return await owned.get(owner, principal);
    const common = commonOwner(principal);
    const session = await owned.get(common, principal);
    owned.expireUnused(common.key);
    return session;
  }

  /** Stands for all clients of one principal. */
  function commonOwner(principal: string): SessionOwner {
    return {
      key: principalKey(principal),
      client: { info: ourInfo, capabilities: everythingAClientCan },
      attribute: answerShared,
      onNotification(method, params) {
        if (method === 'notifications/resources/updated') deps.onNotification(server, method, params, principal);
      },
    };
  }

  async function openOwned(
    client: ClientIdentity,
    events: SessionEvents,
    principal: string | undefined,
  ): Promise<Session> {
    try {
      return await open(client, events, AbortSignal.timeout(config.connectionTimeoutMs), principal);
    } catch (error) {
      if (error instanceof AppError && error.code === 'LOGIN_REQUIRED') throw error;
      throw new AppError('SERVER_CONNECTION_FAILED', `Server connection failed: ${server.name}: ${explain(error)}`, {
        cause: error,
        body: { server: brief(server) },
      });
    }
  }

  async function subscribe(topic: Topic, key: string, { owner, principal }: SessionCaller) {
    const own = owner !== undefined && wantsOwnSession(server) ? owner : undefined;
    if (hasOwnCredentials(server)) {
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

  async function open(
    client: ClientIdentity,
    events: SessionEvents,
    ended: AbortSignal,
    principal?: string,
  ): Promise<Session> {
    const { connection, mask: maskOf } = registry.resolveConnection(server.id);
    mask = maskOf;
    if (connection.transport_type === 'STDIO' && config.stdio === 'deny') {
      throw new ConnectionLost('servers over STDIO are not allowed here (MCP_AGGREGATOR_STDIO=deny)', 'no');
    }
    const timeout = AbortSignal.timeout(config.connectionTimeoutMs);
    const opened = await openSession({
      connection,
      client,
      events: {
        ...events,
        onNotification: (method, params) => events.onNotification(method, maskNotice(method, params, maskOf)),
      },
      verdict: state.isEraInDoubt ? undefined : verdictOf(server),
      signal: AbortSignal.any([ended, timeout]),
      connectTimeoutMs: config.connectionTimeoutMs,
      maxMessageBytes: config.maxMessageBytes,
      childEnvironment: deps.childEnvironment,
      childUser: config.childUser,
      orphanReaper: deps.orphanReaper,
      onLine: keepLine,
      credentials: credentialsOf(connection, principal),
      mask,
    });
    await refuseLargeIdentity(opened.session);
    registry.recordVerdict(server.id, opened.verdict);
    if (opened.pid !== undefined) pids.set(opened.session, opened.pid);
    return hasOwnCredentials(server) && principal === undefined ? withoutResources(opened.session) : opened.session;
  }

  /** What a server says of itself is kept and stored, as its lists are. */
  async function refuseLargeIdentity(session: Session): Promise<void> {
    const { maxDefinitionBytes: most } = config;
    const { instructions, capabilities, serverInfo } = session;
    const large = Object.entries({ instructions, capabilities, serverInfo }).find(
      ([, value]) => jsonSize(value, most).bytes > most,
    );
    if (large === undefined) return;
    await session.close();
    const problem = `the server sends ${large[0]} larger than ${most} bytes (MCP_AGGREGATOR_MAX_DEFINITION_BYTES)`;
    throw new AppError('SERVER_DATA_TOO_LARGE', problem);
  }

  function keepLine(line: string): void {
    output.push(maskBeginning(line, mask, 500));
    if (output.length > stderrLines) output.shift();
  }

  function explain(error: unknown): string {
    const timedOut = error instanceof DOMException && error.name === 'TimeoutError';
    const what = timedOut
      ? `no answer to the MCP handshake within ${config.connectionTimeoutMs / 1_000} s; is it an MCP server?`
      : mask(describe(error));
    const last = output.at(-1);
    return last === undefined || server.transport_type !== 'STDIO'
      ? what
      : `${what} (its last output: ${last.slice(0, 200)})`;
  }

  function wake(): void {
    for (const resolve of waiting) resolve();
    waiting.clear();
  }

  function unavailable(): AppError {
    return new AppError('SERVER_UNAVAILABLE', `Server unavailable: ${server.name}`, {
      body: { server: brief(server) },
      context: server.error_message === null ? undefined : { reason: server.error_message },
    });
  }

  function disconnect({ force }: { force: boolean }): { pending: number; done: Promise<void> } {
    clearLoginNeed();
    if (draining !== undefined) {
      if (force) draining.force();
      return { pending: force ? 0 : concurrency.active, done: draining.done };
    }
    registry.apply(server.id, 'disconnect');
    const givenUp = attempt?.done;
    attempt?.controller.abort();
    attempt = undefined;
    advance({ type: 'disconnect' });
    const pending = force ? 0 : concurrency.active;
    const forced = new AbortController();
    if (force) forced.abort();
    const done = drain(forced.signal, givenUp);
    draining = { done, force: () => forced.abort() };
    return { pending, done };
  }

  async function drain(forced: AbortSignal, givenUp: Promise<void> | undefined): Promise<void> {
    if (concurrency.active > 0 && !forced.aborted) {
      await Promise.race([concurrency.idle(), interruptibleDelay(config.drainTimeoutMs, forced, { ref: false })]);
    }
    await Promise.all([givenUp, closeSessions()]);
    draining = undefined;
    advance({ type: 'disconnected' });
    registry.apply(server.id, 'disconnected');
    wake();
  }

  async function closeSessions(): Promise<void> {
    const session = shared;
    shared = undefined;
    clearTimeout(graceTimer);
    watch.detach();
    await Promise.all([session?.close(), owned.closeAll()]);
    pids.clear();
  }

  return {
    server,
    concurrency,
    get shared() {
      return shared;
    },
    get ownedSessions() {
      return owned.size;
    },
    get childPids() {
      return [...pids.values()];
    },
    get output() {
      return output.length === 0 ? undefined : output.join('\n');
    },
    get listed() {
      return isListed(state, surroundings());
    },
    connect,
    session,
    loggedIn,
    subscribe,
    following: { watch, followers },
    release: (ownerKey) => owned.release(ownerKey),
    notify: (ownerKey, method, params) => owned.notify(ownerKey, method, params),
    recordAsked: () => registry.recordInteractive(server.id),
    async reportLost(session, error) {
      if (session !== shared) return;
      // On HTTP a call has a stream of its own: that it was cut need not mean anything for the others.
      const onlyItsStream = server.transport_type === 'HTTP' && error instanceof ConnectionLost;
      if (onlyItsStream && error.executed === 'maybe' && (await showsLife(session))) return;
      if (session === shared) lose(error);
    },
    mask: (text) => mask(text),
    disconnect,
    async close() {
      advance({ type: 'close' });
      clearInterval(loginTimer);
      attempt?.controller.abort();
      await Promise.all([attempt?.done, closeSessions()]);
      wake();
    },
  };
}

async function showsLife(session: Session): Promise<boolean> {
  const method = session.era === 'modern' ? 'server/discover' : 'ping';
  return await session.request(method, {}, { signal: AbortSignal.timeout(signOfLifeMs) }).then(
    () => true,
    (error: unknown) => error instanceof RpcError,
  );
}

export const allKinds = { tools: true, prompts: true, resources: true };

/** The server asks its clients questions, so that each needs a session to be asked in. */
function wantsOwnSession(server: Server): boolean {
  const mode = server.options.sessions ?? 'auto';
  // A server of the new era asks within the call's own answer, so it needs no session to ask in.
  return server.era !== 'modern' && (mode === 'per_client' || (mode === 'auto' && server.interactive));
}

/** Of the session that has one principal's credentials. */
export const principalKey = (principal: string) => `principal:${principal}`;

/** Everybody logs in to the server for themselves. */
function hasOwnCredentials(server: Server): boolean {
  return server.options.credentials === 'per_principal';
}

/** What one person's account holds is not listed to the others: the catalog sees tools and prompts only. */
function withoutResources(session: Session): Session {
  const capabilities = () => {
    const { resources: _private, ...rest } = session.capabilities;
    return rest;
  };
  return Object.create(session, { capabilities: { get: capabilities } });
}

function verdictOf(server: Server): EraVerdict | undefined {
  return server.era === null || server.era_checked_at === null
    ? undefined
    : { era: server.era, checkedAt: server.era_checked_at };
}

export function brief(server: Server): { id: string; name: string; status: Status } {
  return { id: server.id, name: server.name, status: server.lifecycle.status };
}
