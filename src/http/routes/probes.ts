/** `/livez` and `/readyz`: what orchestrators and load balancers ask. */
import { z } from 'zod';
import type { Registry } from '../../registry/registry.ts';
import type { Readiness } from '../readiness.ts';
import { type AnyRoute, route } from '../route.ts';

export interface ProbeRouteDependencies {
  registry: Registry;
  readiness: Readiness;
  startedAt: number;
}

export function probeRoutes({ registry, readiness, startedAt }: ProbeRouteDependencies): AnyRoute[] {
  return [
    route({
      method: 'GET',
      path: '/livez',
      tag: 'state',
      summary: 'Whether the process works; without a token',
      role: 'public',
      answers: { 200: { description: 'The process works', schema: livenessView } },
      handle: () => ({ status: 'alive', uptime_seconds: Math.floor((Date.now() - startedAt) / 1_000) }),
    }),
    route({
      method: 'GET',
      path: '/readyz',
      tag: 'state',
      summary: 'Whether the process takes calls; for load balancers, without a token',
      role: 'public',
      answers: {
        200: { description: 'It takes calls', schema: readinessView },
        503: { description: 'It is starting, or shuts down', schema: readinessView },
      },
      handle({ reply }) {
        const { phase } = readiness;
        // The database is not asked: calls need none, so a replica without it is better than no replica.
        if (phase !== 'ready') reply.status(503);
        const servers = registry.list();
        const connected = servers.filter(
          ({ lifecycle: { status } }) => status === 'CONNECTED' || status === 'DEGRADED',
        );
        return { status: phase, servers: { total: servers.length, connected: connected.length } };
      },
    }),
  ];
}

const livenessView = z.object({ status: z.literal('alive'), uptime_seconds: z.int() });

const readinessView = z.object({
  status: z.enum(['ready', 'starting', 'draining']),
  servers: z.object({ total: z.int(), connected: z.int() }),
});
