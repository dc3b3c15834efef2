import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import {
  afterRefusal,
  isAboutToken,
  isDue,
  isOver,
  isReplaced,
  needAfter,
  needOf,
  usableTokens,
} from '../../src/oauth/refusals.ts';
import { emptyRow, type Tokens } from '../../src/oauth/token-cache.ts';
import type { OauthLoginRow } from '../../src/store/schema.ts';

const issuer = 'https://as.example';
const url = 'https://mcp.example/mcp';
const tokens: Tokens = {
  access_token: 'first',
  refresh_token: 'again',
  server_url: url,
  resource: url,
  issuer: { issuer },
  client: { client_id: 'us' },
};
const { refresh_token: _refresh, ...withoutRefresh } = tokens;
const row: OauthLoginRow = { ...emptyRow('s1', ''), sealed: 'sealed', state: 'active', issuer };

test('a 403 is about the token only where it says so', () => {
  const table: [number, string | undefined, boolean][] = [
    [401, undefined, true],
    [401, 'invalid_token', true],
    [403, undefined, false],
    [403, 'access_denied', false],
    [403, 'insufficient_scope', true],
  ];
  for (const [status, error, expected] of table) {
    assert.equal(isAboutToken({ status }, { error }), expected, `${status} ${error}`);
  }
});

suite('what follows from a refusal', () => {
  const table: {
    title: string;
    status?: number;
    attempt?: number;
    held: Tokens | undefined;
    named?: string;
    renewed?: string;
    next: ReturnType<typeof afterRefusal>;
  }[] = [
    { title: 'no tokens', held: undefined, next: 'login' },
    { title: 'no refresh token', held: withoutRefresh, next: 'login' },
    { title: 'a refresh token', held: tokens, next: 'refresh' },
    { title: 'another issuer', held: tokens, named: 'https://other.example', next: 'login' },
    { title: 'refused again, by a token that was not renewed', held: tokens, attempt: 1, next: 'refresh' },
    { title: 'refused again, after a refresh', held: tokens, attempt: 1, renewed: 'first', next: 'login' },
    { title: 'renewed for an earlier request', held: tokens, attempt: 0, renewed: 'first', next: 'refresh' },
    { title: 'refused again, renewed before that', held: tokens, attempt: 1, renewed: 'older', next: 'refresh' },
    { title: 'too few scopes', status: 403, held: tokens, next: 'step-up' },
    { title: 'too few scopes, without a refresh token', status: 403, held: withoutRefresh, next: 'step-up' },
    { title: 'too few scopes, without tokens', status: 403, held: undefined, next: 'login' },
  ];
  for (const { title, status = 401, attempt = 0, held, named = issuer, renewed, next } of table) {
    test(`${title}: ${next}`, () => {
      assert.equal(afterRefusal({ status, attempt }, held, { issuer: named, renewed }), next);
    });
  }
});

suite('tokens are used', () => {
  const table: [string, Parameters<typeof usableTokens>, boolean][] = [
    [
      'where they are active',
      [
        { row, tokens },
        { url, oauth: {} },
      ],
      true,
    ],
    [
      'at the configured issuer',
      [
        { row, tokens },
        { url, oauth: { issuer } },
      ],
      true,
    ],
    ['not without a login', [undefined, { url, oauth: {} }], false],
    [
      'not after they expired',
      [
        { row: { ...row, state: 'expired' }, tokens },
        { url, oauth: {} },
      ],
      false,
    ],
    [
      'not at another address',
      [
        { row, tokens },
        { url: 'https://evil.example/mcp', oauth: {} },
      ],
      false,
    ],
    [
      'not at another issuer',
      [
        { row, tokens },
        { url, oauth: { issuer: 'https://other.example' } },
      ],
      false,
    ],
  ];
  for (const [title, [login, target], expected] of table) {
    test(title, () => assert.equal(usableTokens(login, target), expected ? tokens : undefined));
  }
});

test('a token is replaced when the refused request carried another one', () => {
  assert.equal(isReplaced(tokens, { sent: { authorization: 'Bearer first' } }), false);
  assert.equal(isReplaced(tokens, { sent: { authorization: 'Bearer older' } }), true);
  assert.equal(isReplaced(tokens, { sent: {} }), true);
  assert.equal(isReplaced(undefined, { sent: {} }), false);
});

suite('what is recorded for the login that follows', () => {
  const now = 10_000_000;
  const refusedBefore = (refusals: number, at: number) => JSON.stringify({ scope: 'a', refusals, at });
  const table: {
    title: string;
    before: Partial<OauthLoginRow>;
    scope?: string;
    stepUp?: boolean;
    state: string;
    refusals: number;
    isHopeless?: boolean;
  }[] = [
    { title: 'never logged in', before: { state: 'required', sealed: null }, state: 'required', refusals: 0 },
    { title: 'was logged in', before: {}, state: 'expired', refusals: 0 },
    { title: 'expired before', before: { state: 'expired', sealed: null }, state: 'expired', refusals: 0 },
    { title: 'active without tokens', before: { sealed: null }, state: 'required', refusals: 0 },
    { title: 'more scopes', before: { scope: 'a' }, scope: 'a b', stepUp: true, state: 'active', refusals: 0 },
    { title: 'scopes it has', before: { scope: 'a b' }, scope: 'a', stepUp: true, state: 'active', refusals: 1 },
    {
      title: 'scopes it has, for the second time',
      before: { scope: 'a', challenge: refusedBefore(1, now - 1) },
      scope: 'a',
      stepUp: true,
      state: 'active',
      refusals: 2,
      isHopeless: true,
    },
    {
      title: 'scopes it has, long after the first time',
      before: { scope: 'a', challenge: refusedBefore(1, now - 600_000) },
      scope: 'a',
      stepUp: true,
      state: 'active',
      refusals: 1,
    },
  ];
  for (const { title, before, scope, stepUp = false, state, refusals, isHopeless = false } of table) {
    test(title, () => {
      assert.deepEqual(needAfter({ ...row, ...before }, { scope }, { stepUp, now }), {
        state,
        challenge: { scope, refusals, at: now },
        isHopeless,
      });
    });
  }

  test('only an expired login is called expired', () => {
    assert.deepEqual(needOf({ row: { ...row, state: 'expired' }, tokens: undefined }), { login: 'expired' });
    assert.deepEqual(needOf({ row, tokens }), { login: 'required' });
    assert.deepEqual(needOf(undefined), { login: 'required' });
  });
});

suite('when a token is due', () => {
  const start = Date.parse('2026-01-01T00:00:00.000Z');
  const lived = (seconds: number | null) => ({
    updated_at: new Date(start).toISOString(),
    expires_at: seconds === null ? null : new Date(start + seconds * 1_000).toISOString(),
  });
  const table: { life: number | null; after: number; due: boolean; over: boolean }[] = [
    { life: null, after: 1e9, due: false, over: false },
    { life: 3_600, after: 3_539, due: false, over: false },
    { life: 3_600, after: 3_540, due: true, over: false },
    { life: 3_600, after: 3_600, due: true, over: true },
    { life: 10, after: 7, due: false, over: false },
    { life: 10, after: 8, due: true, over: false },
    { life: 10, after: 11, due: true, over: true },
  ];
  for (const { life, after, due, over } of table) {
    test(`a life of ${life} s, after ${after} s: ${over ? 'over' : due ? 'due' : 'good'}`, () => {
      const now = start + after * 1_000;
      assert.deepEqual([isDue(lived(life), now), isOver(lived(life), now)], [due, over]);
    });
  }
});
