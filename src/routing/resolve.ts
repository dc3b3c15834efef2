/** From the name a caller used to one tool (BR-005, BR-009, EC-002). Pure: a snapshot in, a tool or an error out. */
import type { CatalogTool, Snapshot } from '../catalog/catalog.ts';
import { fromCanonical } from '../catalog/tool-name.ts';
import { AppError } from '../errors.ts';
import type { Server } from '../registry/registry.ts';

type RoutingStrategy = 'explicit_server' | 'wire_name' | 'namespace_resolved' | 'lookup_resolved';

interface ResolvedRoute {
  tool: CatalogTool;
  strategy: RoutingStrategy;
}

interface RouteRequest {
  name: string;
  /** By id or by name; the tool's own name is expected then, the canonical one is accepted. */
  server?: Server;
  visible: (tool: CatalogTool) => boolean;
}

export function resolveTool(snapshot: Snapshot, { name, server, visible }: RouteRequest): ResolvedRoute {
  if (server !== undefined) {
    const own = snapshot.toolsByServer.get(server.id) ?? [];
    const tool = own.find(({ row, wireName }) => row.original_name === name || row.name === name || wireName === name);
    if (tool === undefined || !visible(tool)) throw notFound(name, server.name);
    return { tool, strategy: 'explicit_server' };
  }

  const byWire = snapshot.toolsByWireName.get(name);
  if (byWire !== undefined && visible(byWire)) return { tool: byWire, strategy: 'wire_name' };

  const byCanonical = snapshot.toolsByCanonicalName.get(name);
  if (byCanonical !== undefined && visible(byCanonical)) return { tool: byCanonical, strategy: 'namespace_resolved' };

  const candidates = (snapshot.toolsByOriginalName.get(name) ?? []).filter(visible);
  const [only, ...others] = candidates;
  if (only === undefined) throw notFound(name, fromCanonical(name)?.server);
  if (others.length > 0) throw ambiguous(name, candidates);
  return { tool: only, strategy: 'lookup_resolved' };
}

function notFound(name: string, server: string | undefined): AppError {
  return new AppError('TOOL_NOT_FOUND', `Tool not found: ${name}`, server === undefined ? {} : { context: { server } });
}

function ambiguous(name: string, candidates: readonly CatalogTool[]): AppError {
  const names = candidates.map((tool) => tool.row.name);
  return new AppError('TOOL_AMBIGUOUS', `Several servers have a tool named ${name}: ${names.join(', ')}`, {
    context: {
      candidates: candidates.map(({ row, server }) => ({ name: row.name, server_id: server.id, server: server.name })),
    },
  });
}
