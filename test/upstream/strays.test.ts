/** Programs that STDIO servers leave behind outside of their process group, for real: `setsid`, double forks. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { createMessageBudget } from '../../src/upstream/message-budget.ts';
import { createOrphanReaper } from '../../src/upstream/orphan-reaper.ts';
import { startChild } from '../../src/upstream/stdio.ts';
import { createStrays, markerVariable } from '../../src/upstream/strays.ts';
import { type AggregatorProcess, startAggregator } from '../support/aggregator-process.ts';
import type { Body } from '../support/app.ts';
import { isAlive, untilGone } from '../support/processes.ts';
import { untilSeen } from '../support/until.ts';

const linux = { skip: process.platform === 'linux' ? false : 'only Linux has /proc' };
const asRoot = { skip: process.getuid?.() === 0 ? false : 'only root can start programs as another user' };

/** A server that starts a stray, as the argument says, by way of a process in between that ends, and notes its pid. */
const serverScript = `
const fs = require('node:fs');
const { spawn } = require('node:child_process');
const [file, kind] = process.argv.slice(2);
const stray = {
  gentle: "setInterval(() => {}, 1e6)",
  stubborn: "for (const s of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(s, () => {}); setInterval(() => {}, 1e6)",
  fertile: "process.on('SIGTERM', () => { const again = require('node:child_process').spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' }); require('node:fs').appendFileSync(process.argv[1], again.pid + ' '); again.unref(); process.exit(); }); setInterval(() => {}, 1e6)",
}[kind];
const between = "const { spawn } = require('node:child_process'); const [file, stray] = process.argv.slice(1);"
  + "const child = spawn(process.execPath, ['-e', stray + '; require(\\"node:fs\\").appendFileSync(process.argv[1], process.pid + \\" \\")', file], { detached: true, stdio: 'ignore' }); child.unref();";
spawn(process.execPath, ['-e', between, file, stray], { detached: true, stdio: 'ignore' }).unref();
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  const answer = (result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
  if (method === 'initialize') answer({ protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'strays', version: '1' } });
  else if (method === 'tools/list') answer({ tools: [] });
  else if (method === 'ping') answer({});
  else if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no' } }));
});`;

type Kind = 'gentle' | 'stubborn' | 'fertile';

function prepare(t: TestContext) {
  const directory = mkdtempSync(join(tmpdir(), 'strays-'));
  const script = join(directory, 'server.cjs');
  writeFileSync(script, serverScript);
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  let count = 0;
  return {
    directory,
    /** The words that start a server, and the pids that its strays write down. */
    server(kind: Kind) {
      count += 1;
      const file = join(directory, `pids-${count}`);
      const pids = () =>
        (existsSync(file) ? readFileSync(file, 'utf8').trim().split(' ').filter(Boolean) : []).map(Number);
      t.after(() => {
        for (const pid of pids()) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
      });
      return { command: process.execPath, args: [script, file, kind], pids, stray: () => firstOf(pids) };
    },
  };
}

async function firstOf(pids: () => number[]): Promise<number> {
  const [pid = 0] = await untilSeen(pids, (found) => found.length > 0, 'a stray was started');
  assert.ok(isAlive(pid));
  return pid;
}

const messageBudget = createMessageBudget({ maxMessageBytes: 1_000, maxMessagesBytes: 1_000 });

suite('what left the process group', linux, () => {
  for (const kind of ['gentle', 'stubborn', 'fertile'] as const) {
    test(`is ended when the child is closed: ${kind}`, async (t) => {
      const { directory, server } = prepare(t);
      const { command, args, stray, pids } = server(kind);
      const orphanReaper = createOrphanReaper(createStrays(directory));
      t.after(() => orphanReaper.close());
      const child = startChild(
        { command, args, env: { PATH: process.env.PATH }, messageBudget, orphanReaper, onLine: () => {} },
        { onMessage: () => {}, onClose: () => {} },
      );
      await stray();
      await child.close();
      assert.equal(pids().length, kind === 'fertile' ? 2 : 1);
      for (const pid of pids()) assert.equal(isAlive(pid), false, `${pid} outlived close()`);
    });
  }

  test('is ended when the child exits by itself, and nothing of another child is', async (t) => {
    const { directory, server } = prepare(t);
    const orphanReaper = createOrphanReaper(createStrays(directory));
    t.after(() => orphanReaper.close());
    const start = ({ command, args }: { command: string; args: string[] }) =>
      startChild(
        { command, args, env: { PATH: process.env.PATH }, messageBudget, orphanReaper, onLine: () => {} },
        { onMessage: () => {}, onClose: () => {} },
      );
    const [one, other] = [server('stubborn'), server('gentle')];
    const [child, kept] = [start(one), start(other)];
    const [stray, keptStray] = [await one.stray(), await other.stray()];
    process.kill(child.pid ?? 0, 'SIGKILL');
    await untilGone(stray);
    assert.ok(isAlive(keptStray));
    await kept.close();
    assert.equal(isAlive(keptStray), false);
  });

  test('is found however large its environment is, and wherever the marker stands in it', async (t) => {
    const { directory } = prepare(t);
    const strays = createStrays(directory);
    const marker = strays.mark();
    const started: ChildProcess[] = [];
    for (const before of [1, 65_000, 65_500, 65_530, 131_000]) {
      const env: Record<string, string> = {};
      for (let left = before, n = 0; left > 0; n += 1, left -= 60_000)
        env[`A${n}`] = 'x'.repeat(Math.min(left, 60_000));
      started.push(spawn('/bin/sleep', ['1000'], { env: { ...env, [markerVariable]: marker, Z: 'z' } }));
    }
    started.push(spawn('/bin/sleep', ['1000'], { env: { [markerVariable]: marker } }));
    const others = [
      spawn('/bin/sleep', ['1000'], { env: { [`X${markerVariable}`]: marker } }),
      spawn('/bin/sleep', ['1000'], { env: { [markerVariable]: `${marker}0` } }),
      spawn('/bin/sleep', ['1000'], { env: { A: `${markerVariable}=${marker}` } }),
    ];
    t.after(() => {
      for (const child of others) child.kill('SIGKILL');
    });
    assert.equal(await strays.end(marker), started.length);
    for (const child of started) await untilGone(child.pid ?? 0);
    for (const child of others) assert.ok(isAlive(child.pid ?? 0));
    assert.equal(await strays.end(marker), 0);
  });

  test('is ended as another user, too', asRoot, async (t) => {
    const { directory } = prepare(t);
    const strays = createStrays(directory);
    const marker = strays.mark();
    const child = spawn('/bin/sleep', ['1000'], { env: { [markerVariable]: marker }, uid: 65_534, gid: 65_534 });
    assert.equal(await strays.end(marker), 1);
    await untilGone(child.pid ?? 0);
  });
});

suite('what left the process group, in the aggregator', linux, () => {
  async function api({ url, token }: AggregatorProcess, method: string, path: string, body?: unknown) {
    const answer = await fetch(`${url}/api/v1/aggregator${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(20_000),
    });
    return { status: answer.status, body: (answer.status === 204 ? {} : await answer.json()) as Body };
  }

  test('ends with disconnect, a new configuration, removal, and the end of the aggregator', async (t) => {
    const { directory, server } = prepare(t);
    const aggregator = await startAggregator({ dataDir: join(directory, 'data') });
    t.after(() => aggregator.stop('SIGKILL'));
    const register = async (name: string) => {
      const { command, args, stray } = server('stubborn');
      const { status, body } = await api(aggregator, 'POST', '/servers', {
        name,
        transport_type: 'STDIO',
        connection_config: { command, args },
      });
      assert.equal(status, 201, JSON.stringify(body));
      return { path: `/servers/${body.id ?? body.server_id}`, stray: await stray() };
    };
    const [disconnected, replaced, removed, stopped] = [
      await register('disconnected'),
      await register('replaced'),
      await register('removed'),
      await register('stopped'),
    ];
    await api(aggregator, 'POST', `${disconnected.path}/disconnect`, {});
    const { command, args } = server('gentle');
    const patched = await api(aggregator, 'PATCH', replaced.path, { connection_config: { command, args } });
    assert.equal(patched.status, 200, JSON.stringify(patched.body));
    await api(aggregator, 'DELETE', removed.path);
    for (const { stray } of [disconnected, replaced, removed]) await untilGone(stray);
    assert.ok(isAlive(stopped.stray));
    assert.equal(await aggregator.stop(), 0);
    assert.equal(isAlive(stopped.stray), false, 'the aggregator ended before the stray');
  });

  test('ends after a crash of the aggregator', async (t) => {
    const { directory, server } = prepare(t);
    const aggregator = await startAggregator({ dataDir: join(directory, 'data') });
    t.after(() => aggregator.stop('SIGKILL'));
    const { command, args, stray } = server('stubborn');
    await api(aggregator, 'POST', '/servers', {
      name: 'left',
      transport_type: 'STDIO',
      connection_config: { command, args },
    });
    const pid = await stray();
    await aggregator.stop('SIGKILL');
    await untilGone(pid);
  });

  test('of an earlier run is ended at the next start, of another data directory never', async (t) => {
    const { directory } = prepare(t);
    const dataDir = join(directory, 'data');
    await (await startAggregator({ dataDir })).stop();
    const left = (where: string) =>
      spawn('/bin/sleep', ['1000'], { env: { [markerVariable]: createStrays(where).mark() }, detached: true });
    const [ours, foreign] = [left(dataDir), left(directory)];
    t.after(() => [ours, foreign].map((child) => child.kill('SIGKILL')));
    const aggregator = await startAggregator({ dataDir });
    t.after(() => aggregator.stop('SIGKILL'));
    const record = await aggregator.logged(({ msg }) => String(msg).startsWith('ended processes that STDIO servers'));
    assert.equal(record.count, 1);
    await untilGone(ours.pid ?? 0);
    assert.ok(isAlive(foreign.pid ?? 0));
  });
});
