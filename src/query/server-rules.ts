import { runInNewContext } from 'node:vm';
import { z } from 'zod';

const maxPattern = 500;
const maxRules = 100;
/** Rules look at the beginning of a query: what it is about is said there, and pasted text is not searched. */
const matchedChars = 2000;
/** For all rules together. A pattern that backtracks without end is stopped here and reported. */
const matchTimeoutMs = 50;
/** Matching blocks the event loop, so a rule that ran too long is skipped for a while. */
const suspendedMs = 10_000;
/** Until when, by rule; a rule that is changed is another one. */
const suspended = new WeakMap<ServerRule, number>();

const serverRuleSchema = z.strictObject({
  pattern: z.string().min(1).max(maxPattern),
  servers: z.array(z.string().min(1).max(255)).min(1).max(100),
});

export const serverRulesSchema = z
  .array(serverRuleSchema)
  .max(maxRules)
  .superRefine((rules, context) => {
    rules.forEach((rule, index) => {
      const reason = patternProblem(rule.pattern);
      if (reason === undefined) return;
      const message = `rule ${index + 1} (${rule.pattern.slice(0, 60)}): ${reason}`;
      context.addIssue({ code: 'custom', path: [index, 'pattern'], message });
    });
  });

export type ServerRule = z.infer<typeof serverRuleSchema>;

/** The rules limited to the visible servers; rules without visible servers are dropped. */
export function rulesFor(rules: readonly ServerRule[], isVisible: (server: string) => boolean): ServerRule[] {
  return rules
    .map((rule) => ({ ...rule, servers: rule.servers.filter(isVisible) }))
    .filter(({ servers }) => servers.length > 0);
}

function patternProblem(pattern: string): string | undefined {
  try {
    new RegExp(pattern, 'i');
    return undefined;
  } catch (error) {
    return error instanceof SyntaxError ? error.message : 'not a regular expression';
  }
}

type RuleMatch =
  | { kind: 'matched'; rule: ServerRule; index: number }
  | { kind: 'none' }
  /** The rules took too long: the caller goes on as if none matched, and says so. */
  | { kind: 'stopped' };

/** The first rule whose pattern occurs in the query, upper and lower case alike. */
export function matchServerRule(query: string, rules: readonly ServerRule[], now = performance.now()): RuleMatch {
  if (rules.length === 0) return { kind: 'none' };
  const isSuspended = (rule: ServerRule) => (suspended.get(rule) ?? Number.NEGATIVE_INFINITY) > now;
  const leftOut = rules.findIndex(isSuspended);
  if (leftOut === 0) return { kind: 'stopped' };
  // Stop at a skipped rule, because later rules apply only if it does not match, which is unknown.
  const tried = leftOut === -1 ? rules : rules.slice(0, leftOut);
  const { index, stoppedAt } = firstMatch(
    query.slice(0, matchedChars),
    tried.map((rule) => rule.pattern),
  );
  const slow = stoppedAt === undefined ? undefined : tried[stoppedAt];
  if (slow !== undefined) suspended.set(slow, now + suspendedMs);
  const rule = index === undefined ? undefined : tried[index];
  if (rule !== undefined && index !== undefined) return { kind: 'matched', rule, index };
  return stoppedAt === undefined && leftOut === -1 ? { kind: 'none' } : { kind: 'stopped' };
}

/** Only a script run under `vm` can be interrupted while a regular expression backtracks. */
function firstMatch(text: string, patterns: readonly string[]): { index?: number; stoppedAt?: number } {
  const context = { text, patterns: JSON.stringify(patterns), at: 0 };
  try {
    const found: unknown = runInNewContext(matchScript, context, { timeout: matchTimeoutMs });
    return typeof found === 'number' && found !== -1 ? { index: found } : {};
  } catch (error) {
    // Thrown inside the other context, whose Error is not ours.
    const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
    if (code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return { stoppedAt: context.at };
    throw error;
  }
}

const matchScript = `JSON.parse(patterns).findIndex((pattern, index) => {
  at = index;
  return new RegExp(pattern, "i").test(text);
})`;

export interface ServerChoice {
  servers: string[];
  by: 'call' | 'rule' | 'all';
  /** The pattern that decided, where one did. */
  pattern?: string;
  /** Set when the rules were stopped because a pattern ran too long. */
  rulesStopped?: true;
}

interface ChoiceInput {
  query: string;
  /** Named in the call, and checked there. */
  named?: readonly string[];
  rules: readonly ServerRule[];
  /** Every server there is. */
  known: readonly string[];
}

/** The call decides, else the first matching rule, else every server is asked. */
export function chooseServers({ query, named, rules, known }: ChoiceInput): ServerChoice {
  if (named !== undefined && named.length > 0) return { servers: [...new Set(named)], by: 'call' };
  const match = matchServerRule(query, rules);
  if (match.kind === 'matched') {
    return { servers: [...new Set(match.rule.servers)], by: 'rule', pattern: match.rule.pattern };
  }
  return { servers: [...known], by: 'all', ...(match.kind === 'stopped' ? { rulesStopped: true as const } : {}) };
}
