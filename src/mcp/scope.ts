/** What one endpoint offers to one principal: all servers, one server with its names untouched, or a profile. */
import type { Catalog, CatalogItem, CatalogTool } from '../catalog/catalog.ts';
import type { OwnerKeyOf } from '../catalog/own-lists.ts';
import { type Profile, type Selected, selectsServer, selectTool } from '../catalog/profile.ts';
import { createView, type View } from '../catalog/view.ts';
import type { Config } from '../config/config.ts';
import { AppError } from '../errors.ts';
import type { Registry, Server } from '../registry/registry.ts';
import { resolveTool } from '../routing/resolve.ts';
import type { Principal } from '../security/auth.ts';
import { maySee } from '../security/policy.ts';
import type { ServerItemKind } from '../store/schema.ts';

export interface OfferedTool {
  name: string;
  tool: CatalogTool;
  description?: string;
}

export interface Scope {
  /** Set where the endpoint is one server's own: names are the server's. */
  readonly single?: Server;
  readonly profile?: Profile;
  sees(server: Server): boolean;
  /** The same by name, and which of a server's tools. */
  readonly view: View;
  /** Only our own tools are listed. */
  searchOnly(): boolean;
  listTools(): OfferedTool[];
  findTool(name: string): CatalogTool;
  nameOf(tool: CatalogTool): string;
  listItems(kind: ServerItemKind): CatalogItem[];
  findPrompt(name: string): CatalogItem;
  promptName(item: CatalogItem): string;
}

export interface ScopeDependencies {
  config: Config;
  registry: Registry;
  catalog: Catalog;
  findProfile: (name: string) => Profile | undefined;
}

export type ScopeRequest = { kind: 'all' } | { kind: 'server'; name: string } | { kind: 'profile'; name: string };

/** `ownerKeyOf`: the client's own sessions may offer other lists than those that all clients see. */
export type ScopeOf = (request: ScopeRequest, principal: Principal, ownerKeyOf?: OwnerKeyOf) => Scope;

/** What is all servers' to a principal is made once: it looks up whatever changes. */
export function createScopes(deps: ScopeDependencies): ScopeOf {
  const known = new WeakMap<Principal, Scope>();
  return (request, principal, ownerKeyOf) => {
    const snapshot = ownerKeyOf && deps.catalog.snapshotFor(ownerKeyOf);
    if (snapshot !== undefined && snapshot !== deps.catalog.snapshot)
      return createScope(request, principal, { ...deps, catalog: { ...deps.catalog, snapshot } });
    if (request.kind !== 'all' || principal.profile !== null) return createScope(request, principal, deps);
    const scope = known.get(principal) ?? createScope(request, principal, deps);
    known.set(principal, scope);
    return scope;
  };
}

function createScope(request: ScopeRequest, principal: Principal, deps: ScopeDependencies): Scope {
  const { registry, findProfile } = deps;
  const given = (name: string) => maySee(principal, name);
  const own = principal.profile === null ? undefined : profileOf(principal.profile, findProfile);

  if (request.kind === 'server') {
    const server = registry.findByName(request.name);
    if (server === undefined || !given(server.name) || (own !== undefined && !selectsServer(own, server.name))) {
      throw new AppError('SERVER_NOT_FOUND', `Server not found: ${request.name}`);
    }
    return serverScope(server, own, deps);
  }
  if (request.kind === 'profile') {
    if (own !== undefined && own.name !== request.name) {
      throw new AppError('FORBIDDEN', `This token is limited to the profile ${own.name}`);
    }
    return sharedScope(given, own ?? profileOf(request.name, findProfile), deps);
  }
  return sharedScope(given, own, deps);
}

/** Whether a change of a server concerns this scope. A removed server concerns every scope. */
export function concerns(scope: Scope, server: Server | undefined, serverId: string): boolean {
  if (scope.single !== undefined) return scope.single.id === serverId;
  return server === undefined || scope.sees(server);
}

function profileOf(name: string, find: (name: string) => Profile | undefined): Profile {
  const profile = find(name);
  if (profile === undefined) throw new AppError('NOT_FOUND', `Profile not found: ${name}`);
  return profile;
}

function serverScope(server: Server, profile: Profile | undefined, { catalog, registry }: ScopeDependencies): Scope {
  const sees = (other: Server) => other.id === server.id;
  const view = createView((name) => name === server.name, profile);
  const tools = () => (catalog.snapshot.toolsByServer.get(server.id) ?? []).filter(view.tool);
  const items = (kind: ServerItemKind) =>
    catalog.isListed(server) ? catalog.snapshot.items[kind].filter((item) => sees(item.server)) : [];
  return {
    get single() {
      return registry.find(server.id) ?? server;
    },
    sees,
    view,
    searchOnly: () => false,
    listTools: () => (catalog.isListed(server) ? tools().map((tool) => ({ name: tool.ownName, tool })) : []),
    findTool: (name) => resolveTool(catalog.snapshot, { name, server, view }).tool,
    nameOf: (tool) => tool.ownName,
    listItems: items,
    findPrompt(name) {
      const prompt = catalog.snapshot.items.prompt.find((item) => sees(item.server) && item.key === name);
      if (prompt === undefined) throw new AppError('PROMPT_NOT_FOUND', `Prompt not found: ${name}`);
      return prompt;
    },
    promptName: (item) => item.key,
  };
}

function sharedScope(
  given: (server: string) => boolean,
  profile: Profile | undefined,
  { catalog, config }: ScopeDependencies,
): Scope {
  const select = (tool: CatalogTool): Selected | undefined => (profile === undefined ? {} : selectTool(profile, tool));
  const view = createView(given, profile);
  const sees = (server: Server) => view.server(server.name);
  const exposure = profile?.exposure ?? config.exposure;

  function listTools(): OfferedTool[] {
    const listed = new Map<string, boolean>();
    const isListed = (server: Server) => {
      const known = listed.get(server.id) ?? (sees(server) && catalog.isListed(server));
      listed.set(server.id, known);
      return known;
    };
    const offered: OfferedTool[] = [];
    for (const tool of catalog.snapshot.tools) {
      const selected = isListed(tool.server) ? select(tool) : undefined;
      if (selected === undefined) continue;
      offered.push({ name: selected.rename ?? tool.wireName, tool, description: selected.description });
    }
    return offered;
  }

  return {
    profile,
    sees,
    view,
    searchOnly: () => exposure === 'search' || (exposure === 'auto' && listTools().length > config.listLimit),
    listTools,
    findTool(name) {
      const renamed = profile?.tools?.find(({ rename }) => rename === name);
      const wanted =
        renamed === undefined
          ? undefined
          : catalog.snapshot.tools.find((tool) => select(tool) === renamed && sees(tool.server));
      return wanted ?? resolveTool(catalog.snapshot, { name, view }).tool;
    },
    nameOf: (tool) => select(tool)?.rename ?? tool.wireName,
    listItems: (kind) =>
      catalog.snapshot.items[kind].filter((item) => sees(item.server) && catalog.isListed(item.server)),
    findPrompt(name) {
      const { promptsByName, items } = catalog.snapshot;
      const byWire = promptsByName.get(name);
      if (byWire !== undefined && sees(byWire.server)) return byWire;
      const [only, ...others] = items.prompt.filter(
        (item) => sees(item.server) && (item.key === name || `${item.server.name}.${item.key}` === name),
      );
      if (only === undefined || others.length > 0) throw new AppError('PROMPT_NOT_FOUND', `Prompt not found: ${name}`);
      return only;
    },
    promptName: (item) => item.wireName,
  };
}
