/**
 * The revisions with sessions, 2024-11-05 to 2025-11-25: `initialize` opens one, requests run in it, the server side may
 * ask and notify, and streams can be resumed. A session belongs to the principal that opened it.
 */
import { randomUUID } from 'node:crypto';
import type { Changes } from '../changes.ts';
import type { Config } from '../config/config.ts';
import { AppError } from '../errors.ts';
import type { RpcRequest } from '../json-rpc.ts';
import type { Server } from '../registry/registry.ts';
import type { Principal } from '../security/auth.ts';
import type { Opener } from './legacy-peer.ts';
import {
  createLegacySession,
  type LegacySession,
  type ManagedSession,
  type SessionDependencies,
} from './legacy-session.ts';
import { concerns } from './scope.ts';
import { isIdle, sessionToEvict } from './session-limits.ts';

interface LegacyDependencies extends Omit<SessionDependencies, 'onClosed'> {
  config: Config;
  changes: Changes;
  findServer: (id: string) => Server | undefined;
  /** A session's id says which replica has it. */
  createSessionId?: () => string;
}

export interface LegacyEndpoint {
  /** `initialize`: the session and the answer to the request. */
  open(request: RpcRequest, opener: Opener): LegacySession;
  find(id: string, principal: Principal): LegacySession | undefined;
  readonly sessions: number;
  close(): Promise<void>;
}

export function createLegacyEndpoint(deps: LegacyDependencies): LegacyEndpoint {
  const { config, changes, findServer, createSessionId = randomUUID } = deps;
  const sessions = new Map<string, ManagedSession>();
  const sessionDeps = { ...deps, onClosed: (id: string) => void sessions.delete(id) };
  const sweep = setInterval(closeIdle, Math.min(config.sessionIdleMs / 2, 30_000)).unref();

  const off = [
    changes.subscribe('principal.ended', ({ principal_id: id }) => {
      for (const session of sessions.values()) if (session.principal.id === id) void session.close();
    }),
    changes.subscribe('catalog.changed', (changed) => {
      const server = findServer(changed.server_id);
      for (const session of sessions.values())
        if (concerns(session.scope, server, changed.server_id)) session.handleListChange(changed);
    }),
    changes.subscribe('resource.updated', ({ server_id, uri, principal_id: only }) => {
      for (const session of sessions.values())
        if (only === undefined || session.principal.id === only) session.handleResourceUpdate(server_id, uri);
    }),
  ];

  function closeIdle(): void {
    const since = performance.now() - config.sessionIdleMs;
    for (const session of sessions.values()) if (isIdle(session, since)) void session.close();
  }

  function makeRoom(principal: Principal): void {
    const evicted = sessionToEvict([...sessions.values()], principal.id, config);
    if (evicted === 'full')
      throw new AppError('RATE_LIMITED', 'Too many MCP sessions are open', { retryAfterSeconds: 5 });
    if (evicted !== 'none') void evicted.close();
  }

  return {
    open(request, opener) {
      makeRoom(opener.principal);
      const session = createLegacySession(sessionDeps, createSessionId(), request.params ?? {}, opener);
      sessions.set(session.id, session);
      return session;
    },
    find(id, principal) {
      const session = sessions.get(id);
      if (session?.principal.id !== principal.id) return undefined;
      session.recognise(principal);
      return session;
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
