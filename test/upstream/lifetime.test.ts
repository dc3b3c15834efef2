/** What is left over: after many servers came and went, and after the app was closed. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startApp } from '../support/app.ts';
import { isAlive, untilGone } from '../support/processes.ts';
import { startFeatureServer, stdioFeatureServer } from '../support/servers/feature-server.ts';

const servers = '/api/v1/aggregator/servers';

test('servers that come and go leave no sockets, timers or children behind', async (t) => {
  const upstream = await startFeatureServer({ transport: 'streamable-legacy' });
  const sse = await startFeatureServer({ transport: 'sse' });
  const app = await startApp();
  t.after(async () => {
    await app.close();
    await upstream.close();
    await sse.close();
  });
  const cycle = async (number: number) => {
    for (const connection of [{ base_url: upstream.url }, { url: sse.url }]) {
      const mark = app.seen.all.length;
      const name = `cycle-${number}-${'url' in connection ? 'sse' : 'http'}`;
      await app.register(name, connection);
      await app.seen.waitFor('server.discovered', undefined, mark);
      await app.call(`${name}.whoami`);
      await app.api('DELETE', `${servers}/${name}`);
    }
  };
  const resources = () =>
    process.getActiveResourcesInfo().filter((kind) => /Pipe|TCPSocketWrap|Process/.test(kind)).length;
  for (let number = 0; number < 5; number += 1) await cycle(number);
  const before = resources();
  for (let number = 5; number < 30; number += 1) await cycle(number);
  assert.ok(resources() <= before + 6, `${before} resources became ${resources()}`);
});

test('closing ends the children', async () => {
  const app = await startApp();
  await app.add('child', stdioFeatureServer('legacy'));
  const { pid } = (await app.call('child.whoami')).body.structuredContent;
  assert.ok(isAlive(pid));
  await app.close();
  await untilGone(pid);
});

test('an app that is closed keeps its process from nothing', async () => {
  const script = `
    import { startApp } from ${JSON.stringify(fileURLToPath(new URL('../support/app.ts', import.meta.url)))};
    import { stdioFeatureServer, startFeatureServer } from ${JSON.stringify(
      fileURLToPath(new URL('../support/servers/feature-server.ts', import.meta.url)),
    )};
    const upstream = await startFeatureServer({ transport: 'streamable-modern' });
    const app = await startApp({ MCP_AGGREGATOR_HEALTH_INTERVAL: '0.1' });
    await app.add('child', stdioFeatureServer('modern'));
    await app.add('http', { base_url: upstream.url });
    await app.register('hanging', { command: 'sleep', args: ['1000'] });
    await app.close();
    await upstream.close();
    console.log('closed');
  `;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), 20_000);
  const [code] = await once(child, 'exit');
  clearTimeout(timer);
  assert.match(output, /closed/);
  assert.equal(code, 0, 'the process had to be killed');
});

test('a burst of calls while servers are changed ends with an answer for each', async (t) => {
  const app = await startApp();
  t.after(app.close);
  await app.add('moving', stdioFeatureServer('modern'));
  const calls = Array.from({ length: 60 }, async (_, number) => {
    const answer = await app.call('moving.add', { a: number, b: 1 });
    if (answer.status === 200) assert.equal(answer.body.structuredContent.sum, number + 1);
    return answer.status;
  });
  await app.api('PATCH', `${servers}/moving`, { options: { max_concurrent_calls: 4 } });
  await app.api('PATCH', `${servers}/moving`, { options: { max_concurrent_calls: 8 } });
  const statuses = await Promise.all(calls);
  assert.deepEqual(
    statuses.filter((status) => status !== 200 && status !== 503),
    [],
  );
  await app.untilStatus('moving', 'CONNECTED');
  assert.equal((await app.call('moving.add', { a: 1, b: 1 })).status, 200);
  assert.equal((await app.server('moving')).active_calls, 0);
});
