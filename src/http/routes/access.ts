/** `/api/v1/tokens` and `/api/v1/audit`. */
import { Readable } from 'node:stream';
import { z } from 'zod';
import { AppError } from '../../errors.ts';
import type { Registry } from '../../registry/registry.ts';
import type { Audit } from '../../security/audit.ts';
import type { Authenticator } from '../../security/auth.ts';
import { isBound, isWithin, limitsOf } from '../../security/policy.ts';
import { type AnyRoute, type RouteContext, route } from '../route.ts';

const tokenView = z.object({
  id: z.string(),
  name: z.string(),
  role: z.enum(['admin', 'caller', 'viewer']),
  servers: z.array(z.string()).nullable(),
  profile: z.string().nullable(),
  created_at: z.string(),
  last_used_at: z.string().nullable(),
  expires_at: z.string().nullable(),
  created_by: z.string(),
});

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

export const newToken = z.strictObject({
  name: z.string().min(1).max(255),
  role: z.enum(['admin', 'caller', 'viewer']).default('caller'),
  servers: z
    .array(z.string().min(1))
    .min(1)
    .max(1_000)
    .nullish()
    .describe('limits the token to these servers, by name'),
  profile: z.string().min(1).nullish().describe('limits the token to this profile'),
  expires_at: z.iso.datetime({ offset: true }).nullish(),
});

export interface AccessRouteDependencies {
  authenticator: Authenticator;
  audit: Audit;
  registry: Registry;
}

export function accessRoutes({ authenticator, audit, registry }: AccessRouteDependencies): AnyRoute[] {
  /** Undefined means all servers. Names in a token's list are kept after the server is removed. */
  function auditedServers({ principal, view }: Pick<RouteContext<never, never, never>, 'principal' | 'view'>) {
    if (!isBound(principal)) return undefined;
    const names = principal.servers ?? registry.list().map(({ name }) => name);
    return [...names].filter(view.server);
  }

  return [
    route({
      method: 'POST',
      path: '/api/v1/tokens',
      tag: 'access',
      summary: 'Create a token; its secret is shown only once',
      role: 'admin',
      body: newToken,
      answers: { 201: { description: 'The token', schema: tokenView.extend({ token: z.string() }) } },
      async handle({ body, principal, address, reply }) {
        const { name, role, servers = null, profile = null, expires_at: expiresAt } = body;
        if (!isWithin(principal, { servers, profile })) {
          const limits = limitsOf(principal);
          throw new AppError(
            'FORBIDDEN',
            `${principal.name} is limited to ${limits}; tokens that it creates must have the same limits`,
          );
        }
        const { token, row } = await authenticator.createToken(
          { name, role, servers, profile, expiresAt },
          principal.name,
        );
        await audit.recordNow({
          event: 'token.created',
          actor: principal.name,
          ip_address: address,
          details: { token_id: row.id, name, role, servers, profile },
        });
        reply.status(201);
        return { ...row, token };
      },
    }),

    route({
      method: 'GET',
      path: '/api/v1/tokens',
      tag: 'access',
      summary: 'List tokens, without their secrets',
      role: 'admin',
      answers: { 200: { description: 'The tokens', schema: z.object({ tokens: z.array(tokenView), total: z.int() }) } },
      handle({ principal }) {
        const seen = authenticator.listTokens().filter((token) => isWithin(principal, token));
        const tokens = seen.sort((a, b) => (a.created_at < b.created_at ? -1 : 1));
        return { tokens, total: tokens.length };
      },
    }),

    route({
      method: 'DELETE',
      path: '/api/v1/tokens/{id}',
      tag: 'access',
      summary: 'Revoke a token immediately',
      role: 'admin',
      params: z.object({ id: z.string().min(1) }),
      answers: { 204: { description: 'Revoked' }, 404: { description: 'Token not found' } },
      async handle({ params, principal, address, reply }) {
        const token = authenticator.listTokens().find(({ id }) => id === params.id);
        const isTheirs = !isBound(principal) || (token !== undefined && isWithin(principal, token));
        if (!isTheirs || !(await authenticator.revokeToken(params.id)))
          throw new AppError('NOT_FOUND', `Token not found: ${params.id}`);
        await audit.recordNow({
          event: 'token.revoked',
          actor: principal.name,
          ip_address: address,
          details: { token_id: params.id },
        });
        reply.status(204);
      },
    }),

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
