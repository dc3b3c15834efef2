/**
 * The connection to a server that its callers share: the attempts to connect, the loss of it, the login that it may need.
 * What it can be is a pure table in `link-state.ts`; this carries out the effects.
 */
import { type CancelSignal, toAbortSignal } from '../cancellation.ts';
import type { Changes } from '../changes.ts';
import type { Config } from '../config/config.ts';
import { AppError, RpcError } from '../errors.ts';
import { interruptibleDelay } from '../interruptible-delay.ts';
import type { JsonObject } from '../json-rpc.ts';
import type { Logger } from '../log.ts';
import { behaviour } from '../registry/lifecycle.ts';
import type { Registry, Server } from '../registry/registry.ts';
import { createConnectionAttempts, defaultAttempts } from './connection-attempts.ts';
import {
  initialLinkState,
  isBeingStarted,
  isListed,
  type LinkEvent,
  type LinkState,
  type LinkSurroundings,
  mayComeBack,
  mayConnect,
  nextLinkState,
} from './link-state.ts';
import { createLoginNeed } from './login-need.ts';
import { AccessDenied, ConnectionLost, ourInfo, type Session, type SessionEvents } from './session.ts';
import { type RetargetableEvents, retargetable } from './session-events.ts';
import type { ServerConstants, SessionOpener } from './session-opener.ts';
import { isDiscovered, startsOnDemand } from './start-mode.ts';
import { unavailable } from './unavailable.ts';
import type { Watch } from './watch.ts';

export interface SharedConnectionDependencies {
  config: Config;
  registry: Registry;
  log: Logger;
  changes: Changes;
  /** Whether a login to the server exists, perhaps made at another replica. */
  isLoggedIn?: (server: Server) => Promise<boolean>;
}

interface SharedConnectionOptions {
  server: ServerConstants;
  /** Its record as it is now. */
  current: () => Server;
  opener: SessionOpener;
  watch: Watch;
  events: Omit<SessionEvents, 'onClose'>;
  onConnected: () => void;
  /** It was lost for so long that its tools are no longer listed. */
  onUnlisted: () => void;
}

interface SharedConnection {
  readonly state: LinkState;
  readonly session: Session | undefined;
  /** Tools stay listed: connected, or lost so recently that clients' lists should not flicker. */
  readonly isListed: boolean;
  /** Connects, unless the server is known and started on demand: then it is parked. */
  start(): void;
  connect(attempts?: number): void;
  /** The session as soon as there is one; throws where it is not worth waiting for. */
  wait(signal?: CancelSignal): Promise<Session>;
  /** Ends the session until the next call needs one. */
  park(): Promise<void>;
  /** Gives the session away to the client that it turned out to belong to. */
  handOver(): OpenSession | undefined;
  /** The lists of the server were read for the first time, or could not be read. */
  handleDiscoveryFinished(): void;
  /** A login was made: worth connecting again. */
  loggedIn(): void;
  /** What it was opened with is replaced: opens it again with what holds now. */
  renew(): void;
  /** A request met a refusal of the credentials. */
  handleRefusal(error: unknown): void;
  /** A call found the connection broken: passive evidence that counts at once. Resolves when it is decided. */
  reportLost(session: Session, error: Error): Promise<void>;
  /** No login is needed any more, or none is waited for. */
  forgetLogin(): void;
  /** It is to be disconnected: no more attempts. Resolves when the one in progress has ended. */
  disconnect(): Promise<void>;
  closeSession(): Promise<void>;
  /** All sessions are closed that `disconnect` was about. */
  handleDisconnected(): void;
  close(): Promise<void>;
}

export interface OpenSession {
  readonly session: Session;
  readonly events: RetargetableEvents;
}

/** Servers hide tools from clients that cannot use them; which of our clients can is decided when one asks. */
export const everythingAClientCan: JsonObject = {
  sampling: {},
  elicitation: { form: {}, url: {} },
  roots: { listChanged: true },
  extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } },
};
const waitForReconnectionMs = 5_000;
const signOfLifeMs = 2_000;
/** A new server is CONNECTED when its tools are known, or after this time. */
const maxDiscoveryMs = 10_000;

export function createSharedConnection(
  deps: SharedConnectionDependencies,
  { server, current, opener, watch, events, onConnected, onUnlisted }: SharedConnectionOptions,
): SharedConnection {
  const { config, registry, log } = deps;
  const waiters = createWaiters();
  const attempts = createConnectionAttempts({
    open: openShared,
    onAttemptFailed: handleAttemptFailed,
    onConnected: becomeOpen,
    onFailed: handleConnectFailed,
  });
  const loginNeed = createLoginNeed({
    current,
    registry,
    log,
    isLoggedIn: deps.isLoggedIn,
    advance,
    onLoggedIn: () => state.loginNeed !== undefined && loggedIn(),
  });
  let open: OpenSession | undefined;
  let openedEvents: RetargetableEvents | undefined;
  let graceTimer: NodeJS.Timeout | undefined;
  let discoveryTimer: NodeJS.Timeout | undefined;
  let state = initialLinkState(current().connected_at !== null);

  function advance(event: LinkEvent): void {
    state = nextLinkState(state, event) ?? state;
  }

  const causeOf = (error: unknown) => ({ error: opener.explain(error), stderr: [...opener.output] });

  const surroundings = (): LinkSurroundings => ({
    status: current().lifecycle.status,
    desired: current().desired,
    now: performance.now(),
    listGraceMs: config.listGraceMs,
  });

  const isOnDemand = (): boolean => startsOnDemand(current(), config) && isDiscovered(current());

  function start(): void {
    if (config.enabled && state.phase === 'idle' && isOnDemand()) becomeParked();
    else connect();
  }

  function connect(count = defaultAttempts): void {
    if (!config.enabled || !mayConnect(state, { isBackground: count === 1 })) return;
    if (registry.apply(server.id, 'connect') === undefined) return;
    advance({ type: 'connect' });
    attempts.start(count);
  }

  async function openShared(signal: AbortSignal): Promise<Session> {
    const client = { info: ourInfo, capabilities: everythingAClientCan };
    openedEvents = retargetable({ ...events, onClose: lose });
    const session = await opener.open(client, openedEvents.events, signal);
    return hasOwnCredentials(current()) ? withoutResources(session) : session;
  }

  function handleAttemptFailed(error: unknown, number: number): void {
    advance({ type: 'attempt_failed' });
    loginNeed.record(error);
    if (error instanceof AppError) return;
    log.debug({ server: server.name, attempt: number, error: opener.explain(error) }, 'connection attempt failed');
  }

  function handleConnectFailed(failure: unknown): void {
    advance({ type: 'connect_failed' });
    if (failure instanceof AccessDenied)
      log.warn({ server: server.name, status: failure.status }, 'server rejected the credentials');
    registry.recordSession(server.id, 'none');
    registry.apply(server.id, 'connect_failed', causeOf(failure));
    waiters.wake();
  }

  function becomeOpen(session: Session): void {
    if (openedEvents === undefined) return;
    open = { session, events: openedEvents };
    advance({ type: 'connect_succeeded' });
    loginNeed.clear();
    registry.recordIdentity(server.id, session);
    registry.recordSession(server.id, 'open');
    watch.attach(session);
    if (isDiscovered(current())) becomeConnected();
    else discoveryTimer = setTimeout(becomeConnected, maxDiscoveryMs).unref();
    deps.changes.publish('server.opened', { server_id: server.id });
  }

  function becomeConnected(): void {
    clearTimeout(discoveryTimer);
    discoveryTimer = undefined;
    if (open === undefined) return;
    const { protocolVersion: protocol_version, era } = open.session;
    registry.apply(server.id, 'connect_succeeded', { details: { protocol_version, era } });
    waiters.wake();
    onConnected();
  }

  function becomeParked(): void {
    advance({ type: 'park' });
    registry.recordSession(server.id, 'parked');
    registry.apply(server.id, 'park');
  }

  function loggedIn(): void {
    loginNeed.clear();
    if (current().desired === 'connected') connect();
  }

  function giveAway(): OpenSession | undefined {
    const given = state.phase === 'connected' ? takeSession() : undefined;
    if (given === undefined) return undefined;
    becomeParked();
    if (!isOnDemand() || watch.isNeeded) connect();
    return given;
  }

  /** The session is no longer the shared one, whatever becomes of it. */
  function takeSession(): OpenSession | undefined {
    const taken = open;
    open = undefined;
    clearTimeout(discoveryTimer);
    if (taken !== undefined) watch.detach();
    return taken;
  }

  function lose(error: Error): void {
    const lost = takeSession();
    if (lost === undefined) return;
    opener.forget(lost.session);
    void lost.session.close();
    advance({ type: 'connection_lost', at: performance.now() });
    clearTimeout(graceTimer);
    graceTimer = setTimeout(onUnlisted, config.listGraceMs).unref();
    registry.recordSession(server.id, 'none');
    const event = current().lifecycle.status === 'CONNECTING' ? 'connect_failed' : 'connection_lost';
    registry.apply(server.id, event, causeOf(error));
  }

  const mayReturn = (): boolean => config.enabled && mayComeBack(state, surroundings());
  const usable = (): Session | undefined => (executes(current()) ? open?.session : undefined);

  async function wait(signal?: CancelSignal): Promise<Session> {
    if (state.loginNeed !== undefined) throw state.loginNeed;
    if (!mayReturn()) throw unavailable(current());
    const isStarting = isBeingStarted(state, current().lifecycle.status);
    const deadline = AbortSignal.timeout(
      isStarting ? config.connectionTimeoutMs * (defaultAttempts + 1) : waitForReconnectionMs,
    );
    const ended = signal === undefined ? deadline : AbortSignal.any([toAbortSignal(signal), deadline]);
    while (usable() === undefined && !ended.aborted && mayReturn()) {
      connect(isStarting ? defaultAttempts : 1);
      await waiters.wait(ended);
      if (usable() === undefined && !ended.aborted) await interruptibleDelay(200, ended);
    }
    if (signal?.aborted) throw signal.reason;
    const session = usable();
    if (session === undefined) throw state.loginNeed ?? unavailable(current());
    return session;
  }

  async function closeSession(): Promise<void> {
    clearTimeout(graceTimer);
    await takeSession()?.session.close();
  }

  return {
    get state() {
      return state;
    },
    get session() {
      return open?.session;
    },
    get isListed() {
      return isListed(state, surroundings());
    },
    start,
    connect,
    wait,
    async park() {
      if (state.phase !== 'connected' || current().lifecycle.status !== 'CONNECTED') return;
      const parked = takeSession();
      becomeParked();
      if (parked === undefined) return;
      opener.forget(parked.session);
      await parked.session.close();
    },
    handOver: giveAway,
    handleDiscoveryFinished() {
      if (discoveryTimer !== undefined) becomeConnected();
    },
    loggedIn,
    renew() {
      const former = giveAway();
      if (former === undefined) return loggedIn();
      opener.forget(former.session);
      void former.session.close();
    },
    handleRefusal(error) {
      if (open === undefined) return;
      loginNeed.record(error);
      if (error instanceof AppError && state.loginNeed === error) lose(error);
    },
    async reportLost(session, error) {
      if (session !== open?.session) return;
      // On HTTP a call has a stream of its own: that it was cut need not mean anything for the others.
      const onlyItsStream = server.transport_type === 'HTTP' && error instanceof ConnectionLost;
      if (onlyItsStream && error.executed === 'maybe' && (await showsLife(session))) return;
      if (session === open?.session) lose(error);
    },
    forgetLogin: loginNeed.clear,
    async disconnect() {
      registry.apply(server.id, 'disconnect');
      const givenUp = attempts.giveUp();
      advance({ type: 'disconnect' });
      await givenUp;
    },
    closeSession,
    handleDisconnected() {
      advance({ type: 'disconnected' });
      registry.recordSession(server.id, 'none');
      registry.apply(server.id, 'disconnected');
      waiters.wake();
    },
    async close() {
      advance({ type: 'close' });
      loginNeed.stopPolling();
      await Promise.all([attempts.giveUp(), closeSession()]);
      waiters.wake();
    },
  };
}

/** Those who wait for the connection to change. */
function createWaiters() {
  const waiting = new Set<() => void>();
  return {
    wait: (ended: AbortSignal) =>
      new Promise<void>((resolve) => {
        waiting.add(resolve);
        ended.addEventListener('abort', () => resolve(), { once: true });
      }),
    wake() {
      for (const resolve of waiting) resolve();
      waiting.clear();
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

export const executes = (server: Server): boolean => behaviour[server.lifecycle.status].executes;

/** Each user logs in to the server, or enters keys for it. */
export function hasOwnCredentials({ options, user_keys }: Server): boolean {
  return options.credentials === 'per_principal' || user_keys.length > 0;
}

/** What one person's account holds is not listed to the others: the catalog sees tools and prompts only. */
function withoutResources(session: Session): Session {
  const capabilities = () => {
    const { resources: _private, ...rest } = session.capabilities;
    return rest;
  };
  return Object.create(session, { capabilities: { get: capabilities } });
}
