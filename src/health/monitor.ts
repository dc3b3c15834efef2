/** Checks every connected server in parallel, each at its own interval (BR-006, EC-010). */
import type { Changes } from '../changes.ts';
import type { ErrorCode } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { Registry, Server } from '../registry/registry.ts';
import type { Link } from '../upstream/link.ts';
import type { Pool } from '../upstream/pool.ts';
import { probeSession, probeUrl } from './probe.ts';
import { judge, type ProbeOutcome } from './verdict.ts';

interface HealthMonitor {
  /** Runs a check immediately and returns its result. */
  check(serverId: string): Promise<ProbeOutcome | undefined>;
  close(): void;
}

interface HealthDependencies {
  registry: Registry;
  pool: Pool;
  changes: Changes;
  log: Logger;
  intervalMs: number;
  /** False if another replica checks this server. */
  isOurs?: (server: Server) => boolean;
}

export function createHealthMonitor(deps: HealthDependencies): HealthMonitor {
  const { registry, pool, changes, log, intervalMs } = deps;
  const due = new Map<string, number>();
  const running = new Set<string>();
  const timer = setInterval(look, Math.min(1_000, Math.max(20, intervalMs / 4))).unref();

  function look(): void {
    // Monotonic time, because the system clock may jump.
    const now = performance.now();
    for (const id of due.keys()) if (pool.link(id) === undefined) due.delete(id);
    for (const link of pool.links()) {
      const { id } = link.server;
      if (link.shared === undefined || deps.isOurs?.(link.server) === false) {
        due.delete(id);
        continue;
      }
      // The first check is at a random time within the interval, so that not all servers are checked at once.
      const at = due.get(id) ?? now + intervalMs * (0.5 + Math.random() / 2);
      due.set(id, at);
      if (at > now || running.has(id)) continue;
      due.set(id, now + intervalMs * (0.9 + Math.random() * 0.2));
      void check(id);
    }
  }

  async function check(id: string): Promise<ProbeOutcome | undefined> {
    const link = pool.link(id);
    const session = link?.shared;
    if (link === undefined || session === undefined) return undefined;
    running.add(id);
    const { health_check_url: url } = link.server;
    const outcome = await (url === null ? probeSession(session) : probeUrl(url));
    running.delete(id);
    if (link.shared === session) {
      report(link.server, outcome);
      conclude(link, outcome);
    }
    return outcome;
  }

  function report({ id, name, transport_type }: Server, outcome: ProbeOutcome): void {
    const ms = 'ms' in outcome ? outcome.ms : undefined;
    changes.publish('server.checked', { server_id: id, name, ms, failed: judge(outcome).health === 'failed' });
    // Each replica has its own child process; servers over HTTP are shared.
    if (transport_type !== 'STDIO') changes.publish('health.checked', { server_id: id, outcome });
  }

  function conclude(link: Link, outcome: ProbeOutcome): void {
    const { server, shared } = link;
    const verdict = judge(outcome);
    registry.recordHealth(server.id, new Date().toISOString());
    if (verdict.health === 'passed') return void registry.apply(server.id, 'health_passed');
    const reason = link.mask(verdict.reason);
    log.warn({ server: server.name, reason, counted: verdict.health === 'failed' }, 'health check');
    if (verdict.health === 'misconfigured') return;
    const next = registry.apply(server.id, 'health_failed', {
      error: `health check failed: ${reason}`,
      details: { error_code: 'HEALTH_CHECK_FAILED' satisfies ErrorCode },
    });
    if (next?.status === 'ERROR' && shared !== undefined) void link.reportLost(shared, new Error(reason));
  }

  const off = changes.follow('health.checked', ({ server_id, outcome }) => {
    const link = pool.link(server_id);
    if (link?.shared !== undefined) conclude(link, outcome);
  });

  return {
    check,
    close() {
      off();
      clearInterval(timer);
    },
  };
}
