/** Which sessions end so that others can open: decided from how they are used, without effects. */

export interface SessionUse {
  readonly principal: { readonly id: string };
  /** On the clock of `performance.now()`: a clock that jumps must not end every session. */
  readonly usedAt: number;
  /** Its client waits for something that would be lost. */
  isBusy(): boolean;
  /** Its client is connected, though it may not ask for anything. */
  isListening(): boolean;
  /** It was connected before: that it no longer is shows that it left. */
  hasListened(): boolean;
}

interface SessionLimits {
  maxSessions: number;
  maxSessionsPerPrincipal: number;
}

interface IdleTimes {
  sessionIdleMs: number;
  clientReturnMs: number;
}

/**
 * Clients that never close their sessions must not keep others out: the session idle longest ends, those with an open
 * stream last. `full`: all of them are busy.
 */
export function sessionToEvict<S extends SessionUse>(
  sessions: readonly S[],
  principalId: string,
  { maxSessions, maxSessionsPerPrincipal }: SessionLimits,
): S | 'none' | 'full' {
  const own = sessions.filter((session) => session.principal.id === principalId);
  const crowded = own.length >= maxSessionsPerPrincipal ? own : sessions.length >= maxSessions ? sessions : [];
  if (crowded.length === 0) return 'none';
  const [oldest] = crowded
    .filter((session) => !session.isBusy())
    .sort((a, b) => Number(a.isListening()) - Number(b.isListening()) || a.usedAt - b.usedAt);
  return oldest ?? 'full';
}

export function isIdle(session: SessionUse, now: number, { sessionIdleMs, clientReturnMs }: IdleTimes): boolean {
  if (session.isBusy() || session.isListening()) return false;
  const idleMs = session.hasListened() ? Math.min(clientReturnMs, sessionIdleMs) : sessionIdleMs;
  return now - session.usedAt >= idleMs;
}
