/** When the lists of a server are discovered again after it said that they changed. */
import type { Kind } from './discover.ts';

const debounceMs = 100;
const maxWaitMs = 10_000;
const calmMs = 10_000;
/** In one task, a client may enable several tools one after the other. */
const promptTurns = 5;

interface Pace {
  /** How often the lists were read since the server was calm. */
  turns: number;
  waitMs: number;
  dueAt: number;
}

/** A server that says all the time that its lists changed is asked for them ever less often. */
export function nextPace(last: Pace | undefined, now: number): Pace {
  const isCalm = last === undefined || now - last.dueAt > calmMs;
  const turns = isCalm ? 1 : last.turns + 1;
  const waitMs = isCalm || turns <= promptTurns ? debounceMs : Math.min(last.waitMs * 2, maxWaitMs);
  return { turns, waitMs, dueAt: now + waitMs };
}

interface RefreshSchedule {
  add(serverId: string, which: readonly Kind[]): void;
  forget(serverId: string): void;
  close(): void;
}

export function createRefreshSchedule(refresh: (serverId: string, which: readonly Kind[]) => void): RefreshSchedule {
  const waiting = new Map<string, { kinds: Set<Kind>; timer: NodeJS.Timeout }>();
  const paces = new Map<string, Pace>();
  return {
    add(serverId, which) {
      const scheduled = waiting.get(serverId);
      if (scheduled !== undefined) {
        for (const kind of which) scheduled.kinds.add(kind);
        return;
      }
      const kinds = new Set(which);
      const pace = nextPace(paces.get(serverId), performance.now());
      paces.set(serverId, pace);
      const timer = setTimeout(() => {
        waiting.delete(serverId);
        refresh(serverId, [...kinds]);
      }, pace.waitMs);
      waiting.set(serverId, { kinds, timer });
    },
    forget: (serverId) => void paces.delete(serverId),
    close() {
      for (const { timer } of waiting.values()) clearTimeout(timer);
    },
  };
}
