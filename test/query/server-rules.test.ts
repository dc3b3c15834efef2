import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseServers, matchServerRule, serverRulesSchema } from '../../src/query/server-rules.ts';

const rules = serverRulesSchema.parse([
  { pattern: 'documentation|docs|library|package', servers: ['context7'] },
  { pattern: 'code|function|class|method', servers: ['serena'] },
  { pattern: '.*', servers: ['context7', 'serena', 'memory'] },
]);
const choice = { known: ['context7', 'memory', 'serena'] };

test('Q-013: the first rule that matches chooses, whatever the case', () => {
  assert.deepEqual(chooseServers({ ...choice, rules, query: 'React DOCS and code' }).servers, ['context7']);
  assert.deepEqual(chooseServers({ ...choice, rules, query: 'which method' }).servers, ['serena']);
  assert.equal(chooseServers({ ...choice, rules, query: 'weather' }).pattern, '.*');
});

test('Q-013: no rule: all servers; the call overrides everything', () => {
  assert.deepEqual(chooseServers({ ...choice, rules: [], query: 'x' }), { servers: choice.known, by: 'all' });
  const named = chooseServers({ ...choice, rules, named: ['serena', 'serena'], query: 'docs' });
  assert.deepEqual(named, { servers: ['serena'], by: 'call' });
});

test('an invalid pattern is a problem that names its rule', () => {
  const result = serverRulesSchema.safeParse([rules[0], { pattern: '(unclosed', servers: ['a'] }]);
  assert.equal(result.success, false);
  const [issue] = result.error?.issues ?? [];
  assert.deepEqual(issue?.path, [1, 'pattern']);
  assert.match(issue?.message ?? '', /^rule 2 \(\(unclosed\): Invalid regular expression/);
});

test('every other bad rule is refused', () => {
  const bad = [
    [{ pattern: '', servers: ['a'] }],
    [{ pattern: 'x'.repeat(501), servers: ['a'] }],
    [{ pattern: 'x', servers: [] }],
    [{ pattern: 'x', servers: [''] }],
    [{ pattern: 'x' }],
    [{ pattern: 3, servers: ['a'] }],
    [{ pattern: 'x', servers: ['a'], flags: 'g' }],
    Array.from({ length: 101 }, () => ({ pattern: 'x', servers: ['a'] })),
    {},
  ];
  for (const value of bad)
    assert.equal(serverRulesSchema.safeParse(value).success, false, JSON.stringify(value).slice(0, 80));
});

test('a pattern that backtracks without end is stopped and reported, and every server is asked', () => {
  const hostile = [{ pattern: '(a+)+$', servers: ['x'] }];
  const query = `${'a'.repeat(1000)}!`;
  assert.deepEqual(matchServerRule(query, hostile), { kind: 'stopped' });
  assert.deepEqual(chooseServers({ ...choice, rules: hostile, query }), {
    servers: choice.known,
    by: 'all',
    rulesStopped: true,
  });
});

test('a rule that ran too long is not tried again at once, however many queries come meanwhile', () => {
  const hostile = serverRulesSchema.parse([
    { pattern: 'first', servers: ['a'] },
    { pattern: '(a+)+$', servers: ['b'] },
    { pattern: 'last', servers: ['c'] },
  ]);
  const slow = `${'a'.repeat(1000)}!`;
  const at = 1_000_000;
  assert.deepEqual(matchServerRule(slow, hostile, at), { kind: 'stopped' });
  // It would match at once, so only a rule that is left out answers this.
  assert.deepEqual(matchServerRule('a', hostile, at + 1), { kind: 'stopped' });
  assert.deepEqual(matchServerRule('last', hostile, at + 1), { kind: 'stopped' });
  assert.deepEqual(matchServerRule('first a', hostile, at + 1), { kind: 'matched', rule: hostile[0], index: 0 });
  assert.deepEqual(matchServerRule('a', hostile, at + 11_000), { kind: 'matched', rule: hostile[1], index: 1 });
});
