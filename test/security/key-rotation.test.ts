import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { commandsOf, runCommand } from '../cli/command-line.ts';
import { type AggregatorProcess, startAggregator } from '../support/aggregator-process.ts';
import { api, startApp } from '../support/running-app.ts';
import { startFeatureServer } from '../support/servers/feature-server.ts';
import { until } from '../support/until.ts';

test('after a change of the credential key everything is readable, and soon without the old key', async (t) => {
  const upstream = await startFeatureServer({ transport: 'streamable-modern' });
  t.after(() => upstream.close());
  const [old, fresh] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')];
  const dataDir = await mkdtemp(join(tmpdir(), 'mcp-aggregator-rotation-'));
  const env = (current: string, previous?: string) => ({
    MCP_AGGREGATOR_DATA_DIR: dataDir,
    MCP_CREDENTIAL_KEY: current,
    ...(previous === undefined ? {} : { MCP_CREDENTIAL_KEY_PREVIOUS: previous }),
  });

  const before = await startApp(t, env(old));
  const connection_config = { base_url: upstream.url, headers: { 'x-key': 'a-secret-value' } };
  await before.register('web', { transport_type: 'HTTP', connection_config });
  await before.close();

  const during = await startApp(t, env(fresh, old));
  assert.equal((await during.ask('GET', `${api}/audit/verify`)).json.intact, true);
  await during.close();

  const after = await startApp(t, env(fresh));
  const detail = await after.ask('GET', `${api}/servers/web`);
  assert.equal(detail.json.connection_config.headers['x-key'], '***');
  assert.equal((await after.ask('GET', `${api}/audit/verify`)).json.intact, true);
  const called = await after.ask('POST', '/api/v1/tools/call', { name: 'web.echo', arguments: { text: 'hi' } });
  assert.equal(called.status, 200);
});

suite('CLI-005: the key of the embedded database', () => {
  const key = () => randomBytes(32).toString('base64');
  const register = async (aggregator: AggregatorProcess) => {
    const added = await commandsOf(aggregator).run(['add', 'idle', '--no-connect', '--env', 'A=secret', 'true']);
    assert.equal(added.code, 0, added.stderr);
  };
  const rotate = (aggregator: AggregatorProcess, ...flags: string[]) =>
    commandsOf(aggregator).run(['rotate-key', ...flags]);
  const isReadable = async (aggregator: AggregatorProcess) =>
    (await commandsOf(aggregator).run(['show', 'idle'])).code === 0;

  test('CLI-005: rotate-key --new makes one, the next start uses it, and the old one is deleted', async (t) => {
    const dataDir = await mkdtemp(join(tmpdir(), 'mcp-aggregator-key-'));
    const file = join(dataDir, 'credential-key');
    const first = await startAggregator({ dataDir });
    await register(first);
    const before = readFileSync(file, 'utf8');
    assert.match(
      (await rotate(first)).stdout,
      /No other key is configured\. To change the key: mcp-aggregator rotate-key --new/,
    );
    assert.match((await rotate(first, '--new')).stdout, /The new key \w+ is in the data directory\. Restart/);
    await first.stop();
    const second = await startAggregator({ dataDir });
    t.after(() => second.stop());
    await until(() => !existsSync(`${file}.previous`), 'the old key is deleted');
    assert.notEqual(readFileSync(file, 'utf8'), before);
    assert.ok(await isReadable(second));
  });

  test('CLI-005: a key in a variable replaces the one in the file, so that a start without the variable works', async (t) => {
    const dataDir = await mkdtemp(join(tmpdir(), 'mcp-aggregator-key-'));
    const first = await startAggregator({ dataDir });
    await register(first);
    await first.stop();
    const fresh = key();
    const second = await startAggregator({ dataDir, env: { MCP_CREDENTIAL_KEY: fresh } });
    await until(
      () => readFileSync(join(dataDir, 'credential-key'), 'utf8').trim() === fresh,
      'the file has the new key',
    );
    await second.stop();
    const third = await startAggregator({ dataDir });
    t.after(() => third.stop());
    assert.ok(await isReadable(third));
  });

  test('CLI-005: rotate-key tells the next key from the old one', async (t) => {
    const dataDir = await mkdtemp(join(tmpdir(), 'mcp-aggregator-key-'));
    const [old, next] = [key(), key()];
    const start = (current: string, previous?: string) =>
      startAggregator({
        dataDir,
        env: { MCP_CREDENTIAL_KEY: current, ...(previous && { MCP_CREDENTIAL_KEY_PREVIOUS: previous }) },
      });
    const step1 = await start(old, next);
    await register(step1);
    assert.match(
      (await rotate(step1)).stdout,
      /The key \w+ \(MCP_CREDENTIAL_KEY_PREVIOUS\) has sealed nothing yet: keep it/,
    );
    await step1.stop();
    const step2 = await start(next, old);
    assert.match(
      (await rotate(step2)).stdout,
      /The old key \w+ is no longer needed\. If MCP_CREDENTIAL_KEY_PREVIOUS is set, remove it\./,
    );
    await step2.stop();
    const step3 = await start(next);
    t.after(() => step3.stop());
    assert.ok(await isReadable(step3));
  });

  test('CLI-005: a start with the wrong key, or without the file, says so in one line and changes nothing', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'mcp-aggregator-key-'));
    const file = join(dataDir, 'credential-key');
    const first = await startAggregator({ dataDir });
    await register(first);
    await first.stop();
    const kept = readFileSync(file, 'utf8');
    const contents = () =>
      readdirSync(dataDir)
        .filter((name) => !/-(wal|shm)$|^(owner|start)/.test(name))
        .sort();
    const before = contents();
    const serve = (env: Record<string, string> = {}) =>
      runCommand(['serve', '--port', '0'], { env: { MCP_AGGREGATOR_DATA_DIR: dataDir, ...env } });
    writeFileSync(file, key());
    const wrong = await serve();
    assert.deepEqual([wrong.code, wrong.stderr.trim().split('\n').length], [2, 1], wrong.stderr);
    assert.match(
      wrong.stderr,
      /^error: Wrong credential key: .* sealed with the key \w+, and the key is \w+; .*Nothing was changed\./,
    );
    rmSync(file);
    const missing = await serve();
    assert.match(missing.stderr, /^error: Wrong credential key: .*credential-key is missing; restore it/);
    assert.ok(!existsSync(file), 'no other key is generated');
    writeFileSync(file, kept);
    assert.deepEqual(contents(), before);
    const again = await startAggregator({ dataDir });
    assert.ok(await isReadable(again));
    await again.stop();
  });
});
