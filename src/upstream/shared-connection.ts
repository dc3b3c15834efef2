/**
 * The connection to a server that its callers share: the attempts to connect, the loss of it, the login that it may need.
 * What it can be is a pure table in `link-state.ts`; this carries out the effects.
 */
import type { CancelSignal } from '../cancellation.ts';
import type { Changes } from '../changes.ts';
import type { Config } from '../config/config.ts';
import { AppError } from '../errors.ts';
import type { Logger } from '../log.ts';
import { behaviour } from '../registry/lifecycle.ts';
import type { Registry, Server } from '../registry/registry.ts';
import { createConnectionAttempts, defaultAttempts } from './connection-attempts.ts';
import { createConnectionWaiters } from './connection-waiters.ts';
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
import { AccessDenied, type Session, type SessionEvents } from './session.ts';
import type { ServerConstants, SessionOpener } from './session-opener.ts';
import { createSharedSession, type OpenSession } from './shared-session.ts';
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

export interface SharedConnection {
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

const waitForReconnectionMs = 5_000;

export function createSharedConnection(
  deps: SharedConnectionDependencies,
  { server, current, opener, watch, events, onConnected, onUnlisted }: SharedConnectionOptions,
): SharedConnection {
  const { config, registry, log } = deps;
  const waiters = createConnectionWaiters();
  const shared = createSharedSession({
    ...deps,
    server,
    current,
    opener,
    watch,
    events,
    onOpened: handleOpened,
    onReady: handleReady,
    onLost: handleLost,
  });
  const attempts = createConnectionAttempts({
    open: shared.open,
    onAttemptFailed: handleAttemptFailed,
    onConnected: shared.use,
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
  let graceTimer: NodeJS.Timeout | undefined;
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

  function handleOpened(session: Session): void {
    advance({ type: 'connect_succeeded' });
    loginNeed.clear();
    registry.recordIdentity(server.id, session);
    registry.recordSession(server.id, 'open');
  }

  function handleReady({ protocolVersion: protocol_version, era }: Session): void {
    registry.apply(server.id, 'connect_succeeded', { details: { protocol_version, era } });
    waiters.wake();
    onConnected();
  }

  function handleLost(error: Error): void {
    advance({ type: 'connection_lost', at: performance.now() });
    clearTimeout(graceTimer);
    graceTimer = setTimeout(onUnlisted, config.listGraceMs).unref();
    registry.recordSession(server.id, 'none');
    const event = current().lifecycle.status === 'CONNECTING' ? 'connect_failed' : 'connection_lost';
    registry.apply(server.id, event, causeOf(error));
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
    const given = state.phase === 'connected' ? shared.take() : undefined;
    if (given === undefined) return undefined;
    becomeParked();
    if (!isOnDemand() || watch.isNeeded) connect();
    return given;
  }

  const mayReturn = (): boolean => config.enabled && mayComeBack(state, surroundings());
  const usable = (): Session | undefined => (executes(current()) ? shared.session : undefined);

  async function wait(signal?: CancelSignal): Promise<Session> {
    if (state.loginNeed !== undefined) throw state.loginNeed;
    if (!mayReturn()) throw unavailable(current());
    const isStarting = isBeingStarted(state, current().lifecycle.status);
    const session = await waiters.wait({
      usable,
      mayReturn,
      connect: () => connect(isStarting ? defaultAttempts : 1),
      timeoutMs: isStarting ? config.connectionTimeoutMs * (defaultAttempts + 1) : waitForReconnectionMs,
      signal,
    });
    if (session === undefined) throw state.loginNeed ?? unavailable(current());
    return session;
  }

  async function closeSession(): Promise<void> {
    clearTimeout(graceTimer);
    await shared.take()?.session.close();
  }

  return {
    get state() {
      return state;
    },
    get session() {
      return shared.session;
    },
    get isListed() {
      return isListed(state, surroundings());
    },
    start,
    connect,
    wait,
    async park() {
      if (state.phase !== 'connected' || current().lifecycle.status !== 'CONNECTED') return;
      const parked = shared.take();
      becomeParked();
      if (parked !== undefined) await shared.discard(parked);
    },
    handOver: giveAway,
    handleDiscoveryFinished: shared.handleDiscoveryFinished,
    loggedIn,
    renew() {
      const former = giveAway();
      if (former === undefined) return loggedIn();
      void shared.discard(former);
    },
    handleRefusal(error) {
      if (shared.session === undefined) return;
      loginNeed.record(error);
      if (error instanceof AppError && state.loginNeed === error) shared.lose(error);
    },
    reportLost: shared.reportLost,
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

export const executes = (server: Server): boolean => behaviour[server.lifecycle.status].executes;
