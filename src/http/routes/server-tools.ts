/** The tools of one server, and their discovery on demand. */
import { z } from 'zod';
import type { Catalog } from '../../catalog/catalog.ts';
import { AppError } from '../../errors.ts';
import type { Registry, Server } from '../../registry/registry.ts';
import type { Audit } from '../../security/audit.ts';
import type { Pool } from '../../upstream/pool.ts';
import { brief } from '../../upstream/unavailable.ts';
import { type AnyRoute, route } from '../route.ts';
import { byServer, recordServerEvent, serverNotFound, serversPath } from '../server-route.ts';
import { lookUpServer } from '../view.ts';
import { toolListView, toServerToolViews } from '../views.ts';

export interface ServerToolRouteDependencies {
  registry: Registry;
  pool: Pool;
  catalog: Catalog;
  audit: Audit;
}

const tag = 'servers';

export function serverToolRoutes({ registry, pool, catalog, audit }: ServerToolRouteDependencies): AnyRoute[] {
  return [
    route({
      method: 'GET',
      path: `${serversPath}/{id}/tools`,
      tag,
      summary: 'List the tools of a server',
      role: 'viewer',
      params: byServer,
      answers: {
        200: { description: "The tools in the server's order, disabled ones included", schema: toolListView },
        404: serverNotFound,
      },
      handle({ params, view }) {
        const tools = toServerToolViews(catalog, lookUpServer(registry, view, params.id), view);
        const classified = tools.filter((tool) => tool.is_classified).length;
        return { tools, total: tools.length, classified, unclassified: tools.length - classified };
      },
    }),

    route({
      method: 'POST',
      path: `${serversPath}/{id}/tools/refresh`,
      tag,
      summary: 'Discover the tools of a server again',
      role: 'admin',
      params: byServer,
      answers: {
        202: {
          description: 'Discovery has started',
          schema: z.object({ server_id: z.string(), status: z.literal('REFRESHING'), message: z.string() }),
        },
        404: serverNotFound,
        409: { description: 'The server is DEGRADED; its tools are discovered when it is healthy again' },
        503: { description: 'The server is not connected' },
      },
      async handle(context) {
        const server = lookUpServer(registry, context.view, context.params.id);
        requireDiscoverable(server);
        if (pool.link(server.id)?.shared === undefined && server.session !== 'parked') {
          throw new AppError('SERVER_UNAVAILABLE', `Server unavailable: ${server.name}`, {
            body: { server: brief(server) },
          });
        }
        catalog.refreshInBackground(server.id);
        await recordServerEvent(audit, 'server.refresh', server, context);
        context.reply.status(202);
        return { server_id: server.id, status: 'REFRESHING', message: 'Tool discovery initiated' };
      },
    }),
  ];
}

/** ST-001: a server that fails its health checks is not discovered. */
function requireDiscoverable(server: Server): void {
  const { name, lifecycle, error_message: reason } = server;
  if (lifecycle.status !== 'DEGRADED') return;
  throw new AppError('SERVER_DEGRADED', `Server degraded: ${name}: its tools are discovered when it is healthy again`, {
    body: { server: brief(server) },
    context: reason === null ? undefined : { reason },
  });
}
