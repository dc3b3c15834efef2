/**
 * The revisions with sessions, 2024-11-05 to 2025-11-25: `initialize` opens one, requests run in it, the server side may
 * ask and notify, and streams can be resumed. A session belongs to the principal that opened it.
 */
import type { Changes } from '../changes.ts';
import type { Config } from '../config/config.ts';
import { AppError } from '../errors.ts';
import type { JsonObject } from '../json-rpc.ts';
import type { Server } from '../registry/registry.ts';
import type { Principal } from '../security/auth.ts';
import { userOf } from '../security/policy.ts';
import type { Opener } from './legacy-peer.ts';
import {
  createLegacySession,
  type LegacySession,
  type ManagedSession,
  type SessionBeginning,
  type SessionDependencies,
} from './legacy-session.ts';
import { concerns, type ScopeOf } from './scope.ts';
import type { SessionIds } from './session-ids.ts';
import { isIdle, sessionToEvict } from './session-limits.ts';
import { isUnknownNotification } from './session-notices.ts';
import type { SessionRecords } from './session-records.ts';

interface LegacyDependencies extends Omit<SessionDependencies, 'onClosed' | 'onDetails'> {
  config: Config;
  changes: Changes;
  findServer: (id: string) => Server | undefined;
  sessionIds: SessionIds;
  records: SessionRecords;
}

interface Reopener {
  principal: Principal;
  address: string;
  scopeOf: ScopeOf;
  /** A replica that does not have the session, although its id names it. */
  except?: string;
}

export interface LegacyEndpoint {
  /** `initialize`. */
  open(params: JsonObject, opener: Opener): LegacySession;
  find(id: string, principal: Principal): LegacySession | undefined;
  /** Opens a session again that was opened before a restart or at another replica; else where it is, or undefined. */
  reopen(id: string, reopener: Reopener): Promise<LegacySession | { replica: string } | undefined>;
  /** DELETE: it cannot be opened again. */
  end(id: string, session: LegacySession): Promise<void>;
  readonly sessions: number;
  close(): Promise<void>;
}

export function createLegacyEndpoint(deps: LegacyDependencies): LegacyEndpoint {
  const { config, changes, findServer, sessionIds, records } = deps;
  const sessions = new Map<string, ManagedSession>();
  const sessionDeps = { ...deps, onClosed: (id: string) => void sessions.delete(id), onDetails: records.save };
  const reopening = new Map<string, Promise<ManagedSession | { replica: string } | undefined>>();
  const sweep = setInterval(closeIdle, Math.min(config.sessionIdleMs / 2, config.clientReturnMs / 4, 30_000)).unref();

  const off = [
    changes.subscribe('principal.ended', ({ principal_id: id }) => {
      for (const session of sessions.values()) if (session.principal.id === id) void session.close();
    }),
    changes.subscribe('catalog.changed', (changed) => {
      const server = findServer(changed.server_id);
      for (const session of sessions.values()) {
        if (changed.owner_key !== undefined && changed.owner_key !== session.ownerKey) continue;
        if (concerns(session.scope, server, changed.server_id)) session.handleListChange(changed);
      }
    }),
    changes.subscribe('server.notified', ({ server_id, method, params, owner_key }) => {
      // The others have topics of their own, or went to the call or the client that they belong to.
      if (owner_key !== undefined || !isUnknownNotification(method)) return;
      const server = findServer(server_id);
      for (const session of sessions.values())
        if (server !== undefined && concerns(session.scope, server, server_id))
          session.handleNotification(method, params);
    }),
    changes.subscribe('resource.updated', ({ server_id, uri, principal_id: only }) => {
      for (const session of sessions.values())
        if (only === undefined || userOf(session.principal) === only) session.handleResourceUpdate(server_id, uri);
    }),
  ];

  function closeIdle(): void {
    const now = performance.now();
    for (const session of sessions.values()) if (isIdle(session, now, config)) void session.close();
  }

  function makeRoom(principal: Principal): void {
    const evicted = sessionToEvict([...sessions.values()], principal.id, config);
    if (evicted === 'full')
      throw new AppError('RATE_LIMITED', 'Too many MCP sessions are open', { retryAfterSeconds: 5 });
    if (evicted !== 'none') void evicted.close();
  }

  function add(beginning: SessionBeginning, opener: Opener): ManagedSession {
    makeRoom(opener.principal);
    const session = createLegacySession(sessionDeps, beginning, opener);
    sessions.set(session.id, session);
    return session;
  }

  function find(id: string, principal: Principal): ManagedSession | undefined {
    const session = sessions.get(id);
    if (session?.principal.id !== principal.id) return undefined;
    session.recognise(principal);
    return session;
  }

  async function reopen(id: string, reopener: Reopener): Promise<ManagedSession | { replica: string } | undefined> {
    const { principal, address, scopeOf, except } = reopener;
    const seed = sessionIds.open(id);
    if (seed === undefined || seed.principal !== principal.id) return undefined;
    const claim = await records.claim(seed, except);
    if (claim.kind === 'ended') return undefined;
    if (claim.kind === 'elsewhere') return { replica: claim.replica };
    const scope = (seenBy: Principal, ownerKey: string) => scopeOf(seed.offer, seenBy, () => ownerKey);
    return add(
      { id, seed, restored: claim.details },
      { principal, address, offer: seed.offer, kind: 'streamable', scope },
    );
  }

  return {
    open: (params, opener) =>
      add(sessionIds.create({ principal: opener.principal.id, offer: opener.offer, params }), opener),
    find,
    async reopen(id, reopener) {
      // Of several requests at once, the first opens it.
      const begun = reopening.get(id) ?? reopen(id, reopener).finally(() => reopening.delete(id));
      reopening.set(id, begun);
      const found = await begun;
      return found === undefined || 'replica' in found ? found : find(id, reopener.principal);
    },
    async end(id, session) {
      const seed = sessionIds.open(id);
      if (seed !== undefined) await records.end(seed);
      await session.close();
    },
    get sessions() {
      return sessions.size;
    },
    async close() {
      clearInterval(sweep);
      for (const stop of off) stop();
      await Promise.all([...sessions.values()].map((session) => session.close()));
    },
  };
}
