/** The current server rules, in memory because every query without servers reads them. */
import type { Changes } from '../changes.ts';
import type { Database } from '../store/database.ts';
import { findSetting, upsertSetting } from '../store/settings.ts';
import { createStoredCollection } from '../store/stored-collection.ts';
import { type ServerRule, serverRulesSchema } from './server-rules.ts';

/** Under which the rules are stored. */
export const rulesKey = 'serverRules';

export interface RuleStore {
  list(): readonly ServerRule[];
  replace(rules: readonly ServerRule[]): Promise<void>;
  /** Reads them again, after another replica changed them. */
  reload(): Promise<void>;
}

export async function createRuleStore({ db, changes }: { db: Database; changes: Changes }): Promise<RuleStore> {
  const settings = await createStoredCollection<string, readonly ServerRule[]>({
    load: async () => [[rulesKey, serverRulesSchema.parse((await findSetting(db, rulesKey)) ?? [])]],
    replicated: { changes, topic: 'rules.stored' },
  });

  return {
    list: () => settings.entries.get(rulesKey) ?? [],
    replace: (rules) =>
      settings.change(async (entries) => {
        await upsertSetting(db, rulesKey, rules);
        entries.set(rulesKey, rules);
      }),
    reload: () => settings.reload(),
  };
}
