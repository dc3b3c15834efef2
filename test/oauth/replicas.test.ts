/** Two replicas, one login. Needs PostgreSQL: node test/support/with-postgres.ts node --test test/oauth/replicas.test.ts */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { startApp } from '../support/app.ts';
import { createTestDatabase } from '../support/databases.ts';
import { openBrowser } from './browser.ts';
import { startIdentityProvider } from './identity-provider.ts';
import { startProtectedServer } from './protected-server.ts';

test('a login made at one replica serves both; they never use a refresh token twice', async (context) => {
  const database = await createTestDatabase();
  if (database.url === undefined) {
    await database.close();
    return context.skip('SQLite has one process');
  }
  // The provider takes a refresh token that comes twice for stolen, and ends the whole login.
  const provider = await startIdentityProvider({ accessTokenSeconds: 3 });
  const server = await startProtectedServer(provider);
  const directory = await mkdtemp(join(tmpdir(), 'replica-'));
  const one = await startApp({}, { database });
  const two = await startApp({}, { database, dataDir: directory });
  try {
    await one.register('notes', { base_url: server.url });
    // The status over REST is the best of both, so each replica's own is awaited.
    const own = (app: typeof one, wanted: string) =>
      app.seen.waitFor('server.status', ({ status }) => status === wanted);
    await own(one, 'ERROR');
    const { body } = await one.api('POST', '/api/v1/aggregator/servers/notes/login');
    await openBrowser().logIn(body.login_url, { login: 'ada', password: 'x' });
    await own(one, 'CONNECTED');
    await own(two, 'CONNECTED');

    const call = async (app: typeof one) => (await app.call('notes.whoami')).body;
    while ((provider.grants.refresh_token ?? 0) < 4) {
      const answers = await Promise.all([one, two, one, two].map(call));
      for (const answer of answers) assert.equal(answer.content?.[0].text, 'ada', JSON.stringify(answer));
    }
  } finally {
    await one.close();
    await two.close();
    await server.close();
    await provider.close();
    await database.close();
    await rm(directory, { recursive: true, force: true });
  }
});
