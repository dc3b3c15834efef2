/** Reconnects failed servers that were not disconnected by an admin (EC-001). */
import type { Changes } from '../changes.ts';
import type { Registry } from '../registry/registry.ts';
import type { Pool } from '../upstream/pool.ts';

const scheduleMs = [1_000, 2_000, 4_000, 8_000, 16_000];
const steadyMs = 60_000;
const jitter = 0.2;
/** After a connection of this duration, reconnect immediately and restart the backoff schedule. */
const goodLifeMs = 10_000;

export function reconnectDelayMs(attempt: number, random: number): number {
  const base = scheduleMs[attempt] ?? steadyMs;
  return Math.round(base * (1 - jitter + 2 * jitter * random));
}

interface Reconnector {
  close(): void;
}

interface ReconnectState {
  attempt: number;
  /** A connection was lost and no attempt has followed yet: the history has one entry for each loss. */
  isLost: boolean;
  connectedAt?: number;
  timer?: NodeJS.Timeout;
}

export function createReconnector(deps: { registry: Registry; pool: Pool; changes: Changes }): Reconnector {
  const states = new Map<string, ReconnectState>();

  const offStatus = deps.changes.subscribe('server.status', ({ server_id: id, status, previous }) => {
    const state = states.get(id) ?? { attempt: 0, isLost: false };
    states.set(id, state);
    clearTimeout(state.timer);
    if (status === 'CONNECTED' && previous === 'CONNECTING') state.connectedAt = performance.now();
    if (status === 'DISCONNECTED') states.delete(id);
    if (status !== 'ERROR') return;
    state.isLost ||= previous !== 'CONNECTING';
    const wasGood = state.connectedAt !== undefined && performance.now() - state.connectedAt >= goodLifeMs;
    if (wasGood) state.attempt = 0;
    const wait = wasGood ? 0 : reconnectDelayMs(state.attempt++, Math.random());
    state.connectedAt = undefined;
    state.timer = setTimeout(() => reconnect(id), wait).unref();
  });
  const offRemoved = deps.changes.subscribe('server.removed', ({ server_id }) => {
    clearTimeout(states.get(server_id)?.timer);
    states.delete(server_id);
  });

  function reconnect(id: string): void {
    const server = deps.registry.find(id);
    if (server?.desired !== 'connected' || server.lifecycle.status !== 'ERROR') return;
    const state = states.get(id);
    if (state?.isLost) deps.registry.record(id, 'RECONNECT', { reason: server.error_message });
    if (state !== undefined) state.isLost = false;
    deps.pool.open(server).connect(1);
  }

  return {
    close() {
      offStatus();
      offRemoved();
      for (const { timer } of states.values()) clearTimeout(timer);
    },
  };
}
