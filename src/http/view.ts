/** What whoever asks over REST may see and use: the servers of its token, as far as its profile has them. */
import type { CatalogTool } from '../catalog/catalog.ts';
import { type Profile, selectsServer, selectTool } from '../catalog/profile.ts';
import { AppError } from '../errors.ts';
import type { Registry, Server } from '../registry/registry.ts';
import type { Principal } from '../security/auth.ts';
import { maySee } from '../security/policy.ts';

export interface View {
  server(name: string): boolean;
  tool(tool: CatalogTool): boolean;
}

export type ViewOf = (principal: Principal) => View;

/** A profile is looked up whenever it matters: it may change, or go, while a stream is open. */
export function createViews(findProfile: (name: string) => Profile | undefined): ViewOf {
  return (principal) => {
    const { profile: bound } = principal;
    const given = (name: string) => maySee(principal, name);
    if (bound === null) return { server: given, tool: ({ server }) => given(server.name) };
    const selects = (test: (profile: Profile) => boolean) => {
      const profile = findProfile(bound);
      return profile !== undefined && test(profile);
    };
    return {
      server: (name) => given(name) && selects((profile) => selectsServer(profile, name)),
      tool: (tool) => given(tool.server.name) && selects((profile) => selectTool(profile, tool) !== undefined),
    };
  };
}

export function lookUpServer(registry: Registry, view: View, idOrName: string): Server {
  const server = registry.find(idOrName) ?? registry.findByName(idOrName);
  if (server === undefined || !view.server(server.name))
    throw new AppError('SERVER_NOT_FOUND', `Server not found: ${idOrName}`);
  return server;
}
