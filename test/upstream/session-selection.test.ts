/** MCP-020 as a table: who holds the session that a call goes over. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { DecisiveFields } from '../../src/registry/session-ownership.ts';
import { needsLegacySession, sessionHolder } from '../../src/upstream/session-selection.ts';

const plain: DecisiveFields = {
  options: {},
  session_evidence: {},
  era: 'legacy',
  transport_type: 'STDIO',
  user_keys: [],
};
const asked = { session_evidence: { asked: ['roots/list'] } };
const credentials = 'per_principal' as const;

suite('who holds the session', () => {
  const rows: [title: string, server: Partial<DecisiveFields>, needsLegacy: boolean, expected: string][] = [
    ['nothing shows that the server keeps state', {}, false, 'shared'],
    ['a client of the old era that the server could not ask', {}, true, 'legacy'],
    ['the server asked its client', asked, false, 'client'],
    ['the server asked its client, whatever the era', asked, true, 'client'],
    ['set: client', { options: { sessions: 'client' } }, false, 'client'],
    ['set: principal', { options: { sessions: 'principal' } }, true, 'principal'],
    ['set: shared, whatever the server did', { ...asked, options: { sessions: 'shared' } }, false, 'shared'],
    ['each user logs in', { options: { credentials } }, true, 'user'],
    ['each user enters a key', { user_keys: ['TOKEN'] }, false, 'user'],
    ['each user logs in, and the server asked its client', { ...asked, options: { credentials } }, false, 'client'],
    ['each user logs in; set: principal', { options: { credentials, sessions: 'principal' } }, false, 'principal'],
    ['each user logs in; set: shared', { options: { credentials, sessions: 'shared' } }, true, 'user'],
  ];
  for (const [title, server, needsLegacy, expected] of rows) {
    test(`${title}: ${expected}`, () => {
      assert.equal(
        sessionHolder({ ...plain, ...server }, () => needsLegacy),
        expected,
      );
    });
  }
});

test('a session of the old era is for its clients that can be asked, on servers that also speak the new one', () => {
  const client = { era: 'legacy', isAskable: true } as const;
  const server = { era: 'modern', options: {} } as const;
  const rows = [
    [server, client, true],
    [server, { ...client, isAskable: false }, false],
    [server, { ...client, era: 'modern' }, false],
    [{ ...server, era: 'legacy' }, client, false],
    [{ ...server, era: null }, client, false],
    [{ ...server, options: { protocol: 'modern' } }, client, false],
  ] as const;
  for (const [given, owner, expected] of rows)
    assert.equal(needsLegacySession(given, owner), expected, JSON.stringify([given, owner]));
});
