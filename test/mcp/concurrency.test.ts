/** Many clients on one server: nothing crosses, nothing is cut off, what is cancelled is cancelled. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { type Body, startApp, type TestApp } from '../support/app.ts';
import { startFeatureServer, stdioFeatureServer } from '../support/servers/feature-server.ts';
import type { RunningServer } from '../support/servers/http-wire.ts';
import { until } from '../support/until.ts';
import { connectClient, openSession, postModern, type RawAnswer } from './clients.ts';

const clients = 100;
let app: TestApp;
let http: RunningServer;

before(async () => {
  app = await startApp({ MCP_AGGREGATOR_REQUEST_TIMEOUT: '0.5', MCP_AGGREGATOR_MAX_CONCURRENT_CALLS: '200' });
  http = await startFeatureServer({ transport: 'streamable-legacy', label: 'http' });
  await app.add('shared', stdioFeatureServer('legacy', { label: 'shared' }), { options: { request_timeout: 20 } });
  await app.add('over-http', { base_url: http.url }, { options: { request_timeout: 20 } });
  await app.add('patient', stdioFeatureServer('legacy', { label: 'patient' }));
  await app.add('modern', stdioFeatureServer('modern', { label: 'modern' }));
});
after(async () => {
  await app.close();
  await http.close();
});

for (const server of ['shared', 'over-http']) {
  test(`${clients} clients at once on one ${server} server: every answer to its own caller`, async () => {
    const ask = async (number: number) => {
      const text = `client ${number}`;
      const echo = { name: `${server}__echo`, arguments: { text } };
      // All use the same ids and the same progress tokens, as clients that know nothing of each other do.
      const counting = { name: `${server}__progress`, arguments: { n: (number % 5) + 1 }, _meta: { progressToken: 1 } };
      const [answer, counted] = await (number % 2 === 0 ? legacy : modern)([echo, counting]);
      assert.equal(last(answer).result?.structuredContent.arguments.text, text, JSON.stringify(last(answer)));
      const steps = counted?.events.flatMap(({ method, params }: Body) => (method === undefined ? [] : [params]));
      assert.deepEqual(
        steps?.map(({ progress, total, progressToken }: Body) => [progress, total, progressToken]),
        Array.from({ length: (number % 5) + 1 }, (_, step) => [step + 1, (number % 5) + 1, 1]),
      );
    };
    await Promise.all(Array.from({ length: clients }, (_, number) => ask(number)));
    const pids = new Set<number>();
    for (let round = 0; round < 3; round += 1)
      pids.add((await app.call(`${server}.whoami`)).body.structuredContent.pid);
    assert.equal(pids.size, 1, 'all of them shared one process');
  });
}

async function legacy(calls: Record<string, Body>[]): Promise<RawAnswer[]> {
  const session = await openSession(app);
  return await Promise.all(calls.map((params) => session.request('tools/call', params)));
}

function modern(calls: Record<string, Body>[]): Promise<RawAnswer[]> {
  return Promise.all(calls.map((params) => postModern(app, 'tools/call', params)));
}

const last = (answer: RawAnswer | undefined) => answer?.body ?? answer?.events.at(-1);

suite('the request timeout', () => {
  test('does not cut off a call that reports progress', async () => {
    // 800 steps of a millisecond or more, far beyond the half second that silence is allowed.
    const params = { name: 'patient__progress', arguments: { n: 800 }, _meta: { progressToken: 'p' } };
    const { events } = await postModern(app, 'tools/call', params);
    assert.equal(events.at(-1).result.content[0].text, '800 steps');
    assert.equal(events.length, 801);
  });

  for (const [server, ask] of [
    ['patient', modern],
    ['modern', modern],
    ['patient', legacy],
  ] as const) {
    test(`ends a call of ${ask.name} clients that is silent on ${server}, and tells both sides`, async () => {
      const before = await cancelled(server);
      const [answer] = await ask([{ name: `${server}__slow`, arguments: { ms: 60_000 } }]);
      assert.equal(last(answer).error.data.error_code, 'EXECUTION_TIMEOUT');
      await until(async () => (await cancelled(server)) === before + 1, 'the server heard of it');
    });
  }
});

suite('cancellation reaches the server', () => {
  for (const [revision, server] of [
    ['2025-11-25', 'shared'],
    ['2026-07-28', 'shared'],
    ['2025-11-25', 'modern'],
    ['2026-07-28', 'modern'],
    ['2024-11-05', 'over-http'],
    ['2026-07-28', 'over-http'],
  ] as const) {
    test(`from a ${revision} client, on ${server}`, async (t) => {
      const client = await connectClient(app, { revision });
      t.after(() => client.close());
      const before = await cancelled(server);
      const slow = { name: `${server}__slow`, arguments: { ms: 60_000 } };
      const one = new AbortController();
      const stays = client.callTool({ name: `${server}__slow`, arguments: { ms: 400 } });
      await assert.rejects(client.callTool(slow, { signal: one.signal, onprogress: () => one.abort() }));
      await until(async () => (await cancelled(server)) === before + 1, 'the server heard of it');
      assert.deepEqual((await stays).content, [{ type: 'text', text: 'waited 400 ms' }]);
    });
  }
});

async function cancelled(server: string): Promise<number> {
  return (await app.call(`${server}.cancelled_count`)).body.structuredContent.cancelled;
}
