import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startApp, type TestApp } from '../support/app.ts';
import { childProgram } from '../support/child-program.ts';

const travelServer = new URL('../browser/travel-server.ts', import.meta.url);
const secret = 'key-of-the-travel-agency';
const travel = { ...childProgram(travelServer), env: { API_KEY: secret } };
const said = 'Lisbon-4711';
const contact = { email: 'ada@example.com' };

async function startWithCall(showPayloads: string | undefined): Promise<{ app: TestApp; callId: string }> {
  const app = await startApp({ MCP_AGGREGATOR_SHOW_PAYLOADS: showPayloads });
  await app.add('travel', travel);
  await app.call('travel.book_trip', { destination: said, travellers: [{ name: secret }], contact });
  const { call_id: callId } = await app.seen.waitFor('call.finished');
  return { app, callId };
}

test('arguments and results are kept nowhere unless MCP_AGGREGATOR_SHOW_PAYLOADS is true', async (t) => {
  const { app, callId } = await startWithCall(undefined);
  t.after(app.close);
  const activity = await app.api('GET', '/api/v1/aggregator/activity');
  assert.equal(activity.body.shows_payloads, false);
  assert.equal(activity.body.recent_calls[0].call_id, callId);
  assert.ok(!JSON.stringify(activity.body).includes(said));
  const refused = await app.api('GET', `/api/v1/aggregator/activity/calls/${callId}`);
  assert.equal(refused.status, 404);
  assert.match(refused.body.detail, /MCP_AGGREGATOR_SHOW_PAYLOADS=true/);
});

test('with it admins see them, cut to size and without known secrets; database, log and events never have them', async (t) => {
  const { app, callId } = await startWithCall('true');
  t.after(app.close);
  const payload = async (id: string, token?: string) =>
    await app.api('GET', `/api/v1/aggregator/activity/calls/${id}`, undefined, { token });

  assert.equal((await app.api('GET', '/api/v1/aggregator/activity')).body.shows_payloads, true);
  const { body } = await payload(callId);
  const args = { destination: said, travellers: [{ name: '***' }], contact };
  assert.deepEqual(JSON.parse(body.arguments.json), args);
  assert.equal(body.arguments.cut, false);
  assert.deepEqual(JSON.parse(JSON.parse(body.result.json).content[0].text), args);
  assert.equal(body.error, null);

  // The secret lies across the place of the cut.
  const started = '{"destination":"'.length;
  const long = `${'é'.repeat((16_384 - started - 10) / 2)}${secret}${'z'.repeat(40_000)}`;
  await app.call('travel.book_trip', { destination: long, travellers: [], contact });
  const second = await app.seen.waitFor('call.finished', ({ call_id }) => call_id !== callId);
  const cut = (await payload(second.call_id)).body;
  for (const part of [cut.arguments, cut.result]) {
    assert.equal(part.cut, true);
    assert.ok(part.bytes > 50_000);
    assert.ok(Buffer.byteLength(part.json) <= 16_384);
    assert.ok(!part.json.includes(secret.slice(0, 6)), 'not even the beginning of a secret');
  }

  const { token } = (await app.api('POST', '/api/v1/tokens', { name: 'caller', role: 'caller' })).body;
  assert.equal((await payload(callId, token)).status, 403);
  assert.equal((await payload('another')).status, 404);
  await app.api('GET', '/api/v1/aggregator/audit?limit=1000');
  const files = readdirSync(app.dataDir).map((file) => readFileSync(join(app.dataDir, file), 'latin1'));
  for (const text of [app.log.join(), JSON.stringify(app.seen.all), ...files]) assert.ok(!text.includes(said));
});

test('a call that failed shows its error instead of a result', async (t) => {
  const app = await startApp({ MCP_AGGREGATOR_SHOW_PAYLOADS: 'true' });
  t.after(app.close);
  await app.add('travel', travel);
  await app.api('POST', '/api/v1/aggregator/servers/travel/disconnect', {});
  await app.untilStatus('travel', 'DISCONNECTED');
  await app.call('travel.book_trip', { destination: said, travellers: [], contact });
  const { call_id } = await app.seen.waitFor('call.finished');
  const { body } = await app.api('GET', `/api/v1/aggregator/activity/calls/${call_id}`);
  assert.equal(body.result, null);
  assert.match(body.error.json, /travel/);
});
