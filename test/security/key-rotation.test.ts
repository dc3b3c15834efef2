import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { api, startApp } from '../support/running-app.ts';
import { startFeatureServer } from '../support/servers/feature-server.ts';

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
