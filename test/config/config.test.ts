import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { flagOf, loadConfig } from '../../src/config/config.ts';
import { type SettingName, settings } from '../../src/config/settings.ts';

const key = Buffer.alloc(32, 3).toString('base64');

suite('configuration', () => {
  test('MON-004: nothing set: the defaults', () => {
    const config = loadConfig({});
    assert.equal(config.host, '127.0.0.1');
    assert.equal(config.port, 8081);
    assert.equal(config.enabled, true);
    assert.equal(config.maxServers, 50);
    assert.equal(config.maxToolsPerServer, 1_000);
    assert.equal(config.maxTools, 10_000);
    assert.equal(config.healthIntervalMs, 30_000);
    assert.equal(config.connectionTimeoutMs, 30_000);
    assert.equal(config.requestTimeoutMs, 60_000);
    assert.equal(config.drainTimeoutMs, 30_000);
    assert.equal(config.listGraceMs, 60_000);
    assert.equal(config.listLimit, 60);
    assert.equal(config.exposure, 'auto');
    assert.equal(config.anonymous, undefined);
    assert.ok(Object.isFrozen(config));
    assert.ok(Object.isFrozen(config.environment));
  });

  test('SEC-002: connections cannot refer to the secrets of the aggregator itself', () => {
    const { environment, adminToken } = loadConfig({
      MCP_CREDENTIAL_KEY: key,
      MCP_AGGREGATOR_ADMIN_TOKEN: 'a-token-of-the-test',
      MCP_AGGREGATOR_OIDC_CLIENT_SECRET: 'secret',
      GITHUB_TOKEN: 'g',
      ANTHROPIC_API_KEY: 'a',
    });
    assert.equal(adminToken, 'a-token-of-the-test');
    assert.deepEqual(environment, { GITHUB_TOKEN: 'g', ANTHROPIC_API_KEY: 'a' });
  });

  test('seconds are read as seconds, fractions too', () => {
    assert.equal(loadConfig({ MCP_AGGREGATOR_HEALTH_INTERVAL: '0.5' }).healthIntervalMs, 500);
    assert.equal(loadConfig({ MCP_AGGREGATOR_REQUEST_TIMEOUT: '90' }).requestTimeoutMs, 90_000);
  });

  test('an empty variable is one that is not set', () => {
    assert.equal(loadConfig({ MCP_AGGREGATOR_PORT: '' }).port, 8081);
  });

  const wrong: [string, string][] = [
    ['MCP_AGGREGATOR_PORT', '70000'],
    ['MCP_AGGREGATOR_PORT', '80.5'],
    ['MCP_AGGREGATOR_PORT', 'x'],
    ['MCP_AGGREGATOR_ENABLED', 'maybe'],
    ['MCP_AGGREGATOR_MAX_SERVERS', '0'],
    ['MCP_AGGREGATOR_HEALTH_INTERVAL', '0'],
    ['MCP_AGGREGATOR_REQUEST_TIMEOUT', 'Infinity'],
    ['MCP_AGGREGATOR_REQUEST_TIMEOUT', 'NaN'],
    ['MCP_AGGREGATOR_ANONYMOUS', 'admin'],
    ['MCP_AGGREGATOR_EXPOSURE', 'some'],
    ['MCP_AGGREGATOR_LOG_LEVEL', 'loud'],
    ['MCP_AGGREGATOR_ADMIN_TOKEN', 'short'],
    ['MCP_CREDENTIAL_KEY', 'not-a-key'],
    ['MCP_CREDENTIAL_KEY', `${key}, and more`],
    ['DATABASE_URL', 'mysql://x'],
    ['REDIS_URL', 'x'],
    ['QDRANT_URL', 'x'],
    ['MCP_AGGREGATOR_MAX_BODY_BYTES', '1'],
    ['MCP_AGGREGATOR_TRUSTED_PROXIES', '10.0.0.0/8,proxy.internal'],
    ['MCP_AGGREGATOR_TRUSTED_PROXIES', '10.0.0.0/33'],
    ['MCP_AGGREGATOR_TRUSTED_PROXIES', '10.0.0.0/8/8'],
  ];
  for (const [name, value] of wrong) {
    test(`MON-004: ${name}=${value} stops the start with a line that names it and gives an example`, () => {
      assert.throws(
        () => loadConfig({ [name]: value }),
        (error: Error) =>
          error.message.startsWith(`${name}: `) &&
          error.message.includes('; example: ') &&
          !error.message.includes('\n'),
      );
    });
  }

  test('everything that is wrong is said at once, and secrets are not repeated', () => {
    assert.throws(
      () =>
        loadConfig({ MCP_AGGREGATOR_PORT: 'x', MCP_CREDENTIAL_KEY: 'hush-hush', DATABASE_URL: 'mysql://u:hush@h/d' }),
      (error: Error) => error.message.split('\n').length === 3 && !error.message.includes('hush'),
    );
  });

  test('MON-004: PostgreSQL needs a key that all replicas share', () => {
    assert.throws(
      () => loadConfig({ DATABASE_URL: 'postgres://h/d' }),
      /MCP_CREDENTIAL_KEY: required with DATABASE_URL/,
    );
    assert.equal(loadConfig({ DATABASE_URL: 'postgres://h/d', MCP_CREDENTIAL_KEY: key }).databaseUrl, 'postgres://h/d');
  });

  test('nobody is let in without a token from outside this machine', () => {
    assert.throws(
      () => loadConfig({ MCP_AGGREGATOR_ANONYMOUS: 'caller', MCP_AGGREGATOR_HOST: '0.0.0.0' }),
      /MCP_AGGREGATOR_ANONYMOUS: only allowed on a loopback address/,
    );
    assert.equal(loadConfig({ MCP_AGGREGATOR_ANONYMOUS: 'caller' }).anonymous, 'caller');
  });

  test('flags win over the environment, the environment over the file', (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'mcp-aggregator-config-'));
    t.after(() => rmSync(directory, { recursive: true }));
    const file = join(directory, 'servers.json');
    writeFileSync(
      file,
      JSON.stringify({ mcpServers: {}, settings: { port: 1, maxServers: 2, allowedHosts: ['a', 'b'] } }),
    );
    const config = loadConfig({ MCP_AGGREGATOR_CONFIG: file, MCP_AGGREGATOR_PORT: '3' }, {});
    assert.deepEqual([config.port, config.maxServers, config.allowedHosts], [3, 2, ['a', 'b']]);
    assert.equal(loadConfig({ MCP_AGGREGATOR_PORT: '3' }, { port: '4' }).port, 4);
    writeFileSync(file, JSON.stringify({ settings: { prot: 1 } }));
    assert.throws(() => loadConfig({ MCP_AGGREGATOR_CONFIG: file }), /settings\.prot: unknown setting/);
    writeFileSync(file, '{');
    assert.throws(() => loadConfig({ MCP_AGGREGATOR_CONFIG: file }), /cannot be read as JSON/);
  });

  test('every setting has help, an example that is accepted or described, and a flag of its own', () => {
    const names = Object.keys(settings) as SettingName[];
    assert.equal(new Set(names.map(flagOf)).size, names.length);
    assert.equal(new Set(names.map((name) => settings[name].env)).size, names.length);
    for (const name of names) assert.ok(settings[name].help.length > 10 && settings[name].example.length > 0, name);
  });
});
