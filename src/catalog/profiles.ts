/** The stored profiles, in memory: every MCP request may ask for one. */
import type { Changes } from '../changes.ts';
import type { Logger } from '../log.ts';
import type { Database } from '../store/database.ts';
import { deleteProfile, findProfiles, upsertProfile } from '../store/profiles.ts';
import { createStoredCollection } from '../store/stored-collection.ts';
import { type Profile, type ProfileDefinition, profileDefinition, profileName } from './profile.ts';

export interface Profiles {
  list(): Profile[];
  find(name: string): Profile | undefined;
  save(name: string, definition: ProfileDefinition): Promise<Profile>;
  remove(name: string): Promise<boolean>;
  /** Reads them again, after another replica changed them. */
  reload(): Promise<void>;
}

interface ProfilesDependencies {
  db: Database;
  changes: Changes;
  log: Logger;
}

export async function createProfiles({ db, changes, log }: ProfilesDependencies): Promise<Profiles> {
  const profiles = await createStoredCollection({ load, replicated: { changes, topic: 'profiles.stored' } });

  /** A stored profile that the API would refuse offers nothing, as if it were gone, until it is saved or removed. */
  async function load(): Promise<Map<string, Profile>> {
    const loaded = new Map<string, Profile>();
    for (const { name, definition } of await findProfiles(db)) {
      const parsed = profileDefinition.safeParse(definition);
      if (parsed.success && profileName.safeParse(name).success) loaded.set(name, { ...parsed.data, name });
      else log.warn({ profile: name }, 'a stored profile is invalid and offers no tools; save it again or remove it');
    }
    return loaded;
  }

  return {
    list: () => [...profiles.entries.values()].sort((a, b) => (a.name < b.name ? -1 : 1)),
    find: (name) => profiles.entries.get(name),
    save: (name, definition) =>
      profiles.change(async (entries) => {
        await upsertProfile(db, name, definition);
        const profile = { ...definition, name };
        entries.set(name, profile);
        return profile;
      }),
    remove: (name) =>
      profiles.change(async (entries) => {
        const existed = await deleteProfile(db, name);
        entries.delete(name);
        return existed;
      }),
    reload: () => profiles.reload(),
  };
}
