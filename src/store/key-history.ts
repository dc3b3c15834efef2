import type { Database } from './database.ts';
import { findSetting, upsertSetting } from './settings.ts';

const key = 'own.used-keys';
const kept = 20;

/** The ids of the keys that sealed credentials before they were sealed with another one. */
export function storedKeyHistory(db: Database) {
  const find = async () => ((await findSetting(db, key)) ?? []) as string[];
  return {
    find,
    async add(keyId: string): Promise<void> {
      const known = await find();
      if (!known.includes(keyId)) await upsertSetting(db, key, [...known, keyId].slice(-kept));
    },
  };
}
