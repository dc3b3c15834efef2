import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { commandsOf } from '../cli/command-line.ts';
import { startAggregator } from '../support/aggregator-process.ts';
import { startApp } from '../support/app.ts';
import { createTestDatabase } from '../support/databases.ts';
import { stdioFeatureServer } from '../support/servers/feature-server.ts';
import { until } from '../support/until.ts';
import { needsPostgres, startReplicas } from './deployment.ts';
import { startRoundRobin } from './round-robin.ts';

const key = () => randomBytes(32).toString('base64');
const reseal = '/api/v1/aggregator/credentials/reseal';

suite('backup and key', () => {
  test('export and import: another aggregator with the same key connects the same servers', async (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'backup-'));
    t.after(() => rmSync(directory, { recursive: true, force: true }));
    const MCP_CREDENTIAL_KEY = key();
    const first = await startAggregator({ env: { MCP_CREDENTIAL_KEY } });
    t.after(() => first.stop('SIGKILL'));
    const post = (path: string, body: unknown, method = 'POST') =>
      fetch(`${first.url}${path}`, {
        method,
        headers: { authorization: `Bearer ${first.token}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    const secret = `secret-${randomBytes(12).toString('hex')}`;
    const { command, args } = stdioFeatureServer('legacy', { label: 'kept' });
    await post('/api/v1/aggregator/servers', {
      name: 'kept',
      transport_type: 'STDIO',
      connection_config: { command, args, env: { SECRET: secret } },
    });
    const created = await post('/api/v1/tokens', { name: 'somebody', role: 'caller' });
    const { token } = (await created.json()) as { token: string };
    await post('/api/v1/profiles/work', { servers: ['kept'] }, 'PUT');
    await post('/api/v1/skills/astronomy', { name: 'Astronomy', description: 'Stars' }, 'PUT');
    await post('/api/v1/query/rules', { serverRules: [{ pattern: 'stars', servers: ['kept'] }] }, 'PUT');

    const file = join(directory, 'backup.json');
    assert.equal((await commandsOf(first).run(['export', file])).code, 0);
    assert.equal(statSync(file).mode & 0o077, 0);
    const text = readFileSync(file, 'utf8');
    assert.ok(!text.includes(secret) && !text.includes(token) && !text.includes(MCP_CREDENTIAL_KEY));

    const stranger = await startAggregator({ env: { MCP_CREDENTIAL_KEY: key() } });
    t.after(() => stranger.stop('SIGKILL'));
    const refused = await commandsOf(stranger).run(['import', file]);
    assert.equal(refused.code, 6);
    assert.match(refused.stderr, /the backup was made with key [0-9a-f]{8}; set that key as MCP_CREDENTIAL_KEY/);
    assert.match((await commandsOf(stranger).run(['list', '--json'])).stdout, /"servers": ?\[\]|^\[\]/m);

    const second = await startAggregator({ env: { MCP_CREDENTIAL_KEY } });
    t.after(() => second.stop('SIGKILL'));
    const imported = await commandsOf(second).run(['import', file]);
    assert.equal(imported.code, 0, imported.stderr);
    assert.match(imported.stdout, /Imported 1 servers, 1 tokens, 1 profiles/);
    const call = () =>
      fetch(`${second.url}/api/v1/tools/call`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ name: 'kept.echo', arguments: {} }),
      });
    await until(async () => (await call()).status === 200);
    const got = async (path: string) => {
      const answer = await fetch(`${second.url}${path}`, { headers: { authorization: `Bearer ${second.token}` } });
      return await answer.text();
    };
    assert.match(await got('/api/v1/profiles/work'), /kept/);
    assert.match(await got('/api/v1/skills/astronomy'), /Stars/);
    assert.match(await got('/api/v1/query/rules'), /stars/);
  });

  test('a new key: everything is sealed again, and the old key is not needed any more', async (t) => {
    const [before, after] = [key(), key()];
    const database = await createTestDatabase();
    t.after(() => database.close());
    const first = await startApp({ MCP_CREDENTIAL_KEY: before }, { database });
    for (let number = 0; number < 20; number += 1) {
      await first.register(
        `server-${number}`,
        { command: 'true', env: { NUMBER: `secret-${number}` } },
        { auto_connect: false },
      );
    }
    const again = async (env: Record<string, string>) => {
      return await startApp({ MCP_AGGREGATOR_ADMIN_TOKEN: first.adminToken, ...env }, { database });
    };
    await first.close();
    const second = await again({ MCP_CREDENTIAL_KEY: after, MCP_CREDENTIAL_KEY_PREVIOUS: before });
    await until(async () => (await second.api('POST', reseal)).body.current === 20);
    assert.deepEqual((await second.api('POST', reseal)).body.unreadable, []);
    await second.close();
    const third = await again({ MCP_CREDENTIAL_KEY: after });
    for (let number = 0; number < 20; number += 1)
      assert.equal((await third.server(`server-${number}`)).name, `server-${number}`);
    await third.close();
  });

  test('rotation under load, replica by replica: no call fails, nothing is unreadable', needsPostgres, async (t) => {
    const [before, after] = [key(), key()];
    const deployment = await startReplicas(0);
    t.after(() => deployment.close());
    const steps: Record<string, string>[] = [
      { MCP_CREDENTIAL_KEY: before },
      // Opens what the other replicas will seal, and seals with the old key still.
      { MCP_CREDENTIAL_KEY: before, MCP_CREDENTIAL_KEY_PREVIOUS: after },
      { MCP_CREDENTIAL_KEY: after, MCP_CREDENTIAL_KEY_PREVIOUS: before },
      { MCP_CREDENTIAL_KEY: after },
    ];
    const env = { MCP_AGGREGATOR_SHUTDOWN_TIMEOUT: '5' };
    const slots = [await deployment.start({ ...env, ...steps[0] }), await deployment.start({ ...env, ...steps[0] })];
    const [first] = slots;
    assert.ok(first !== undefined);
    const proxy = await startRoundRobin(slots.map(({ url }) => url));
    t.after(() => proxy.close());
    const { command, args } = stdioFeatureServer('legacy', { label: 'live' });
    await first.add('live', { command, args, env: { SECRET: 'a secret of the live one' } });
    for (let number = 0; number < 20; number += 1) {
      await first.register(
        `idle-${number}`,
        { command: 'true', env: { N: `secret-${number}` } },
        { auto_connect: false },
      );
    }

    const failures: string[] = [];
    let calls = 0;
    const stopped = new AbortController();
    const load = Array.from({ length: 4 }, async (_, worker) => {
      for (let number = 0; !stopped.signal.aborted; number += 1) {
        const text = `${worker}-${number}`;
        const answer = await fetch(`${proxy.url}/api/v1/tools/call`, {
          method: 'POST',
          headers: { authorization: `Bearer ${first.adminToken}`, 'content-type': 'application/json' },
          body: JSON.stringify({ name: 'live.echo', arguments: { text } }),
        });
        const body = await answer.text();
        calls += 1;
        if (answer.status !== 200 || !body.includes(`"${text}"`))
          failures.push(`${answer.status} ${body.slice(0, 200)}`);
      }
    });

    for (const step of steps.slice(1)) {
      for (const [place, old] of slots.entries()) {
        const fresh = await deployment.start({ ...env, ...step });
        await until(async () => (await fresh.call('live.echo', {})).status === 200);
        proxy.targets[place] = fresh.url;
        await old.close();
        deployment.replicas.splice(deployment.replicas.indexOf(old), 1);
        slots[place] = fresh;
      }
      const [any] = slots;
      if (step.MCP_CREDENTIAL_KEY === after) {
        await until(async () => (await any?.api('POST', reseal))?.body.current === 21);
      }
    }
    stopped.abort();
    await Promise.all(load);
    assert.deepEqual(failures, []);
    assert.ok(calls > 50, `${calls} calls`);
    for (const app of slots) {
      for (let number = 0; number < 20; number += 1)
        assert.equal((await app.server(`idle-${number}`)).name, `idle-${number}`);
    }
    console.log(`${calls} calls while the key was rotated on 2 replicas, none failed`);
  });
});
