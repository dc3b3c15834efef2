import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RpcError } from '../../src/errors.ts';
import { probeSession } from '../../src/health/probe.ts';
import { reconnectDelayMs } from '../../src/health/reconnect.ts';
import { judge } from '../../src/health/verdict.ts';
import type { Session } from '../../src/upstream/session.ts';

/** A session that answers as told and was last heard of as told. */
function session(parts: Partial<Session>): Session {
  return {
    era: 'legacy',
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: {},
    heardAt: 0,
    request: async () => ({}),
    relay: async () => ({}),
    notify: async () => {},
    close: async () => {},
    ...parts,
  };
}

const never: Session['request'] = (_method, _params, exchange) =>
  new Promise((_resolve, reject) =>
    exchange?.signal?.addEventListener('abort', () => reject(exchange.signal?.reason), { once: true }),
  );

test('BR-006: the question depends on the era; tools/list is the last resort', async () => {
  const asked: string[] = [];
  const request: Session['request'] = async (method) => {
    asked.push(method);
    if (method === 'ping') throw new RpcError(-32601, 'unknown');
    return {};
  };
  assert.equal((await probeSession(session({ request }))).kind, 'answered');
  assert.equal((await probeSession(session({ request, era: 'modern' }))).kind, 'answered');
  assert.deepEqual(asked, ['ping', 'tools/list', 'server/discover']);
});

test('BR-006: no answer in time is a failure', async () => {
  const outcome = await probeSession(session({ request: never }), 50);
  assert.deepEqual(judge(outcome), { health: 'failed', reason: 'no response within 0.05 s' });
});

test('BR-006: a server that says anything meanwhile is busy, not dead', async () => {
  let heardAt = 0;
  const busy: Session = { ...session({ request: never }), heardAt: 0 };
  Object.defineProperty(busy, 'heardAt', { get: () => heardAt });
  setTimeout(() => {
    heardAt = Date.now() + 1;
  }, 20);
  assert.equal((await probeSession(busy, 80)).kind, 'answered');
});

test('EC-005: what each status means', () => {
  const meaning = (status: number) => judge({ kind: 'status', status, ms: 1 }).health;
  assert.equal(meaning(200), 'passed');
  for (const status of [400, 401, 403, 404, 499]) assert.equal(meaning(status), 'misconfigured');
  for (const status of [100, 201, 204, 301, 500, 503, 599]) assert.equal(meaning(status), 'failed');
});

test('EC-001: reconnection after 1, 2, 4, 8, 16 s and then every minute, give or take a fifth', () => {
  const middle = Array.from({ length: 8 }, (_, attempt) => reconnectDelayMs(attempt, 0.5));
  assert.deepEqual(middle, [1_000, 2_000, 4_000, 8_000, 16_000, 60_000, 60_000, 60_000]);
  assert.deepEqual([reconnectDelayMs(0, 0), reconnectDelayMs(0, 1)], [800, 1_200]);
});
