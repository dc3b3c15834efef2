/** The sessions with one server that single clients have of their own, because it asks its clients questions. */
import { AppError, RpcError } from '../errors.ts';
import { type Era, type JsonObject, rpcCodes } from '../json-rpc.ts';
import type { Server } from '../registry/registry.ts';
import type { ClientIdentity, Session, SessionEvents } from './session.ts';
import type { Opening } from './session-opener.ts';
import { createWatch, type Topic, type Watch } from './watch.ts';

export interface SessionOwner {
  key: string;
  client: ClientIdentity;
  /** Of the session that it needs, where the server speaks both. */
  era?: Era;
  /** Aborted when it left, for good. */
  gone?: AbortSignal;
  onNotification: (method: string, params: JsonObject, server: Server) => void;
  /** Answers what the server asks while none of the owner's calls is in progress. */
  onRequest?: (method: string, params: JsonObject, signal: AbortSignal) => Promise<JsonObject>;
  /** Decides whom a question is for, where the session is not just one client's. */
  attribute?: SessionEvents['onRequest'];
}

interface OwnedSessions {
  readonly size: number;
  has(ownerKey: string): boolean;
  /** Opened on first use, with the credentials of the principal where everybody has their own. */
  get(owner: SessionOwner, principal?: string): Promise<Session>;
  /** For one that no client's end ends; what is followed on it keeps it. */
  expireUnused(ownerKey: string): void;
  follow(owner: SessionOwner, topic: Topic, key: string, principal: string | undefined): Promise<() => Promise<void>>;
  /** Clients that follow something get a session again. */
  resume(): void;
  notify(ownerKey: string, method: string, params: JsonObject): void;
  /** Its owner left. */
  release(ownerKey: string): Promise<void>;
  /** What their owners follow stays known. */
  closeAll(): Promise<void>;
}

/** By the key of the owner: what it follows outlives its session. */
export type Followers = Map<string, { owner: SessionOwner; principal: string | undefined; watch: Watch }>;

interface OwnedSessionsOptions {
  current: () => Server;
  followers: Followers;
  most: number;
  unusedMs: number;
  open(client: ClientIdentity, events: SessionEvents, how: Opening): Promise<Session>;
  /** False where a session could not be opened, or should not be. */
  isReachable(): boolean;
  /** Changed lists are everybody's. */
  onListChanged(method: string, params: JsonObject): void;
  onClosed(session: Session): void;
  onUnfollowed(uri: string, error: unknown): void;
  /** For what no caller waits for. */
  onFailure(what: string, error: unknown): void;
}

interface Owned {
  opening: Promise<Session>;
  session?: Session;
  /** Ends it, where nobody says that it is no longer needed. */
  expires?: NodeJS.Timeout;
}

/** A server that loses the sessions of its followers at once is not asked for another all the time. */
const resumeMs = 5_000;

export function createOwnedSessions(options: OwnedSessionsOptions): OwnedSessions {
  const { current, followers } = options;
  const owned = new Map<string, Owned>();

  function get(owner: SessionOwner, principal?: string): Promise<Session> {
    // One that is opened for a client that left would never be ended.
    owner.gone?.throwIfAborted();
    return owned.get(owner.key)?.opening ?? open(owner, principal);
  }

  async function open(owner: SessionOwner, principal: string | undefined): Promise<Session> {
    if (owned.size >= options.most) throw crowded();
    const onRequest = owner.attribute ?? answerFor(owner);
    const events = { onRequest, onNotification: handleNotification(owner), onClose: () => lose(owner.key) };
    const entry: Owned = { opening: options.open(owner.client, events, { principal, era: owner.era }) };
    owned.set(owner.key, entry);
    try {
      entry.session = await entry.opening;
      followers.get(owner.key)?.watch.attach(entry.session);
      return entry.session;
    } catch (error) {
      owned.delete(owner.key);
      throw error;
    }
  }

  function handleNotification(owner: SessionOwner) {
    return (method: string, params: JsonObject) => {
      if (method.endsWith('/list_changed')) options.onListChanged(method, params);
      else owner.onNotification(method, params, current());
    };
  }

  function lose(key: string): void {
    forget(key);
    if (followers.get(key)?.watch.isNeeded) setTimeout(resume, resumeMs).unref();
  }

  function forget(key: string): Owned | undefined {
    const entry = owned.get(key);
    owned.delete(key);
    clearTimeout(entry?.expires);
    followers.get(key)?.watch.detach();
    if (entry?.session !== undefined) options.onClosed(entry.session);
    return entry;
  }

  async function close(key: string): Promise<void> {
    const opening = forget(key)?.opening;
    const session = await opening?.catch(() => undefined); // one that never opened needs no closing
    if (session === undefined) return;
    options.onClosed(session);
    await session.close();
  }

  function expire(key: string, entry: Owned): void {
    if (owned.get(key) !== entry) return;
    if (followers.get(key)?.watch.isNeeded === true) entry.expires?.refresh();
    else void close(key);
  }

  function crowded(): AppError {
    return new AppError('SERVER_OVERLOADED', `Server overloaded: ${current().name} has ${owned.size} client sessions`, {
      retryAfterSeconds: 5,
    });
  }

  function resume(): void {
    if (!options.isReachable()) return;
    for (const { owner, principal, watch } of followers.values()) {
      if (!watch.isNeeded || owner.gone?.aborted === true) continue;
      get(owner, principal).catch((error: unknown) => options.onFailure('could not resume a client session', error));
    }
  }

  async function follow(owner: SessionOwner, topic: Topic, key: string, principal: string | undefined) {
    const session = await get(owner, principal);
    const known = followers.get(owner.key);
    const watch =
      known?.watch ?? createWatch({ onNotification: options.onListChanged, onUnfollowed: options.onUnfollowed });
    if (known === undefined) {
      followers.set(owner.key, { owner, principal, watch });
      watch.attach(session);
    }
    await watch.subscribe(topic, key);
    return () => watch.unsubscribe(topic, key);
  }

  return {
    get size() {
      return owned.size;
    },
    has: (key) => owned.has(key),
    get,
    expireUnused(key) {
      const entry = owned.get(key);
      if (entry === undefined) return;
      entry.expires ??= setTimeout(() => expire(key, entry), options.unusedMs).unref();
      entry.expires.refresh();
    },
    follow,
    resume,
    notify(key, method, params) {
      const sent = owned.get(key)?.session?.notify(method, params);
      sent?.catch((error: unknown) => options.onFailure('could not deliver a client notification', error));
    },
    async release(key) {
      const closing = close(key);
      followers.delete(key);
      await closing;
    },
    async closeAll() {
      await Promise.all([...owned.keys()].map(close));
    },
  };
}

/** An owner's session is asked of nobody else, so a question is its newest call's, or its own. */
function answerFor(owner: SessionOwner): SessionEvents['onRequest'] {
  return async (method, params, inFlight, signal) => {
    const newest = inFlight().findLast((request) => request.ask !== undefined);
    const handle = newest?.ask ?? owner.onRequest;
    if (handle !== undefined) return await handle(method, params, signal);
    if (method === 'roots/list') return { roots: [] };
    throw new RpcError(rpcCodes.internalError, 'The client cannot receive requests at the moment.');
  };
}
