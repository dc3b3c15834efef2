/** `POST /api/v1/aggregator/servers/import`: the server list of an MCP client, registered one by one. */
import { z } from 'zod';
import { AppError } from '../../errors.ts';
import { fromClientConfig } from '../../registry/import.ts';
import type { Registry } from '../../registry/registry.ts';
import { type Registration, transportTypes } from '../../registry/server.ts';
import type { Audit } from '../../security/audit.ts';
import type { Fleet } from '../../upstream/fleet.ts';
import { type AnyRoute, route } from '../route.ts';

const outcomes = ['registered', 'would_register', 'already_exists', 'skipped', 'invalid'] as const;

export const importView = z.object({
  dry_run: z.boolean(),
  results: z.array(
    z.object({
      key: z.string().describe('the name in the file'),
      name: z.string().nullable().describe('the name it is registered under'),
      outcome: z.enum(outcomes),
      transport_type: z.enum(transportTypes).nullable(),
      reason: z.string().nullable(),
      warnings: z.array(z.string()),
      server_id: z.string().nullable(),
    }),
  ),
  registered: z.int(),
  already_exists: z.int(),
  invalid: z.int(),
});
type Result = z.infer<typeof importView>['results'][number];

interface ImportRouteDependencies {
  registry: Registry;
  fleet: Fleet;
  audit: Audit;
}

export function importRoutes({ registry, fleet, audit }: ImportRouteDependencies): AnyRoute[] {
  return [
    route({
      method: 'POST',
      path: '/api/v1/aggregator/servers/import',
      tag: 'servers',
      summary: 'Register the servers of an MCP client: the JSON of Claude, Cursor, VS Code or Windsurf',
      role: 'admin',
      query: z.strictObject({ dry_run: z.stringbool({ truthy: ['true', '1'], falsy: ['false', '0'] }).default(false) }),
      body: z.record(z.string(), z.unknown(), { error: 'must be the JSON object of a client, with "mcpServers"' }),
      answers: { 200: { description: 'What became of each server', schema: importView } },
      async handle({ body, query, principal, address, request }) {
        const { servers, problems } = fromClientConfig(body, { self: `http://${request.headers.host}` });
        const results: Result[] = problems.map(({ key, reason, skipped }) => {
          return { ...nothing, key, outcome: skipped ? 'skipped' : 'invalid', reason };
        });
        for (const { key, registration, warnings } of servers) {
          const entry = {
            ...nothing,
            key,
            name: registration.name,
            transport_type: registration.transport_type,
            warnings,
          };
          const outcome = await take(registration, query.dry_run);
          results.push({ ...entry, ...outcome });
          if (outcome.outcome !== 'registered') continue;
          await audit.recordNow({
            event: 'server.registered',
            actor: principal.name,
            ip_address: address,
            server_id: outcome.server_id,
            server_name: registration.name,
            details: { transport_type: registration.transport_type, origin: 'import' },
          });
        }
        const count = (...wanted: Result['outcome'][]) =>
          results.filter(({ outcome }) => wanted.includes(outcome)).length;
        return {
          dry_run: query.dry_run,
          results,
          registered: count('registered'),
          already_exists: count('already_exists'),
          invalid: count('invalid'),
        };
      },
    }),
  ];

  async function take(
    registration: Registration,
    dryRun: boolean,
  ): Promise<Pick<Result, 'outcome' | 'reason' | 'server_id'>> {
    const existing = registry.findByName(registration.name);
    if (existing !== undefined) return { outcome: 'already_exists', reason: null, server_id: existing.id };
    if (dryRun) return { outcome: 'would_register', reason: null, server_id: null };
    try {
      const server = await fleet.register(registration, 'import');
      return { outcome: 'registered', reason: null, server_id: server.id };
    } catch (error) {
      // One server that cannot be registered (the limit, a name taken meanwhile) is its own result, not everybody's.
      if (!(error instanceof AppError)) throw error;
      const outcome = error.code === 'SERVER_ALREADY_EXISTS' ? 'already_exists' : 'invalid';
      return { outcome, reason: error.message, server_id: null };
    }
  }
}

const nothing = { name: null, transport_type: null, reason: null, warnings: [], server_id: null };
