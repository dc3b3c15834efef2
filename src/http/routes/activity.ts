/** `GET /api/v1/aggregator/activity`: the last hours of every server, and the latest calls; below it, one call in full. */
import { z } from 'zod';
import type { Catalog } from '../../catalog/catalog.ts';
import { AppError } from '../../errors.ts';
import type { Registry } from '../../registry/registry.ts';
import type { Pool } from '../../upstream/pool.ts';
import type { Activity } from '../activity.ts';
import type { Payloads } from '../payloads.ts';
import { type AnyRoute, route } from '../route.ts';
import { seesCall } from '../view.ts';
import { finishedView } from './calls.ts';

const sliceView = z.object({
  at: z.string(),
  calls: z.int(),
  failed: z.int(),
  mean_ms: z.number().nullable(),
  max_ms: z.number().nullable(),
  checks_failed: z.int(),
  status: z.string().nullable(),
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
  recent_calls: z.array(finishedView).describe('newest first'),
  shows_payloads: z.boolean().describe('arguments and results are kept, for admins: MCP_AGGREGATOR_SHOW_PAYLOADS'),
  memory_bytes: z.int().describe('resident memory of this process'),
});

const partView = z.object({
  json: z.string().describe('known secrets are masked; not valid JSON if it was cut'),
  bytes: z.int().describe('size before cutting'),
  cut: z.boolean(),
});

const payloadView = z.object({
  call_id: z.string(),
  arguments: partView,
  result: partView.nullable().describe('null while the call runs and if it failed'),
  error: partView.nullable(),
});

export interface ActivityRouteDependencies {
  activity: Activity;
  /** Undefined if payloads are not kept. */
  payloads: Payloads | undefined;
  registry: Registry;
  catalog: Catalog;
  pool: Pool;
}

export function activityRoutes({ activity, payloads, registry, catalog, pool }: ActivityRouteDependencies): AnyRoute[] {
  return [
    route({
      method: 'GET',
      path: '/api/v1/aggregator/activity',
      tag: 'state',
      summary: 'Get calls and states of the last hours and the latest calls, as seen by this process',
      role: 'viewer',
      answers: { 200: { description: 'Time slices per server, oldest first', schema: activityView } },
      handle({ principal, view }) {
        return {
          slice_seconds: activity.sliceSeconds,
          servers: registry
            .list()
            .filter(({ name }) => view.server(name))
            .map(({ id, name, lifecycle }) => {
              const limit = pool.link(id)?.concurrency;
              return {
                id,
                name,
                consecutive_failures: lifecycle.failures,
                active_calls: limit?.active ?? 0,
                queued_calls: limit?.queued ?? 0,
                slices: activity.slices(id, lifecycle.status),
              };
            }),
          recent_calls: activity.recent(seesCall({ principal, view }, catalog)),
          shows_payloads: payloads !== undefined,
          memory_bytes: process.memoryUsage.rss(),
        };
      },
    }),

    route({
      method: 'GET',
      path: '/api/v1/aggregator/activity/calls/{call_id}',
      tag: 'state',
      summary: 'Get the arguments and the result of a recent call (only with MCP_AGGREGATOR_SHOW_PAYLOADS=true)',
      role: 'admin',
      params: z.object({ call_id: z.string() }),
      answers: {
        200: { description: 'Arguments, and result or error', schema: payloadView },
        404: { description: 'Payloads are not kept, or this call is unknown or no longer kept' },
      },
      handle({ params: { call_id }, principal, view }) {
        if (payloads === undefined) {
          throw new AppError('NOT_FOUND', 'Payloads are not kept: start with MCP_AGGREGATOR_SHOW_PAYLOADS=true');
        }
        const found = payloads.find(call_id);
        if (found === undefined || !seesCall({ principal, view }, catalog)(found)) {
          throw new AppError('NOT_FOUND', `Call not found: ${call_id}; only the latest calls of this process are kept`);
        }
        const { arguments: args, result = null, error = null } = found;
        return { call_id, arguments: args, result, error };
      },
    }),
  ];
}
