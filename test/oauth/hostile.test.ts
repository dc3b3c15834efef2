/** Servers and authorization servers that mean harm. */
import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { startApp, type TestApp } from '../support/app.ts';
import { goodToken, type Script, type ScriptedServer, startScriptedServer } from './scripted-server.ts';

const servers = '/api/v1/aggregator/servers';

async function start(t: TestContext): Promise<TestApp> {
  const app = await startApp();
  t.after(app.close);
  return app;
}

async function scripted(t: TestContext, script?: Partial<Script>): Promise<ScriptedServer> {
  const server = await startScriptedServer(script);
  t.after(server.close);
  return server;
}

const machine = { grant: 'client_credentials', client_id: 'robot', client_secret: 'the-secret-of-the-robot' };

suite("a machine's credentials", () => {
  test('a token stays with the address that it was made for', async (t) => {
    const [honest, evil] = [await scripted(t), await scripted(t)];
    const app = await start(t);
    await app.add('notes', { base_url: honest.url, oauth: { ...machine, issuer: honest.origin } });
    assert.ok(honest.seen.includes(`Bearer ${goodToken}`));
    await app.api('PATCH', `${servers}/notes`, {
      connection_config: { base_url: evil.url, oauth: { ...machine, issuer: honest.origin } },
    });
    await app.untilStatus('notes', 'ERROR');
    assert.deepEqual(evil.seen, []);
    assert.deepEqual(evil.tokenRequests, []);
  });

  test('a configured secret goes to the issuer that an admin named, or to the server itself', async (t) => {
    const [evil, collector] = [await scripted(t), await scripted(t)];
    evil.says.issuer = collector.origin;
    const app = await start(t);
    await app.register('notes', { base_url: evil.url, oauth: machine });
    const { error_message } = await app.untilStatus('notes', 'ERROR');
    assert.match(error_message, /set oauth\.issuer/);
    assert.deepEqual(collector.tokenRequests, []);

    const plain = await scripted(t);
    await app.add('plain', { base_url: plain.url, oauth: machine });
    assert.equal(plain.tokenRequests.length, 1);
  });

  test('nor does it follow a server that names another issuer later', async (t) => {
    const [server, collector] = [await scripted(t), await scripted(t)];
    const app = await start(t);
    await app.add('notes', { base_url: server.url, oauth: machine });
    server.says.issuer = collector.origin;
    server.says.token = { access_token: 'another-token-that-works' };
    const { body } = await app.call('notes.hello');
    assert.match(JSON.stringify(body), /set oauth\.issuer/);
    assert.deepEqual(collector.tokenRequests, []);
  });
});
