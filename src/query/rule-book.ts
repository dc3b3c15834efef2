/** The server rules that hold, in memory: every question that names no servers asks for them. */
import { createTurns } from '../turns.ts';
import { type ServerRule, serverRulesSchema } from './server-rules.ts';

/** Under which the rules are stored. */
export const rulesKey = 'serverRules';

export interface RuleBook {
  list(): readonly ServerRule[];
  replace(rules: readonly ServerRule[]): Promise<void>;
  /** Reads them again, after another replica changed them. */
  reload(): Promise<void>;
}

export interface RuleStore {
  /** Undefined where none were ever saved. */
  load(): Promise<unknown>;
  save(rules: readonly ServerRule[]): Promise<void>;
}

export async function createRuleBook(store: RuleStore): Promise<RuleBook> {
  const inTurn = createTurns();
  let rules = await load();

  async function load(): Promise<readonly ServerRule[]> {
    return serverRulesSchema.parse((await store.load()) ?? []);
  }

  return {
    list: () => rules,
    replace: (next) =>
      inTurn(async () => {
        await store.save(next);
        rules = next;
      }),
    reload: () =>
      inTurn(async () => {
        rules = await load();
      }),
  };
}
