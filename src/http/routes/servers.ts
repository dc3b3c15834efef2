/** `/api/v1/aggregator/servers`: registering, connecting and removing servers, and what they offer. */
import { z } from 'zod';
import type { Catalog } from '../../catalog/catalog.ts';
import type { View } from '../../catalog/view.ts';
import { AppError } from '../../errors.ts';
import { statuses } from '../../registry/lifecycle.ts';
import { overallStatus, type Server } from '../../registry/registry.ts';
import { registration, serverPatch } from '../../registry/server.ts';
import type { Audit } from '../../security/audit.ts';
import type { Principal } from '../../security/auth.ts';
import { requireUnbound } from '../../security/policy.ts';
import { findHistory } from '../../store/history.ts';
import type { Fleet } from '../../upstream/fleet.ts';
import type { Pool } from '../../upstream/pool.ts';
import { residentMemory } from '../../upstream/process-memory.ts';
import { brief } from '../../upstream/unavailable.ts';
import type { OutputLog } from '../output-log.ts';
import { type RenameDependencies, renameServer } from '../rename-server.ts';
import { type AnyRoute, route } from '../route.ts';
import { lookUpServer } from '../view.ts';
import { detailView, serverView, toDetailView, toolListView, toServerView, toToolView } from '../views.ts';

export interface ServerRouteDependencies extends RenameDependencies {
  fleet: Fleet;
  pool: Pool;
  catalog: Catalog;
  audit: Audit;
  outputLog: OutputLog;
  /** Of this process. */
  replicaId: string;
}

const base = '/api/v1/aggregator/servers';
const tag = 'servers';
const byId = z.object({ id: z.string().min(1).describe("the server's id or name") });
const notFound = { description: 'Server not found' };
const flag = z.stringbool({ truthy: ['true', '1'], falsy: ['false', '0'] });

/** These fields can run any command, send our variables to a server, or reach any address in our network. */
const reaching = ['transport_type', 'connection_config', 'health_check_url'] as const;
/** Tokens and profiles name servers. */
const forAll = ['name', ...reaching] as const;

export function serverRoutes(deps: ServerRouteDependencies): AnyRoute[] {
  const { registry, fleet, catalog, audit } = deps;

  const lookUp = (idOrName: string, view: View) => lookUpServer(registry, view, idOrName);

  function note(
    event: string,
    server: Server,
    who: { principal: Principal; address: string },
    details?: Record<string, unknown>,
  ) {
    return audit.recordNow({
      event,
      actor: who.principal.name,
      ip_address: who.address,
      server_id: server.id,
      server_name: server.name,
      details,
    });
  }

  const detailOf = (server: Server) =>
    toDetailView(server, {
      maskedConfig: registry.maskedConfig(server.id),
      link: deps.pool.link(server.id),
      replicaId: deps.replicaId,
    });

  const toolsOf = (server: Server, view: View) =>
    (catalog.snapshot.everyToolByServer.get(server.id) ?? [])
      .filter((tool) => view.tool(tool))
      .map((tool) => toToolView(tool, catalog.changes));

  return [
    route({
      method: 'POST',
      path: base,
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
        await note('server.registered', server, context, { transport_type: server.transport_type });
        context.reply.status(201);
        return registered;
      },
    }),

    route({
      method: 'GET',
      path: base,
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
        const servers = all
          .slice(offset, offset + limit)
          .map((server) => ({ ...toServerView(server), ...(include_tools ? { tools: toolsOf(server, view) } : {}) }));
        return { servers, total: all.length, limit, offset };
      },
    }),

    route({
      method: 'GET',
      path: `${base}/{id}`,
      tag,
      summary: 'Get a server',
      role: 'viewer',
      params: byId,
      answers: { 200: { description: 'The server; credentials are masked', schema: detailView }, 404: notFound },
      handle({ params, view }) {
        const server = lookUp(params.id, view);
        return detailOf(server);
      },
    }),

    route({
      method: 'PATCH',
      path: `${base}/{id}`,
      tag,
      summary: 'Change a server; it reconnects if its connection changed',
      role: 'admin',
      params: byId,
      body: serverPatch,
      answers: {
        200: { description: 'The changed server', schema: detailView },
        404: notFound,
        409: { description: 'A server with the new name exists, or the server comes from the config file' },
      },
      async handle(context) {
        const { name, ...patch } = context.body;
        const before = lookUp(context.params.id, context.view);
        const { id } = before;
        for (const field of forAll) if (field in context.body) requireUnbound(context.principal, `Changing ${field}`);
        if (name !== undefined && name !== before.name) {
          await renameServer(deps, before, name);
          await note('server.renamed', before, context, { name });
        }
        const server = await fleet.update(id, patch, context.from);
        await note('server.updated', server, context, { fields: Object.keys(context.body) });
        return detailOf(registry.get(id));
      },
    }),

    route({
      method: 'DELETE',
      path: `${base}/{id}`,
      tag,
      summary: 'Remove a server with its tools and history',
      role: 'admin',
      params: byId,
      answers: { 204: { description: 'Removed' }, 404: notFound },
      async handle(context) {
        const server = lookUp(context.params.id, context.view);
        await fleet.remove(server.id);
        await note('server.removed', server, context);
        context.reply.status(204);
      },
    }),

    route({
      method: 'POST',
      path: `${base}/{id}/connect`,
      tag,
      summary: 'Connect a server',
      role: 'admin',
      params: byId,
      answers: {
        200: {
          description: 'The server is connecting or already connected',
          schema: z.object({ server_id: z.string(), status: z.enum(statuses), message: z.string() }),
        },
        404: notFound,
        409: { description: 'The server is disconnecting' },
      },
      async handle(context) {
        const server = lookUp(context.params.id, context.view);
        const { status, message } = await fleet.connect(server.id);
        await note('server.connect', server, context);
        return { server_id: server.id, status, message };
      },
    }),

    route({
      method: 'POST',
      path: `${base}/{id}/disconnect`,
      tag,
      summary: 'Disconnect a server, after its pending calls or immediately',
      role: 'admin',
      params: byId,
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
        404: notFound,
      },
      async handle(context) {
        const server = lookUp(context.params.id, context.view);
        const { status, pending, message } = await fleet.disconnect(server.id, context.body);
        await note('server.disconnect', server, context, { force: context.body.force });
        return { server_id: server.id, status, pending_requests: pending, message };
      },
    }),

    route({
      method: 'GET',
      path: `${base}/{id}/tools`,
      tag,
      summary: 'List the tools of a server',
      role: 'viewer',
      params: byId,
      answers: {
        200: { description: "The tools in the server's order, disabled ones included", schema: toolListView },
        404: notFound,
      },
      handle({ params, view }) {
        const tools = toolsOf(lookUp(params.id, view), view);
        const classified = tools.filter((tool) => tool.is_classified).length;
        return { tools, total: tools.length, classified, unclassified: tools.length - classified };
      },
    }),

    route({
      method: 'POST',
      path: `${base}/{id}/tools/refresh`,
      tag,
      summary: 'Discover the tools of a server again',
      role: 'admin',
      params: byId,
      answers: {
        202: {
          description: 'Discovery has started',
          schema: z.object({ server_id: z.string(), status: z.literal('REFRESHING'), message: z.string() }),
        },
        404: notFound,
        409: { description: 'The server is DEGRADED; its tools are discovered when it is healthy again' },
        503: { description: 'The server is not connected' },
      },
      async handle(context) {
        const server = lookUp(context.params.id, context.view);
        requireDiscoverable(server);
        if (deps.pool.link(server.id)?.shared === undefined && server.session !== 'parked') {
          throw new AppError('SERVER_UNAVAILABLE', `Server unavailable: ${server.name}`, {
            body: { server: brief(server) },
          });
        }
        catalog.refreshInBackground(server.id);
        await note('server.refresh', server, context);
        context.reply.status(202);
        return { server_id: server.id, status: 'REFRESHING', message: 'Tool discovery initiated' };
      },
    }),

    route({
      method: 'GET',
      path: `${base}/{id}/output`,
      tag,
      summary: 'Get the latest lines that a STDIO server wrote to stderr, as seen by this process',
      role: 'viewer',
      params: byId,
      query: z.strictObject({ after: z.coerce.number().int().min(0).default(0).describe('only lines after this one') }),
      answers: {
        200: {
          description: 'The lines, oldest first; secrets are masked',
          schema: z.object({ lines: z.array(z.object({ seq: z.int(), at: z.string(), text: z.string() })) }),
        },
        404: notFound,
      },
      handle: ({ params, query, view }) => ({ lines: deps.outputLog.lines(lookUp(params.id, view).id, query.after) }),
    }),

    route({
      method: 'GET',
      path: `${base}/{id}/processes`,
      tag,
      summary: 'List the processes of a STDIO server with their memory, as seen by this process',
      role: 'viewer',
      params: byId,
      answers: {
        200: {
          description: 'The processes that were started for the server',
          schema: z.object({
            processes: z.array(
              z.object({
                pid: z.int(),
                memory_bytes: z.int().nullable().describe('resident, with its children; null where unknown'),
              }),
            ),
          }),
        },
        404: notFound,
      },
      async handle({ params, view }) {
        const pids = deps.pool.link(lookUp(params.id, view).id)?.childPids ?? [];
        const sizes = await Promise.all(pids.map((pid) => residentMemory(pid)));
        return { processes: pids.map((pid, place) => ({ pid, memory_bytes: sizes[place] ?? null })) };
      },
    }),

    route({
      method: 'GET',
      path: `${base}/{id}/history`,
      tag,
      summary: 'List the history of a server, newest first',
      role: 'viewer',
      params: byId,
      query: z.strictObject({
        limit: z.coerce.number().int().min(1).max(1_000).default(100),
        before: z.coerce.number().int().min(1).optional().describe('the ID of the last entry of the previous page'),
      }),
      answers: {
        200: {
          description: 'Status changes, discoveries, changed tools, errors',
          schema: z.object({
            history: z.array(
              z.object({
                id: z.int(),
                event_type: z.string(),
                details: z.record(z.string(), z.unknown()).nullable(),
                timestamp: z.string(),
              }),
            ),
          }),
        },
        404: notFound,
      },
      async handle({ params, query, view }) {
        const server = lookUp(params.id, view);
        await registry.settled();
        const rows = await findHistory(deps.db, server.id, query);
        return { history: rows.map(({ server_id: _server, ...entry }) => entry) };
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
