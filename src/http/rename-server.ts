/** Renames a server with everything that names it: its tools, profiles, tokens and query rules (EC-008). */
import type { Profiles } from '../catalog/profiles.ts';
import { renameInList, renameInProfile } from '../catalog/renamed-references.ts';
import { toCanonical } from '../catalog/tool-name.ts';
import type { Changes } from '../changes.ts';
import { AppError } from '../errors.ts';
import { type RuleStore, rulesKey } from '../query/rule-store.ts';
import type { ServerRule } from '../query/server-rules.ts';
import type { Registry, Server } from '../registry/registry.ts';
import type { Authenticator } from '../security/auth.ts';
import type { Database } from '../store/database.ts';
import { renameServer as renameStored } from '../store/rename-server.ts';

export interface RenameDependencies {
  db: Database;
  registry: Registry;
  profiles: Profiles;
  authenticator: Authenticator;
  ruleStore: RuleStore;
  changes: Changes;
}

export async function renameServer(deps: RenameDependencies, server: Server, name: string): Promise<Server> {
  const { db, registry, changes } = deps;
  const { id, name: from, origin } = server;
  if (origin === 'config') {
    throw new AppError('SERVER_STATE_CONFLICT', `${from} comes from the config file; rename it there`);
  }
  const renamed = await registry.rename(id, () =>
    renameStored(db, {
      id,
      name,
      toolName: (tool) => toCanonical(name, tool),
      profile: (definition) => renameInProfile(definition, from, name),
      servers: (names) => renameInList(names, from, name),
      setting: {
        key: rulesKey,
        rewrite: (rules) =>
          (rules as ServerRule[]).map((rule) => ({ ...rule, servers: renameInList(rule.servers, from, name) })),
      },
    }),
  );
  await Promise.all([deps.profiles.reload(), deps.authenticator.reload(), deps.ruleStore.reload()]);
  changes.publish('profiles.stored', {});
  changes.publish('tokens.stored', {});
  changes.publish('rules.stored', {});
  return renamed;
}
