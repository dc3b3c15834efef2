/** Storage that fails: real full disks, read-only file systems, damaged files and foreign locks. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { suite, test } from 'node:test';
import { createDailyBackup, listBackups } from '../../src/store/daily-backup.ts';
import { runCommand } from '../cli/command-line.ts';
import { faultScenarios } from './fault-scenarios.ts';
import { addToken, api, backUp, serve, start, temporaryDirectory } from './fault-tools.ts';

const storage = (retryAfter: string) => ({ status: 503, health: 'degraded', retryAfter, afterwards: 201 });
const noChild = { status: 'ERROR', health: 'degraded', afterwards: 200 };
const refused = { status: 'exit 1', health: 'not started' };
/** What has to be seen of each; of those that answer, the answer is 503 and they recover by themselves. */
const expected: Record<
  string,
  { status: number | string; message: RegExp; health: string; retryAfter?: string; afterwards?: number }
> = {
  'disk full': { ...storage('30'), message: /^\/\S+\/aggregator\.db: the disk is full\. Free some space\.$/ },
  'EIO, a failing disk': {
    ...storage('30'),
    message: /^\/\S+\/aggregator\.db: the disk reports an input\/output error\. /,
  },
  'locked by another program': { ...storage('2'), message: /another program has locked it/ },
  'database away': { ...storage('5'), message: /^PostgreSQL at 127\.0\.0\.1:\d+\/postgres: / },
  'EMFILE, no file descriptor left': {
    ...noChild,
    message: /the aggregator is out of file descriptors \(ulimit -n\)/,
  },
  'ENOMEM, no memory for a process': { ...noChild, message: /the system is out of memory/ },
  'clock two hours ahead, and back': { status: 401, message: /./, health: 'healthy', afterwards: 201 },
  'disk full at a start': { ...refused, message: /^error: .*: the disk is full\. Free some space\.$/ },
  'read-only at a start': {
    ...refused,
    message: /^error: \/\S+\/owner\.lock: it cannot be \w+.*\. Make the directory .*$/,
  },
  'corrupt: empty file': { ...refused, message: /the database file is empty.*doctor --repair/ },
  'corrupt: cut off': { ...refused, message: /the database file is truncated.*doctor --repair/ },
  'corrupt: another kind of file': { ...refused, message: /it is not a database.*doctor --repair/ },
  'wrong version: written by a newer one': {
    status: 'exit 2',
    health: 'not started',
    message: /newer version.*999-later/,
  },
};

suite('faults of the machine', { timeout: 240_000 }, () => {
  for (const { name, skip, run } of faultScenarios) {
    test(name, { skip }, async (t) => {
      const { message, log, ...seen } = await run(t);
      const { message: pattern, ...wanted } = expected[name] ?? assert.fail('nothing is expected of it');
      assert.match(message, pattern);
      const { status, health, afterwards } = seen;
      const retryAfter = seen.retryAfter ?? undefined;
      assert.deepEqual(
        { status, health, retryAfter, afterwards },
        { retryAfter: undefined, afterwards: undefined, ...wanted },
      );
      // One line each, with the cause and without a stack.
      if (wanted.status !== 401) assert.equal(log.length, 1, log.join('\n'));
      assert.doesNotMatch(log.join('\n'), /"stack"|\n\s+at |password/);
    });
  }
});

suite('a start on storage that fails', () => {
  test('a data directory that is a file', async (t) => {
    const file = join(temporaryDirectory(t), 'file');
    writeFileSync(file, '');
    const { code, stderr } = await serve(file);
    assert.equal(code, 1);
    assert.match(stderr, /^error: .*Choose another data directory\.\n$/);
  });

  test('a database that is empty, cut or of another kind is refused, and doctor --repair restores the last backup', async (t) => {
    const dataDir = temporaryDirectory(t);
    const env = { MCP_AGGREGATOR_DATA_DIR: dataDir };
    const first = await start(t, dataDir);
    const { body } = await addToken(first, 'kept');
    assert.equal(await first.stop(), 0);
    await backUp(dataDir);
    const file = join(dataDir, 'aggregator.db');
    for (const [spoil, says] of [
      [() => truncateSync(file), /the database file is empty/],
      [() => truncateSync(file, statSync(file).size / 2), /the database file is truncated/],
      [() => writeFileSync(file, 'x'.repeat(8_192)), /it is not a database/],
    ] as const) {
      spoil();
      const spoilt = readFileSync(file);
      const before = readdirSync(dataDir);

      const { code, stderr } = await serve(dataDir);
      assert.equal(code, 1);
      assert.match(stderr, says);
      assert.match(stderr, /doctor --repair/);
      assert.equal(stderr.trim().split('\n').length, 1, stderr);
      assert.deepEqual(readFileSync(file), spoilt);

      const doctor = await runCommand(['doctor'], { env });
      assert.match(doctor.stdout, /problem {2}database: .*\n.*doctor --repair/);
      const repaired = await runCommand(['doctor', '--repair'], { env });
      assert.equal(repaired.code, 0, repaired.stderr);
      assert.match(repaired.stdout, /Restored the backup of 20/);
      const kept = readdirSync(dataDir).find((name) => name.startsWith('damaged-') && !before.includes(name));
      assert.deepEqual(readFileSync(join(dataDir, kept ?? '', 'aggregator.db')), spoilt);
      const database = new DatabaseSync(file, { readOnly: true });
      assert.equal(database.prepare('select count(*) as n from tokens where id = ?').get(body.id)?.n, 1);
      database.close();
    }

    const second = await start(t, dataDir);
    const tokens = await api(second, 'GET', '/tokens');
    assert.ok(tokens.body.tokens.some((token: { id: string }) => token.id === body.id));
    const running = await runCommand(['doctor', '--repair'], { env });
    assert.equal(running.code, 6);
    await second.stop();
  });

  test('after a kill the database is checked: whole, it starts; damaged, it is refused', async (t) => {
    const dataDir = temporaryDirectory(t);
    const first = await start(t, dataDir);
    for (let n = 0; n < 20; n++) await addToken(first, `token ${n}`);
    await first.stop('SIGKILL');
    const second = await start(t, dataDir);
    assert.match(second.output(), /the database was checked and is intact/);
    assert.equal((await api(second, 'GET', '/tokens')).body.tokens.length, 20);
    assert.equal(await second.stop(), 0);
    const third = await start(t, dataDir);
    assert.doesNotMatch(third.output(), /was checked/);
    await third.stop('SIGKILL');
    const file = join(dataDir, 'aggregator.db');
    new DatabaseSync(file).close(); // the log goes into the file
    const bytes = readFileSync(file);
    bytes.fill(0x5a, 4_096 * 3, 4_096 * 12);
    writeFileSync(file, bytes);
    const { code, stderr } = await serve(dataDir);
    assert.equal(code, 1);
    assert.match(stderr, /aggregator\.db: the database is damaged.*doctor --repair/s);
    assert.doesNotMatch(stderr, /\n\s+at /);
    const none = await runCommand(['doctor', '--repair'], { env: { MCP_AGGREGATOR_DATA_DIR: dataDir } });
    assert.equal(none.code, 1);
    assert.match(none.stderr, /No intact backup found/);
  });

  test('a first start that was killed early is no reason to refuse the next', async (t) => {
    const dataDir = temporaryDirectory(t);
    writeFileSync(join(dataDir, 'aggregator.db'), '');
    const aggregator = await start(t, dataDir);
    assert.equal((await api(aggregator, 'GET', '/aggregator/health')).body.status, 'healthy');
    assert.equal(statSync(join(dataDir, 'aggregator.db')).mode & 0o777, 0o600);
  });

  test('doctor --repair leaves a whole database alone', async (t) => {
    const dataDir = temporaryDirectory(t);
    await (await start(t, dataDir)).stop();
    const { code, stdout } = await runCommand(['doctor', '--repair'], { env: { MCP_AGGREGATOR_DATA_DIR: dataDir } });
    assert.deepEqual([code, stdout], [0, 'The database is intact: nothing to repair.\n']);
  });
});

suite('daily backups', () => {
  test('one a day, readable for its owner only, the oldest removed, a damaged database never copied', async (t) => {
    const directory = temporaryDirectory(t);
    const file = join(directory, 'aggregator.db');
    const database = new DatabaseSync(file);
    database.exec('pragma journal_mode = wal; create table t (n); insert into t values (1)');
    const made: string[] = [];
    const failures: string[] = [];
    const backup = createDailyBackup({
      directory,
      keep: 2,
      onBackup: (name) => made.push(name),
      onError: (error) => failures.push(error.message),
    });
    t.after(() => backup.close());
    const day = (n: number) => new Date(Date.UTC(2026, 0, n, 3));
    await backup.makeIfDue(day(1));
    await backup.makeIfDue(new Date(day(2).getTime() - 1));
    assert.equal(made.length, 1);
    database.exec('insert into t values (2)');
    await backup.makeIfDue(day(2));
    await backup.makeIfDue(day(3));
    assert.deepEqual(failures, []);
    const kept = listBackups(directory);
    assert.deepEqual(
      kept.map(({ at }) => at.getUTCDate()),
      [3, 2],
    );
    assert.equal(statSync(kept[0]?.file ?? '').mode & 0o777, 0o600);
    const copy = new DatabaseSync(kept[0]?.file ?? '', { readOnly: true });
    assert.equal(copy.prepare('select count(*) as n from t').get()?.n, 2);
    copy.close();

    database.close();
    writeFileSync(file, 'x'.repeat(8_192));
    await backup.makeIfDue(day(4));
    assert.equal(failures.length, 1);
    assert.equal(listBackups(directory).length, 2);
    assert.ok(existsSync(kept[0]?.file ?? ''));
  });
});
