/** `POST /api/v1/aggregator/servers/import`: the server list of an MCP client, registered one by one. */
import { existsSync } from 'node:fs';
import { z } from 'zod';
import { AppError, describe, ValidationError } from '../../errors.ts';
import { homeOf } from '../../home.ts';
import { type ClientConfigFile, findClientConfigs, readClientFile } from '../../registry/client-files.ts';
import { freeName, fromClientConfig } from '../../registry/import.ts';
import type { Registry } from '../../registry/registry.ts';
import { type Registration, transportTypes } from '../../registry/server.ts';
import type { Audit } from '../../security/audit.ts';
import type { Fleet } from '../../upstream/fleet.ts';
import { type AnyRoute, type RouteContext, route } from '../route.ts';

const outcomes = ['registered', 'would_register', 'already_exists', 'skipped', 'invalid'] as const;

export const importView = z.object({
  dry_run: z.boolean(),
  results: z.array(
    z.object({
      key: z.string().describe('the name in the file'),
      name: z.string().nullable().describe('the name that it is or would be registered under'),
      outcome: z.enum(outcomes).describe('already_exists: a server with the same connection is registered'),
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
const path = '/api/v1/aggregator/servers/import';
const foundView = importView
  .pick({ results: true })
  .extend({ client: z.string(), path: z.string(), problem: z.string().nullable() });
type ImportResult = z.infer<typeof importView>['results'][number];

interface ImportRouteDependencies {
  registry: Registry;
  fleet: Fleet;
  audit: Audit;
  /** The environment of this process; the location of client files depends on it. */
  environment: Readonly<NodeJS.ProcessEnv>;
}

type Importer = Pick<RouteContext<never, never, never>, 'principal' | 'address' | 'request' | 'from'>;

export function importRoutes({ registry, fleet, audit, environment }: ImportRouteDependencies): AnyRoute[] {
  return [
    route({
      method: 'POST',
      path,
      tag: 'servers',
      summary: 'Register the servers of an MCP client: the JSON of Claude, Cursor, VS Code or Windsurf',
      role: 'admin',
      unbound: true,
      query: z.strictObject({ dry_run: z.stringbool({ truthy: ['true', '1'], falsy: ['false', '0'] }).default(false) }),
      body: z.record(z.string(), z.unknown(), { error: 'must be the JSON object of a client, with "mcpServers"' }),
      answers: { 200: { description: 'The result for each server', schema: importView } },
      handle: (context) => importServers(context.body, context.query.dry_run, context),
    }),

    route({
      method: 'GET',
      path: `${path}/found`,
      tag: 'servers',
      summary: 'List the servers of the MCP clients on the host of the aggregator, with a preview of their import',
      role: 'admin',
      unbound: true,
      answers: {
        200: {
          description: 'One entry per client file',
          schema: z.object({ files: z.array(foundView) }),
        },
      },
      async handle(context) {
        const files = [];
        for (const known of knownFiles().filter(({ path: file }) => existsSync(file))) {
          const { client, path: file } = known;
          const { json, problem } = readIfReadable(known);
          const { results } = problem === null ? await importServers(json, true, context, known) : { results: [] };
          // Settings files of editors are searched as well and often contain no servers.
          const servers = results.filter(({ key }) => key !== '');
          files.push({ client, path: file, problem, results: servers });
        }
        return { files };
      },
    }),

    route({
      method: 'POST',
      path: `${path}/found`,
      tag: 'servers',
      summary: 'Register the servers of a file that was found',
      role: 'admin',
      unbound: true,
      body: z.strictObject({ path: z.string().min(1) }),
      answers: {
        200: { description: 'The result for each server', schema: importView },
        404: { description: 'No known MCP client stores its servers in this file' },
      },
      async handle(context) {
        // Only known locations, so that this route cannot be used to read arbitrary files.
        const wanted = knownFiles().find((known) => known.path === context.body.path && existsSync(known.path));
        if (wanted === undefined)
          throw new AppError('NOT_FOUND', 'No known MCP client stores its servers in this file');
        const { json, problem } = readIfReadable(wanted);
        if (problem !== null) throw new ValidationError([{ loc: ['body', 'path'], msg: problem, type: 'value_error' }]);
        return await importServers(json, false, context, wanted);
      },
    }),
  ];

  function knownFiles(): ClientConfigFile[] {
    return findClientConfigs({
      home: homeOf(environment),
      platform: process.platform,
      cwd: process.cwd(),
      env: environment,
    });
  }

  async function importServers(
    json: unknown,
    dryRun: boolean,
    { principal, address, request, from }: Importer,
    file?: ClientConfigFile,
  ) {
    const { servers, problems } = fromClientConfig(json, {
      self: `http://${request.headers.host}`,
      dialect: file?.dialect,
      project: file?.project,
      isClientFile: file !== undefined,
      home: homeOf(environment),
    });
    const results: ImportResult[] = problems.map(({ key, reason, skipped }) => {
      return { ...nothing, key, outcome: skipped ? 'skipped' : 'invalid', reason };
    });
    for (const { key, registration, warnings } of servers) {
      const { transport_type } = registration;
      const outcome = await take(registration, dryRun, from);
      const { name } = outcome;
      results.push({ ...nothing, key, transport_type, ...outcome, warnings: [...warnings, ...outcome.warnings] });
      if (outcome.outcome !== 'registered') continue;
      await audit.recordNow({
        event: 'server.registered',
        actor: principal.name,
        ip_address: address,
        server_id: outcome.server_id,
        server_name: name,
        details: { transport_type, origin: 'import' },
      });
    }
    const count = (wanted: ImportResult['outcome']) => results.filter(({ outcome }) => outcome === wanted).length;
    return {
      dry_run: dryRun,
      results,
      registered: count('registered'),
      already_exists: count('already_exists'),
      invalid: count('invalid'),
    };
  }

  /** The same server is known by its connection. Another one of that name gets a number. */
  async function take(
    registration: Registration,
    dryRun: boolean,
    from: Importer['from'],
  ): Promise<Pick<ImportResult, 'name' | 'outcome' | 'reason' | 'server_id' | 'warnings'>> {
    const same = registry.findSame(registration);
    const taken = { reason: null, warnings: [] };
    if (same !== undefined) return { ...taken, outcome: 'already_exists', name: same.name, server_id: same.id };
    const name = freeName(registration.name, (candidate) => registry.findByName(candidate) !== undefined);
    const warnings = name === registration.name ? [] : [`another server is named ${registration.name}`];
    try {
      registry.requireAllowed(registration, from);
      if (dryRun) return { outcome: 'would_register', name, reason: null, server_id: null, warnings };
      const server = await fleet.register({ ...registration, name }, { origin: 'import', from });
      return { outcome: 'registered', name, reason: null, server_id: server.id, warnings };
    } catch (error) {
      // A server that cannot be registered (limit reached, plain http) must not fail the others.
      if (!(error instanceof AppError)) throw error;
      return { outcome: 'invalid', name, reason: reasonOf(error), server_id: null, warnings };
    }
  }
}

const nothing = { name: null, transport_type: null, reason: null, warnings: [], server_id: null };

/** Without where in the request the value stands: the file has other places. */
function reasonOf(error: AppError): string {
  return error instanceof ValidationError ? error.problems.map(({ msg }) => msg).join('; ') : error.message;
}

/** An unreadable file is reported in its own entry and does not fail the others. */
function readIfReadable(file: ClientConfigFile): { json: unknown; problem: string | null } {
  try {
    return { json: readClientFile(file), problem: null };
  } catch (error) {
    return { json: undefined, problem: `cannot be read: ${describe(error)}` };
  }
}
