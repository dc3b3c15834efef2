import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { createChanges } from '../../src/changes.ts';
import { AppError } from '../../src/errors.ts';
import type { AuditEntry } from '../../src/security/audit.ts';
import { ExpiredToken } from '../../src/security/auth.ts';
import { createAuthenticationThrottle } from '../../src/security/authentication-throttle.ts';
import { createFailedAuthenticationAudit } from '../../src/security/failed-authentication-audit.ts';
import { behindProxy, type CallOptions, startApp, type TestApp } from '../support/app.ts';

const wrong = () => new AppError('UNAUTHENTICATED', 'Not authenticated');

/** A throttle whose clock stands still until it is moved, and whose waiters wait until they are let go. */
function createBench() {
  const delays: number[] = [];
  const outcomes: string[] = [];
  const waiters: (() => void)[] = [];
  let time = 0;
  const changes = createChanges();
  changes.subscribe('authentication.failed', ({ outcome }) => void outcomes.push(outcome));
  const throttle = createAuthenticationThrottle({
    changes,
    now: () => time,
    wait(ms) {
      delays.push(ms);
      return new Promise((resolve) => void waiters.push(resolve));
    },
  });
  return {
    delays,
    outcomes,
    pass(ms: number) {
      time += ms;
    },
    release() {
      for (const resolve of waiters.splice(0)) resolve();
    },
    /** What becomes of it, as a code. */
    async fail(address: string, error: Error = wrong()): Promise<unknown> {
      try {
        return await throttle.check(address, () => Promise.reject(error), String);
      } catch (thrown) {
        return (thrown as AppError).code;
      }
    },
    async succeed(address: string, id: string): Promise<unknown> {
      try {
        return await throttle.check(address, async () => id, String);
      } catch (thrown) {
        return (thrown as AppError).code;
      }
    },
  };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

suite('the throttle', () => {
  test('SEC-010: five failures are free, then each waits twice as long, up to five seconds', async () => {
    const bench = createBench();
    for (let count = 0; count < 14; count += 1) {
      const answer = bench.fail('10.0.0.1');
      await settled();
      bench.release();
      assert.equal(await answer, 'UNAUTHENTICATED');
    }
    assert.deepEqual(bench.delays, [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000]);
    assert.deepEqual(bench.outcomes, [...new Array(5).fill('answered'), ...new Array(9).fill('delayed')]);
  });

  test('failures fade, five a minute: a scraper with an old token is never delayed', async () => {
    const bench = createBench();
    for (let count = 0; count < 50; count += 1) {
      bench.pass(15_000);
      assert.equal(await bench.fail('10.0.0.1'), 'UNAUTHENTICATED');
    }
    assert.deepEqual(bench.delays, []);
  });

  test('SEC-010: a valid token is answered while guesses wait, and other addresses fail for themselves', async () => {
    const bench = createBench();
    for (let count = 0; count < 10; count += 1) void bench.fail('10.0.0.1');
    await settled();
    assert.equal(bench.delays.length, 5);
    assert.equal(await bench.succeed('10.0.0.1', 'ada'), 'ada');
    assert.equal(await bench.fail('10.0.0.2'), 'UNAUTHENTICATED');
  });

  test('where no more can wait, a right guess looks like a wrong one, but not to who was here before', async () => {
    const bench = createBench();
    assert.equal(await bench.succeed('10.0.0.1', 'ada'), 'ada');
    for (let count = 0; count < 13; count += 1) void bench.fail('10.0.0.1');
    await settled();
    assert.equal(await bench.fail('10.0.0.1'), 'RATE_LIMITED');
    assert.equal(await bench.succeed('10.0.0.1', 'guessed'), 'RATE_LIMITED');
    assert.equal(await bench.succeed('10.0.0.1', 'ada'), 'ada');
    assert.equal(await bench.succeed('10.0.0.2', 'guessed'), 'guessed');
    bench.release();
    await settled();
    assert.equal(await bench.succeed('10.0.0.1', 'guessed'), 'guessed');
  });

  test('many addresses together have a bound, which nobody feels who did not fail', async () => {
    const bench = createBench();
    for (let address = 0; address < 40; address += 1) {
      for (let count = 0; count < 13; count += 1) void bench.fail(`10.0.1.${address}`);
    }
    await settled();
    assert.equal(bench.delays.length, 256);
    assert.equal(await bench.fail('10.0.2.1'), 'UNAUTHENTICATED');
    assert.equal(await bench.succeed('10.0.2.1', 'ada'), 'ada');
    for (let count = 0; count < 4; count += 1) await bench.fail('10.0.2.1');
    assert.equal(await bench.fail('10.0.2.1'), 'RATE_LIMITED');
  });

  test('an IPv6 network is one address', async () => {
    const bench = createBench();
    for (let count = 1; count <= 6; count += 1) void bench.fail(`2001:db8::${count}`);
    await settled();
    assert.deepEqual(bench.delays, [100]);
  });

  test('an expired token is no guess, and other errors pass', async () => {
    const bench = createBench();
    for (let count = 0; count < 20; count += 1) {
      assert.equal(await bench.fail('10.0.0.1', new ExpiredToken()), 'UNAUTHENTICATED');
      assert.equal(await bench.fail('10.0.0.1', new AppError('INSUFFICIENT_SCOPE', '')), 'INSUFFICIENT_SCOPE');
    }
    assert.deepEqual(bench.delays, []);
    assert.deepEqual(bench.outcomes, new Array(20).fill('expired'));
  });
});

test('the audit has the first failure of an address, then how many; beyond 100 addresses, the rest together', () => {
  const records: unknown[] = [];
  const changes = createChanges();
  const record = ({ ip_address, details }: AuditEntry) => void records.push([ip_address, details?.attempts]);
  const audit = createFailedAuthenticationAudit({ record }, changes);
  const fail = (address: string) =>
    changes.publish('authentication.failed', { outcome: 'answered', address, network: address });
  for (let count = 0; count < 1_000; count += 1) fail('10.0.0.1');
  assert.deepEqual(records.splice(0), [['10.0.0.1', 1]]);
  audit.flush();
  assert.deepEqual(records.splice(0), [['10.0.0.1', 999]]);
  audit.flush();
  assert.deepEqual(records, []);
  for (let address = 0; address < 5_000; address += 1) fail(`net ${address}`);
  assert.equal(records.splice(0).length, 100);
  audit.close();
  assert.deepEqual(records, [[null, 4_900]]);
});

suite('the aggregator', () => {
  const at = (address: string, token: string): CallOptions => ({ token, headers: { 'x-forwarded-for': address } });
  const servers = '/api/v1/aggregator/servers';

  /** More at once than may wait; resolves as soon as one is refused. */
  async function untilRefused(attempt: () => Promise<Response>): Promise<Response> {
    return await Promise.any(
      Array.from({ length: 40 }, async () => {
        const response = await attempt();
        if (response.status !== 429) throw new Error(`answered ${response.status}`);
        return response;
      }),
    );
  }

  const faces: [string, (app: TestApp, address: string) => Promise<Response>][] = [
    ['REST', (app, address) => fetch(`${app.url}${servers}`, { headers: guess(address) })],
    ['who am I', (app, address) => fetch(`${app.url}/api/v1/session`, { headers: guess(address) })],
    ['MCP', (app, address) => post(app, '/mcp', { jsonrpc: '2.0', id: 1, method: 'ping' }, guess(address))],
    ['SSE', (app, address) => fetch(`${app.url}/sse`, { headers: guess(address) })],
    ['dashboard, token', (app, address) => post(app, '/api/v1/session', { token: 'guess' }, from(address))],
    ['dashboard, code', (app, address) => post(app, '/api/v1/session', { code: 'guess' }, from(address))],
    [
      'login pages',
      (app, address) =>
        fetch(`${app.url}/oauth/sign-in`, {
          method: 'POST',
          headers: from(address),
          body: new URLSearchParams({ token: 'guess', next: 'x' }),
        }),
    ],
  ];
  const from = (address: string) => ({ 'x-forwarded-for': address });
  const guess = (address: string) => ({ ...from(address), authorization: 'Bearer guess' });
  const post = (app: TestApp, path: string, body: unknown, headers: Record<string, string>) =>
    fetch(`${app.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });

  test('SEC-010: guesses are refused at every face, valid tokens are not, and all of it is counted and audited', async (t) => {
    const app = await startApp(behindProxy);
    t.after(() => app.close());
    for (const [index, [, attempt]] of faces.entries()) {
      const address = `192.0.2.${index}`;
      assert.equal((await app.api('GET', servers, undefined, at(address, app.adminToken))).status, 200);
      const refused = await untilRefused(() => attempt(app, address));
      assert.equal(refused.headers.get('retry-after'), '5', faces[index]?.[0]);
      assert.equal((await app.api('GET', servers, undefined, at(address, app.adminToken))).status, 200);
    }
    const metrics = await fetch(`${app.url}/metrics`, { headers: { authorization: `Bearer ${app.adminToken}` } });
    const text = await metrics.text();
    for (const outcome of ['answered', 'delayed', 'refused']) {
      assert.match(text, new RegExp(`mcp_aggregator_failed_authentications_total\\{outcome="${outcome}"\\} [1-9]`));
    }
    const { body } = await app.api('GET', '/api/v1/aggregator/audit?event=authentication.failed');
    const entries: { ip_address: string; actor: string; details: unknown }[] = body.audit;
    assert.deepEqual(
      entries.map(({ ip_address, actor, details }) => [ip_address, actor, details]).sort(),
      faces.map((_face, index) => [`192.0.2.${index}`, 'unknown', { attempts: 1 }]),
    );
    assert.ok(!JSON.stringify([entries, app.log]).includes('guess'), 'what was guessed is nobody’s to read');
  });
});
