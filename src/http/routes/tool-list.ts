/** `GET /api/v1/aggregator/tools`: the tools of all servers in brief, and only what changed since the last time. */
import { z } from 'zod';
import type { Catalog, CatalogTool } from '../../catalog/catalog.ts';
import { isObject } from '../../json-rpc.ts';
import type { Registry, Server } from '../../registry/registry.ts';
import { isBound } from '../../security/policy.ts';
import type { CatalogRevisions } from '../catalog-revisions.ts';
import { type AnyRoute, route, type Viewer } from '../route.ts';

const briefTool = z.object({
  name: z.string().describe('canonical: server.tool'),
  original_name: z.string(),
  title: z.string().nullable(),
  description: z.string().describe('its beginning'),
  skill: z.string().nullable(),
  read_only: z.boolean().nullable().describe('as the server says; null where it says nothing'),
  destructive: z.boolean().nullable(),
  held: z
    .object({ change_id: z.int(), state: z.enum(['pending', 'rejected']), risk: z.string() })
    .nullable()
    .describe('a changed definition: calls are held until an admin decides'),
  enabled: z.boolean().describe('false: an admin disabled the tool'),
  changed: z.boolean().describe('an admin gave it another name, description or arguments'),
  warnings: z.int().describe('findings of hidden text or instructions to a model'),
});

const toolListView = z.object({
  revision: z.string().describe('ask with `since` for what changed'),
  complete: z.boolean().describe('false: only servers that changed since then'),
  servers: z.array(z.object({ id: z.string(), name: z.string(), tools: z.array(briefTool) })),
  removed: z.array(z.string()).describe('IDs of servers that are gone'),
});

export interface ToolListRouteDependencies {
  registry: Registry;
  catalog: Catalog;
  catalogRevisions: CatalogRevisions;
}

const maxDescription = 240;

export function toolListRoutes({ registry, catalog, catalogRevisions }: ToolListRouteDependencies): AnyRoute[] {
  function toolsOf(server: Server, { view }: Viewer) {
    const tools = (catalog.snapshot.everyToolByServer.get(server.id) ?? []).filter((tool) => view.tool(tool));
    return { id: server.id, name: server.name, tools: tools.map((tool) => toBrief(tool, catalog)) };
  }

  return [
    route({
      method: 'GET',
      path: '/api/v1/aggregator/tools',
      tag: 'tools',
      summary: 'List the tools of all servers in brief, or of the servers that changed since an earlier answer',
      role: 'viewer',
      query: z.strictObject({ since: z.string().max(100).optional().describe('`revision` of an earlier answer') }),
      answers: { 200: { description: 'The tools by server', schema: toolListView } },
      handle({ query: { since }, principal, view }) {
        const revision = catalogRevisions.current();
        const visible = registry.list().filter(({ name }) => view.server(name));
        // What a limited token may see can change without a change of the catalog.
        const known = since === undefined || isBound(principal) ? undefined : catalogRevisions.since(since);
        const shown = known === undefined ? visible : visible.filter(({ id }) => known.changed.has(id));
        return {
          revision,
          complete: known === undefined,
          servers: shown.map((server) => toolsOf(server, { principal, view })),
          removed: known === undefined ? [] : [...known.removed],
        };
      },
    }),
  ];
}

function toBrief(tool: CatalogTool, { changes }: Catalog): z.infer<typeof briefTool> {
  const { row } = tool;
  const { annotations } = row.definition;
  const hints = isObject(annotations) ? annotations : {};
  const held = changes.heldChange(tool);
  return {
    name: row.name,
    original_name: row.original_name,
    title: row.title,
    description: beginningOf(row.description ?? ''),
    skill: row.primary_skill_id,
    read_only: flagOf(hints.readOnlyHint),
    destructive: flagOf(hints.destructiveHint),
    held: held === undefined ? null : { change_id: held.id, state: held.state, risk: held.risk },
    enabled: tool.enabled,
    changed: isChanged(tool),
    warnings: changes.warnings(tool).length,
  };
}

/** More than switched on or off. */
const isChanged = ({ override }: CatalogTool) => Object.keys(override ?? {}).some((field) => field !== 'enabled');

const flagOf = (hint: unknown): boolean | null => (typeof hint === 'boolean' ? hint : null);

function beginningOf(text: string): string {
  const flat = text
    .slice(0, maxDescription * 2)
    .replace(/\s+/g, ' ')
    .trim();
  return flat.length <= maxDescription ? flat : `${flat.slice(0, maxDescription - 1)}…`;
}
