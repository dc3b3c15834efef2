/** `/api/v1/aggregator/calls`: the calls that run now, which can be cancelled, and the latest that ended. */
import { z } from 'zod';
import type { Catalog } from '../../catalog/catalog.ts';
import { AppError } from '../../errors.ts';
import type { Router, RunningCall } from '../../routing/router.ts';
import type { Audit } from '../../security/audit.ts';
import type { Principal } from '../../security/auth.ts';
import type { Activity } from '../activity.ts';
import type { Payloads } from '../payloads.ts';
import { type AnyRoute, route } from '../route.ts';
import { seesCall } from '../view.ts';

const callView = z.object({
  call_id: z.string(),
  server: z.string(),
  tool: z.string(),
  principal: z.string(),
  client: z.string().nullable().describe('the name that an MCP client gives itself; null for REST'),
});

const runningView = callView.extend({
  started_at: z.string(),
  running_ms: z.number(),
  phase: z.enum(['queue', 'connect', 'server']).describe('what it waits for'),
  can_cancel: z.boolean(),
});

export const finishedView = callView.extend({
  outcome: z.string(),
  error_code: z.string().nullable(),
  duration_ms: z.number(),
  phases: z
    .object({ bridge: z.number(), queue: z.number(), connect: z.number(), server: z.number() })
    .describe('milliseconds: in the aggregator, waiting for a place, waiting for a session, at the server'),
  at: z.string().describe('when it ended'),
});

const callsView = z.object({
  running: z.array(runningView).describe('of this replica, the oldest first'),
  recent: z.array(finishedView).describe('of this replica, the newest first'),
  next: z.int().describe('ask with `after` for what ended since'),
  shows_payloads: z.boolean().describe('arguments and results are kept, for admins: MCP_AGGREGATOR_SHOW_PAYLOADS'),
});

export interface CallRouteDependencies {
  router: Router;
  activity: Activity;
  catalog: Catalog;
  audit: Audit;
  payloads: Payloads | undefined;
}

/** Callers cancel their own calls, admins all that they see. */
const mayCancel = ({ role, id }: Principal, { principalId }: RunningCall) =>
  role === 'admin' || (role === 'caller' && id === principalId);

export function callRoutes({ router, activity, catalog, audit, payloads }: CallRouteDependencies): AnyRoute[] {
  return [
    route({
      method: 'GET',
      path: '/api/v1/aggregator/calls',
      tag: 'state',
      summary: 'List running calls and the latest calls, as seen by this process',
      role: 'viewer',
      query: z.strictObject({
        after: z.coerce.number().int().min(0).default(0).describe('`next` of an earlier answer'),
        limit: z.coerce.number().int().min(0).max(1_000).default(200),
      }),
      answers: { 200: { description: 'The calls', schema: callsView } },
      handle({ query: { after, limit }, principal, view }) {
        const sees = seesCall({ principal, view }, catalog);
        const running = [...router.running].filter(({ event }) => sees(event));
        return {
          running: running.map((call) => ({ ...toRunning(call), can_cancel: mayCancel(principal, call) })),
          recent: activity.recent(sees, after).slice(0, limit),
          next: activity.next,
          shows_payloads: payloads !== undefined,
        };
      },
    }),

    route({
      method: 'DELETE',
      path: '/api/v1/aggregator/calls/{call_id}',
      tag: 'state',
      summary: 'Cancel a running call; callers can cancel their own, admins all',
      role: 'caller',
      params: z.object({ call_id: z.string().min(1) }),
      answers: {
        204: { description: 'The server is told, and the caller is answered that the call was cancelled' },
        404: { description: 'The call is not running (any more) in this process' },
      },
      async handle({ params: { call_id }, principal, view, address, reply }) {
        const sees = seesCall({ principal, view }, catalog);
        const found = [...router.running].find(({ event }) => event.call_id === call_id && sees(event));
        if (found === undefined) throw new AppError('NOT_FOUND', `Call not found: ${call_id}; it is not running`);
        const { event, cancellation } = found;
        if (!mayCancel(principal, found))
          throw new AppError('FORBIDDEN', `The call of ${event.tool} belongs to ${event.principal}`);
        cancellation.abort(new AppError('CALL_CANCELLED', `The call was cancelled by ${principal.name}`));
        await audit.recordNow({
          event: 'call.cancelled',
          actor: principal.name,
          ip_address: address,
          server_id: event.server_id,
          server_name: event.server,
          details: { tool: event.tool, call_id, principal: event.principal },
        });
        reply.status(204);
      },
    }),
  ];
}

function toRunning({ event, startedAt, timing }: RunningCall) {
  const { server_id: _id, ...shown } = event;
  const runningMs = performance.now() - startedAt;
  const phase = timing.admittedAt === undefined ? 'queue' : timing.acquiredAt === undefined ? 'connect' : 'server';
  return {
    ...shown,
    started_at: new Date(Date.now() - runningMs).toISOString(),
    running_ms: Math.round(runningMs),
    phase,
  } as const;
}
