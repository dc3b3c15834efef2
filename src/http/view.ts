/** The servers and tools that a REST request may see and use, limited by the servers and the profile of its token. */
import type { Catalog } from '../catalog/catalog.ts';
import type { Profile } from '../catalog/profile.ts';
import { createView, seesNamed, type View } from '../catalog/view.ts';
import { AppError } from '../errors.ts';
import type { Registry, Server } from '../registry/registry.ts';
import type { Principal } from '../security/auth.ts';
import { maySee } from '../security/policy.ts';
import { didYouMean } from '../suggestions.ts';

export type ViewOf = (principal: Principal) => View;

const nothing = createView(() => false);

/** A profile is looked up whenever it matters: it may change, or go, while a stream is open. */
export function createViews(findProfile: (name: string) => Profile | undefined): ViewOf {
  return (principal) => {
    const { profile: bound } = principal;
    const given = (name: string) => maySee(principal, name);
    if (bound === null) return createView(given);
    const now = () => {
      const profile = findProfile(bound);
      return profile === undefined ? nothing : createView(given, profile);
    };
    return { server: (name) => now().server(name), tool: (tool) => now().tool(tool) };
  };
}

/** Filters events about calls; with a profile, only calls of its tools pass. */
export function seesCall(
  { principal, view }: { principal: Principal; view: View },
  catalog: Pick<Catalog, 'snapshot'>,
): (call: { server: string; tool: string }) => boolean {
  const seesTool = seesNamed(view, catalog);
  return ({ server, tool }) => view.server(server) && (principal.profile === null || seesTool({ name: tool }));
}

export function lookUpServer(registry: Registry, view: View, idOrName: string): Server {
  const server = registry.find(idOrName) ?? registry.findByName(idOrName);
  if (server === undefined || !view.server(server.name)) {
    const visible = registry.list().flatMap(({ name }) => (view.server(name) ? [name] : []));
    throw new AppError('SERVER_NOT_FOUND', `Server not found: ${idOrName}${didYouMean(idOrName, visible)}`);
  }
  return server;
}
