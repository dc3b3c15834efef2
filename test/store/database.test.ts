import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, statSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
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

test('the files of SQLite are for their owner only, also those of an older version', async (t) => {
  const { file, close } = await createTestDatabase();
  t.after(close);
  if (file === undefined) return t.skip('PostgreSQL keeps its files itself');
  const modes = () => [file, `${file}-wal`, `${file}-shm`].map((path) => (statSync(path).mode & 0o777).toString(8));
  const fresh = await openDatabase({ file });
  assert.deepEqual(modes(), ['600', '600', '600']);
  for (const path of [file, `${file}-wal`, `${file}-shm`]) chmodSync(path, 0o644);
  const again = await openDatabase({ file });
  assert.deepEqual(modes(), ['600', '600', '600']);
  await again.close();
  await fresh.close();
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

test('an unreachable PostgreSQL is explained without its password', async () => {
  for (const host of ['127.0.0.1', 'localhost']) {
    await assert.rejects(openDatabase({ url: `postgresql://someone:hidden@${host}:1/x` }), (error: Error) => {
      assert.match(error.message, /^DATABASE_URL: cannot use PostgreSQL: .*ECONNREFUSED/);
      assert.doesNotMatch(error.message, /hidden/);
      return true;
    });
  }
  await assert.rejects(openDatabase({ url: 'hidden' }), {
    code: 'CONFIGURATION_INVALID',
    message: /^DATABASE_URL is not/,
  });
});

test('connections that PostgreSQL closes are replaced', async (t) => {
  const db = await openTestDatabase(t);
  if (db.engine !== 'postgres') return t.skip('SQLite has no connections to lose');
  const end = sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()`;
  await assert.rejects(end.execute(db.kysely));
  // The pool may hand out the lost connection once more before it hears of the loss.
  await Promise.allSettled([db.ping()]);
  await db.ping();
});

test('kill -9 loses nothing that was acknowledged', async (t) => {
  const { url, file, close } = await createTestDatabase();
  t.after(close);
  const source = (path: string) => new URL(`../../src/store/${path}.ts`, import.meta.url).href;
  const script = `
    const { openDatabase } = await import('${source('database')}');
    const { upsertSetting } = await import('${source('settings')}');
    const db = await openDatabase(${JSON.stringify({ url, file })});
    for (let n = 0; ; n++) {
      await upsertSetting(db, String(n), n);
      process.stdout.write(n + '\\n');
    }`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let acknowledged = -1;
  for await (const line of createInterface({ input: child.stdout })) {
    acknowledged = Number(line);
    if (acknowledged === 50) child.kill('SIGKILL');
  }
  assert.ok(acknowledged >= 50);

  const db = await openDatabase({ url, file });
  const { length } = await db.kysely.selectFrom('settings').selectAll().execute();
  await db.close();
  assert.ok(length > acknowledged, `${length} rows for ${acknowledged + 1} acknowledged`);
});

test('a query that gets no connection to PostgreSQL counts as failed', async (t) => {
  const { url, close } = await createTestDatabase();
  t.after(close);
  if (url === undefined) return t.skip('needs PostgreSQL: npm run test:postgres');
  const there = new URL(url);
  const { port, hostname } = there;
  const sockets: Socket[] = [];
  const way = createServer((socket) => {
    const onward = connect(Number(port), hostname);
    sockets.push(socket, onward);
    for (const one of [socket, onward]) one.on('error', () => undefined);
    socket.pipe(onward).pipe(socket);
  }).listen(0, '127.0.0.1');
  await once(way, 'listening');
  there.host = `127.0.0.1:${(way.address() as AddressInfo).port}`;
  let failures = 0;
  const database = await openDatabase({
    url: there.href,
    onQuery(_ms, failed) {
      if (failed) failures += 1;
    },
  });
  t.after(() => database.close());
  assert.equal(failures, 0);
  way.close();
  for (const socket of sockets) socket.destroy();
  await assert.rejects(database.ping());
  await assert.rejects(database.ping());
  assert.ok(failures >= 1, `${failures} failures`);
});
