/** `/metrics`, and the sources of its values. */
import { z } from 'zod';
import type { Catalog } from '../../catalog/catalog.ts';
import { seesNamed, type View } from '../../catalog/view.ts';
import type { Config } from '../../config/config.ts';
import { metricsContentType as contentType, type Metrics, type ServerMeasure } from '../../metrics.ts';
import type { KeepSeries } from '../../prometheus.ts';
import type { Registry } from '../../registry/registry.ts';
import type { ToolSearch } from '../../search/tool-search.ts';
import type { Audit } from '../../security/audit.ts';
import { isBound } from '../../security/policy.ts';
import type { ToolClassifier } from '../../skills/tool-classifier.ts';
import type { Pool } from '../../upstream/pool.ts';
import { residentMemory } from '../../upstream/process-memory.ts';
import { type AnyRoute, route } from '../route.ts';

export interface MetricsRouteDependencies {
  config: Config;
  metrics: Metrics;
  registry: Registry;
  catalog: Catalog;
  pool: Pool;
  audit: Audit;
  toolSearch: Pick<ToolSearch, 'backlog'>;
  toolClassifier: Pick<ToolClassifier, 'backlog'>;
  /** Of the MCP clients. */
  mcp: { readonly sessions: { legacy: number; listening: number; parked: number } };
}

export function metricsRoutes(deps: MetricsRouteDependencies): AnyRoute[] {
  observe(deps);
  return [
    route({
      method: 'GET',
      path: '/metrics',
      tag: 'state',
      summary: 'Metrics for Prometheus',
      role: deps.config.metricsPublic ? 'public' : 'viewer',
      answers: { 200: { description: 'Metrics in the Prometheus text format', schema: z.string(), contentType } },
      async handle({ principal, view, reply }) {
        reply.type(contentType);
        const isLimited = !deps.config.metricsPublic && isBound(principal);
        return await deps.metrics.render(isLimited ? seriesFor(view, deps.catalog) : undefined);
      },
    }),
  ];
}

/** Tokens that are limited to servers or a profile get only the series of those, and no totals that include others. */
function seriesFor(view: View, catalog: Catalog): KeepSeries {
  const seesTool = seesNamed(view, catalog);
  return (labels) => {
    const server = labels.get('server');
    const tool = labels.get('tool');
    return server !== undefined && view.server(server) && (tool === undefined || seesTool({ name: tool }));
  };
}

function observe(deps: MetricsRouteDependencies): void {
  const { metrics, registry, catalog, pool, audit, toolSearch, toolClassifier, mcp } = deps;
  metrics.watch({
    servers: () => registry.list().map(measure),
    tools() {
      const { tools } = catalog.snapshot;
      return { total: tools.length, classified: tools.filter(({ row }) => row.is_classified).length };
    },
    childMemory: process.platform === 'linux' ? residentMemory : undefined,
    audit: () => audit.backlog,
    pendingChanges: () => catalog.changes.pending,
  });
  metrics.watchBacklog({
    embedding: () => toolSearch.backlog,
    classification: () => toolClassifier.backlog,
  });
  metrics.watchSessions(() => [
    ['session', 'legacy', mcp.sessions.legacy],
    ['listening', 'modern', mcp.sessions.listening],
    ['parked', 'modern', mcp.sessions.parked],
  ]);

  function measure(server: ReturnType<Registry['list']>[number]): ServerMeasure {
    const link = pool.link(server.id);
    return {
      name: server.name,
      status: server.lifecycle.status,
      consecutiveFailures: server.lifecycle.failures,
      login: server.login,
      active: link?.concurrency.active ?? 0,
      queued: link?.concurrency.queued ?? 0,
      sharedSessions: link?.shared === undefined ? 0 : 1,
      clientSessions: link?.ownedSessions ?? 0,
      era: server.era ?? 'unknown',
      childPids: link?.childPids ?? [],
    };
  }
}
