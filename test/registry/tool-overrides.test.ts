import assert from 'node:assert/strict';
import { test } from 'node:test';
import { registration } from '../../src/registry/server.ts';
import { toolOverridePatch, withOverride } from '../../src/registry/tool-overrides.ts';

const problemOf = (fixed_arguments: object) => {
  const [issue] = toolOverridePatch.safeParse({ fixed_arguments }).error?.issues ?? [];
  return issue?.path.join('.');
};

test('SEC-003: arguments that an admin writes down hold no credentials, because they are stored in plain text', () => {
  for (const [given, place] of [
    [{ repo: 'acme/shop', limit: 10, key: 'settings', labels: ['a', null] }, undefined],
    [{ api_key: '' }, undefined],
    [{ api_key: 'abc' }, 'fixed_arguments.api_key'],
    [{ auth: { password: 'hunter2' } }, 'fixed_arguments.auth.password'],
    [{ tokens: ['a', 'b'] }, 'fixed_arguments.tokens'],
    [{ repo: 'ghp_abcdefABCDEF0123456789abcdefABCDEF0123' }, 'fixed_arguments.repo'],
  ] as const)
    assert.equal(problemOf(given), place, JSON.stringify(given));

  const given = { name: 'a', transport_type: 'STDIO', connection_config: { command: 'x' } };
  const options = { query_tools: [{ tool: 't', arguments: { query: '{{query}}', token: 'abc' } }] };
  assert.match(registration.safeParse({ ...given, options }).error?.issues[0]?.message ?? '', /stored in plain text/);
});

test('a tool may be called as what every object has', () => {
  for (const tool of ['__proto__', 'constructor', 'toString']) {
    const decided = withOverride({}, tool, { enabled: false });
    assert.deepEqual(Object.entries(decided), [[tool, { enabled: false }]]);
    assert.deepEqual(Object.entries(withOverride(decided, tool, { enabled: null })), []);
    assert.equal(({} as { enabled?: boolean }).enabled, undefined);
  }
});
