import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createChanges } from '../../src/changes.ts';
import { type AuthenticatorOptions, createAuthenticator } from '../../src/security/auth.ts';
import { openDatabase } from '../../src/store/database.ts';
import { deleteToken, findTokens } from '../../src/store/tokens.ts';
import { createTestDatabase } from '../support/databases.ts';
import { until } from '../support/until.ts';

async function setUp(t: TestContext, options: Partial<AuthenticatorOptions> = {}) {
  const { url, file, close } = await createTestDatabase();
  const db = await openDatabase({ url, file });
  const changes = createChanges();
  const ended: string[] = [];
  changes.subscribe('principal.ended', ({ principal_id }) => ended.push(principal_id));
  const auth = await createAuthenticator({ db, changes, adminToken: 'the-admin-token', ...options });
  t.after(async () => {
    await auth.close();
    await db.close();
    await close();
  });
  const as = (token?: string, loopbackListener = true) =>
    auth.authenticate({ authorization: token && `Bearer ${token}`, loopbackListener });
  return { db, auth, as, ended };
}

test('the admin token is admin; no, wrong or malformed tokens are refused', async (t) => {
  const { auth, as } = await setUp(t);
  assert.equal(as('the-admin-token').role, 'admin');
  for (const token of [undefined, 'the-admin-tokem', 'mcpa_', 'mcpa_x_y', '__proto__']) {
    assert.throws(() => as(token), { code: 'UNAUTHENTICATED' });
  }
  for (const authorization of ['', 'the-admin-token', 'Basic dGhlLWFkbWluLXRva2Vu', 'Bearer']) {
    assert.throws(() => auth.authenticate({ authorization, loopbackListener: true }), { code: 'UNAUTHENTICATED' });
  }
});

test('SEC-011: a request without a token is anonymous on loopback listeners only, a wrong token never', async (t) => {
  const { as } = await setUp(t, { anonymous: 'caller' });
  assert.equal(as(undefined).role, 'caller');
  assert.throws(() => as(undefined, false), { code: 'UNAUTHENTICATED' });
  assert.throws(() => as('wrong'), { code: 'UNAUTHENTICATED' });
});

test('SEC-005: a created token carries its role, servers and profile, and is stored as a hash only', async (t) => {
  const { db, auth, as } = await setUp(t);
  const { token, row } = await auth.createToken(
    { name: 'ci', role: 'caller', servers: ['github'], profile: 'p' },
    'admin',
  );
  assert.match(token, /^mcpa_[0-9a-f]{16}_[\w-]{43}$/);
  const principal = as(token);
  assert.deepEqual(principal, { id: row.id, name: 'ci', role: 'caller', servers: new Set(['github']), profile: 'p' });

  const [stored] = await findTokens(db);
  assert.match(stored?.hash ?? '', /^[0-9a-f]{64}$/);
  assert.equal(JSON.stringify(stored).includes(token.slice(-43)), false);
  assert.equal(JSON.stringify([auth.listTokens(), row]).includes(stored?.hash ?? ''), false);
  const secret = token.slice(0, -1) + (token.endsWith('A') ? 'B' : 'A');
  assert.throws(() => as(secret), { code: 'UNAUTHENTICATED' });
});

test('an expired or revoked token is refused', async (t) => {
  const { auth, as } = await setUp(t);
  const expired = await auth.createToken(
    { name: 'old', role: 'viewer', expiresAt: '2020-01-01T00:00:00.000Z' },
    'admin',
  );
  assert.throws(() => as(expired.token), { code: 'UNAUTHENTICATED', message: /expired/ });
  const { token, row } = await auth.createToken(
    { name: 'new', role: 'viewer', expiresAt: '2999-01-01T00:00:00.000Z' },
    'admin',
  );
  assert.equal(as(token).role, 'viewer');
  assert.equal(await auth.revokeToken(row.id), true);
  assert.equal(await auth.revokeToken(row.id), false);
  assert.throws(() => as(token), { code: 'UNAUTHENTICATED' });
});

test('a token that was recognised before is known as it is stored now, whatever other headers came meanwhile', async (t) => {
  const { db, auth, as } = await setUp(t);
  const { token, row } = await auth.createToken({ name: 'ci', role: 'admin' }, 'admin');
  for (let spaces = 1; spaces <= 1_500; spaces += 1) {
    const authorization = `Bearer${' '.repeat(spaces)}${token}`;
    assert.equal(auth.authenticate({ authorization, loopbackListener: true }).id, row.id);
  }
  await db.kysely.updateTable('tokens').set({ role: 'viewer' }).where('id', '=', row.id).execute();
  await auth.reload();
  assert.equal(as(token).role, 'viewer');
  await deleteToken(db, row.id);
  await auth.reload();
  assert.throws(() => as(token), { code: 'UNAUTHENTICATED' });
});

test('tokens of another replica are known after a reload; the last use is written on close', async (t) => {
  const { db, auth, as } = await setUp(t);
  const other = await createAuthenticator({ db, changes: createChanges(), adminToken: 'x' });
  const { token, row } = await other.createToken({ name: 'n', role: 'viewer' }, 'admin');
  assert.throws(() => as(token), { code: 'UNAUTHENTICATED' });
  await auth.reload();
  as(token);
  await auth.close();
  const [stored] = await findTokens(db);
  assert.ok(stored?.last_used_at && stored.last_used_at >= row.created_at);
  await other.revokeToken(row.id);
  await auth.reload();
  assert.throws(() => as(token), { code: 'UNAUTHENTICATED' });
  await other.close();
});

test('principal.ended is published for tokens that are revoked, here or at another replica, and for those that expire', async (t) => {
  const { db, auth, ended } = await setUp(t, { flushEveryMs: 10 });
  const create = async (name: string, expiresAt?: string) =>
    (await auth.createToken({ name, role: 'viewer', expiresAt }, 'admin')).row.id;
  const [revoked, elsewhere] = [await create('revoked'), await create('revoked elsewhere')];
  await create('stays', '2999-01-01T00:00:00Z');
  const before = await create('expired before', '2001-01-01T00:00:00Z');
  await auth.revokeToken(revoked);
  await deleteToken(db, elsewhere);
  await auth.reload();
  const expiring = await create('expiring', new Date(Date.now() + 50).toISOString());
  await until(() => ended.length === 3, 'the token has expired');
  const last = await create('expiring last', new Date(Date.now() + 50).toISOString());
  await until(() => ended.includes(last), 'the last one has expired');
  assert.deepEqual(ended, [revoked, elsewhere, expiring, last], 'each is published once');
  assert.ok(!ended.includes(before));
});

test('a token that has expired stays so when the clock goes back', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.parse('2030-01-01T00:00:00Z') });
  const { auth, as, ended } = await setUp(t);
  const expiresAt = '2030-01-01T01:00:00.000Z';
  const { token, row } = await auth.createToken({ name: 'n', role: 'viewer', expiresAt }, 'admin');
  assert.equal(as(token).role, 'viewer');
  t.mock.timers.setTime(Date.parse('2030-01-01T02:00:00Z'));
  assert.throws(() => as(token), { code: 'UNAUTHENTICATED', message: /expired/ });
  t.mock.timers.setTime(Date.parse('2030-01-01T00:00:00Z'));
  assert.throws(() => as(token), { code: 'UNAUTHENTICATED', message: /expired/ });
  assert.equal(auth.findPrincipal(row.id), undefined);
  await auth.reload();
  assert.throws(() => as(token), { code: 'UNAUTHENTICATED', message: /expired/ });
  assert.deepEqual(ended, [row.id]);
});
