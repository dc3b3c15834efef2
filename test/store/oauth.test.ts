import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  deleteOauthServer,
  findOauthLogin,
  findOauthLogins,
  insertOauthFlow,
  insertOauthLogin,
  leaseOauthLogin,
  releaseOauthLogin,
  takeOauthFlow,
  updateOauthLogin,
  upsertOauthLogin,
} from '../../src/store/oauth.ts';
import type { OauthLoginRow } from '../../src/store/schema.ts';
import { openTestDatabase } from './store.ts';

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();

const login = (principal: string, more: Partial<OauthLoginRow> = {}): OauthLoginRow => ({
  server_id: 's1',
  principal,
  state: 'active',
  issuer: 'https://as.example',
  sealed: 'v1.x',
  scope: 'a b',
  challenge: null,
  expires_at: at(30),
  lease_until: null,
  updated_at: at(0),
  ...more,
});

test('one replica at a time refreshes a login, and only the one that read it as it is', async (t) => {
  const db = await openTestDatabase(t);
  await upsertOauthLogin(db, login('ada'));
  const lease = () => leaseOauthLogin(db, login('ada'), { now: at(1), until: at(11) });
  const won = await Promise.all([lease(), lease(), lease()]);
  assert.deepEqual(won.sort(), [false, false, true]);
  assert.equal(await leaseOauthLogin(db, login('ada'), { now: at(12), until: at(20) }), true, 'it ran out');

  await upsertOauthLogin(db, login('ada', { updated_at: at(13) }));
  assert.equal(await lease(), false, 'refreshed meanwhile');
  assert.equal(await leaseOauthLogin(db, login('ada', { updated_at: at(13) }), { now: at(14), until: at(20) }), true);
});

test('a login that somebody else changed or deleted meanwhile is left as they left it', async (t) => {
  const db = await openTestDatabase(t);
  assert.equal(await insertOauthLogin(db, login('ada')), true);
  assert.equal(await insertOauthLogin(db, login('ada', { state: 'required' })), false, 'there is one already');

  const change = (second: number) =>
    updateOauthLogin(db, login('ada', { updated_at: at(second), state: 'expired' }), login('ada'));
  assert.deepEqual((await Promise.all([change(1), change(2)])).sort(), [false, true]);
  assert.equal((await findOauthLogin(db, 's1', 'ada'))?.state, 'expired');
  assert.equal(await updateOauthLogin(db, login('bob'), login('bob')), false, 'it does not come back');
  assert.equal(await findOauthLogin(db, 's1', 'bob'), undefined);
});

test('a lease that is given back can be taken at once', async (t) => {
  const db = await openTestDatabase(t);
  await upsertOauthLogin(db, login('ada'));
  const lease = () => leaseOauthLogin(db, login('ada'), { now: at(1), until: at(11) });
  assert.equal(await lease(), true);
  await releaseOauthLogin(db, login('ada'));
  assert.equal(await lease(), true);
});

test('a state returns once, and everything of a server goes with it', async (t) => {
  const db = await openTestDatabase(t);
  const flow = { state_hash: 'h', server_id: 's1', principal: 'ada', sealed: 'v1.x', expires_at: at(0) };
  await insertOauthFlow(db, { ...flow, expires_at: new Date(Date.now() + 60_000).toISOString() });
  const taken = await Promise.all([takeOauthFlow(db, 'h'), takeOauthFlow(db, 'h')]);
  assert.equal(taken.filter((row) => row !== undefined).length, 1);

  await upsertOauthLogin(db, login('ada'));
  await upsertOauthLogin(db, login(''));
  await upsertOauthLogin(db, login('', { server_id: 's2' }));
  await deleteOauthServer(db, 's1');
  assert.deepEqual(
    (await findOauthLogins(db)).map((row) => row.server_id),
    ['s2'],
  );
  assert.equal(await findOauthLogin(db, 's1', 'ada'), undefined);
});
