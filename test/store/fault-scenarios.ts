/** Faults of the machine, made for real, and what a user sees of each. Shared by the test and `npm run faults`. */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { AggregatorProcess } from '../support/aggregator-process.ts';
import { startPostgres } from '../support/postgres.ts';
import { stdioFeatureServer } from '../support/servers/feature-server.ts';
import { until, untilSeen } from '../support/until.ts';
import {
  addToken,
  api,
  type Ends,
  faultLines,
  fillDisk,
  mountable,
  serve,
  smallDisk,
  start,
  temporaryDirectory,
} from './fault-tools.ts';

export interface Seen {
  /** Of the request that met the fault; of the start that did, the exit code. */
  status: number | string;
  message: string;
  retryAfter?: string | null;
  /** Meanwhile; "not started" where the start fails. */
  health: string;
  /** What the log, or the terminal, says. */
  log: string[];
  /** The status of the same request when the fault is over; undefined where a person has to act first. */
  afterwards?: number;
}

export interface FaultScenario {
  name: string;
  /** Why it cannot be made here. */
  skip: string | false;
  run(t: Ends): Promise<Seen>;
}

const tracing = canTrace() ? false : 'strace cannot follow processes here';

export const faultScenarios: readonly FaultScenario[] = [
  { name: 'disk full', skip: mountable.skip, run: diskFull },
  { name: 'EIO, a failing disk', skip: tracing, run: failingDisk },
  { name: 'locked by another program', skip: false, run: locked },
  { name: 'database away', skip: false, run: databaseAway },
  { name: 'EMFILE, no file descriptor left', skip: tracing, run: (t) => noChild(t, 'pipe2,socketpair', 'EMFILE') },
  {
    name: 'ENOMEM, no memory for a process',
    skip: tracing,
    run: (t) => noChild(t, 'clone,clone3,fork,vfork', 'ENOMEM'),
  },
  { name: 'clock two hours ahead, and back', skip: false, run: clockJumps },
  { name: 'disk full at a start', skip: mountable.skip, run: (t) => refusedStart(prepareFullDisk(t)) },
  { name: 'read-only at a start', skip: mountable.skip, run: (t) => refusedStart(prepareReadOnly(t)) },
  { name: 'corrupt: empty file', skip: false, run: (t) => spoilt(t, (file) => truncateSync(file)) },
  {
    name: 'corrupt: cut off',
    skip: false,
    run: (t) => spoilt(t, (file) => truncateSync(file, statSync(file).size / 2)),
  },
  {
    name: 'corrupt: another kind of file',
    skip: false,
    run: (t) => spoilt(t, (file) => writeFileSync(file, 'x'.repeat(8_192))),
  },
  { name: 'wrong version: written by a newer one', skip: false, run: (t) => spoilt(t, writeLaterMigration) },
];

async function diskFull(t: Ends): Promise<Seen> {
  const dataDir = smallDisk(t);
  const aggregator = await start(t, dataDir);
  fillDisk(join(dataDir, 'filler'));
  let answer = await addToken(aggregator, 'first');
  for (let n = 0; answer.status === 201 && n < 200; n++) answer = await addToken(aggregator, `token ${n}`);
  const seen = await see(aggregator, answer);
  rmSync(join(dataDir, 'filler'));
  return { ...seen, afterwards: (await addToken(aggregator, 'after')).status };
}

/** Every write to the database's files fails, as it does on a disk that breaks. */
async function failingDisk(t: Ends): Promise<Seen> {
  const dataDir = temporaryDirectory(t);
  const aggregator = await start(t, dataDir);
  const files = readdirSync(dataDir).filter((name) => /^aggregator\.db(?:-wal)?$/.test(name));
  const restore = await injectError(
    t,
    aggregator.pid,
    'pwrite64,fsync,fdatasync',
    'EIO',
    files.map((name) => join(dataDir, name)),
  );
  const seen = await see(aggregator, await addToken(aggregator, 'failing'));
  await restore();
  return { ...seen, afterwards: (await addToken(aggregator, 'after')).status };
}

async function locked(t: Ends): Promise<Seen> {
  const dataDir = temporaryDirectory(t);
  const aggregator = await start(t, dataDir);
  const other = new DatabaseSync(join(dataDir, 'aggregator.db'));
  other.exec('begin immediate');
  const seen = await see(aggregator, await addToken(aggregator, 'locked'));
  other.exec('rollback');
  other.close();
  return { ...seen, afterwards: (await addToken(aggregator, 'free')).status };
}

async function databaseAway(t: Ends): Promise<Seen> {
  const postgres = await startPostgres();
  t.after(() => postgres.remove());
  const aggregator = await start(t, temporaryDirectory(t), {
    DATABASE_URL: postgres.url,
    MCP_CREDENTIAL_KEY: Buffer.alloc(32, 1).toString('base64'),
  });
  assert.equal((await addToken(aggregator, 'before')).status, 201);
  await postgres.stop();
  const seen = await see(aggregator, await addToken(aggregator, 'away'));
  await postgres.start();
  let back = await addToken(aggregator, 'back');
  for (let n = 0; back.status === 503 && n < 5; n++) back = await addToken(aggregator, 'back');
  return { ...seen, afterwards: back.status };
}

/** A server cannot be started, for want of something that the system has no more of. */
async function noChild(t: Ends, calls: string, error: string): Promise<Seen> {
  const aggregator = await start(t, temporaryDirectory(t));
  const restore = await injectError(t, aggregator.pid, calls, error);
  const { status, body } = await api(aggregator, 'POST', '/aggregator/servers', {
    name: 'local',
    transport_type: 'STDIO',
    connection_config: stdioFeatureServer('legacy'),
  });
  assert.equal(status, 201, JSON.stringify(body));
  const path = `/aggregator/servers/${body.id ?? body.server_id}`;
  const server = await untilServer(aggregator, path, ({ error_message: problem }) => problem !== null);
  const health = await api(aggregator, 'GET', '/aggregator/health');
  const log = aggregator
    .output()
    .split('\n')
    .filter((line) => line.includes('could not be started'));
  await restore();
  const call = () => api(aggregator, 'POST', '/tools/call', { name: 'local.echo', arguments: { text: 'a' } });
  await api(aggregator, 'POST', `${path}/connect`, {});
  await untilServer(aggregator, path, ({ status: now }) => now === 'CONNECTED');
  return {
    status: server.status,
    message: server.error_message ?? '',
    health: health.body.status,
    log,
    afterwards: (await call()).status,
  };
}

/** Node's own clock is moved; a token that ended while it was ahead stays ended. */
async function clockJumps(t: Ends): Promise<Seen> {
  const directory = temporaryDirectory(t);
  const clock = join(directory, 'clock.mjs');
  const offset = join(directory, 'offset');
  writeFileSync(clock, movedClock(offset));
  const aggregator = await start(t, join(directory, 'data'), undefined, { nodeFlags: ['--import', clock] });
  const { body } = await api(aggregator, 'POST', '/tokens', {
    name: 'an hour',
    role: 'caller',
    expires_at: new Date(Date.now() + 3_600_000).toISOString(),
  });
  const asToken = () => api({ ...aggregator, token: body.token }, 'GET', '/aggregator/state');
  assert.equal((await asToken()).status, 200);
  const move = (ms: number) => writeFileSync(offset, String(ms));
  move(7_200_000);
  const ahead = await asToken();
  const seen = await see(aggregator, ahead);
  move(-7_200_000);
  assert.equal((await asToken()).status, 401, 'an expired token lives again');
  assert.equal((await api(aggregator, 'GET', '/aggregator/health')).body.status, 'healthy');
  return { ...seen, afterwards: (await addToken(aggregator, 'after')).status };
}

const movedClock = (file: string) => `
import { readFileSync } from 'node:fs';
const RealDate = Date;
const now = () => { try { return RealDate.now() + Number(readFileSync(${JSON.stringify(file)}, 'utf8')); } catch { return RealDate.now(); } };
globalThis.Date = class Date extends RealDate {
  constructor(...given) { given.length === 0 ? super(now()) : super(...given); }
  static now() { return now(); }
};
`;

function prepareFullDisk(t: Ends): string {
  const dataDir = smallDisk(t);
  fillDisk(join(dataDir, 'filler'));
  return dataDir;
}

function prepareReadOnly(t: Ends): string {
  const dataDir = smallDisk(t);
  execFileSync('mount', ['-o', 'remount,ro', dataDir]);
  return dataDir;
}

async function spoilt(t: Ends, spoil: (file: string) => void): Promise<Seen> {
  const dataDir = temporaryDirectory(t);
  const aggregator = await start(t, dataDir);
  assert.equal((await addToken(aggregator, 'kept')).status, 201);
  assert.equal(await aggregator.stop(), 0);
  spoil(join(dataDir, 'aggregator.db'));
  return await refusedStart(dataDir);
}

function writeLaterMigration(file: string): void {
  const database = new DatabaseSync(file);
  database.exec("insert into migrations values ('999-later', '2030-01-01T00:00:00.000Z')");
  database.close();
}

async function refusedStart(dataDir: string): Promise<Seen> {
  const { code, stderr } = await serve(dataDir);
  return { status: `exit ${code}`, message: stderr.trim(), health: 'not started', log: stderr.trim().split('\n') };
}

async function see(aggregator: AggregatorProcess, answer: Awaited<ReturnType<typeof api>>): Promise<Seen> {
  const health = await api(aggregator, 'GET', '/aggregator/health');
  return {
    status: answer.status,
    message: answer.body.detail,
    retryAfter: answer.headers.get('retry-after'),
    health: health.body.status,
    log: faultLines(aggregator),
  };
}

async function untilServer(
  aggregator: AggregatorProcess,
  path: string,
  holds: (body: { error_message: string | null; status: string }) => boolean,
) {
  return await untilSeen(async () => (await api(aggregator, 'GET', path)).body, holds, `${path} is as expected`, {
    everyMs: 100,
  });
}

/** The kernel's own answer to these calls of a running process, of these files where some are named, until it is over. */
async function injectError(
  t: Ends,
  pid: number,
  calls: string,
  error: string,
  paths: string[] = [],
): Promise<() => Promise<void>> {
  const only = paths.flatMap((path) => ['-P', path]);
  const words = [
    '-f',
    '-qq',
    '-o',
    '/dev/null',
    ...only,
    '-e',
    `trace=${calls}`,
    '-e',
    `inject=${calls}:error=${error}`,
  ];
  const tracer = spawn('strace', [...words, '-p', String(pid)], { stdio: 'ignore' });
  const ended = once(tracer, 'exit');
  const restore = async () => {
    tracer.kill('SIGTERM');
    await ended;
  };
  t.after(restore);
  const tracerOf = () =>
    /^TracerPid:\s*(\d+)$/m.exec(execFileSync('cat', [`/proc/${pid}/status`], { encoding: 'utf8' }))?.[1];
  await until(() => tracerOf() !== '0', 'strace has attached');
  return restore;
}

function canTrace(): boolean {
  try {
    execFileSync('strace', ['-f', '-qq', '-o', '/dev/null', '-e', 'inject=sync:error=EIO', 'true'], {
      stdio: 'ignore',
      timeout: 10_000,
    });
    return true;
  } catch {
    return false;
  }
}
