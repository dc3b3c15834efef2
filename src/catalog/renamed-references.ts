/** What names a server, after the server was renamed. Pure; the same object where nothing names it. */
import type { ProfileDefinition } from './profile.ts';
import { fromCanonical, toCanonical } from './tool-name.ts';

export function renameInList(names: string[], from: string, to: string): string[] {
  return names.includes(from) ? names.map((name) => (name === from ? to : name)) : names;
}

export function renameInProfile<T extends Pick<ProfileDefinition, 'servers' | 'tools'>>(
  profile: T,
  from: string,
  to: string,
): T {
  const servers = profile.servers && renameInList(profile.servers, from, to);
  const isNamed = ({ name }: { name: string }) => fromCanonical(name)?.server === from;
  const hasTools = profile.tools?.some(isNamed) === true;
  if (servers === profile.servers && !hasTools) return profile;
  const renamed = (name: string) => toCanonical(to, fromCanonical(name)?.tool ?? '');
  const tools = profile.tools?.map((tool) => (isNamed(tool) ? { ...tool, name: renamed(tool.name) } : tool));
  return { ...profile, ...(servers === undefined ? {} : { servers }), ...(tools === undefined ? {} : { tools }) };
}
