import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { flagOf } from '../../src/config/config.ts';
import { type SettingName, settings } from '../../src/config/settings.ts';
import { startAggregator } from '../support/aggregator-process.ts';
import { commandsOf, runCommand } from './command-line.ts';

const directory = mkdtempSync(join(tmpdir(), 'serve-'));
after(() => rmSync(directory, { recursive: true, force: true }));
const inDirectory = (name: string) => ({ MCP_AGGREGATOR_DATA_DIR: join(directory, name), MCP_AGGREGATOR_PORT: '0' });

test('help settings explains every setting: flag, variable, default, example', async () => {
  const { code, stdout } = await runCommand(['help', 'settings']);
  assert.equal(code, 0);
  for (const [name, { env, help }] of Object.entries(settings)) {
    const start = stdout.indexOf(`--${flagOf(name as SettingName)} <value>  ${env}\n`);
    assert.notEqual(start, -1, name);
    const paragraph = stdout.slice(start).split('\n').slice(1, 3).join('\n');
    assert.ok(paragraph.includes(help), name);
    assert.match(paragraph, /default: .+; example: .+/);
  }
});

test('a start with wrong values ends with 2 and one line for each', async () => {
  const env = { ...inDirectory('wrong'), MCP_AGGREGATOR_MAX_SERVERS: 'many', MCP_AGGREGATOR_ADMIN_TOKEN: 'short' };
  const { code, stderr } = await runCommand(['--exposure', 'everything'], { env });
  assert.equal(code, 2);
  const lines = stderr.trim().split('\n');
  assert.equal(lines.length, 3);
  assert.match(stderr, /MCP_AGGREGATOR_MAX_SERVERS: "many" is not a whole number .*; example: 50/);
  assert.match(stderr, /--exposure: "everything" is not one of/);
  assert.ok(!stderr.includes('short"'));
});

test('serve logs JSON lines when nobody looks, writes where it is, and tidies up on SIGTERM', async () => {
  const dataDir = join(directory, 'address');
  const aggregator = await startAggregator({ dataDir, flags: ['--log-level', 'info'] });
  for (const line of aggregator.output().split('\n')) assert.equal(typeof JSON.parse(line).msg, 'string');
  assert.ok(existsSync(join(dataDir, 'address.json')));
  const health = await commandsOf(aggregator).run(['list', '--json']);
  assert.equal(health.code, 0);
  assert.equal(await aggregator.stop(), 0);
  assert.ok(!existsSync(join(dataDir, 'address.json')));
});

test('a second owner of the data directory, and a port that is taken, end with 6 and a clear line', async () => {
  const aggregator = await startAggregator();
  const env = { MCP_AGGREGATOR_DATA_DIR: aggregator.dataDir, MCP_AGGREGATOR_PORT: '0' };
  const second = await runCommand(['serve'], { env });
  assert.equal(second.code, 6);
  assert.match(second.stderr, /in use by another mcp-aggregator \(pid \d+/);

  const { port } = new URL(aggregator.url);
  const taken = await runCommand(['--data-dir', join(directory, 'taken'), '--port', port]);
  assert.equal(taken.code, 6);
  assert.match(taken.stderr, new RegExp(`127\\.0\\.0\\.1:${port} is in use by another program`));
  await aggregator.stop();
});

test('a command without an aggregator says how to start one; a stale address is not believed', async () => {
  const dataDir = join(directory, 'nobody');
  const aggregator = await startAggregator({ dataDir });
  await aggregator.stop('SIGKILL');
  assert.ok(existsSync(join(dataDir, 'address.json')));
  const env = { MCP_AGGREGATOR_DATA_DIR: dataDir };
  const listed = await runCommand(['list'], {
    env: { ...env, MCP_AGGREGATOR_HOST: '127.0.0.1', MCP_AGGREGATOR_PORT: '1' },
  });
  assert.equal(listed.code, 3);
  assert.match(listed.stderr, /No aggregator answers at http:\/\/127\.0\.0\.1:1 .*Start it with: mcp-aggregator start/);
  const stale = await runCommand(['doctor', '--json'], { env });
  const { port } = new URL(aggregator.url);
  assert.ok(!stale.stdout.includes(`:${port}`));
});

test('doctor without an aggregator checks what it can, and the exit code says that something is wrong', async () => {
  const env = inDirectory('doctor');
  const absent = await runCommand(['doctor'], { env });
  assert.equal(absent.code, 1);
  assert.match(absent.stdout, /^ok +data directory: .* does not exist yet/m);
  assert.match(absent.stdout, /^problem +aggregator: not running at .*\n +-> Start it: mcp-aggregator start/m);

  const aggregator = await startAggregator({ dataDir: env.MCP_AGGREGATOR_DATA_DIR });
  assert.equal((await commandsOf(aggregator).run(['doctor'])).code, 0);
  await aggregator.stop();
  writeFileSync(join(env.MCP_AGGREGATOR_DATA_DIR, 'aggregator.db'), 'this is no database');
  const { stdout } = await runCommand(['doctor'], {
    env: { ...env, MCP_AGGREGATOR_HEALTH_INTERVAL: 'often', DATABASE_URL: '' },
  });
  assert.match(stdout, /^problem +configuration: .*\n +-> MCP_AGGREGATOR_HEALTH_INTERVAL: "often"/m);
  assert.match(stdout, /^problem +database: .* is not a database/m);
});

test('start takes the settings as serve does, and shows what is wrong with them', async (t) => {
  const env = { MCP_AGGREGATOR_DATA_DIR: join(directory, 'background'), MCP_AGGREGATOR_PORT: '1' };
  t.after(() => runCommand(['stop'], { env: { ...env, MCP_AGGREGATOR_PORT: '0' } }));
  const wrong = await runCommand(['start', '--port', '0', '--exposure', 'everything'], { env });
  assert.notEqual(wrong.code, 0);
  assert.match(wrong.stderr, /MCP_AGGREGATOR_EXPOSURE: "everything" is not one of/);

  const started = await runCommand(['start', '--port', '0', '--json'], { env });
  assert.equal(started.code, 0, started.stderr);
  const { url, started: isNew } = JSON.parse(started.stdout);
  assert.ok(isNew && Number(new URL(url).port) > 1, url);
  assert.match(
    (await runCommand(['start', '--prot', '1'], { env })).stderr,
    /unknown option --prot. Did you mean --port\?/,
  );
});
