/** A named selection of servers and tools that one MCP endpoint offers (`/mcp/profiles/{name}`). */
import { z } from 'zod';
import type { CatalogTool } from './catalog.ts';
import { matchesPattern } from './name-pattern.ts';

export const profileName = z
  .string()
  .max(64, 'name may have at most 64 characters')
  .regex(/^[a-z][a-z0-9_-]*$/, 'name must start with a lowercase letter and contain only a-z, 0-9, "-" and "_"');

export const profileDefinition = z.strictObject({
  description: z.string().max(1_000).optional(),
  servers: z.array(z.string().min(1)).max(1_000).optional().describe('servers to include; all servers if omitted'),
  tools: z
    .array(
      z.strictObject({
        name: z.string().min(1).describe('canonical name; "*" matches any characters'),
        rename: z
          .string()
          .regex(/^[A-Za-z0-9_-]{1,64}$/, 'rename must have 1 to 64 characters: A-Z, a-z, 0-9, "_" and "-"')
          .optional(),
        description: z.string().max(10_000).optional(),
      }),
    )
    .max(10_000)
    .optional()
    .describe('tools to include; all tools of the servers if omitted'),
  exposure: z.enum(['auto', 'all', 'search']).optional(),
});
export type ProfileDefinition = z.infer<typeof profileDefinition>;

export interface Profile extends ProfileDefinition {
  name: string;
}

export interface Selected {
  rename?: string;
  description?: string;
}

export function selectsServer(profile: ProfileDefinition, server: string): boolean {
  if (profile.servers !== undefined) return profile.servers.includes(server);
  return profile.tools === undefined || profile.tools.some(({ name }) => matchesPattern(serverOf(name), server));
}

/** Whether nothing in the profile names, or could select, another server. */
export function reachesOnly({ servers, tools }: ProfileDefinition, isOwn: (server: string) => boolean): boolean {
  if (servers === undefined && tools === undefined) return false;
  const isNarrow = (server: string) => isOwn(server) || (servers !== undefined && server.includes('*'));
  return (servers ?? []).every(isOwn) && (tools ?? []).every(({ name }) => isNarrow(serverOf(name)));
}

/** The profile without what it says of other servers. */
export function withinServers<T extends ProfileDefinition>(profile: T, isOwn: (server: string) => boolean): T {
  const { servers, tools } = profile;
  return {
    ...profile,
    ...(servers === undefined ? {} : { servers: servers.filter(isOwn) }),
    ...(tools === undefined
      ? {}
      : { tools: tools.filter(({ name }) => serverOf(name).includes('*') || isOwn(serverOf(name))) }),
  };
}

const serverOf = (tool: string) => tool.split('.')[0] ?? tool;

/** How the profile offers a tool, or undefined when it does not. */
export function selectTool(profile: ProfileDefinition, tool: CatalogTool): Selected | undefined {
  if (!selectsServer(profile, tool.server.name)) return undefined;
  if (profile.tools === undefined) return {};
  return profile.tools.find(({ name }) => matchesPattern(name, tool.row.name));
}
