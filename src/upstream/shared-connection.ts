/**
 * The connection to a server that its callers share: the attempts to connect, the loss of it, the login that it may need.
 * What it can be is a pure table in `link-state.ts`; this carries out the effects.
 */
import { type CancelSignal, toAbortSignal } from '../cancellation.ts';
import type { Config } from '../config/config.ts';
import { AppError, RpcError } from '../errors.ts';
import { interruptibleDelay } from '../interruptible-delay.ts';
import type { JsonObject } from '../json-rpc.ts';
import type { Logger } from '../log.ts';
import type { Registry, Server } from '../registry/registry.ts';
import { createConnectionAttempts, defaultAttempts } from './connection-attempts.ts';
import {
  initialLinkState,
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
import type { ServerConstants, SessionOpener } from './session-opener.ts';
import { unavailable } from './unavailable.ts';
import type { Watch } from './watch.ts';

export interface SharedConnectionDependencies {
  config: Config;
  registry: Registry;
  log: Logger;
  /** Somebody logged in to the server, perhaps at another replica. */
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
  connect(attempts?: number): void;
  /** The session as soon as there is one; throws where it is not worth waiting for. */
  wait(signal?: CancelSignal): Promise<Session>;
  /** A login was made: worth connecting again. */
  loggedIn(): void;
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

/** Servers hide tools from clients that cannot use them; which of our clients can is decided when one asks. */
export const everythingAClientCan: JsonObject = {
  sampling: {},
  elicitation: { form: {}, url: {} },
  roots: { listChanged: true },
  extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } },
};
const waitForReconnectionMs = 5_000;
const signOfLifeMs = 2_000;

export function createSharedConnection(
  deps: SharedConnectionDependencies,
  { server, current, opener, watch, events, onConnected, onUnlisted }: SharedConnectionOptions,
): SharedConnection {
  const { config, registry, log } = deps;
  const waiters = createWaiters();
  const attempts = createConnectionAttempts({
    open: openShared,
    onAttemptFailed: handleAttemptFailed,
    onConnected: becomeConnected,
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
  let shared: Session | undefined;
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

  function connect(count = defaultAttempts): void {
    if (!config.enabled || !mayConnect(state, { isBackground: count === 1 })) return;
    if (registry.apply(server.id, 'connect') === undefined) return;
    advance({ type: 'connect' });
    attempts.start(count);
  }

  async function openShared(signal: AbortSignal): Promise<Session> {
    const client = { info: ourInfo, capabilities: everythingAClientCan };
    const session = await opener.open(client, { ...events, onClose: lose }, signal);
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
    registry.apply(server.id, 'connect_failed', causeOf(failure));
    waiters.wake();
  }

  function becomeConnected(session: Session): void {
    shared = session;
    advance({ type: 'connect_succeeded' });
    loginNeed.clear();
    registry.recordIdentity(server.id, session);
    watch.attach(session);
    registry.apply(server.id, 'connect_succeeded', {
      details: { protocol_version: session.protocolVersion, era: session.era },
    });
    waiters.wake();
    onConnected();
  }

  function loggedIn(): void {
    loginNeed.clear();
    if (current().desired === 'connected') connect();
  }

  function lose(error: Error): void {
    const session = shared;
    shared = undefined;
    if (session === undefined) return;
    opener.forget(session);
    watch.detach();
    void session.close();
    advance({ type: 'connection_lost', at: performance.now() });
    clearTimeout(graceTimer);
    graceTimer = setTimeout(onUnlisted, config.listGraceMs).unref();
    registry.apply(server.id, 'connection_lost', causeOf(error));
  }

  const mayReturn = (): boolean => config.enabled && mayComeBack(state, surroundings());

  async function wait(signal?: CancelSignal): Promise<Session> {
    if (state.loginNeed !== undefined) throw state.loginNeed;
    if (!mayReturn()) throw unavailable(current());
    const deadline = AbortSignal.timeout(waitForReconnectionMs);
    const ended = signal === undefined ? deadline : AbortSignal.any([toAbortSignal(signal), deadline]);
    while (shared === undefined && !ended.aborted && mayReturn()) {
      connect(1);
      await waiters.wait(ended);
      if (shared === undefined && !ended.aborted) await interruptibleDelay(200, ended);
    }
    if (signal?.aborted) throw signal.reason;
    if (shared === undefined) throw state.loginNeed ?? unavailable(current());
    return shared;
  }

  async function closeSession(): Promise<void> {
    const session = shared;
    shared = undefined;
    clearTimeout(graceTimer);
    watch.detach();
    await session?.close();
  }

  return {
    get state() {
      return state;
    },
    get session() {
      return shared;
    },
    get isListed() {
      return isListed(state, surroundings());
    },
    connect,
    wait,
    loggedIn,
    handleRefusal(error) {
      if (shared === undefined) return;
      loginNeed.record(error);
      if (error instanceof AppError && state.loginNeed === error) lose(error);
    },
    async reportLost(session, error) {
      if (session !== shared) return;
      // On HTTP a call has a stream of its own: that it was cut need not mean anything for the others.
      const onlyItsStream = server.transport_type === 'HTTP' && error instanceof ConnectionLost;
      if (onlyItsStream && error.executed === 'maybe' && (await showsLife(session))) return;
      if (session === shared) lose(error);
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

/** Everybody logs in to the server for themselves. */
export function hasOwnCredentials(server: Server): boolean {
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
