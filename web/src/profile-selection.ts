/** Which tools a profile includes, as checkboxes show it. A profile names tools, or many at once with "*". Pure. */
import type { Profile } from './api.ts';

export type ProfileTool = NonNullable<Profile['tools']>[number];

export const allOf = (server: string) => `${server}.*`;

const includes = (tools: readonly ProfileTool[], name: string) => tools.some((tool) => tool.name === name);

/** Patterns of other forms, which have no checkbox. */
export function otherPatterns(tools: readonly ProfileTool[], servers: readonly string[]): ProfileTool[] {
  return tools.filter(({ name }) => name.includes('*') && !servers.some((server) => name === allOf(server)));
}

export function isIncluded(tools: readonly ProfileTool[], server: string, tool: string): boolean {
  return includes(tools, allOf(server)) || includes(tools, tool);
}

/** Without one tool, "all of the server" becomes the names of the others. */
export function withTool(
  tools: readonly ProfileTool[],
  { server, tool, known }: { server: string; tool: string; known: readonly string[] },
  included: boolean,
): ProfileTool[] {
  if (included) return isIncluded(tools, server, tool) ? [...tools] : [...tools, { name: tool }];
  const rest = tools.filter(({ name }) => name !== tool && name !== allOf(server));
  if (!includes(tools, allOf(server))) return rest;
  const others = known.filter((name) => name !== tool && !includes(rest, name));
  return [...rest, ...others.map((name) => ({ name }))];
}

/** All of a server, also what it adds later; or none of it. Names and descriptions of a profile stay with "all". */
export function withServer(tools: readonly ProfileTool[], server: string, included: boolean): ProfileTool[] {
  const own = (name: string) => name.startsWith(`${server}.`);
  if (!included) return tools.filter(({ name }) => !own(name));
  const changed = ({ rename, description }: ProfileTool) => rename !== undefined || description !== undefined;
  return [...tools.filter((tool) => !own(tool.name) || changed(tool)), { name: allOf(server) }];
}
