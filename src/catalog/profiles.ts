/** The stored profiles, in memory: every MCP request may ask for one. */

import { createMutex } from '../mutex.ts';
import type { Database } from '../store/database.ts';
import { deleteProfile, findProfiles, upsertProfile } from '../store/profiles.ts';
import { type Profile, type ProfileDefinition, profileDefinition, profileName } from './profile.ts';

export interface Profiles {
  list(): Profile[];
  find(name: string): Profile | undefined;
  save(name: string, definition: ProfileDefinition): Promise<Profile>;
  remove(name: string): Promise<boolean>;
  /** Reads them again, after another replica changed them. */
  reload(): Promise<void>;
}

/**
 * `onStored` is told of every change that other replicas must read, `onInvalid` of a stored profile that the API would
 * refuse: it offers nothing, as if it were gone, until somebody saves or removes it.
 */
export async function createProfiles(
  db: Database,
  onStored = () => {},
  onInvalid: (name: string) => void = () => {},
): Promise<Profiles> {
  const withLock = createMutex();
  let profiles = await load();

  async function load(): Promise<Map<string, Profile>> {
    const rows = await findProfiles(db);
    const loaded = new Map<string, Profile>();
    for (const { name, definition } of rows) {
      const parsed = profileDefinition.safeParse(definition);
      if (parsed.success && profileName.safeParse(name).success) loaded.set(name, { ...parsed.data, name });
      else onInvalid(name);
    }
    return loaded;
  }

  return {
    list: () => [...profiles.values()].sort((a, b) => (a.name < b.name ? -1 : 1)),
    find: (name) => profiles.get(name),
    save: (name, definition) =>
      withLock(async () => {
        await upsertProfile(db, name, definition);
        const profile = { ...definition, name };
        profiles.set(name, profile);
        onStored();
        return profile;
      }),
    remove: (name) =>
      withLock(async () => {
        const existed = await deleteProfile(db, name);
        profiles.delete(name);
        onStored();
        return existed;
      }),
    reload: () =>
      withLock(async () => {
        profiles = await load();
      }),
  };
}
