/** Connecting and disconnecting a server by hand. */
import { z } from 'zod';
import { statuses } from '../../registry/lifecycle.ts';
import type { Registry } from '../../registry/registry.ts';
import type { Audit } from '../../security/audit.ts';
import type { Fleet } from '../../upstream/fleet.ts';
import { type AnyRoute, route } from '../route.ts';
import { byServer, recordServerEvent, serverNotFound, serversPath } from '../server-route.ts';
import { lookUpServer } from '../view.ts';

export interface ServerConnectionRouteDependencies {
  registry: Registry;
  fleet: Fleet;
  audit: Audit;
}

const tag = 'servers';

export function serverConnectionRoutes({ registry, fleet, audit }: ServerConnectionRouteDependencies): AnyRoute[] {
  return [
    route({
      method: 'POST',
      path: `${serversPath}/{id}/connect`,
      tag,
      summary: 'Connect a server',
      role: 'admin',
      params: byServer,
      answers: {
        200: {
          description: 'The server is connecting or already connected',
          schema: z.object({ server_id: z.string(), status: z.enum(statuses), message: z.string() }),
        },
        404: serverNotFound,
        409: { description: 'The server is disconnecting' },
      },
      async handle(context) {
        const server = lookUpServer(registry, context.view, context.params.id);
        const { status, message } = await fleet.connect(server.id);
        await recordServerEvent(audit, 'server.connect', server, context);
        return { server_id: server.id, status, message };
      },
    }),

    route({
      method: 'POST',
      path: `${serversPath}/{id}/disconnect`,
      tag,
      summary: 'Disconnect a server, after its pending calls or immediately',
      role: 'admin',
      params: byServer,
      body: z.strictObject({ force: z.boolean().default(false) }).default({ force: false }),
      answers: {
        200: {
          description: 'Disconnected, or waiting for pending calls',
          schema: z.object({
            server_id: z.string(),
            status: z.enum(statuses),
            pending_requests: z.int(),
            message: z.string(),
          }),
        },
        404: serverNotFound,
      },
      async handle(context) {
        const server = lookUpServer(registry, context.view, context.params.id);
        const { status, pending, message } = await fleet.disconnect(server.id, context.body);
        await recordServerEvent(audit, 'server.disconnect', server, context, { force: context.body.force });
        return { server_id: server.id, status, pending_requests: pending, message };
      },
    }),
  ];
}
