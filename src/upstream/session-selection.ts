/** Which session a call goes over: the one that all callers share, its client's own, or one that several callers hold. */
import type { CancelSignal } from '../cancellation.ts';
import type { Config } from '../config/config.ts';
import { AppError } from '../errors.ts';
import type { Era, JsonObject } from '../json-rpc.ts';
import type { Logger } from '../log.ts';
import type { Server } from '../registry/registry.ts';
import { type DecisiveFields, hasOwnCredentials, ownershipOf } from '../registry/session-ownership.ts';
import type { Principal } from '../security/auth.ts';
import { userOf } from '../security/policy.ts';
import type { OwnedSessions, SessionOwner } from './owned-sessions.ts';
import { ourInfo, type Session, type SessionEvents, type SessionRequest } from './session.ts';
import type { ServerConstants } from './session-opener.ts';
import { executes, type SharedConnection } from './shared-connection.ts';
import { everythingAClientCan } from './shared-session.ts';
import { unavailable } from './unavailable.ts';
import type { Topic, Watch } from './watch.ts';

/** What decides which session a call goes over. */
export interface SessionUser {
  readonly caller: {
    readonly principal: Pick<Principal, 'id' | 'user'>;
    readonly era?: Era;
    /** Who has the session, where the server has one for each client. */
    readonly owner: (server: Server) => SessionOwner;
  };
  readonly signal?: CancelSignal;
  /** Asks the client, also while a session is being opened for it. */
  readonly ask?: SessionRequest['ask'];
}

interface SessionSelection {
  session(user: SessionUser): Session | Promise<Session>;
  /** Until what it returns is called, whatever becomes of the connection meanwhile. */
  subscribe(topic: Topic, key: string, user: SessionUser): Promise<() => Promise<void>>;
  /** Of the session that the owner needs, where it is not the one that the server was last met in. */
  eraFor(owner: SessionOwner): Era | undefined;
}

interface SessionSelectionOptions {
  server: ServerConstants;
  /** Its record as it is now. */
  current: () => Server;
  config: Pick<Config, 'enabled'>;
  log: Logger;
  connection: SharedConnection;
  owned: OwnedSessions;
  watch: Watch;
  /** For sessions that several callers use. */
  events: Pick<SessionEvents, 'onNotification' | 'onRequest'>;
  /** A resource changed that the sessions of the user with this id may see. */
  onUserUpdate: (user: string, method: string, params: JsonObject) => void;
}

/** `legacy`: all clients of the old era, as long as the server asks them nothing. */
type SessionHolder = 'shared' | 'client' | 'principal' | 'user' | 'legacy';
type LegacyFields = Pick<Server, 'era' | 'options'>;

/** Who holds the session that a caller uses. Pure. */
export function sessionHolder(server: DecisiveFields & LegacyFields, needsLegacy: () => boolean): SessionHolder {
  const { ownership } = ownershipOf(server);
  if (ownership === 'client') return 'client';
  // The tokens of a user share what they are signed in with, but no state.
  if (hasOwnCredentials(server)) return server.options.sessions === 'principal' ? 'principal' : 'user';
  if (ownership === 'principal') return 'principal';
  return needsLegacy() ? 'legacy' : 'shared';
}

/**
 * A server that speaks both eras asks clients of the old one in the old way only, which a session of the new era
 * cannot carry. Pure.
 */
export function needsLegacySession(
  { options, era: theirs }: LegacyFields,
  { era, isAskable }: Pick<SessionOwner, 'era' | 'isAskable'>,
): boolean {
  return era === 'legacy' && isAskable && theirs === 'modern' && options.protocol !== 'modern';
}

export function createSessionSelection(options: SessionSelectionOptions): SessionSelection {
  const { server, current, config, log, connection, owned, watch, events } = options;
  /** Whether a server speaks the old era shows when it is tried. */
  let isModernOnly = false;

  const needsLegacy = (owner: SessionOwner) => !isModernOnly && needsLegacySession(current(), owner);

  const legacyOwner: SessionOwner = {
    key: 'legacy',
    era: 'legacy',
    isAskable: true,
    leavesSilently: true,
    client: { info: ourInfo, capabilities: everythingAClientCan },
    attribute: events.onRequest,
    onNotification: events.onNotification,
  };

  /** Stands for all clients of one principal, or of one user. */
  function commonOwner(id: string, user: string): SessionOwner {
    return {
      key: principalKey(id),
      isAskable: true,
      leavesSilently: true,
      client: { info: ourInfo, capabilities: everythingAClientCan },
      attribute: events.onRequest,
      onNotification(method, params) {
        if (method === 'notifications/resources/updated') options.onUserUpdate(user, method, params);
      },
    };
  }

  function holderOf({ era, owner }: SessionUser['caller']): SessionHolder {
    return sessionHolder(current(), () => era === 'legacy' && needsLegacy(owner(current())));
  }

  function ownerOf(
    holder: Exclude<SessionHolder, 'shared'>,
    { owner, principal }: SessionUser['caller'],
  ): SessionOwner {
    switch (holder) {
      case 'client':
        return owner(current());
      case 'principal':
        return commonOwner(principal.id, userOf(principal));
      case 'user':
        return commonOwner(userOf(principal), userOf(principal));
      case 'legacy':
        return legacyOwner;
    }
  }

  function session(user: SessionUser): Session | Promise<Session> {
    if (connection.state.phase === 'draining') throw unavailable(current());
    const holder = holderOf(user.caller);
    if (holder !== 'shared') return ownSession(ownerOf(holder, user.caller), user);
    return connection.session !== undefined && executes(current()) ? connection.session : connection.wait(user.signal);
  }

  async function ownSession(owner: SessionOwner, user: SessionUser): Promise<Session> {
    const { signal, ask, caller } = user;
    const principal = hasOwnCredentials(current()) ? userOf(caller.principal) : undefined;
    if (principal !== undefined) requireWanted();
    else if (!owned.has(owner.key) && !executes(current())) await connection.wait(signal);
    const isTried = needsLegacy(owner);
    try {
      return await owned.get(owner, { principal, ask });
    } catch (error) {
      if (!isTried || !isConnectionFailure(error)) throw error;
      log.debug({ server: server.name, error: error.message }, 'the server supports the modern era only');
      isModernOnly = true;
      return await session(user);
    }
  }

  /** With credentials of their own, principals may be able to connect where the shared session cannot. */
  function requireWanted(): void {
    if (connection.state.phase === 'closed' || !config.enabled || current().desired !== 'connected')
      throw unavailable(current());
  }

  return {
    session,

    async subscribe(topic, key, user) {
      const { caller, signal } = user;
      const holder = holderOf(caller);
      if (holder === 'shared' || holder === 'legacy') {
        // What follows a parked server has it started, and keeps it from being parked again.
        await watch.subscribe(topic, key);
        if (connection.session === undefined) await connection.wait(signal);
        return () => watch.unsubscribe(topic, key);
      }
      const principal = hasOwnCredentials(current()) ? userOf(caller.principal) : undefined;
      await session(user);
      return await owned.follow(ownerOf(holder, caller), topic, key, principal);
    },

    eraFor: (owner) => (needsLegacy(owner) ? 'legacy' : undefined),
  };
}

function isConnectionFailure(error: unknown): error is AppError {
  return error instanceof AppError && error.code === 'SERVER_CONNECTION_FAILED';
}

/** Of the session that has one principal's credentials. */
export const principalKey = (principal: string) => `principal:${principal}`;
