import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { isIdle, type SessionUse, sessionToEvict } from '../../src/mcp/session-limits.ts';

interface NamedUse extends SessionUse {
  name: string;
}

/** `a@5 busy`: of principal a, used at 5, with a request under way. */
function sessionOf(text: string): NamedUse {
  const [, id = '', usedAt = '', state = ''] = /^(\w+)@(\d+) ?(\w*)$/.exec(text) ?? [];
  return {
    name: text,
    principal: { id },
    usedAt: Number(usedAt),
    isBusy: () => state === 'busy',
    isListening: () => state === 'listening',
    hasListened: () => state === 'listening' || state === 'left',
  };
}

suite('the session that ends so that principal a can open one (limits: 2 per principal, 4 in all)', () => {
  const limits = { maxSessionsPerPrincipal: 2, maxSessions: 4 };
  const table: { open: string[]; evicted: string }[] = [
    { open: [], evicted: 'none' },
    { open: ['a@1', 'b@2', 'b@3'], evicted: 'none' },
    { open: ['a@2', 'a@1', 'b@0'], evicted: 'a@1' },
    { open: ['a@1 listening', 'a@9'], evicted: 'a@9' },
    { open: ['a@3 listening', 'a@2 listening'], evicted: 'a@2 listening' },
    { open: ['a@1 busy', 'a@9 listening'], evicted: 'a@9 listening' },
    { open: ['a@1 busy', 'a@2 busy', 'b@0'], evicted: 'full' },
    { open: ['b@5', 'b@3', 'c@4', 'c@6'], evicted: 'b@3' },
    { open: ['b@1 busy', 'b@2 busy', 'c@3 busy', 'c@4 busy'], evicted: 'full' },
    { open: ['a@7', 'b@8 listening', 'c@1 busy', 'd@9'], evicted: 'a@7' },
  ];
  for (const { open, evicted } of table) {
    test(`${open.join(', ') || 'no session'} → ${evicted}`, () => {
      const found = sessionToEvict(open.map(sessionOf), 'a', limits);
      assert.equal(typeof found === 'string' ? found : found.name, evicted);
    });
  }
});

suite('idle at 10, where a session may be idle for 5 and a client that left has 2 to come back', () => {
  const table: [string, boolean][] = [
    ['a@4', true],
    ['a@5', true],
    ['a@6', false],
    ['a@8 left', true],
    ['a@9 left', false],
    ['a@1 busy', false],
    ['a@1 listening', false],
  ];
  for (const [session, idle] of table) {
    test(`${session}: ${idle ? 'ends' : 'stays'}`, () => {
      assert.equal(isIdle(sessionOf(session), 10, { sessionIdleMs: 5, clientReturnMs: 2 }), idle);
    });
  }
});
