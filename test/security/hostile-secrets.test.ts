import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import { startApp } from '../support/app.ts';
import { misbehavingServer } from '../support/servers/misbehaving.ts';

const api = '/api/v1/aggregator';

test('a token of 60,000 characters is neither a crash nor the end of all masks', async (t) => {
  const app = await startApp({ BUNDLE: randomBytes(24_000).toString('base64') });
  t.after(app.close);
  const server = await startTokenServer(t, randomBytes(30_000).toString('hex'));
  const secret = `configured-${randomBytes(8).toString('hex')}`;
  await app.add('bundle', {
    ...misbehavingServer('stderr-secret', 'SECRET'),
    env: { CA: '${BUNDLE}', SECRET: secret },
  });
  await app.register('long', { base_url: server.url, oauth: server.oauth });
  await app.untilStatus('long', 'ERROR');

  const missing = await app.api('GET', `${api}/servers/nothing`);
  assert.equal(missing.status, 404);
  assert.equal(missing.body.error_code, 'SERVER_NOT_FOUND');
  const failed = await app.call('long.anything');
  assert.notEqual(failed.status, 500);
  const quoted = await app.api('GET', `${api}/servers/${secret}`);
  assert.equal(quoted.status, 404);
  const texts = [missing.body, failed.body, quoted.body, app.seen.all, await app.server('long')].map((body) =>
    JSON.stringify(body),
  );
  for (const text of [...texts, ...app.log.filter((line) => !line.includes('"path"'))]) {
    assert.ok(!text.includes(app.adminToken) && !text.includes(secret), text.slice(0, 500));
  }
});

test('a token that is a word of our answers hides that word in no text but its own server’s', async (t) => {
  const app = await startApp();
  t.after(app.close);
  const server = await startTokenServer(t, 'SERVER_NOT_FOUND');
  await app.register('evil', { base_url: server.url, oauth: server.oauth });
  const details = await app.untilStatus('evil', 'ERROR');
  assert.match(details.error_message, /\*\*\*/);
  const { body } = await app.api('GET', `${api}/servers/SERVER_NOT_FOUND`);
  assert.deepEqual(body, { detail: 'Server not found: SERVER_NOT_FOUND', error_code: 'SERVER_NOT_FOUND' });
});

test('a secret that is a word of our answers never garbles their names and codes', async (t) => {
  const app = await startApp();
  t.after(app.close);
  await app.add('odd', {
    ...misbehavingServer('env'),
    env: { A: 'error_code', B: 'SERVER_NOT_FOUND', C: 'not found' },
  });
  const { body } = await app.api('GET', `${api}/servers/nothing`);
  assert.deepEqual(body, { detail: 'Server ***: nothing', error_code: 'SERVER_NOT_FOUND' });
});

test('SEC-003: what is shown as *** stays as it is stored, and goes to no other place', async (t) => {
  const app = await startApp();
  t.after(app.close);
  const base_url = 'https://mcp.example.com/mcp?api_key=plain-words-only';
  const id = await app.register('web', { base_url, headers: { 'x-key': 'another' } }, { auto_connect: false });
  const { connection_config: shown } = await app.server(id);
  assert.equal(shown.base_url, 'https://mcp.example.com/mcp?api_key=***');
  const patch = (connection_config: object) => app.api('PATCH', `${api}/servers/${id}`, { connection_config });
  const stored = () => app.server(id).then(({ connection_config }) => connection_config);
  assert.equal((await patch({ ...shown, headers: { ...shown.headers, 'x-more': 'value' } })).status, 200);
  assert.deepEqual(await stored(), { ...shown, headers: { 'x-key': '***', 'x-more': '***' } });

  const elsewhere = { ...shown, base_url: 'https://evil.example/mcp' };
  const placed = { ...shown, headers: { 'x-new': '***' } };
  for (const [config, loc] of [
    [elsewhere, 'body.connection_config.headers.x-key'],
    [placed, 'body.connection_config.headers.x-new'],
  ] as const) {
    const refused = await patch(config);
    assert.equal(refused.status, 422);
    assert.deepEqual(
      refused.body.detail.map((problem: { loc: string[] }) => problem.loc.join('.')),
      [loc],
    );
  }
  assert.equal((await patch({ base_url })).status, 200);
});

test('health_check_url is stored and shown in plain text, so it must not hold a credential', async (t) => {
  const app = await startApp();
  t.after(app.close);
  const registration = { name: 'web', transport_type: 'HTTP', connection_config: { base_url: 'https://example.com' } };
  const post = (health_check_url: string) =>
    app.api('POST', `${api}/servers`, { ...registration, auto_connect: false, health_check_url });
  const refused = await post('https://example.com/health?api_key=plain');
  assert.equal(refused.status, 422);
  assert.match(refused.body.detail[0].msg, /health_check_url/);
  const { body } = await post('https://example.com/health?deep=yes');
  assert.equal(body.health_check_url, 'https://example.com/health?deep=yes');
});

test('an error that cannot be masked is answered with a fixed text', async (t) => {
  const app = await startApp();
  t.after(app.close);
  const depth = 200_000;
  const deep = `${'['.repeat(depth)}"x"${']'.repeat(depth)}`;
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const { id, method } = JSON.parse(body || '{}');
    if (id === undefined) return response.writeHead(request.method === 'POST' ? 202 : 405).end();
    const results: Record<string, string> = {
      initialize:
        '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"d","version":"1"}}',
      'tools/list': '{"tools":[{"name":"deep","inputSchema":{"type":"object"}}]}',
    };
    const result = results[method];
    const answer = result === undefined ? `"error":{"code":-1,"message":"m","data":${deep}}` : `"result":${result}`;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},${answer}}`);
  });
  await app.add('deep', { base_url: await listen(t, server) });
  const { status, body } = await app.call('deep.deep');
  assert.ok(status >= 500);
  assert.ok(JSON.stringify(body).length < 10_000);
  assert.ok(['EXECUTION_FAILED', 'INTERNAL_ERROR'].includes(body.error_code), JSON.stringify(body).slice(0, 300));
});

/** An MCP server and its authorization server in one: gives this token to everybody, and repeats it in every refusal. */
async function startTokenServer(t: TestContext, token: string) {
  const server = createServer(async (request, response) => {
    for await (const _ of request);
    const json = (status: number, body: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    const path = request.url ?? '';
    if (path.startsWith('/.well-known/oauth-protected-resource')) {
      return json(200, { resource: `${url}/mcp`, authorization_servers: [url] });
    }
    if (path.startsWith('/.well-known/')) {
      return json(200, { issuer: url, authorization_endpoint: `${url}/authorize`, token_endpoint: `${url}/token` });
    }
    if (path === '/token') return json(200, { access_token: token, token_type: 'Bearer', expires_in: 3_600 });
    if (request.headers.authorization === undefined) {
      return response.writeHead(401, { 'www-authenticate': 'Bearer' }).end();
    }
    return json(500, { refused: request.headers.authorization });
  });
  const url = await listen(t, server, 200_000);
  const oauth = { grant: 'client_credentials', client_id: 'us', client_secret: 'of-the-client', issuer: url };
  return { url: `${url}/mcp`, oauth };
}

async function listen(t: TestContext, server: ReturnType<typeof createServer>, maxHeaderSize?: number) {
  if (maxHeaderSize !== undefined) Object.assign(server, { maxHeaderSize });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
}
