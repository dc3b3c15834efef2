/** What the endpoint promises clients that it and its servers can do. */
import { isObject, type JsonObject } from '../json-rpc.ts';
import type { Server } from '../registry/registry.ts';
import type { Peer } from './peer.ts';
import type { Scope } from './scope.ts';
import { skillsCapability, skillsExtension } from './skills.ts';
import { tasksExtension } from './task-methods.ts';

/** What the servers of the scope can do, as far as it passes through us. */
export function capabilitiesOf(scope: Pick<Scope, 'single'>, servers: readonly Server[], era: Peer['era']): JsonObject {
  const ours = {
    tools: { listChanged: true },
    prompts: { listChanged: true },
    resources: { subscribe: servers.some(canSubscribe), listChanged: true },
    completions: {},
    logging: {},
  };
  const extensions = extensionsOf(scope, servers, era);
  const all = Object.keys(extensions).length === 0 ? ours : { ...ours, extensions };
  if (scope.single === undefined) return all;
  const theirs = scope.single.capabilities ?? {};
  const kept = Object.entries(all).filter(([name]) => theirs[name] !== undefined);
  const experimental = theirs.experimental === undefined ? {} : { experimental: theirs.experimental };
  return { ...Object.fromEntries(kept), ...experimental };
}

const canSubscribe = ({ capabilities }: Server): boolean =>
  isObject(capabilities?.resources) && capabilities.resources.subscribe === true;

/** Of all servers; where two describe the same one, the first description holds. Tasks are ours to translate. */
function extensionsOf({ single }: Pick<Scope, 'single'>, servers: readonly Server[], era: Peer['era']): JsonObject {
  const theirs = servers.map(({ capabilities }) => (isObject(capabilities?.extensions) ? capabilities.extensions : {}));
  const { [tasksExtension]: tasks, ...first } = Object.assign({}, ...theirs.toReversed()) as JsonObject;
  const skills = skillsCapability(theirs.map((extensions) => extensions[skillsExtension]));
  const others = skills === undefined ? first : { ...first, [skillsExtension]: skills };
  if (era === 'legacy') return others;
  return single === undefined
    ? { ...others, [tasksExtension]: {} }
    : { ...others, ...(tasks === undefined ? {} : { [tasksExtension]: tasks }) };
}
