/** Which servers and tools a principal may see and use: those of its token, as far as a profile selects them. */
import type { Catalog, CatalogTool } from './catalog.ts';
import { type ProfileDefinition, selectsServer, selectTool } from './profile.ts';

export interface View {
  server(name: string): boolean;
  tool(tool: CatalogTool): boolean;
}

export function createView(given: (server: string) => boolean, profile?: ProfileDefinition): View {
  return {
    server: (name) => given(name) && (profile === undefined || selectsServer(profile, name)),
    tool: (tool) => given(tool.server.name) && (profile === undefined || selectTool(profile, tool) !== undefined),
  };
}

/** For search, which knows a tool by its canonical name. */
export function seesNamed(view: View, { snapshot }: Pick<Catalog, 'snapshot'>) {
  return ({ name }: { name: string }): boolean => {
    const tool = snapshot.toolsByCanonicalName.get(name);
    return tool !== undefined && view.tool(tool);
  };
}
