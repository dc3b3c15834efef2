import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { commandsOf } from '../cli/command-line.ts';
import { type AggregatorProcess, startAggregator } from '../support/aggregator-process.ts';
import { type Body, toRegistration } from '../support/app.ts';
import { stdioFeatureServer } from '../support/servers/feature-server.ts';

const base = '/api/v1/aggregator';

test('MON-006: three crashes at start: safe mode, until a restart in good order', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'safe-mode-'));
  let aggregator = await startAggregator({ dataDir });
  t.after(async () => {
    await aggregator.stop('SIGKILL');
    rmSync(dataDir, { recursive: true });
  });
  await ask(aggregator, 'POST', '/servers', toRegistration('local', stdioFeatureServer('legacy')));
  await untilConnected(aggregator);
  for (let crash = 0; crash < 3; crash += 1) {
    await aggregator.stop('SIGKILL');
    aggregator = await startAggregator({ dataDir });
    if (crash < 2) await untilConnected(aggregator);
  }

  await aggregator.logged(
    ({ level, msg }) => level === 'error' && /^safe mode: .* last 3 starts crashed/.test(String(msg)),
  );
  const { status, issues } = await ask(aggregator, 'GET', '/health');
  assert.equal(status, 'degraded');
  assert.match(issues[0], /^safe mode: no server is connected.*then restart/);
  assert.notEqual((await ask(aggregator, 'GET', '/servers/local')).status, 'CONNECTED');
  assert.match((await ask(aggregator, 'POST', '/servers/local/connect')).detail, /disabled by safe mode/);
  const doctor = await commandsOf(aggregator).run(['doctor']);
  assert.match(doctor.stdout, /problem +aggregator: .* in safe mode\n.*restart the aggregator/);

  // It stays safe when it is killed, and is left by a restart.
  await aggregator.stop('SIGKILL');
  aggregator = await startAggregator({ dataDir });
  assert.match((await ask(aggregator, 'GET', '/health')).issues[0], /^safe mode/);
  assert.equal(await aggregator.stop('SIGTERM'), 0);
  aggregator = await startAggregator({ dataDir });
  await untilConnected(aggregator);
  assert.equal(await aggregator.stop('SIGTERM'), 0);
});

test('MCP_AGGREGATOR_SAFE_MODE chooses it, or rules it out', async (t) => {
  const chosen = await startAggregator({ env: { MCP_AGGREGATOR_SAFE_MODE: 'on' } });
  t.after(() => chosen.stop('SIGKILL'));
  assert.match((await ask(chosen, 'GET', '/health')).issues[0], /MCP_AGGREGATOR_SAFE_MODE=on/);

  const dataDir = mkdtempSync(join(tmpdir(), 'safe-mode-'));
  const env = { MCP_AGGREGATOR_SAFE_MODE: 'off' };
  let without = await startAggregator({ dataDir, env });
  t.after(async () => {
    await without.stop('SIGKILL');
    rmSync(dataDir, { recursive: true });
  });
  for (let crash = 0; crash < 4; crash += 1) {
    await without.stop('SIGKILL');
    without = await startAggregator({ dataDir, env });
  }
  assert.equal((await ask(without, 'GET', '/health')).status, 'healthy');
});

async function untilConnected(aggregator: AggregatorProcess): Promise<void> {
  await aggregator.logged(
    ({ msg, server, status }) => msg === 'server status' && server === 'local' && status === 'CONNECTED',
  );
}

async function ask(aggregator: AggregatorProcess, method: string, path: string, body?: unknown): Promise<Body> {
  const response = await fetch(`${aggregator.url}${base}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${aggregator.token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  return await response.json();
}
