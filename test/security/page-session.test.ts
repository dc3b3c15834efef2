import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, suite, test } from 'node:test';
import { createChanges } from '../../src/changes.ts';
import { AppError } from '../../src/errors.ts';
import type { Principal, RequestAuthenticator } from '../../src/security/auth.ts';
import { createVault } from '../../src/security/credentials.ts';
import { createPageSessions, isOwnPage, type PageSessions } from '../../src/security/page-session.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { createTestDatabase, type TestDatabase } from '../support/databases.ts';

const ada: Principal = { id: 'ada', name: 'ada', role: 'caller', servers: null, profile: null };
const requestAuthenticator: RequestAuthenticator = {
  authenticate({ authorization }) {
    if (authorization === 'Bearer right') return ada;
    throw new AppError('UNAUTHENTICATED', 'no');
  },
  challenge: () => '',
};
const host = '127.0.0.1:8081';
const pairOf = (cookie: string) => cookie.split(';')[0] ?? '';

suite('page sessions', () => {
  let time = Date.now();
  let stored: TestDatabase;
  let db: Database;
  let sessions: PageSessions;
  let other: PageSessions;
  before(async () => {
    stored = await createTestDatabase();
    db = await openDatabase({ url: stored.url, file: stored.file });
    const vault = createVault({ current: randomBytes(32) });
    other = await createPageSessions({ db, changes: createChanges(), vault, requestAuthenticator, now: () => time });
    sessions = await createPageSessions({ db, changes: createChanges(), vault, requestAuthenticator, now: () => time });
  });
  after(async () => {
    await db.close();
    await stored.close();
  });
  const admitted = (headers: Record<string, string>, method = 'GET', by = sessions) => {
    const request = { method, headers: Object.freeze({ host, ...headers }) };
    return by.authorizationOf(request);
  };

  test('the cookie cannot be read by scripts, is sent to us only, and opens the session', async () => {
    const { principal, cookie } = await sessions.begin('right', { host });
    assert.equal(principal, ada);
    assert.match(cookie, /^mcp_aggregator_8081=.+; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/);
    assert.ok(!cookie.includes('right'));
    assert.equal(admitted({ cookie: `a=b; ${pairOf(cookie)}` }), 'Bearer right');
    assert.match((await sessions.begin('right', { host, origin: 'https://mcp.example.com' })).cookie, /; Secure$/);
  });

  test('a wrong token begins nothing', async () => {
    await assert.rejects(sessions.begin('wrong', { host }), /no/);
  });

  test('nothing is admitted with a changed, expired or ended session', async () => {
    const { cookie } = await sessions.begin('right', { host });
    const value = pairOf(cookie);
    assert.equal(admitted({ cookie: value }, 'GET', other), 'Bearer right');
    assert.equal(admitted({ cookie: `${value}x` }), undefined);
    assert.equal(admitted({ cookie: 'mcp_aggregator_8081=v1.a.b.c' }), undefined);
    assert.match(await sessions.end({ host, cookie: value }), /Max-Age=0/);
    assert.equal(admitted({ cookie: value }), undefined);
    await other.reload();
    assert.equal(admitted({ cookie: value }, 'GET', other), undefined, 'ended everywhere');
    const { cookie: late } = await sessions.begin('right', { host });
    time += 12 * 3_600_000;
    assert.equal(admitted({ cookie: pairOf(late) }), undefined);
  });

  test('a header that is there already counts', async () => {
    const { cookie } = await sessions.begin('right', { host });
    assert.equal(admitted({ cookie: pairOf(cookie), authorization: 'Bearer other' }), 'Bearer other');
  });

  test('a code works once, at any replica, and not for long', async () => {
    const { code } = await sessions.createCode('right');
    assert.equal(await other.redeem(code), 'right');
    await assert.rejects(sessions.redeem(code), /already used/);
    const { code: old } = await sessions.createCode('right');
    time += 300_000;
    await assert.rejects(sessions.redeem(old), /too old/);
  });

  test('of many who use a code at once, one signs in', async () => {
    const { code } = await sessions.createCode('right');
    const tried = await Promise.allSettled([sessions, other, sessions, other].map((each) => each.redeem(code)));
    assert.equal(tried.filter(({ status }) => status === 'fulfilled').length, 1);
  });

  const cases: [string, string, Record<string, string>, boolean][] = [
    ['our page asks', 'GET', { 'sec-fetch-site': 'same-origin' }, true],
    ['a person types the address', 'GET', { 'sec-fetch-site': 'none' }, true],
    ['our page changes something', 'POST', { 'sec-fetch-site': 'same-origin', origin: `http://${host}` }, true],
    ['behind a proxy with https', 'POST', { origin: `https://${host}` }, true],
    ['another port of this host asks', 'GET', { 'sec-fetch-site': 'same-site' }, false],
    ['another port of this host posts', 'POST', { origin: 'http://127.0.0.1:3000' }, false],
    ['another site posts', 'POST', { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }, false],
    ['a sandboxed frame posts', 'POST', { origin: 'null' }, false],
    ['a post that does not say where it is from', 'POST', {}, false],
  ];
  for (const [name, method, headers, expected] of cases) {
    test(`${name}: ${expected ? 'counts' : 'does not count'}`, () => {
      assert.equal(isOwnPage({ method, headers: { host, ...headers } }), expected);
    });
  }
});
