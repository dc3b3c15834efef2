/** The sessions with one server that belong to single clients or principals. */
import { AppError, RpcError } from '../errors.ts';
import { type Era, type JsonObject, rpcCodes } from '../json-rpc.ts';
import type { Server } from '../registry/registry.ts';
import type { ClientIdentity, Session, SessionEvents, SessionRequest } from './session.ts';
import type { Opening } from './session-opener.ts';
import type { OpenSession } from './shared-session.ts';
import { countStartQuestions } from './start-questions.ts';
import { createUnusedSessions } from './unused-sessions.ts';
import { createWatch, type Topic, type Watch } from './watch.ts';

export interface SessionOwner {
  key: string;
  client: ClientIdentity;
  /** It can answer requests of servers. */
  isAskable: boolean;
  era?: Era;
  /** Aborted when it left, for good. */
  gone?: AbortSignal;
  /** Its session ends when it was not used for a while: nothing tells when it leaves. */
  leavesSilently?: boolean;
  onNotification: (method: string, params: JsonObject, server: Server) => void;
  /** Answers what the server asks while none of the owner's calls is in progress. */
  onRequest?: (method: string, params: JsonObject, signal: AbortSignal) => Promise<JsonObject>;
  /** Decides whom a question is for, where the session is not just one client's. */
  attribute?: SessionEvents['onRequest'];
}

export interface OwnedSessions {
  readonly size: number;
  has(ownerKey: string): boolean;
  /** The owner's session, if it is open. */
  find(ownerKey: string): Session | undefined;
  /** Opened on first use. */
  get(owner: SessionOwner, how?: OwnedOpening): Promise<Session>;
  /** Takes over a session that turned out to be this owner's; false where the owner has one already. */
  adopt(owner: SessionOwner, given: OpenSession): boolean;
  follow(owner: SessionOwner, topic: Topic, key: string, principal: string | undefined): Promise<() => Promise<void>>;
  /** Clients that follow something get a session again. */
  resume(): void;
  notify(ownerKey: string, method: string, params: JsonObject): void;
  /** What those of the user were opened with is replaced: they end, and what follows something gets another. */
  renew(principal: string): Promise<void>;
  /** Its owner left, under this key or one that continues it after a colon. */
  release(ownerKey: string): Promise<void>;
  /** What their owners follow stays known. */
  closeAll(): Promise<void>;
}

/** By the key of the owner: what it follows outlives its session. */
export type Followers = Map<string, { owner: SessionOwner; principal: string | undefined; watch: Watch }>;

interface OwnedOpening {
  /** Whose credentials it is opened with, where each principal has its own. */
  principal?: string;
  /** Asks the client of the call that it is opened for. */
  ask?: SessionRequest['ask'];
}

interface OwnedSessionsOptions {
  current: () => Server;
  followers: Followers;
  most: number;
  /** An owner that leaves silently has left when it did nothing for so long. */
  unusedMs: number;
  /** A call may take this long. */
  maxCallMs: number;
  /** Calls of any owner are in progress. */
  isInUse(): boolean;
  open(client: ClientIdentity, events: SessionEvents, how: Opening): Promise<Session>;
  /** False where a session could not be opened, or should not be. */
  isReachable(): boolean;
  /** Of the session that the owner needs, where it is not the one that the server was last met in. */
  eraFor(owner: SessionOwner): Era | undefined;
  /** The server asks its client something right after the handshake. */
  asksAtStart(): boolean;
  /** Of a session that several clients share. */
  onListChanged(method: string, params: JsonObject): void;
  /** Of a session that only its owner uses. */
  onOwnListChanged(ownerKey: string, method: string, params: JsonObject): void;
  onEnded(ownerKey: string): void;
  onClosed(session: Session): void;
  onUnfollowed(uri: string, error: unknown): void;
  /** For what no caller waits for. */
  onFailure(what: string, error: unknown): void;
}

interface Owned {
  opening: Promise<Session>;
  /** Whose credentials it is opened with. */
  principal?: string;
  session?: Session;
  /** Asks the client of the call that it is being opened for. */
  ask?: SessionRequest['ask'];
}

/** A server that loses the sessions of its followers at once is not asked for another all the time. */
const resumeMs = 5_000;

export function createOwnedSessions(options: OwnedSessionsOptions): OwnedSessions {
  const { current, followers } = options;
  const owned = new Map<string, Owned>();
  const unused = createUnusedSessions({
    ...options,
    isFollowing: (key) => followers.get(key)?.watch.isNeeded === true,
    onUnused: (key) => void close(key),
  });

  async function get(owner: SessionOwner, how: OwnedOpening = {}): Promise<Session> {
    // One that is opened for a client that left would never be ended.
    owner.gone?.throwIfAborted();
    const session = await (owned.get(owner.key)?.opening ?? add(owner, how).opening);
    if (owner.leavesSilently === true && owned.has(owner.key)) unused.touch(owner.key);
    return session;
  }

  function add(owner: SessionOwner, { principal, ask }: OwnedOpening): Owned {
    if (owned.size >= options.most) throw crowded();
    const entry: Owned = { opening: Promise.resolve().then(() => open(owner, entry, principal)), principal, ask };
    owned.set(owner.key, entry);
    return entry;
  }

  async function open(owner: SessionOwner, entry: Owned, principal: string | undefined): Promise<Session> {
    const events = eventsOf(owner, entry);
    const questions = countStartQuestions(events.onRequest);
    try {
      const startedAt = performance.now();
      const how = { principal, era: options.eraFor(owner) };
      const session = await options.open(owner.client, { ...events, onRequest: questions.onRequest }, how);
      entry.session = session;
      if (session.era === 'legacy' && owner.client.capabilities.roots !== undefined && options.asksAtStart())
        await questions.settle(session, performance.now() - startedAt);
      followers.get(owner.key)?.watch.attach(session);
      return session;
    } catch (error) {
      if (owned.get(owner.key) === entry) owned.delete(owner.key);
      throw error;
    } finally {
      entry.ask = undefined;
    }
  }

  function eventsOf(owner: SessionOwner, entry: Owned): SessionEvents {
    return {
      onRequest: owner.attribute ?? answerFor(owner, entry),
      onNotification: handleNotification(owner),
      onClose: () => owned.get(owner.key) === entry && lose(owner.key),
    };
  }

  function handleNotification(owner: SessionOwner) {
    return (method: string, params: JsonObject) => {
      if (!method.endsWith('/list_changed')) owner.onNotification(method, params, current());
      else if (owner.attribute === undefined) options.onOwnListChanged(owner.key, method, params);
      else options.onListChanged(method, params);
    };
  }

  function lose(key: string): void {
    forget(key);
    if (followers.get(key)?.watch.isNeeded) setTimeout(resume, resumeMs).unref();
  }

  function forget(key: string): Owned | undefined {
    const entry = owned.get(key);
    owned.delete(key);
    unused.forget(key);
    followers.get(key)?.watch.detach();
    if (entry?.session !== undefined) options.onClosed(entry.session);
    if (entry !== undefined) options.onEnded(key);
    return entry;
  }

  async function close(key: string): Promise<void> {
    const opening = forget(key)?.opening;
    const session = await opening?.catch(() => undefined); // one that never opened needs no closing
    if (session === undefined) return;
    options.onClosed(session);
    await session.close();
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
      get(owner, { principal }).catch((error: unknown) =>
        options.onFailure('could not resume a client session', error),
      );
    }
  }

  async function follow(owner: SessionOwner, topic: Topic, key: string, principal: string | undefined) {
    const session = await get(owner, { principal });
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
    find: (key) => owned.get(key)?.session,
    get,
    adopt(owner, { session, events }) {
      if (owned.has(owner.key) || owned.size >= options.most) return false;
      const entry: Owned = { opening: Promise.resolve(session), session };
      owned.set(owner.key, entry);
      events.retarget(eventsOf(owner, entry));
      if (owner.leavesSilently === true) unused.touch(owner.key);
      return true;
    },
    follow,
    resume,
    notify(key, method, params) {
      const sent = owned.get(key)?.session?.notify(method, params);
      sent?.catch((error: unknown) => options.onFailure('could not deliver a client notification', error));
    },
    async renew(principal) {
      const ofUser = [...owned].flatMap(([key, entry]) => (entry.principal === principal ? [key] : []));
      await Promise.all(ofUser.map(close));
      resume();
    },
    async release(key) {
      const isOf = (other: string) => other === key || other.startsWith(`${key}:`);
      for (const follower of [...followers.keys()].filter(isOf)) followers.delete(follower);
      await Promise.all([...owned.keys()].filter(isOf).map(close));
    },
    async closeAll() {
      await Promise.all([...owned.keys()].map(close));
    },
  };
}

/** Only the owner uses its session, so a question belongs to its newest call, or to the owner itself. */
function answerFor(owner: SessionOwner, entry: Owned): SessionEvents['onRequest'] {
  return async (method, params, inFlight, signal) => {
    const newest = inFlight().findLast((request) => request.ask !== undefined);
    const handle = newest?.ask ?? entry.ask ?? owner.onRequest;
    if (handle !== undefined) return await handle(method, params, signal);
    if (method === 'roots/list') return { roots: [] };
    throw new RpcError(rpcCodes.internalError, 'The client cannot receive requests at the moment.');
  };
}
