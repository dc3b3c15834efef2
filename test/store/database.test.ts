import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { openDatabase } from '../../src/store/database.ts';
import { findServers, insertServer } from '../../src/store/servers.ts';
import { createTestDatabase } from '../support/databases.ts';
import { newServer, openTestDatabase } from './store.ts';

test('what was stored is there after the database is opened again', async (t) => {
  const { url, file, close } = await createTestDatabase();
  t.after(close);
  const first = await openDatabase({ url, file });
  const saved = await insertServer(first, newServer('kept'), { maxServers: 50 });
  await first.close();

  const second = await openDatabase({ url, file });
  const { rows } = await findServers(second);
  await second.close();
  assert.deepEqual(rows, [saved]);
});

test('replicas that start together on an empty database all come up', async (t) => {
  const { url, file, close } = await createTestDatabase();
  t.after(close);
  if (url === undefined) return t.skip('SQLite has one owner');
  const databases = await Promise.all(Array.from({ length: 4 }, () => openDatabase({ url, file })));
  for (const db of databases) {
    await db.ping();
    await db.close();
  }
});

test('a database of a newer version is refused', async (t) => {
  const { url, file, close } = await createTestDatabase();
  t.after(close);
  const db = await openDatabase({ url, file });
  const table = db.engine === 'postgres' ? 'mcp.migrations' : 'migrations';
  await sql`insert into ${sql.raw(table)} values ('999-later', '2030-01-01T00:00:00.000Z')`.execute(db.kysely);
  await db.close();
  await assert.rejects(openDatabase({ url, file }), {
    code: 'CONFIGURATION_INVALID',
    message: /newer version.*999-later/,
  });
});

test('a transaction that fails leaves nothing behind', async (t) => {
  const db = await openTestDatabase(t);
  const failing = db.kysely.transaction().execute(async (transaction) => {
    await transaction.insertInto('settings').values({ key: 'a', value: '1' }).execute();
    throw new Error('no');
  });
  await assert.rejects(failing, { message: 'no' });
  assert.deepEqual(await db.kysely.selectFrom('settings').selectAll().execute(), []);
});

test('an unreachable PostgreSQL is named without its password', async () => {
  const opening = openDatabase({ url: 'postgresql://someone:hidden@127.0.0.1:1/x' });
  await assert.rejects(opening, (error: Error) => {
    assert.match(error.message, /DATABASE_URL: cannot reach PostgreSQL: .*ECONNREFUSED/);
    assert.doesNotMatch(error.message, /hidden/);
    return true;
  });
});
