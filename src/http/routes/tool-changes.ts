/** Tools that changed after they were first seen, and the admin's decision about them. */
import { z } from 'zod';
import type { Catalog } from '../../catalog/catalog.ts';
import { classifyChange } from '../../catalog/tool-changes.ts';
import { AppError } from '../../errors.ts';
import type { Registry, Server } from '../../registry/registry.ts';
import type { Audit } from '../../security/audit.ts';
import type { Database } from '../../store/database.ts';
import type { ToolChangeRow } from '../../store/schema.ts';
import { findToolChange, findToolChanges } from '../../store/tool-changes.ts';
import type { Pool } from '../../upstream/pool.ts';
import { type AnyRoute, route, type Viewer } from '../route.ts';
import { recordServerEvent } from '../server-route.ts';
import { lookUpServer } from '../view.ts';

export interface ToolChangeRouteDependencies {
  db: Database;
  registry: Registry;
  catalog: Catalog;
  pool: Pool;
  audit: Audit;
}

const states = ['pending', 'approved', 'rejected', 'withdrawn', 'removed'] as const;
const definition = z.record(z.string(), z.unknown());

const changeView = z.object({
  id: z.int(),
  tool: z.string().describe("the server's own name of the tool"),
  risk: z.string().describe('from lowest (other, text) to highest (required_parameter, instructions)'),
  parts: z.array(z.object({ risk: z.string(), what: z.string() })),
  state: z.enum(states),
  before: definition,
  after: definition.nullable().describe('null if the server removed the tool'),
  at: z.string(),
  decided_at: z.string().nullable(),
  decided_by: z.string().nullable(),
  reason: z.string().nullable().describe('why it was approved or rejected'),
});

const decisionBody = z.strictObject({ reason: z.string().trim().max(1_000).nullish() }).default({});

const path = '/api/v1/aggregator/servers/{id}/changes';
const tag = 'servers';
const notFound = { description: 'The server or the change was not found' };

export function toolChangeRoutes(deps: ToolChangeRouteDependencies): AnyRoute[] {
  const { db, registry, catalog, audit } = deps;

  /** With a profile, limited to its tools. */
  const seesTool = (server: Server, tool: string, { principal, view }: Viewer) =>
    principal.profile === null ||
    (catalog.snapshot.toolsByServer.get(server.id) ?? []).some(
      (one) => one.row.original_name === tool && view.tool(one),
    );

  const decision = (verb: 'approve' | 'reject', state: 'approved' | 'rejected', summary: string) =>
    route({
      method: 'POST',
      path: `${path}/{change_id}/${verb}`,
      tag,
      summary,
      role: 'admin',
      params: z.object({ id: z.string().min(1), change_id: z.coerce.number().int().min(1) }),
      body: decisionBody,
      answers: {
        200: { description: 'The decided change', schema: changeView },
        404: notFound,
        409: { description: 'The change was already decided or no longer exists' },
      },
      async handle({ params, body, principal, view, address }) {
        const server = lookUpServer(registry, view, params.id);
        const change = await findToolChange(db, server.id, params.change_id);
        if (change === undefined || !seesTool(server, change.tool, { principal, view }))
          throw new AppError('NOT_FOUND', `Change not found: ${params.change_id}`);
        const reason = body.reason || null;
        const decided = await catalog.changes.decide(change, state, { by: principal.name, reason });
        if (decided === undefined) {
          throw new AppError('SERVER_STATE_CONFLICT', `The change of ${change.tool} is ${change.state}, not pending`);
        }
        const { tool, id: change_id, risk } = change;
        const details = { tool, change_id, risk, ...(reason === null ? {} : { reason }) };
        await recordServerEvent(audit, `tool.change_${state}`, server, { principal, address }, details);
        if (state === 'approved' && deps.pool.link(server.id)?.shared !== undefined) {
          catalog.refreshInBackground(server.id, ['tool']);
        }
        return toView(decided);
      },
    });

  return [
    route({
      method: 'GET',
      path,
      tag,
      summary: 'List the tools of a server that changed after they were first seen, newest first',
      role: 'viewer',
      params: z.object({ id: z.string().min(1).describe("the server's id or name") }),
      query: z.strictObject({
        state: z.enum(states).optional(),
        tool: z.string().optional(),
        limit: z.coerce.number().int().min(1).max(1_000).default(100),
        before: z.coerce.number().int().min(1).optional().describe('the ID of the last change of the previous page'),
      }),
      answers: {
        200: { description: 'The changes', schema: z.object({ changes: z.array(changeView) }) },
        404: notFound,
      },
      async handle({ params, query, principal, view }) {
        const server = lookUpServer(registry, view, params.id);
        const rows = await findToolChanges(db, server.id, query);
        return { changes: rows.filter(({ tool }) => seesTool(server, tool, { principal, view })).map(toView) };
      },
    }),
    decision('approve', 'approved', 'Accept the new definition of a tool and resume its calls'),
    decision('reject', 'rejected', 'Reject the new definition of a tool; its calls remain held'),
  ];
}

function toView(row: ToolChangeRow): z.infer<typeof changeView> {
  const { definition_before: before, definition_after: after, after_hash: _hash, server_id: _server, ...rest } = row;
  return { ...rest, parts: after === null ? [] : classifyChange(before, after).parts, before, after };
}
