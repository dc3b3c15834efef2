import assert from 'node:assert/strict';
import { test } from 'node:test';
import { api, startApp } from '../support/running-app.ts';

test('the audit is verified and exported over REST, by admins only', async (t) => {
  const app = await startApp(t);
  const { json: made } = await app.ask('POST', '/api/v1/tokens', { name: 'reader', role: 'viewer' });
  const reader = { authorization: `Bearer ${made.token}` };
  for (const path of ['verify', 'export']) {
    assert.equal((await app.ask('GET', `${api}/audit/${path}`, undefined, reader)).status, 403);
  }

  const exported = await app.ask('GET', `${api}/audit/export`);
  assert.equal(exported.headers.get('content-type'), 'application/x-ndjson');
  const records = exported.text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.deepEqual(
    records.map(({ seq, event, actor }) => ({ seq, event, actor })),
    [
      { seq: 1, event: 'token.created', actor: 'admin' },
      { seq: 2, event: 'audit.exported', actor: 'admin' },
    ],
  );
  assert.match(records[1].hash, /^[0-9a-f]{64}$/);
  const verdict = await app.ask('GET', `${api}/audit/verify`);
  assert.deepEqual(verdict.json, {
    intact: true,
    records: 2,
    unsealed: 0,
    anchor: { seq: 0, hash: '' },
    head: { seq: 2, hash: records[1].hash },
  });

  const tomorrow = new Date(Date.now() + 86_400_000).toISOString().replace('Z', '%2B00:00');
  assert.equal((await app.ask('GET', `${api}/audit/export?since=${tomorrow}`)).text, '');
  const listed = await app.ask('GET', `${api}/audit`);
  assert.deepEqual(Object.keys(listed.json.audit[0]).sort(), [
    'actor',
    'details',
    'event',
    'id',
    'ip_address',
    'server_id',
    'server_name',
    'timestamp',
  ]);
});
