/** The server rules that hold, in memory: every question that names no servers asks for them. */
import { createMutex } from '../mutex.ts';
import { type ServerRule, serverRulesSchema } from './server-rules.ts';

/** Under which the rules are stored. */
export const rulesKey = 'serverRules';

export interface RuleStore {
  list(): readonly ServerRule[];
  replace(rules: readonly ServerRule[]): Promise<void>;
  /** Reads them again, after another replica changed them. */
  reload(): Promise<void>;
}

export interface RuleRows {
  /** Undefined where none were ever saved. */
  load(): Promise<unknown>;
  save(rules: readonly ServerRule[]): Promise<void>;
}

export async function createRuleStore(store: RuleRows): Promise<RuleStore> {
  const withLock = createMutex();
  let rules = await load();

  async function load(): Promise<readonly ServerRule[]> {
    return serverRulesSchema.parse((await store.load()) ?? []);
  }

  return {
    list: () => rules,
    replace: (next) =>
      withLock(async () => {
        await store.save(next);
        rules = next;
      }),
    reload: () =>
      withLock(async () => {
        rules = await load();
      }),
  };
}
