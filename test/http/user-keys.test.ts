// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references as they stand in configs
/** Keys that each user enters for a server: over REST, on the page, and what calls do with them. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, suite, test } from 'node:test';
import { openSession, postModern } from '../mcp/clients.ts';
import { openBrowser } from '../oauth/browser.ts';
import { type Answer, type Body, startApp, type TestApp } from '../support/app.ts';
import { createTestDatabase } from '../support/databases.ts';
import { isAlive } from '../support/processes.ts';
import { type KeyedServer, keyedChild, startKeyedServer } from '../support/servers/keyed.ts';
import { until } from '../support/until.ts';

const keys = '/api/v1/keys';

interface User {
  id: string;
  token: string;
}

let app: TestApp;
let remote: KeyedServer;
const closers: (() => unknown)[] = [];

before(async () => {
  app = await startApp({ MCP_AGGREGATOR_EXPOSURE: 'all', MCP_AGGREGATOR_SHOW_PAYLOADS: 'true' });
  closers.push(() => app.close());
  remote = await startKeyedServer();
  closers.push(() => remote.close());
});
after(async () => {
  for (const close of closers.reverse()) await close();
});

async function newUser(name: string, more: object = {}): Promise<User> {
  const { status, body } = await app.api('POST', '/api/v1/tokens', { name, role: 'caller', ...more });
  assert.equal(status, 201, JSON.stringify(body));
  return body;
}

const enter = (server: string, value: string, token = app.adminToken, name = 'KEY'): Promise<Answer> =>
  app.api('PUT', `${keys}/${server}/${name}`, { value }, { token });

/** Registers it, and enters the admin's key, with which its tools are read. */
async function addKeyed(name: string, connection: Parameters<TestApp['register']>[1]): Promise<void> {
  await app.register(name, connection);
  await app.untilStatus(name, 'ERROR');
  assert.equal((await enter(name, `admins-${name}`)).status, 204);
  await app.untilStatus(name, 'CONNECTED');
  await until(async () => (await app.server(name)).tool_count === 2, 'its tools are known');
}

const accountOf = async (server: string, { token }: User): Promise<Body> =>
  (await app.call(`${server}.account`, {}, { token })).body.structuredContent;

suite('servers over HTTP', () => {
  test('USER-006: each user calls with the own key; discovery uses the key of an admin', async () => {
    const id = await app.register('issues', { base_url: remote.url, headers: { 'x-key': 'Bearer ${user:KEY}' } });
    const waiting = await app.untilStatus('issues', 'ERROR');
    assert.match(waiting.error_message, /key required: enter your KEY with: mcp-aggregator key set issues/);
    assert.deepEqual(waiting.user_keys, ['KEY']);
    assert.equal(remote.seen.size, 0, 'nothing is sent without a key');

    assert.equal((await enter('issues', 'key-of-admin')).status, 204);
    const server = await app.untilStatus('issues', 'CONNECTED');
    assert.deepEqual([server.sessions.ownership, server.error_message], ['principal', null]);
    const [ada, bob] = [await newUser('ada'), await newUser('bob')];
    await enter('issues', 'key-of-ada', ada.token);
    await enter(id, 'key-of-bob', bob.token);
    assert.equal((await accountOf('issues', ada)).account, 'Bearer key-of-ada');
    assert.equal((await accountOf('issues', bob)).account, 'Bearer key-of-bob');

    await enter('issues', 'another-of-ada', ada.token);
    assert.equal((await accountOf('issues', ada)).account, 'Bearer another-of-ada');
    assert.equal((await accountOf('issues', bob)).account, 'Bearer key-of-bob');
  });

  test('USER-007: a call without a key says where to enter it, in the answer and as a question to the client', async () => {
    await addKeyed('wiki', { base_url: remote.url, headers: { 'x-key': '${user:KEY}' } });
    const eve = await newUser('eve');
    const { status, body } = await app.call('wiki.account', {}, { token: eve.token });
    assert.deepEqual([status, body.error_code, body.context.keys], [503, 'KEY_REQUIRED', ['KEY']]);
    const { key_url } = body.context;
    assert.ok(key_url.startsWith(`${app.url}/keys/wiki`), key_url);
    assert.match(
      body.detail,
      /^Key required: wiki: open http.* to enter your KEY, or run: mcp-aggregator key set wiki$/,
    );

    const plain = await openSession(app, { token: eve.token });
    const text = await plain.request('tools/call', { name: 'wiki__account', arguments: {} });
    assert.match(text.body.error.message, /Key required: wiki: open http/);
    const asking = { token: eve.token, capabilities: { elicitation: { url: {} } } };
    const able = await openSession(app, asking);
    const asked = await able.request('tools/call', { name: 'wiki__account', arguments: {} });
    assert.equal(asked.body.error.code, -32042);
    const [elicitation] = asked.body.error.data.elicitations;
    assert.deepEqual([elicitation.mode, elicitation.message], ['url', 'Enter your KEY for wiki to use it']);

    const call = { name: 'wiki__account', arguments: {} };
    const { result } = (await postModern(app, 'tools/call', call, asking)).body;
    const [name, request] = Object.entries<Body>(result.inputRequests)[0] ?? [];
    const page = await openBrowser().open(request.params.url);
    assert.match(page.text, /<h1>Your keys for wiki<\/h1>/);
    await enter('wiki', 'key-of-eve', eve.token);
    const retry = {
      ...call,
      inputResponses: { [String(name)]: { action: 'accept' } },
      requestState: result.requestState,
    };
    const done = (await postModern(app, 'tools/call', retry, asking)).body.result;
    assert.equal(done.structuredContent.account, 'key-of-eve');
  });

  test('USER-008: the page takes keys, says what it has, and shows none', async () => {
    await addKeyed('notes', { base_url: remote.url, headers: { 'x-key': '${user:KEY}' } });
    const ada = await newUser('ada');
    const link = await app.api('POST', `${keys}/notes/link`, undefined, { token: ada.token });
    const browser = openBrowser();
    const form = await browser.open(link.body.key_url);
    assert.match(form.text, /KEY <small>\(not entered yet\)/);
    assert.match(form.text, /<dt>Signed in as<\/dt><dd>ada<\/dd>/);
    const refused = await browser.submit(form, { 'key:KEY': 'ä'.repeat(9) });
    assert.deepEqual([refused.status, /printable ASCII/.test(refused.text)], [422, true]);
    const saved = await browser.submit(refused, { 'key:KEY': 'from-the-page' });
    assert.match(saved.text, /Saved\. You can close this page/);
    assert.match(saved.text, /KEY <small>\(entered; leave empty to keep it\)/);
    assert.doesNotMatch(saved.text, /from-the-page/);
    assert.equal((await accountOf('notes', ada)).account, 'from-the-page');

    const foreign = await browser.submit(saved, { 'key:KEY': 'x', form_key: 'y' });
    assert.deepEqual([foreign.status, (await accountOf('notes', ada)).account], [403, 'from-the-page']);
    const unknown = await openBrowser().open(`${app.url}/keys/notes`);
    const signedIn = openBrowser();
    const own = await signedIn.submit(await signedIn.open(unknown.url), { token: ada.token });
    assert.match(own.text, /Your keys for notes/);
  });

  test('USER-008: lists show which keys were entered and no value; others see nothing of them', async () => {
    await addKeyed('crm', { base_url: remote.url, headers: { 'x-key': '${user:KEY}' } });
    const ada = await newUser('ada');
    const limited = await newUser('limited', { servers: ['issues'] });
    const list = async ({ token }: { token: string }, name: string) =>
      (await app.api('GET', keys, undefined, { token })).body.servers.find((one: Body) => one.server === name);
    assert.equal((await enter('notes', 'of-ada-in-notes', ada.token)).status, 204);
    const { keys: listed, complete, sent_to } = await list(ada, 'notes');
    assert.deepEqual([complete, sent_to, listed[0].name], [true, new URL(remote.url).origin, 'KEY']);
    assert.ok(Date.parse(listed[0].entered_at) > 0);
    assert.equal(await list(limited, 'notes'), undefined);
    assert.equal((await enter('notes', 'x', limited.token)).status, 404);
    const viewer = await newUser('viewer', { role: 'viewer' });
    assert.equal((await enter('notes', 'x', viewer.token)).status, 403);

    const unknown = await enter('notes', 'x', ada.token, 'KEYS');
    assert.deepEqual(
      [unknown.status, /did you mean.*KEY/i.test(unknown.body.detail)],
      [404, true],
      unknown.body.detail,
    );
    const audit = (await app.api('GET', '/api/v1/aggregator/audit?event=key.entered')).body.audit;
    assert.deepEqual(audit[0].details, { key: 'KEY' });
    assert.equal((await app.api('DELETE', `${keys}/notes/KEY`, undefined, ada)).status, 204);
    assert.equal((await app.api('DELETE', `${keys}/notes/KEY`, undefined, ada)).status, 404);
    assert.equal((await app.call('notes.account', {}, ada)).body.error_code, 'KEY_REQUIRED');
  });

  test('USER-010: a key is hidden in the errors of its user, and hides nothing in those of others', async () => {
    const [ada, bob] = [await newUser('ada'), await newUser('bob')];
    await enter('notes', 'refused', bob.token);
    const secret = `s${randomBytes(12).toString('hex')}`;
    await enter('notes', secret, ada.token);
    const answers = [];
    for (const user of [bob, ada, bob, ada]) answers.push((await app.call('notes.quote', {}, user)).body);
    const texts = answers.map(({ content }) => content[0].text);
    assert.deepEqual(texts, [
      'the key *** is ***',
      'the key *** is refused',
      'the key *** is ***',
      'the key *** is refused',
    ]);
    assert.ok(!app.log.join().includes(secret));
    const { body } = await app.api('GET', '/api/v1/aggregator/activity');
    assert.ok(!JSON.stringify(body).includes(secret));
  });

  test('USER-011: a key goes to the host that it was entered for and to no other', async () => {
    const other = await startKeyedServer();
    closers.push(() => other.close());
    await addKeyed('moving', { base_url: remote.url, headers: { 'x-key': '${user:KEY}' } });
    const ada = await newUser('ada');
    await enter('moving', 'entrusted', ada.token);
    assert.equal((await accountOf('moving', ada)).account, 'entrusted');
    const connection_config = { base_url: other.url, headers: { 'x-key': '${user:KEY}' } };
    await app.api('PATCH', '/api/v1/aggregator/servers/moving', { connection_config });
    await app.untilStatus('moving', 'ERROR');
    const { body } = await app.call('moving.account', {}, ada);
    assert.equal(body.error_code, 'KEY_REQUIRED');
    assert.deepEqual([...other.seen], []);
    await enter('moving', 'again', ada.token);
    assert.equal((await accountOf('moving', ada)).account, 'again');
  });

  test('USER-006: keys are values of headers and variables, not parts of an address or a command', async () => {
    for (const [connection_config, field] of [
      [{ base_url: `${remote.url}/\${user:KEY}` }, 'base_url'],
      [{ base_url: remote.url, headers: { a: '${user:not a name}' } }, 'headers'],
    ] as const) {
      const given = { name: 'wrong', transport_type: 'HTTP', connection_config };
      const { status, body } = await app.api('POST', '/api/v1/aggregator/servers', given);
      assert.deepEqual([status, body.detail[0].loc.at(-1)], [422, field], JSON.stringify(body));
    }
    const none = await app.api('POST', `${keys}/none/link`);
    assert.equal(none.status, 404);
  });
});

suite('the admin whose keys the lists are read with', () => {
  test('USER-006: another admin takes the place of one whose token is revoked', async () => {
    const boss = await newUser('boss', { role: 'admin' });
    await app.register('led', { base_url: remote.url, headers: { 'x-key': '${user:KEY}' } });
    await app.untilStatus('led', 'ERROR');
    await enter('led', 'key-of-boss', boss.token);
    await app.untilStatus('led', 'CONNECTED');
    await enter('led', 'key-of-the-next');
    assert.ok(!remote.seen.has('key-of-the-next'), 'the first admin stays');
    await app.api('DELETE', `/api/v1/tokens/${boss.id}`);
    await until(() => remote.seen.has('key-of-the-next'), 'the key of the next admin is used');
    assert.equal((await app.untilStatus('led', 'CONNECTED')).tool_count, 2);
  });
});

suite('servers on STDIO', () => {
  test('USER-012: each user has a process with the own key, and it ends with the key', async () => {
    await addKeyed('shell', keyedChild({ KEY: '${user:KEY}', REGION: '-eu' }));
    const [ada, bob] = [await newUser('ada'), await newUser('bob')];
    await enter('shell', 'ada$${HOME}', ada.token);
    await enter('shell', 'key of bob', bob.token);
    const [one, two] = [await accountOf('shell', ada), await accountOf('shell', bob)];
    assert.deepEqual([one.account, two.account], ['ada$${HOME}-eu', 'key of bob-eu']);
    assert.notEqual(one.pid, two.pid);
    assert.equal((await accountOf('shell', ada)).pid, one.pid);
    const { body } = await app.api('GET', '/api/v1/aggregator/servers/shell/output');
    assert.doesNotMatch(JSON.stringify(body), /key of bob/);

    await app.api('DELETE', `${keys}/shell/KEY`, undefined, ada);
    await until(() => !isAlive(one.pid), 'the process of ada has ended');
    assert.equal(isAlive(two.pid), true);
  });

  test('USER-002, USER-003: the tokens of a user have the keys of the user, which are deleted with the user', async () => {
    const ada = await newUser('ada');
    const client = await app.api('POST', '/api/v1/tokens', { name: 'cursor' }, ada);
    await enter('shell', 'one for all', ada.token);
    assert.equal((await accountOf('shell', client.body)).account, 'one for all-eu');
    await app.api('DELETE', `/api/v1/tokens/${client.body.id}`);
    assert.equal((await accountOf('shell', ada)).account, 'one for all-eu');
    const rowsOf = async () => {
      const backup = await app.api('GET', '/api/v1/aggregator/backup');
      return backup.body.user_keys.filter((row: Body) => row.principal === ada.id).length;
    };
    assert.equal(await rowsOf(), 1);
    const { pid } = await accountOf('shell', ada);
    await app.api('DELETE', `/api/v1/tokens/${ada.id}`);
    await until(() => !isAlive(pid), 'the process has ended');
    await until(async () => (await rowsOf()) === 0, 'the key is deleted');
  });
});

suite('stored keys', () => {
  test('USER-009: sealed, rotated with the credential key, moved by a backup, and gone with the server', async () => {
    const database = await createTestDatabase();
    closers.push(() => database.close());
    const [oldKey, newKey] = [randomBytes(32).toString('hex'), randomBytes(32).toString('hex')];
    const secret = `s${randomBytes(12).toString('hex')}`;
    const first = await startApp({ MCP_CREDENTIAL_KEY: oldKey }, { database });
    await first.register('notes', { base_url: remote.url, headers: { 'x-key': '${user:KEY}' } });
    await first.api('PUT', `${keys}/notes/KEY`, { value: secret });
    await first.untilStatus('notes', 'CONNECTED');
    const backup = (await first.api('GET', '/api/v1/aggregator/backup')).body;
    assert.equal(backup.user_keys.length, 1);
    assert.ok(!JSON.stringify(backup).includes(secret));
    await first.close();

    const keysNow = { MCP_CREDENTIAL_KEY: newKey, MCP_CREDENTIAL_KEY_PREVIOUS: oldKey };
    const rotated = await startApp(keysNow, { database });
    const report = await rotated.api('POST', '/api/v1/aggregator/credentials/reseal');
    assert.deepEqual([report.body.left, report.body.unreadable], [0, []]);
    await rotated.close();
    const second = await startApp({ MCP_CREDENTIAL_KEY: newKey }, { database });
    closers.push(() => second.close());
    await second.untilStatus('notes', 'CONNECTED');
    assert.equal((await second.call('notes.account')).body.structuredContent.account, secret);

    const elsewhere = await startApp(keysNow);
    closers.push(() => elsewhere.close());
    const imported = await elsewhere.api('POST', '/api/v1/aggregator/backup', backup);
    assert.deepEqual([imported.status, imported.body.left_out], [200, []]);
    await elsewhere.untilStatus('notes', 'CONNECTED');
    assert.equal((await elsewhere.call('notes.account')).body.structuredContent.account, secret);
    await elsewhere.api('DELETE', '/api/v1/aggregator/servers/notes');
    assert.deepEqual((await elsewhere.api('GET', '/api/v1/aggregator/backup')).body.user_keys, []);
  });
});
