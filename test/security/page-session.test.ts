import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { suite, test } from 'node:test';
import { AppError } from '../../src/errors.ts';
import type { Gatekeeper, Principal } from '../../src/security/auth.ts';
import { createVault } from '../../src/security/credentials.ts';
import { createPageSessions, isOwnPage } from '../../src/security/page-session.ts';

const ada: Principal = { id: 'ada', name: 'ada', role: 'caller', servers: null, profile: null };
const gatekeeper: Gatekeeper = {
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
  const sessions = createPageSessions({
    vault: createVault({ current: randomBytes(32) }),
    gatekeeper,
    now: () => time,
  });
  const admitted = (headers: Record<string, string>, method = 'GET') => {
    const request: { method: string; headers: Record<string, string | undefined> } = {
      method,
      headers: { host, ...headers },
    };
    sessions.admit(request);
    return request.headers.authorization;
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
    assert.equal(admitted({ cookie: `${value}x` }), undefined);
    assert.equal(admitted({ cookie: 'mcp_aggregator_8081=v1.a.b.c' }), undefined);
    assert.match(sessions.end({ host, cookie: value }), /Max-Age=0/);
    assert.equal(admitted({ cookie: value }), undefined);
    const { cookie: late } = await sessions.begin('right', { host });
    time += 12 * 3_600_000;
    assert.equal(admitted({ cookie: pairOf(late) }), undefined);
  });

  test('a header that is there already counts', async () => {
    const { cookie } = await sessions.begin('right', { host });
    assert.equal(admitted({ cookie: pairOf(cookie), authorization: 'Bearer other' }), 'Bearer other');
  });

  test('a code works once, and not for long', () => {
    const { code } = sessions.createCode('right');
    assert.equal(sessions.redeem(code), 'right');
    assert.throws(() => sessions.redeem(code), /used already/);
    const { code: old } = sessions.createCode('right');
    time += 300_000;
    assert.throws(() => sessions.redeem(old), /too old/);
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
