/** From the name a caller used to one tool (BR-005, BR-009, EC-002). Pure: a snapshot in, a tool or an error out. */
import type { CatalogTool, Snapshot } from '../catalog/catalog.ts';
import { fromCanonical } from '../catalog/tool-name.ts';
import type { View } from '../catalog/view.ts';
import { AppError } from '../errors.ts';
import { behaviour } from '../registry/lifecycle.ts';
import type { Server } from '../registry/registry.ts';
import { didYouMean } from '../suggestions.ts';
import { unavailable } from '../upstream/unavailable.ts';

type RoutingStrategy = 'explicit_server' | 'wire_name' | 'namespace_resolved' | 'lookup_resolved';

interface ResolvedRoute {
  tool: CatalogTool;
  strategy: RoutingStrategy;
}

interface RouteRequest {
  name: string;
  /** By id or by name; the tool's own name is expected then, the canonical one is accepted. */
  server?: Server;
  view: View;
}

export function resolveTool(snapshot: Snapshot, { name, server, view }: RouteRequest): ResolvedRoute {
  if (server !== undefined) {
    const own = snapshot.toolsByServer.get(server.id) ?? [];
    const tool = own.find((candidate) => isNamed(candidate, name));
    if (tool !== undefined && view.tool(tool)) return { tool, strategy: 'explicit_server' };
    refuseDisabled(
      snapshot.everyToolByServer.get(server.id)?.find((candidate) => isNamed(candidate, name)),
      view,
    );
    throw unknown(name, server, own, view);
  }

  const byWire = snapshot.toolsByWireName.get(name);
  if (byWire !== undefined && view.tool(byWire)) return { tool: byWire, strategy: 'wire_name' };

  const byCanonical = snapshot.toolsByCanonicalName.get(name);
  if (byCanonical !== undefined && view.tool(byCanonical)) return { tool: byCanonical, strategy: 'namespace_resolved' };

  const candidates = (snapshot.toolsByOriginalName.get(name) ?? []).filter(view.tool);
  const [only, ...others] = candidates;
  if (only === undefined) {
    refuseDisabled(snapshot.disabledTools.get(name), view);
    throw unknownByName(snapshot, name, view);
  }
  if (others.length > 0) throw ambiguous(name, candidates);
  return { tool: only, strategy: 'lookup_resolved' };
}

function isNamed({ row, ownName, wireName }: CatalogTool, name: string): boolean {
  return row.original_name === name || row.name === name || ownName === name || wireName === name;
}

function refuseDisabled(tool: CatalogTool | undefined, view: View): void {
  if (tool === undefined || tool.enabled || !view.tool(tool)) return;
  throw new AppError('TOOL_DISABLED', `Tool disabled: ${tool.row.name}; an admin can enable it`, {
    context: { server: tool.server.name },
  });
}

/** A server in the name tells why its tool is unknown, to those who may know of it. */
function unknownByName(snapshot: Snapshot, name: string, view: View): AppError {
  const serverName = fromCanonical(name)?.server ?? name.slice(0, Math.max(0, name.indexOf('__')));
  const server = view.server(serverName) ? snapshot.serversByName.get(serverName) : undefined;
  if (server === undefined) return notFound(name, fromCanonical(name)?.server, snapshot.tools.filter(view.tool));
  return unknown(name, server, snapshot.everyToolByServer.get(server.id) ?? [], view);
}

/** BR-005: which tools a server has is not known before it was connected for the first time. */
function unknown(name: string, server: Server, known: readonly CatalogTool[], view: View): AppError {
  const isUndiscovered = known.length === 0 && !behaviour[server.lifecycle.status].executes;
  return isUndiscovered ? unavailable(server) : notFound(name, server.name, known.filter(view.tool));
}

function notFound(name: string, server: string | undefined, near: readonly CatalogTool[]): AppError {
  const problem = `Tool not found: ${name}${didYouMean(name, near.map(toNearName(name)))}`;
  return new AppError('TOOL_NOT_FOUND', problem, server === undefined ? {} : { context: { server } });
}

/** In the spelling that was used: canonical, as clients see it, or the bare name. */
function toNearName(given: string): (tool: CatalogTool) => string {
  if (given.includes('__')) return ({ wireName }) => wireName;
  return given.includes('.') ? ({ row }) => row.name : ({ ownName }) => ownName;
}

function ambiguous(name: string, candidates: readonly CatalogTool[]): AppError {
  const names = candidates.map((tool) => tool.row.name);
  return new AppError('TOOL_AMBIGUOUS', `Several servers have a tool named ${name}: ${names.join(', ')}`, {
    context: {
      candidates: candidates.map(({ row, server }) => ({ name: row.name, server_id: server.id, server: server.name })),
    },
  });
}
