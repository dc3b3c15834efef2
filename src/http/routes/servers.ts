/** `/api/v1/aggregator/servers`: registering, listing, changing and removing servers. */
import { z } from 'zod';
import type { Catalog } from '../../catalog/catalog.ts';
import { statuses } from '../../registry/lifecycle.ts';
import { overallStatus, type Server } from '../../registry/registry.ts';
import { registration, serverPatch } from '../../registry/server.ts';
import type { Audit } from '../../security/audit.ts';
import { requireUnbound } from '../../security/policy.ts';
import type { Fleet } from '../../upstream/fleet.ts';
import type { Pool } from '../../upstream/pool.ts';
import { type RenameDependencies, renameServer } from '../rename-server.ts';
import { type AnyRoute, route } from '../route.ts';
import { byServer, recordServerEvent, serverNotFound, serversPath } from '../server-route.ts';
import { lookUpServer } from '../view.ts';
import { detailView, serverView, toDetailView, toServerToolViews, toServerView } from '../views.ts';

export interface ServerRouteDependencies extends RenameDependencies {
  fleet: Fleet;
  pool: Pool;
  catalog: Catalog;
  audit: Audit;
  /** Of this process. */
  replicaId: string;
}

const tag = 'servers';
const flag = z.stringbool({ truthy: ['true', '1'], falsy: ['false', '0'] });

/** These fields can run any command, send our variables to a server, or reach any address in our network. */
const reaching = ['transport_type', 'connection_config', 'health_check_url'] as const;
/** Tokens and profiles name servers. */
const forAll = ['name', ...reaching] as const;

export const serverRoutes = (deps: ServerRouteDependencies): AnyRoute[] => [
  ...allServersRoutes(deps),
  ...oneServerRoutes(deps),
];

function allServersRoutes({ registry, fleet, catalog, audit }: ServerRouteDependencies): AnyRoute[] {
  return [
    route({
      method: 'POST',
      path: serversPath,
      tag,
      summary: 'Register a server',
      role: 'admin',
      unbound: true,
      body: registration,
      answers: {
        201: { description: 'Registered; the connection is made in the background', schema: serverView },
        409: { description: 'A server with this name exists, or the server limit is reached' },
      },
      async handle(context) {
        const server = await fleet.register(context.body, { from: context.from });
        // The state at registration, because the connection may be established before the audit record is written.
        const registered = toServerView(server);
        await recordServerEvent(audit, 'server.registered', server, context, { transport_type: server.transport_type });
        context.reply.status(201);
        return registered;
      },
    }),

    route({
      method: 'GET',
      path: serversPath,
      tag,
      summary: 'List servers',
      role: 'viewer',
      query: z.strictObject({
        status: z.enum(statuses, `status must be one of ${statuses.join(', ')}`).optional(),
        include_tools: flag.default(false),
        limit: z.coerce.number().int().min(1).max(1_000).default(100),
        offset: z.coerce.number().int().min(0).default(0),
      }),
      answers: {
        200: {
          description: 'The servers, sorted by name',
          schema: z.object({ servers: z.array(serverView), total: z.int(), limit: z.int(), offset: z.int() }),
        },
      },
      handle({ query: { status, include_tools, limit, offset }, view }) {
        const all = registry
          .list()
          .filter(
            (server) => view.server(server.name) && (status === undefined || overallStatus(server).status === status),
          );
        const servers = all.slice(offset, offset + limit).map((server) => ({
          ...toServerView(server),
          ...(include_tools ? { tools: toServerToolViews(catalog, server, view) } : {}),
        }));
        return { servers, total: all.length, limit, offset };
      },
    }),
  ];
}

function oneServerRoutes(deps: ServerRouteDependencies): AnyRoute[] {
  const { registry, fleet, pool, audit, replicaId } = deps;

  const detailOf = (server: Server) =>
    toDetailView(server, {
      maskedConfig: registry.maskedConfig(server.id),
      link: pool.link(server.id),
      replicaId,
    });

  return [
    route({
      method: 'GET',
      path: `${serversPath}/{id}`,
      tag,
      summary: 'Get a server',
      role: 'viewer',
      params: byServer,
      answers: { 200: { description: 'The server; credentials are masked', schema: detailView }, 404: serverNotFound },
      handle({ params, view }) {
        const server = lookUpServer(registry, view, params.id);
        return detailOf(server);
      },
    }),

    route({
      method: 'PATCH',
      path: `${serversPath}/{id}`,
      tag,
      summary: 'Change a server; it reconnects if its connection changed',
      role: 'admin',
      params: byServer,
      body: serverPatch,
      answers: {
        200: { description: 'The changed server', schema: detailView },
        404: serverNotFound,
        409: { description: 'A server with the new name exists, or the server comes from the config file' },
      },
      async handle(context) {
        const { name, ...patch } = context.body;
        const before = lookUpServer(registry, context.view, context.params.id);
        const { id } = before;
        for (const field of forAll) if (field in context.body) requireUnbound(context.principal, `Changing ${field}`);
        if (name !== undefined && name !== before.name) {
          await renameServer(deps, before, name);
          await recordServerEvent(audit, 'server.renamed', before, context, { name });
        }
        const server = await fleet.update(id, patch, context.from);
        await recordServerEvent(audit, 'server.updated', server, context, { fields: Object.keys(context.body) });
        return detailOf(registry.get(id));
      },
    }),

    route({
      method: 'DELETE',
      path: `${serversPath}/{id}`,
      tag,
      summary: 'Remove a server with its tools and history',
      role: 'admin',
      params: byServer,
      answers: { 204: { description: 'Removed' }, 404: serverNotFound },
      async handle(context) {
        const server = lookUpServer(registry, context.view, context.params.id);
        await fleet.remove(server.id);
        await recordServerEvent(audit, 'server.removed', server, context);
        context.reply.status(204);
      },
    }),
  ];
}
