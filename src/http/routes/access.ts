/** `/api/v1/aggregator/audit`. */
import { Readable } from 'node:stream';
import { z } from 'zod';
import type { Registry } from '../../registry/registry.ts';
import type { Audit } from '../../security/audit.ts';
import { isBound } from '../../security/policy.ts';
import { type AnyRoute, type RouteContext, route } from '../route.ts';

const auditView = z.object({
  id: z.int(),
  event: z.string(),
  actor: z.string(),
  timestamp: z.string(),
  ip_address: z.string().nullable(),
  server_id: z.string().nullable(),
  server_name: z.string().nullable(),
  details: z.record(z.string(), z.unknown()).nullable(),
});

const place = z.object({ seq: z.int(), hash: z.string() });

const verdictView = z.object({
  intact: z.boolean(),
  records: z.int(),
  unsealed: z.int().describe('records written before records were sealed'),
  anchor: place.describe('start of the chain: the last record that retention removed'),
  head: place.nullable().describe('the newest record; store it elsewhere to detect a database that was rolled back'),
  problem: z
    .object({ kind: z.string(), seq: z.int().nullable(), id: z.int().nullable(), explanation: z.string() })
    .optional(),
});

export interface AccessRouteDependencies {
  audit: Audit;
  registry: Registry;
}

export function accessRoutes({ audit, registry }: AccessRouteDependencies): AnyRoute[] {
  /** Undefined means all servers. Names in a token's list are kept after the server is removed. */
  function auditedServers({ principal, view }: Pick<RouteContext<never, never, never>, 'principal' | 'view'>) {
    if (!isBound(principal)) return undefined;
    const names = principal.servers ?? registry.list().map(({ name }) => name);
    return [...names].filter(view.server);
  }

  return [
    route({
      method: 'GET',
      path: '/api/v1/aggregator/audit',
      tag: 'access',
      summary: 'List audit records, newest first',
      role: 'admin',
      query: z.strictObject({
        event: z.string().optional(),
        actor: z.string().optional(),
        server_name: z.string().optional(),
        server_id: z.string().optional(),
        contains: z.string().max(255).optional().describe('in the event, the actor or the name of the server'),
        kind: z.enum(['calls', 'changes']).optional().describe('calls of tools, or all other events'),
        since: z.iso.datetime({ offset: true }).optional(),
        until: z.iso.datetime({ offset: true }).optional(),
        limit: z.coerce.number().int().min(1).max(1_000).default(100),
        before: z.coerce.number().int().min(1).optional().describe('the ID of the last record of the previous page'),
      }),
      answers: { 200: { description: 'The records', schema: z.object({ audit: z.array(auditView) }) } },
      async handle({ query, principal, view }) {
        return { audit: await audit.find({ ...query, server_names: auditedServers({ principal, view }) }) };
      },
    }),

    route({
      method: 'GET',
      path: '/api/v1/aggregator/audit/verify',
      tag: 'access',
      summary: 'Verify the audit; finds the first record that was changed, removed or inserted',
      role: 'admin',
      unbound: true,
      answers: { 200: { description: 'The result', schema: verdictView } },
      handle: () => audit.verify(),
    }),

    route({
      method: 'GET',
      path: '/api/v1/aggregator/audit/export',
      tag: 'access',
      summary: 'Export the audit with its seals, one JSON record per line, oldest first',
      role: 'admin',
      unbound: true,
      query: z.strictObject({
        since: z.iso.datetime({ offset: true }).optional(),
        until: z.iso.datetime({ offset: true }).optional(),
      }),
      answers: { 200: { description: 'NDJSON', schema: z.string(), contentType: 'application/x-ndjson' } },
      async handle({ query: { since, until }, principal, address, reply }) {
        const range = { since: inUtc(since), until: inUtc(until) };
        const actor = principal.name;
        await audit.recordNow({ event: 'audit.exported', actor, ip_address: address, details: range });
        reply.type('application/x-ndjson').header('content-disposition', 'attachment; filename="audit.ndjson"');
        return reply.send(Readable.from(toLines(audit.export(range))));
      },
    }),
  ];
}

/** Stored times are compared as text. */
function inUtc(time: string | undefined): string | undefined {
  return time === undefined ? undefined : new Date(time).toISOString();
}

async function* toLines(records: AsyncIterable<unknown>): AsyncGenerator<string> {
  for await (const record of records) yield `${JSON.stringify(record)}\n`;
}
