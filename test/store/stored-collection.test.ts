import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { createChanges, type ReplicatedChange } from '../../src/changes.ts';
import { deleteProfile, findProfiles, upsertProfile } from '../../src/store/profiles.ts';
import { createStoredCollection } from '../../src/store/stored-collection.ts';
import { openTestDatabase } from './store.ts';

suite('a stored collection', () => {
  async function setUp(t: Parameters<typeof openTestDatabase>[0]) {
    const db = await openTestDatabase(t);
    async function open() {
      const changes = createChanges();
      const sent: ReplicatedChange[] = [];
      changes.sendTo((change) => sent.push(change));
      const reloads: [before: string[], after: string[]][] = [];
      const collection = await createStoredCollection<string, unknown>({
        load: async () => (await findProfiles(db)).map(({ name, definition }) => [name, definition]),
        replicated: { changes, topic: 'profiles.stored' },
        onReloaded: (before, after) => reloads.push([[...before.keys()], [...after.keys()]]),
      });
      return { changes, sent, reloads, collection, names: () => [...collection.entries.keys()] };
    }
    return { db, a: await open(), b: await open() };
  }

  test('a change is in memory and sent once it is stored; the other replica reads it again', async (t) => {
    const { db, a, b } = await setUp(t);
    const result = await a.collection.change(async (entries) => {
      await upsertProfile(db, 'work', {});
      assert.deepEqual(a.sent, []);
      entries.set('work', {});
      return 'done';
    });
    assert.equal(result, 'done');
    assert.deepEqual(a.names(), ['work']);
    assert.deepEqual(a.sent, [{ topic: 'profiles.stored', payload: {} }]);
    assert.deepEqual(b.names(), []);
    await b.changes.deliver(a.sent[0] as ReplicatedChange);
    assert.deepEqual(b.names(), ['work']);
    assert.deepEqual(b.reloads, [[[], ['work']]]);
    assert.deepEqual(b.sent, []);
  });

  test('a change that could not be stored is sent to no replica, and the next one is made', async (t) => {
    const { a } = await setUp(t);
    await assert.rejects(
      a.collection.change(() => Promise.reject(new Error('full'))),
      /full/,
    );
    assert.deepEqual(a.sent, []);
    await a.collection.change(async () => undefined);
    assert.equal(a.sent.length, 1);
  });

  test('a replaced store is read again', async (t) => {
    const { db, a } = await setUp(t);
    await upsertProfile(db, 'restored', {});
    await a.changes.publishReplacedStore();
    assert.deepEqual(a.names(), ['restored']);
  });

  test('one entry is read again, or goes where it is no longer stored', async (t) => {
    const { db } = await setUp(t);
    const own = await createStoredCollection<string, string>({
      load: async (key) =>
        (await findProfiles(db))
          .filter(({ name }) => key === undefined || name === key)
          .map(({ name }) => [name, name]),
    });
    for (const name of ['one', 'two']) await upsertProfile(db, name, {});
    await own.reload('one');
    assert.deepEqual([...own.entries.keys()], ['one']);
    await deleteProfile(db, 'one');
    await own.reload('one');
    assert.deepEqual([...own.entries.keys()], []);
  });
});
