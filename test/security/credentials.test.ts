// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references as they stand in configs
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { createVault, parseKey } from '../../src/security/credentials.ts';

const config = { url: 'https://example.com', headers: { Authorization: 'Bearer ${TOKEN}' } };

test('SEC-001: a sealed config shows nothing and opens to the same value', () => {
  const vault = createVault({ current: randomBytes(32) });
  const sealed = vault.seal(config, 'server-1');
  assert.doesNotMatch(sealed, /example|Bearer/);
  assert.notEqual(vault.seal(config, 'server-1'), sealed);
  assert.deepEqual(vault.open(sealed, 'server-1'), config);
});

test('SEC-001: a sealed value does not open for another server or after a change', () => {
  const vault = createVault({ current: randomBytes(32) });
  const sealed = vault.seal(config, 'server-1');
  assert.throws(() => vault.open(sealed, 'server-2'), { code: 'CREDENTIAL_UNREADABLE' });
  const last = sealed.at(-5) === 'A' ? 'B' : 'A';
  assert.throws(() => vault.open(`${sealed.slice(0, -5)}${last}${sealed.slice(-4)}`, 'server-1'), {
    code: 'CREDENTIAL_UNREADABLE',
  });
  for (const garbage of ['', 'plain text', 'v1.a.b.c', 'v2.a.b.c']) {
    assert.throws(() => vault.open(garbage, 'server-1'), { code: 'CREDENTIAL_UNREADABLE' });
  }
});

test('SEC-001: after a change of keys the previous key opens and the new one seals', () => {
  const [old, current] = [randomBytes(32), randomBytes(32)];
  const sealed = createVault({ current: old }).seal(config, 'server-1');
  const rotated = createVault({ current, previous: old });
  assert.deepEqual(rotated.open(sealed, 'server-1'), config);
  assert.equal(rotated.needsReseal(sealed), true);
  assert.equal(rotated.needsReseal(rotated.seal(config, 'server-1')), false);
  assert.throws(() => createVault({ current }).open(sealed, 'server-1'), {
    code: 'CREDENTIAL_UNREADABLE',
    message: /cannot be read: it was sealed with key [0-9a-f]{8}, .*MCP_CREDENTIAL_KEY_PREVIOUS/,
  });
});

test('a mark is the same every time, for one value, also after a change of keys', () => {
  const [old, current] = [randomBytes(32), randomBytes(32)];
  const vault = createVault({ current: old });
  const mark = vault.mark('a task');
  assert.equal(vault.mark('a task'), mark);
  assert.equal(vault.isMarked('a task', mark), true);
  for (const [value, wrong] of [
    ['another task', mark],
    ['a task', ''],
    ['a task', mark.slice(1)],
    ['a task', createVault({ current }).mark('a task')],
  ] as const)
    assert.equal(vault.isMarked(value, wrong), false);
  assert.equal(createVault({ current, previous: old }).isMarked('a task', mark), true);
});

test('keys are 32 bytes in base64 or hex', () => {
  const key = randomBytes(32);
  assert.deepEqual(parseKey(key.toString('hex')), key);
  assert.deepEqual(parseKey(key.toString('base64')), key);
  assert.deepEqual(parseKey(` ${key.toString('base64url')}\n`), key);
  for (const wrong of ['', 'secret', randomBytes(16).toString('hex'), `${key.toString('base64')}!`, 'x'.repeat(64)]) {
    assert.throws(() => parseKey(wrong), { code: 'CONFIGURATION_INVALID', message: /32 bytes.*openssl rand/ });
  }
});
