/** Storage that fails: real full disks, read-only file systems, damaged files and foreign locks. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { suite, type TestContext, test } from 'node:test';
import { createDailyBackup, listBackups } from '../../src/store/daily-backup.ts';
import { runCommand } from '../cli/command-line.ts';
import { type AggregatorProcess, startAggregator } from '../support/aggregator-process.ts';
import type { Body } from '../support/app.ts';
import { startPostgres } from '../support/postgres.ts';

const canMount = process.platform === 'linux' && process.getuid?.() === 0;
const mountable = { skip: canMount ? false : 'only root can mount a small disk' };

function temporaryDirectory(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'faults-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

function smallDisk(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'faults-disk-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', directory]);
  t.after(() => {
    execFileSync('umount', ['--lazy', directory]);
    rmSync(directory, { recursive: true, force: true });
  });
  return directory;
}

async function api({ url, token }: AggregatorProcess, method: string, path: string, body?: unknown) {
  const answer = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
    signal: AbortSignal.timeout(20_000),
  });
  return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Body };
}

const addToken = (aggregator: AggregatorProcess, name: string) =>
  api(aggregator, 'POST', '/tokens', { name, role: 'caller' });

const faultLines = (aggregator: AggregatorProcess) =>
  aggregator
    .output()
    .split('\n')
    .filter((line) => line.includes('"remedy"'));

async function start(t: TestContext, dataDir: string, env?: Record<string, string>): Promise<AggregatorProcess> {
  const aggregator = await startAggregator({ dataDir, env });
  t.after(() => aggregator.stop('SIGKILL'));
  return aggregator;
}

const serve = (dataDir: string) =>
  runCommand(['serve'], { env: { MCP_AGGREGATOR_DATA_DIR: dataDir, MCP_AGGREGATOR_PORT: '0' } });

async function backUp(dataDir: string): Promise<void> {
  const failures: Error[] = [];
  const backup = createDailyBackup({
    directory: dataDir,
    keep: 7,
    onBackup: () => {},
    onError: (e) => failures.push(e),
  });
  await backup.makeIfDue();
  await backup.close();
  assert.deepEqual(failures, []);
}

function fillDisk(file: string): void {
  const chunk = Buffer.alloc(4_096);
  for (let n = 0; n < 4_096; n++) {
    try {
      writeFileSync(file, chunk, { flag: 'a' });
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC');
      return;
    }
  }
  assert.fail('the disk did not fill');
}

suite('storage that fails while we run', () => {
  test(
    'a full disk: 503 with the cause and Retry-After, degraded, one line; it recovers by itself',
    mountable,
    async (t) => {
      const dataDir = smallDisk(t);
      const aggregator = await start(t, dataDir);
      fillDisk(join(dataDir, 'filler'));
      let answer = await addToken(aggregator, 'first');
      for (let n = 0; answer.status === 201 && n < 200; n++) answer = await addToken(aggregator, `token ${n}`);
      assert.equal(answer.status, 503);
      assert.equal(answer.body.error_code, 'STORAGE_UNAVAILABLE');
      assert.equal(answer.body.detail, `${dataDir}/aggregator.db: the disk is full. Free some space.`);
      assert.equal(answer.headers.get('retry-after'), '30');
      assert.equal((await addToken(aggregator, 'again')).status, 503);

      const health = await api(aggregator, 'GET', '/aggregator/health');
      assert.equal(health.status, 200);
      assert.equal(health.body.status, 'degraded');
      assert.equal(health.body.checks.database, 'failed');
      assert.equal((await api(aggregator, 'GET', '/aggregator/state')).status, 200);
      const lines = faultLines(aggregator).map((line) => JSON.parse(line));
      assert.equal(lines.length, 1, aggregator.output());
      assert.equal(lines[0].place, join(dataDir, 'aggregator.db'));
      assert.equal(lines[0].remedy, 'Free some space.');
      assert.ok(!aggregator.output().includes('"stack"'));

      rmSync(join(dataDir, 'filler'));
      assert.equal((await addToken(aggregator, 'after')).status, 201);
    },
  );

  test('a lock of another program', async (t) => {
    const dataDir = temporaryDirectory(t);
    const aggregator = await start(t, dataDir);
    const other = new DatabaseSync(join(dataDir, 'aggregator.db'));
    other.exec('begin immediate');
    const locked = await addToken(aggregator, 'locked');
    assert.equal(locked.status, 503);
    assert.match(locked.body.detail, /another program has locked it/);
    assert.equal(locked.headers.get('retry-after'), '2');
    other.exec('rollback');
    other.close();
    assert.equal((await addToken(aggregator, 'free')).status, 201);
  });

  test('PostgreSQL that goes away: 503 with Retry-After, degraded, and back again', { timeout: 120_000 }, async (t) => {
    const postgres = await startPostgres();
    t.after(() => postgres.remove());
    const aggregator = await start(t, temporaryDirectory(t), {
      DATABASE_URL: postgres.url,
      MCP_CREDENTIAL_KEY: Buffer.alloc(32, 1).toString('base64'),
    });
    assert.equal((await addToken(aggregator, 'before')).status, 201);
    await postgres.stop();
    const away = await addToken(aggregator, 'away');
    assert.equal(away.status, 503);
    assert.equal(away.body.error_code, 'STORAGE_UNAVAILABLE');
    assert.match(away.body.detail, /^PostgreSQL at 127\.0\.0\.1:\d+\/postgres: /);
    assert.ok(Number(away.headers.get('retry-after')) > 0);
    const health = await api(aggregator, 'GET', '/aggregator/health');
    assert.deepEqual([health.status, health.body.status], [200, 'degraded']);
    assert.ok(!JSON.stringify([away.body, health.body]).includes('password'));
    await postgres.start();
    let back = await addToken(aggregator, 'back');
    for (let n = 0; back.status === 503 && n < 5; n++) back = await addToken(aggregator, 'back');
    assert.equal(back.status, 201);
    assert.equal((await api(aggregator, 'GET', '/aggregator/health')).body.status, 'healthy');
  });
});

suite('a start on storage that fails', () => {
  test('a read-only directory: one line with file and remedy, no stack', mountable, async (t) => {
    const dataDir = smallDisk(t);
    execFileSync('mount', ['-o', 'remount,ro', dataDir]);
    const { code, stderr } = await serve(dataDir);
    assert.equal(code, 1);
    assert.match(
      stderr,
      new RegExp(`^error: ${dataDir}/owner\\.lock: it cannot be \\w+.*\\. Make the directory .*\\n$`),
    );
  });

  test('a full disk', mountable, async (t) => {
    const dataDir = smallDisk(t);
    fillDisk(join(dataDir, 'filler'));
    const { code, stderr } = await serve(dataDir);
    assert.equal(code, 1);
    assert.match(stderr, /^error: .*: the disk is full\. Free some space\.\n$/);
  });

  test('a data directory that is a file', async (t) => {
    const file = join(temporaryDirectory(t), 'file');
    writeFileSync(file, '');
    const { code, stderr } = await serve(file);
    assert.equal(code, 1);
    assert.match(stderr, /^error: .*Choose another data directory\.\n$/);
  });

  for (const [what, spoil, says] of [
    ['an empty file', (file: string) => truncateSync(file), /the database file is empty/],
    [
      'a file that was cut',
      (file: string) => truncateSync(file, statSync(file).size / 2),
      /the database file is cut off/,
    ],
    ['another kind of file', (file: string) => writeFileSync(file, 'x'.repeat(8_192)), /it is not a database/],
  ] as const) {
    test(`${what} instead of the database is refused, and doctor --repair restores the last backup`, async (t) => {
      const dataDir = temporaryDirectory(t);
      const first = await start(t, dataDir);
      const { body } = await addToken(first, 'kept');
      assert.equal(await first.stop(), 0);
      await backUp(dataDir);
      const file = join(dataDir, 'aggregator.db');
      spoil(file);
      const spoilt = readFileSync(file);

      const { code, stderr } = await serve(dataDir);
      assert.equal(code, 1);
      assert.match(stderr, says);
      assert.match(stderr, /doctor --repair/);
      assert.equal(stderr.trim().split('\n').length, 1, stderr);
      assert.deepEqual(readFileSync(file), spoilt);

      const doctor = await runCommand(['doctor'], { env: { MCP_AGGREGATOR_DATA_DIR: dataDir } });
      assert.match(doctor.stdout, /problem {2}database: .*\n.*doctor --repair/);
      const repaired = await runCommand(['doctor', '--repair'], { env: { MCP_AGGREGATOR_DATA_DIR: dataDir } });
      assert.equal(repaired.code, 0, repaired.stderr);
      assert.match(repaired.stdout, /Restored the backup of 20/);
      const kept = readdirSync(dataDir).find((name) => name.startsWith('damaged-'));
      assert.deepEqual(readFileSync(join(dataDir, kept ?? '', 'aggregator.db')), spoilt);

      const second = await start(t, dataDir);
      const tokens = await api(second, 'GET', '/tokens');
      assert.ok(tokens.body.tokens.some((token: { id: string }) => token.id === body.id));
      const running = await runCommand(['doctor', '--repair'], { env: { MCP_AGGREGATOR_DATA_DIR: dataDir } });
      assert.equal(running.code, 6);
      await second.stop();
    });
  }

  test('after a kill the database is checked: whole, it starts; damaged, it is refused', async (t) => {
    const dataDir = temporaryDirectory(t);
    const first = await start(t, dataDir);
    for (let n = 0; n < 20; n++) await addToken(first, `token ${n}`);
    await first.stop('SIGKILL');
    const second = await start(t, dataDir);
    assert.match(second.output(), /the database was checked and is whole/);
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
    assert.match(none.stderr, /There is no good backup/);
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
    assert.deepEqual([code, stdout], [0, 'The database is whole: nothing to repair.\n']);
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
