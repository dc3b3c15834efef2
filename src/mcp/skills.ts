/**
 * Skills of servers (SEP-2640): directories of files with a `SKILL.md`. Their files have digests, so that nothing in them
 * can change on the way; where two servers have a skill of the same address, the address names the server.
 */
import { isObject, type JsonObject } from '../json-rpc.ts';
import type { Server } from '../registry/registry.ts';
import type { Scope } from './scope.ts';

export const skillsExtension = 'io.modelcontextprotocol/skills';
const scheme = 'skill://';

/** What the servers together can do: one that cannot list directories is asked and says so. */
export function skillsCapability(declared: readonly unknown[]): JsonObject | undefined {
  const known = declared.filter(isObject);
  if (known.length === 0) return undefined;
  return known.some(({ directoryRead }) => directoryRead === true) ? { directoryRead: true } : {};
}

/** The address of a file of a skill that names its server; the name of the skill stays where it is. */
export const qualifySkill = (server: Server, uri: string): string =>
  `${scheme}${server.name}/${uri.slice(scheme.length)}`;

export const isSkillUri = (uri: string): boolean => uri.startsWith(scheme);

/** The servers that have the file, and their own address for it. */
export function ownersOfSkillFile(scope: Scope, uri: string): { server: Server; uri: string }[] {
  const skills = scope.listItems('skill');
  const plain = skills.filter(({ key }) => isWithin(key, uri)).map(({ server }) => ({ server, uri }));
  if (plain.length === 1) return plain;
  const qualified = skills.flatMap(({ key, server }) => {
    const start = `${scheme}${server.name}/`;
    const theirs = uri.startsWith(start) ? `${scheme}${uri.slice(start.length)}` : undefined;
    return theirs !== undefined && isWithin(key, theirs) ? [{ server, uri: theirs }] : [];
  });
  return qualified.length === 1 ? qualified : plain;
}

/** Whether another server of the scope has a skill that the file could belong to. */
export function skillsOfOthers(scope: Scope, { id }: Server): (uri: string) => boolean {
  const keys = new Set<string>();
  const directories = new Set<string>();
  for (const { key, server } of scope.listItems('skill')) {
    if (server.id === id) continue;
    keys.add(key);
    directories.add(directoryOf(key));
  }
  return (uri) => keys.has(uri) || directories.has(`${uri}/`) || isBelow(directories, uri);
}

/** One of the directories that the file is in, its own first. */
function isBelow(directories: ReadonlySet<string>, uri: string): boolean {
  if (uri.length > maxUriLength) return false;
  for (let end = uri.lastIndexOf('/'); end > 0; end = uri.lastIndexOf('/', end - 1))
    if (directories.has(uri.slice(0, end + 1))) return true;
  return false;
}

const maxUriLength = 2_048;

const directoryOf = (skillUri: string): string => skillUri.slice(0, skillUri.lastIndexOf('/') + 1);

/** An entry of `skills/list` with addresses that clients can use. */
export function withSkillAddresses(entry: JsonObject, addressOf: (uri: string) => string): JsonObject {
  const { uri, resources } = entry;
  return {
    ...entry,
    ...(typeof uri === 'string' ? { uri: addressOf(uri) } : {}),
    ...(Array.isArray(resources) ? { resources: resources.map((file) => withAddress(file, addressOf)) } : {}),
  };
}

function withAddress(file: unknown, addressOf: (uri: string) => string): unknown {
  return isObject(file) && typeof file.uri === 'string' ? { ...file, uri: addressOf(file.uri) } : file;
}

/** `skillUri` is that of its `SKILL.md`. */
function isWithin(skillUri: string, uri: string): boolean {
  const directory = directoryOf(skillUri);
  return uri === skillUri || `${uri}/` === directory || (directory !== '' && uri.startsWith(directory));
}
