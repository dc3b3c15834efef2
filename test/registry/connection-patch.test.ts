import assert from 'node:assert/strict';
import { test } from 'node:test';
import { patchedConnection } from '../../src/registry/connection-patch.ts';
import type { Connection } from '../../src/registry/server.ts';

const stored: Connection = {
  transport_type: 'HTTP',
  connection_config: {
    base_url: 'https://a.example/mcp',
    headers: { 'X-Key': 'header-secret' },
    oauth: { issuer: 'https://login.example', client_id: 'c', client_secret: 'oauth-secret' },
  },
};
const shown = {
  base_url: 'https://a.example/mcp',
  headers: { 'X-Key': '***' },
  oauth: { issuer: 'https://login.example', client_id: 'c', client_secret: '***' },
};
const patched = (change: object, from: 'network' | 'local' = 'network') =>
  patchedConnection(stored, { connection_config: { ...shown, ...change } }, from)?.connection_config;

test('SEC-003: what comes back masked stays as it is stored', () => {
  assert.deepEqual(patched({}), stored.connection_config);
  assert.deepEqual(patched({ base_url: 'https://a.example/other' }), {
    ...stored.connection_config,
    base_url: 'https://a.example/other',
  });
});

test('SEC-003: a masked secret is not sent to another server or another issuer', () => {
  for (const change of [
    { base_url: 'https://b.example/mcp' },
    { oauth: { ...shown.oauth, issuer: 'https://evil.example' } },
    { oauth: { client_id: 'c', client_secret: '***' } },
  ]) {
    assert.throws(() => patched(change), /in place of a secret; send the complete value/, JSON.stringify(change));
    assert.doesNotThrow(() => patched(change, 'local'));
  }
  const complete = { issuer: 'https://evil.example', client_id: 'c', client_secret: 'new' };
  assert.doesNotThrow(() => patched({ headers: {}, oauth: complete }));
});
