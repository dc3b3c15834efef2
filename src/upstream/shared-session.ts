/**
 * The one session that all callers of a server share: opening it, and how it is lost. It is ready when the lists of the
 * server are known.
 */
import type { Changes } from '../changes.ts';
import { RpcError } from '../errors.ts';
import type { JsonObject } from '../json-rpc.ts';
import type { Server } from '../registry/registry.ts';
import { hasOwnCredentials } from '../registry/session-ownership.ts';
import { ConnectionLost, ourInfo, type Session, type SessionEvents } from './session.ts';
import { type RetargetableEvents, retargetable } from './session-events.ts';
import type { ServerConstants, SessionOpener } from './session-opener.ts';
import { isDiscovered } from './start-mode.ts';
import type { Watch } from './watch.ts';

export interface OpenSession {
  readonly session: Session;
  readonly events: RetargetableEvents;
}

interface SharedSession {
  readonly session: Session | undefined;
  open(signal: AbortSignal): Promise<Session>;
  /** The session that was opened is the shared one from now on. */
  use(session: Session): void;
  /** It is no longer the shared one, whatever becomes of it. */
  take(): OpenSession | undefined;
  lose(error: Error): void;
  /** A call found it broken. Resolves when it is decided whether it is lost. */
  reportLost(session: Session, error: Error): Promise<void>;
  /** The lists of the server were read for the first time, or could not be read. */
  handleDiscoveryFinished(): void;
  /** Closes one that was taken. */
  discard(taken: OpenSession): Promise<void>;
}

interface SharedSessionOptions {
  server: ServerConstants;
  /** Its record as it is now. */
  current: () => Server;
  opener: SessionOpener;
  watch: Watch;
  events: Omit<SessionEvents, 'onClose'>;
  changes: Changes;
  onOpened: (session: Session) => void;
  onReady: (session: Session) => void;
  onLost: (error: Error) => void;
}

/** Servers hide tools from clients that cannot use them; which of our clients can is decided when one asks. */
export const everythingAClientCan: JsonObject = {
  sampling: {},
  elicitation: { form: {}, url: {} },
  roots: { listChanged: true },
  extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } },
};
const signOfLifeMs = 2_000;
/** A new server is CONNECTED when its tools are known, or after this time. */
const maxDiscoveryMs = 10_000;

export function createSharedSession(options: SharedSessionOptions): SharedSession {
  const { server, current, opener, watch, events, changes } = options;
  let opened: OpenSession | undefined;
  let openedEvents: RetargetableEvents | undefined;
  let discoveryTimer: NodeJS.Timeout | undefined;

  function becomeReady(): void {
    clearTimeout(discoveryTimer);
    discoveryTimer = undefined;
    if (opened !== undefined) options.onReady(opened.session);
  }

  function take(): OpenSession | undefined {
    const taken = opened;
    opened = undefined;
    clearTimeout(discoveryTimer);
    if (taken !== undefined) watch.detach();
    return taken;
  }

  async function discard({ session }: OpenSession): Promise<void> {
    opener.forget(session);
    await session.close();
  }

  function lose(error: Error): void {
    const lost = take();
    if (lost === undefined) return;
    void discard(lost);
    options.onLost(error);
  }

  return {
    get session() {
      return opened?.session;
    },

    async open(signal) {
      const client = { info: ourInfo, capabilities: everythingAClientCan };
      openedEvents = retargetable({ ...events, onClose: lose });
      const session = await opener.open(client, openedEvents.events, signal);
      return hasOwnCredentials(current()) ? withoutResources(session) : session;
    },

    use(session) {
      if (openedEvents === undefined) return;
      opened = { session, events: openedEvents };
      options.onOpened(session);
      watch.attach(session);
      if (isDiscovered(current())) becomeReady();
      else discoveryTimer = setTimeout(becomeReady, maxDiscoveryMs).unref();
      changes.publish('server.opened', { server_id: server.id });
    },

    take,
    lose,

    async reportLost(session, error) {
      if (session !== opened?.session) return;
      // On HTTP a call has a stream of its own: that it was cut need not mean anything for the others.
      const onlyItsStream = server.transport_type === 'HTTP' && error instanceof ConnectionLost;
      if (onlyItsStream && error.executed === 'maybe' && (await showsLife(session))) return;
      if (session === opened?.session) lose(error);
    },

    handleDiscoveryFinished() {
      if (discoveryTimer !== undefined) becomeReady();
    },

    discard,
  };
}

async function showsLife(session: Session): Promise<boolean> {
  const method = session.era === 'modern' ? 'server/discover' : 'ping';
  return await session.request(method, {}, { signal: AbortSignal.timeout(signOfLifeMs) }).then(
    () => true,
    (error: unknown) => error instanceof RpcError,
  );
}

/** What one person's account holds is not listed to the others: the catalog sees tools and prompts only. */
function withoutResources(session: Session): Session {
  const capabilities = () => {
    const { resources: _private, ...rest } = session.capabilities;
    return rest;
  };
  return Object.create(session, { capabilities: { get: capabilities } });
}
