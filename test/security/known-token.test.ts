/** Tokens as decisions: what a user's token may do, how it is recognised, when it has expired. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Principal } from '../../src/security/auth.ts';
import { issueToken, limitedTo, toKnownToken, tokenId } from '../../src/security/known-token.ts';
import { createTokenExpiry } from '../../src/security/token-expiry.ts';
import { createTokenRecognition } from '../../src/security/token-recognition.ts';

const given = { name: 'laptop', role: 'caller' } as const;
const all: Principal = { id: 'u1', name: 'Ada', role: 'admin', servers: null, profile: null };

suite('a token of a user may do what both may do', () => {
  type Rights = Pick<Principal, 'role' | 'profile'> & { servers: string[] | null };
  const rights = (role: Principal['role'], servers: string[] | null, profile: string | null = null): Rights => ({
    role,
    servers,
    profile,
  });
  const rows: [title: string, token: Rights, user: Rights, expected: Rights][] = [
    ['the lower role: of the token', rights('viewer', null), rights('admin', null), rights('viewer', null)],
    ['the lower role: of the user', rights('admin', null), rights('caller', null), rights('caller', null)],
    ['the servers of the token', rights('caller', ['a']), rights('caller', null), rights('caller', ['a'])],
    ['the servers of the user', rights('caller', null), rights('caller', ['b']), rights('caller', ['b'])],
    ['the servers of both', rights('caller', ['a', 'b']), rights('caller', ['b', 'c']), rights('caller', ['b'])],
    ['the profile of the token', rights('caller', null, 'p'), rights('caller', null), rights('caller', null, 'p')],
    ['the profile of the user', rights('caller', null, 'p'), rights('caller', null, 'q'), rights('caller', null, 'q')],
  ];
  for (const [title, token, user, expected] of rows) {
    test(title, () => {
      const { row } = issueToken({ ...given, ...token }, 'admin');
      const holder = { ...all, ...user, servers: user.servers && new Set(user.servers) };
      const { role, servers, profile } = limitedTo(holder, row);
      assert.deepEqual({ role, servers: servers && [...servers], profile }, expected);
    });
  }

  test('it is named after its user and counts as its user', () => {
    const { row } = issueToken(given, 'admin');
    const { id, name, user } = limitedTo(all, row);
    assert.deepEqual([id, name, user], [row.id, 'Ada (laptop)', 'u1']);
  });
});

test('the id of a token is read from its beginning', () => {
  const rows = [
    ['mcpa_12ab_secret', '12ab'],
    ['mcpa_12ab', '12ab'],
    ['mcpa', ''],
    ['other_12ab_secret', ''],
    ['', ''],
  ] as const;
  for (const [token, id] of rows) assert.equal(tokenId(token), id, token);
});

test('a header is recognised as long as its token is the stored one', () => {
  const { token, row } = issueToken(given, 'admin');
  const stored = new Map([[row.id, toKnownToken(row)]]);
  const recognise = createTokenRecognition('the-admin-token', (id) => stored.get(id));
  const refused = { code: 'UNAUTHENTICATED' };
  assert.equal(recognise('Bearer the-admin-token'), 'admin');
  for (let time = 0; time < 2; time += 1) assert.equal(recognise(`Bearer ${token}`), stored.get(row.id));
  assert.throws(() => recognise(`Bearer ${token}x`), refused);
  const replaced = toKnownToken(row);
  stored.set(row.id, replaced);
  assert.equal(recognise(`Bearer ${token}`), replaced);
  stored.clear();
  assert.throws(() => recognise(`Bearer ${token}`), refused);
});

test('an expired token is reported once and stays expired if the clock is set back', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.parse('2026-01-01') });
  const reported: string[] = [];
  const expiry = createTokenExpiry((id) => reported.push(id));
  const known = (expiresAt: string | null) => toKnownToken(issueToken({ ...given, expiresAt }, 'admin').row);
  const [endless, unreadable, old, soon] = [known(null), known('soon'), known('2025-01-01'), known('2026-02-01')];
  expiry.recordKnown(old);
  const states = () => [endless, unreadable, old, soon].map(expiry.isExpired);
  assert.deepEqual(states(), [false, true, true, false]);
  t.mock.timers.setTime(Date.parse('2026-03-01'));
  assert.deepEqual(states(), [false, true, true, true]);
  t.mock.timers.setTime(Date.parse('2026-01-01'));
  assert.deepEqual(states(), [false, true, true, true]);
  assert.deepEqual(reported, [unreadable.row.id, soon.row.id]);
});
