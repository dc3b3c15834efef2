import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { createRateLimiter } from '../../src/replicas/rate-limit.ts';
import { postModern } from '../mcp/clients.ts';
import { startApp } from '../support/app.ts';
import { hasRedis, startRedis } from '../support/redis.ts';
import { stdioFeatureServer } from '../support/servers/feature-server.ts';
import { until } from '../support/until.ts';
import { needsPostgres, startReplicas } from './deployment.ts';

suite('the rate limit of a principal', () => {
  test('slides: what was called in the window before counts for less and less', async () => {
    let now = 600_000;
    const limiter = createRateLimiter({ perMinute: 10, redis: undefined, now: () => now });
    for (let call = 0; call < 10; call += 1) await limiter.admit('a');
    const refused = await limiter.admit('a').catch((error: unknown) => error);
    assert.equal((refused as { code: string }).code, 'RATE_LIMITED');
    await limiter.admit('b');

    const { retryAfterSeconds } = refused as { retryAfterSeconds: number };
    now += retryAfterSeconds * 1_000 - 2_000;
    await assert.rejects(limiter.admit('a'));
    now += 2_000;
    await limiter.admit('a');
    now += 600_000;
    for (let call = 0; call < 10; call += 1) await limiter.admit('a');
  });

  test('429 with Retry-After on REST and on MCP; lists are no calls', async (t) => {
    const app = await startApp({ MCP_AGGREGATOR_RATE_LIMIT: '3' });
    t.after(() => app.close());
    await app.add('one', stdioFeatureServer('legacy'));
    for (let call = 0; call < 3; call += 1) assert.equal((await app.call('one.echo')).status, 200);
    const refused = await app.call('one.echo');
    assert.equal(refused.status, 429);
    assert.equal(refused.body.error_code, 'RATE_LIMITED');
    assert.ok(Number(refused.headers.get('retry-after')) >= 1);

    assert.equal((await postModern(app, 'tools/list')).status, 200);
    const overMcp = await postModern(app, 'tools/call', { name: 'one__echo', arguments: {} });
    assert.equal(overMcp.status, 429);
    assert.ok(Number(overMcp.headers.get('retry-after')) >= 1);
  });

  test('counts across replicas with Redis, and in each process while Redis is gone', {
    skip: needsPostgres.skip ?? (hasRedis ? false : 'needs redis-server'),
  }, async (t) => {
    const redis = await startRedis();
    t.after(() => redis.stop());
    const deployment = await startReplicas(2, { REDIS_URL: redis.url, MCP_AGGREGATOR_RATE_LIMIT: '8' });
    t.after(() => deployment.close());
    const [a, b] = deployment.replicas;
    assert.ok(a !== undefined && b !== undefined);
    await a.add('one', stdioFeatureServer('legacy'));
    const ready = async () => (await b.api('GET', '/api/v1/aggregator/servers/one')).body.replicas?.length === 2;
    await until(ready);
    await b.untilStatus('one', 'CONNECTED');
    // Connected says nothing of its tools: whichever replica discovers them tells the other.
    const found = async () => (await b.api('POST', '/api/v1/search', { query: 'echo' })).body.tools?.length > 0;
    await until(found);
    const { body: created } = await a.api('POST', '/api/v1/tokens', { name: 'caller', role: 'caller' });
    const { token } = created;
    await until(async () => (await b.api('GET', '/api/v1/aggregator/state', undefined, { token })).status === 200);

    const statuses: number[] = [];
    for (let call = 0; call < 5; call += 1) {
      statuses.push((await a.call('one.echo', {}, { token })).status, (await b.call('one.echo', {}, { token })).status);
    }
    assert.deepEqual(statuses, [200, 200, 200, 200, 200, 200, 200, 200, 429, 429]);

    await redis.stop();
    assert.equal((await a.call('one.echo', {}, { token })).status, 200);
  });

  test('changes reach all replicas through Redis, and through PostgreSQL while Redis is gone', {
    skip: needsPostgres.skip ?? (hasRedis ? false : 'needs redis-server'),
  }, async (t) => {
    const redis = await startRedis();
    t.after(() => redis.stop());
    const deployment = await startReplicas(2, { REDIS_URL: redis.url });
    t.after(() => deployment.close());
    const [a, b] = deployment.replicas;
    assert.ok(a !== undefined && b !== undefined);
    const spread = async (name: string) => {
      await a.api('PUT', `/api/v1/profiles/${name}`, { servers: [name] });
      await until(async () => (await b.api('GET', `/api/v1/profiles/${name}`)).status === 200);
    };
    await spread('first');
    await redis.stop();
    await spread('without');
    await redis.start();
    await spread('again');
  });
});
