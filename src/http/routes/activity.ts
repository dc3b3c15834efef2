/** `GET /api/v1/aggregator/activity`: the last hours of every server, and the latest calls. */
import { z } from 'zod';
import type { Registry } from '../../registry/registry.ts';
import { maySee } from '../../security/policy.ts';
import type { Pool } from '../../upstream/pool.ts';
import type { Activity } from '../activity.ts';
import { type AnyRoute, route } from '../route.ts';

const sliceView = z.object({
  at: z.string(),
  calls: z.int(),
  failed: z.int(),
  mean_ms: z.number().nullable(),
  max_ms: z.number().nullable(),
  checks_failed: z.int(),
  status: z.string().nullable(),
});

const callView = z.object({
  call_id: z.string(),
  server: z.string(),
  tool: z.string(),
  principal: z.string(),
  outcome: z.string(),
  duration_ms: z.number(),
  at: z.string(),
});

const activityView = z.object({
  slice_seconds: z.int(),
  servers: z.array(
    z.object({
      id: z.string(),
      name: z.string(),
      consecutive_failures: z.int(),
      active_calls: z.int(),
      queued_calls: z.int(),
      slices: z.array(sliceView),
    }),
  ),
  recent_calls: z.array(callView).describe('the newest first'),
  memory_bytes: z.int().describe('resident memory of this process'),
});

export interface ActivityRouteDependencies {
  activity: Activity;
  registry: Registry;
  pool: Pool;
}

export function activityRoutes({ activity, registry, pool }: ActivityRouteDependencies): AnyRoute[] {
  return [
    route({
      method: 'GET',
      path: '/api/v1/aggregator/activity',
      tag: 'state',
      summary: 'Calls and states of the last hours, and the latest calls, as far as this process saw them',
      role: 'viewer',
      answers: { 200: { description: 'Per server, the oldest slice first', schema: activityView } },
      handle({ principal }) {
        const isVisible = (name: string) => maySee(principal, name);
        return {
          slice_seconds: activity.sliceSeconds,
          servers: registry
            .list()
            .filter(({ name }) => isVisible(name))
            .map(({ id, name, lifecycle }) => {
              const gate = pool.link(id)?.gate;
              return {
                id,
                name,
                consecutive_failures: lifecycle.failures,
                active_calls: gate?.active ?? 0,
                queued_calls: gate?.queued ?? 0,
                slices: activity.slices(id, lifecycle.status),
              };
            }),
          recent_calls: activity.recent(isVisible),
          memory_bytes: process.memoryUsage.rss(),
        };
      },
    }),
  ];
}
