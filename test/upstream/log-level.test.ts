/** The log level that a client asked for, on each session with a server that the client's calls go over. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { createToken, everyCapability, openSession, type RawSession } from '../mcp/clients.ts';
import { type Body, startApp, type TestApp } from '../support/app.ts';
import { createFeatureProgram } from '../support/servers/feature-program.ts';
import { stdioFeatureServer } from '../support/servers/feature-server.ts';
import { startHttpProgram } from '../support/servers/http-program.ts';
import type { RunningServer } from '../support/servers/http-wire.ts';

suite('a log level', () => {
  let app: TestApp;
  const running: RunningServer[] = [];

  before(async () => {
    app = await startApp({ MCP_AGGREGATOR_EXPOSURE: 'all' });
    for (const sessions of ['shared', 'client', 'principal'])
      await app.add(sessions, stdioFeatureServer('legacy'), { options: { sessions } });
    for (const transport of ['streamable-legacy', 'streamable-dual'] as const) {
      const server = await startHttpProgram(createFeatureProgram(), { transport });
      running.push(server);
      await app.add(transport, { base_url: server.url });
    }
  });
  after(async () => {
    await app.close();
    for (const server of running) await server.close();
  });

  const call = async (session: RawSession, name: string): Promise<Body> => {
    const { body, events } = await session.request('tools/call', { name, arguments: {} });
    return body ?? events.at(-1);
  };
  const levelAt = async (session: RawSession, server: string) =>
    (await call(session, `${server}__whoami`)).result.structuredContent.log_level;

  for (const server of ['shared', 'client', 'principal', 'streamable-legacy', 'streamable-dual']) {
    test(`MCP-034: is set on the session of the server, and on the one that takes its place (${server})`, async () => {
      const session = await openSession(app, { capabilities: everyCapability });
      await session.request('logging/setLevel', { level: 'notice' });
      assert.equal(await levelAt(session, server), 'notice');
      await call(session, `${server}__crash_mid_call`);
      assert.equal(await levelAt(session, server), 'notice');
    });
  }

  test('MCP-034: is set for each principal that has a session of its own', async () => {
    for (const level of ['warning', 'error']) {
      const session = await openSession(app, { token: await createToken(app, { role: 'caller' }) });
      await session.request('logging/setLevel', { level });
      assert.equal(await levelAt(session, 'principal'), level);
    }
  });

  test('MCP-034: of a shared session is the lowest that a client asked for', async () => {
    const [low, high] = [await openSession(app), await openSession(app)];
    await low.request('logging/setLevel', { level: 'info' });
    await high.request('logging/setLevel', { level: 'error' });
    assert.equal(await levelAt(high, 'shared'), 'notice', 'as the first test left it');
    assert.equal(await levelAt(low, 'shared'), 'info');
    assert.equal(await levelAt(high, 'shared'), 'info');
  });
});
