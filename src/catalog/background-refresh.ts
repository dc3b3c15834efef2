/** Discovery that no caller waits for: whether this replica does it now, later or asks another one, and its failure. */
import { describe } from '../errors.ts';
import type { Kind } from './discover.ts';
import type { Discovery, DiscoveryResources } from './discovery.ts';

interface BackgroundRefresh {
  /** A failure goes into the server's history. */
  refresh(serverId: string, which?: readonly Kind[]): void;
  /** The server is healthy again. */
  resume(serverId: string): void;
  forget(serverId: string): void;
  /** Failures are no longer recorded. */
  close(): void;
}

interface BackgroundRefreshDependencies extends Omit<DiscoveryResources, 'db' | 'config'> {
  discovery: Discovery;
  isOurs: (serverId: string) => boolean;
}

export function createBackgroundRefresh(deps: BackgroundRefreshDependencies): BackgroundRefresh {
  const { registry, pool, changes, log, discovery, isOurs } = deps;
  const postponed = new Set<string>();
  let isClosed = false;

  function refresh(serverId: string, which?: readonly Kind[]): void {
    // ST-002: a server that fails its health checks is discovered when it is healthy again.
    if (registry.find(serverId)?.lifecycle.status === 'DEGRADED') return void postponed.add(serverId);
    postponed.delete(serverId);
    if (!isOurs(serverId)) {
      return changes.publish('discovery.requested', { server_id: serverId, kinds: which && [...which] });
    }
    const done = discovery.refresh(serverId, which).catch((error: unknown) => recordFailure(serverId, error));
    void done.then(() => changes.publish('discovery.finished', { server_id: serverId }));
  }

  function recordFailure(serverId: string, error: unknown): void {
    const server = registry.find(serverId);
    if (isClosed || server === undefined) return;
    const text = describe(error);
    const problem = pool.link(serverId)?.mask(text) ?? text;
    log.warn({ server: server.name, error: problem }, 'discovery failed');
    registry.record(serverId, 'DISCOVERY_FAILED', { error: problem });
    registry.recordDiscovery(serverId, `discovery failed: ${problem}`);
  }

  return {
    refresh,
    resume(serverId) {
      if (postponed.has(serverId) && isOurs(serverId)) refresh(serverId);
    },
    forget: (serverId) => void postponed.delete(serverId),
    close() {
      isClosed = true;
    },
  };
}
