/** Recent activity in memory, for the dashboard: calls and states per server in time slices, and the latest calls. */
import type { Changes, FinishedCall } from '../changes.ts';

interface Slice {
  /** ISO 8601, where the slice begins. */
  at: string;
  calls: number;
  failed: number;
  mean_ms: number | null;
  max_ms: number | null;
  checks_failed: number;
  /** The worst state of the server in it; null before we knew the server. */
  status: string | null;
}

interface RecentCall extends Omit<FinishedCall, 'server_id' | 'measured'> {
  phases: { bridge: number; queue: number; connect: number; server: number };
  at: string;
}

export interface Activity {
  readonly sliceSeconds: number;
  /** The slices of a server, the oldest first, up to now. */
  slices(serverId: string, currentStatus: string): Slice[];
  /** The newest first; only those that ended after `after` calls had ended. */
  recent(isVisible: (call: { server: string; tool: string }) => boolean, after?: number): RecentCall[];
  /** How many calls have ended. */
  readonly next: number;
  close(): void;
}

interface Counts {
  calls: number;
  failed: number;
  totalMs: number;
  maxMs: number;
  checksFailed: number;
  /** The worst status in it, and the last. */
  worst: string | undefined;
  last: string | undefined;
}

const sliceMs = 300_000;
const slicesKept = 72;
const callsKept = 1_000;
/** Outcomes that are not failures of the server: it answered, or the caller cancelled. */
const answered = new Set(['ok', 'tool_error', 'cancelled']);
/** CONNECTING ranks low: it is a problem only if the slice has no better state. */
const badness = ['DISCONNECTED', 'DISCONNECTING', 'CONNECTING', 'CONNECTED', 'DEGRADED', 'ERROR'];

export function createActivity(changes: Changes, now: () => number = Date.now): Activity {
  const startedAt = now();
  const servers = new Map<string, Map<number, Counts>>();
  const calls: { call: FinishedCall; at: number }[] = [];
  let ended = 0;

  function countsNow(serverId: string, at = now()): Counts {
    const slot = Math.floor(at / sliceMs);
    const slots = servers.get(serverId) ?? new Map<number, Counts>();
    const known = slots.get(slot);
    if (known !== undefined) return known;
    const counts = nothing();
    servers.set(serverId, slots.set(slot, counts));
    for (const old of slots.keys()) {
      if (old > slot - slicesKept) break;
      slots.delete(old);
    }
    return counts;
  }

  function onFinished(call: FinishedCall): void {
    const { server_id, outcome, duration_ms } = call;
    const at = now();
    const counts = countsNow(server_id, at);
    counts.calls += 1;
    counts.totalMs += duration_ms;
    counts.maxMs = Math.max(counts.maxMs, duration_ms);
    if (!answered.has(outcome)) counts.failed += 1;
    calls[ended % callsKept] = { call, at };
    ended += 1;
  }

  const offs = [
    changes.subscribe('call.finished', onFinished),
    changes.subscribe('server.status', ({ server_id, status, previous }) => {
      const counts = countsNow(server_id);
      counts.worst = worse(counts.worst ?? previous, status);
      counts.last = status;
    }),
    changes.subscribe('server.checked', ({ server_id, failed }) => {
      if (failed) countsNow(server_id).checksFailed += 1;
    }),
    changes.subscribe('server.removed', ({ server_id }) => servers.delete(server_id)),
  ];

  return {
    sliceSeconds: sliceMs / 1_000,
    slices(serverId, currentStatus) {
      const last = Math.floor(now() / sliceMs);
      const first = Math.max(Math.floor(startedAt / sliceMs), last - slicesKept + 1);
      const slots = servers.get(serverId) ?? new Map<number, Counts>();
      // A slice without a change keeps the state of the previous slice.
      let status: string | undefined = slots.size === 0 ? currentStatus : undefined;
      const slices: Slice[] = [];
      for (let slot = first; slot <= last; slot += 1) {
        const counts = slots.get(slot) ?? nothing();
        const shown = counts.worst ?? status ?? null;
        status = counts.last ?? status;
        slices.push(toSlice(slot * sliceMs, counts, shown));
      }
      return slices;
    },
    recent(isVisible, after = 0) {
      const count = Math.min(calls.length, Math.max(0, ended - after));
      const newest = Array.from({ length: count }, (_, place) => calls[(ended - 1 - place) % callsKept]);
      return newest.flatMap((kept) => (kept !== undefined && isVisible(kept.call) ? [toRecent(kept)] : []));
    },
    get next() {
      return ended;
    },
    close() {
      for (const off of offs) off();
    },
  };
}

function toRecent({ call, at }: { call: FinishedCall; at: number }): RecentCall {
  const { server_id: _id, measured: _measured, ...shown } = call;
  return { ...shown, phases: toPhases(call), at: new Date(at).toISOString() };
}

/** What the time of a call went to. What is neither waiting nor the server is ours. */
export function toPhases({ duration_ms, measured }: FinishedCall): RecentCall['phases'] {
  const { admissionMs, queueMs, routingMs, executionMs = 0 } = measured;
  const bridge = admissionMs + Math.max(0, duration_ms - routingMs - executionMs);
  return {
    bridge: rounded(bridge),
    queue: rounded(queueMs),
    connect: rounded(Math.max(0, routingMs - queueMs)),
    server: rounded(executionMs),
  };
}

const rounded = (ms: number) => Math.round(ms * 1_000) / 1_000;

const nothing = (): Counts => ({
  calls: 0,
  failed: 0,
  totalMs: 0,
  maxMs: 0,
  checksFailed: 0,
  worst: undefined,
  last: undefined,
});

function worse(a: string, b: string): string {
  return badness.indexOf(a) > badness.indexOf(b) ? a : b;
}

function toSlice(at: number, { calls, failed, totalMs, maxMs, checksFailed }: Counts, status: string | null): Slice {
  return {
    at: new Date(at).toISOString(),
    calls,
    failed,
    mean_ms: calls === 0 ? null : Math.round((totalMs / calls) * 10) / 10,
    max_ms: calls === 0 ? null : Math.round(maxMs * 10) / 10,
    checks_failed: checksFailed,
    status,
  };
}
