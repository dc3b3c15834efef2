import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, before, suite, test } from 'node:test';
import { startApp, type TestApp } from '../support/app.ts';
import { compile, type Document } from '../support/openapi.ts';
import { startFeatureServer } from '../support/servers/feature-server.ts';
import type { RunningServer } from '../support/servers/http-wire.ts';

const servers = '/api/v1/aggregator/servers';

suite('access', () => {
  let app: TestApp;
  const running: RunningServer[] = [];
  before(async () => {
    app = await startApp({
      MCP_AGGREGATOR_MAX_BODY_BYTES: '2048',
      MCP_AGGREGATOR_ALLOWED_ORIGINS: 'https://ours.example',
    });
    for (const name of ['alpha', 'beta']) {
      const upstream = await startFeatureServer({ transport: 'streamable-modern', label: name });
      running.push(upstream);
      await app.add(name, { base_url: upstream.url });
    }
  });
  after(async () => {
    await app.close();
    for (const upstream of running) await upstream.close();
  });

  async function token(role: string, more: object = {}): Promise<{ id: string; token: string }> {
    const answer = await app.api('POST', '/api/v1/tokens', { name: `${role} of a test`, role, ...more });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    return answer.body;
  }

  test('API-001, API-015: health needs no token and shows counts only; everything else needs one', async () => {
    const health = await app.api('GET', '/api/v1/aggregator/health', undefined, { token: null });
    assert.equal(health.status, 200);
    assert.deepEqual(health.body.servers, { total: 2, connected: 2, error: 0 });
    assert.equal(health.body.status, 'healthy');
    assert.ok(!JSON.stringify(health.body).includes('alpha'));

    const { body: document } = await app.api('GET', '/openapi.json');
    // Beside health and the probes only what is needed to sign in, here or at a server, and the page for keys, which asks who it is for.
    const open =
      /^\/(livez$|readyz$|api\/v1\/(aggregator\/health|aggregator\/identity|session|session\/(ways|program|device|device\/token))$|oauth\/|keys\/|\.well-known\/)/;
    for (const [path, operations] of Object.entries((document as Document).paths)) {
      for (const method of Object.keys(operations)) {
        if (open.test(path)) continue;
        const answer = await app.api(method.toUpperCase(), path.replace(/\{\w+\}/g, 'alpha'), undefined, {
          token: null,
        });
        assert.equal(answer.status, 401, `${method} ${path}`);
        assert.equal(answer.body.error_code, 'UNAUTHENTICATED');
        assert.match(answer.headers.get('www-authenticate') ?? '', /^Bearer/);
      }
    }
    assert.equal((await app.api('GET', '/openapi.json', undefined, { token: null })).status, 401);
  });

  for (const wrong of ['x', 'mcpa_1_2', `mcpa_${'0'.repeat(16)}_x`, 'a b', '\u00e4']) {
    test(`the token ${wrong} is none`, async () => {
      assert.equal((await app.api('GET', servers, undefined, { token: wrong })).status, 401);
    });
  }

  test('SEC-005, API-003: a viewer sees, a caller calls, only an admin changes', async () => {
    const may = async (role: string) => {
      const { token: secret } = await token(role);
      const as = { token: secret };
      const statuses = [
        await app.api('GET', servers, undefined, as),
        await app.call('alpha.whoami', {}, as),
        await app.api('POST', `${servers}/alpha/connect`, undefined, as),
        await app.api('PATCH', `${servers}/alpha`, {}, as),
        await app.api('GET', '/api/v1/aggregator/audit', undefined, as),
      ];
      return statuses.map((answer) => answer.status);
    };
    assert.deepEqual(await may('viewer'), [200, 403, 403, 403, 403]);
    assert.deepEqual(await may('caller'), [200, 200, 403, 403, 403]);
    assert.deepEqual(await may('admin'), [200, 200, 200, 200, 200]);
    const { token: viewer } = await token('viewer');
    const refused = await app.call('alpha.whoami', {}, { token: viewer });
    assert.deepEqual(refused.body, {
      detail: 'This requires the role caller; viewer of a test has the role viewer',
      error_code: 'FORBIDDEN',
    });
  });

  test('SEC-005, API-014, API-020: a token for some servers sees and calls no other', async () => {
    const { token: secret } = await token('caller', { servers: ['beta'] });
    const as = { token: secret };
    const list = await app.api('GET', servers, undefined, as);
    assert.deepEqual(
      list.body.servers.map((server: { name: string }) => server.name),
      ['beta'],
    );
    assert.equal(list.body.total, 1);
    for (const path of ['', '/tools', '/history'])
      assert.equal((await app.api('GET', `${servers}/alpha${path}`, undefined, as)).status, 404);
    assert.equal((await app.call('alpha.whoami', {}, as)).status, 404);
    assert.equal((await app.call('alpha__whoami', {}, as)).status, 404);
    const bare = await app.call('whoami', {}, as);
    assert.equal(bare.body.structuredContent.label, 'beta');
    const state = await app.api('GET', '/api/v1/aggregator/state', undefined, as);
    assert.equal(state.body.total_servers, 1);

    const heard = await app.events(secret);
    await app.call('alpha.whoami');
    await app.call('beta.whoami');
    await heard.waitFor('call.finished', (event) => event.server === 'beta');
    assert.ok(!JSON.stringify(heard.all).includes('alpha'));
  });

  test('SEC-005: a token for a profile sees and calls no other tools, whatever it asks', async () => {
    await app.api('PUT', '/api/v1/profiles/adding', { tools: [{ name: 'beta.add' }] });
    const as = { token: (await token('caller', { profile: 'adding' })).token };
    const names = (tools: { name: string }[]) => tools.map(({ name }) => name);
    const { body: list } = await app.api('GET', `${servers}?include_tools=true`, undefined, as);
    assert.deepEqual(names(list.servers), ['beta']);
    assert.deepEqual(names(list.servers[0].tools), ['beta.add']);
    assert.deepEqual(names((await app.api('GET', `${servers}/beta/tools`, undefined, as)).body.tools), ['beta.add']);
    assert.equal((await app.api('GET', `${servers}/alpha`, undefined, as)).status, 404);
    const { body: counted } = await app.api('GET', '/api/v1/aggregator/state', undefined, as);
    assert.deepEqual([counted.total_servers, counted.total_tools], [1, 1]);

    for (const name of ['beta.whoami', 'beta__whoami', 'whoami', 'alpha.add', 'alpha__add'])
      assert.equal((await app.call(name, {}, as)).status, 404, name);
    const onServer = { name: 'whoami', server_id: 'beta', arguments: {} };
    assert.equal((await app.api('POST', '/api/v1/tools/call', onServer, as)).status, 404);
    assert.equal((await app.call('add', { a: 1, b: 2 }, as)).body.structuredContent.sum, 3, 'only one is left');

    const search = { query: 'add two numbers', tool_threshold: 0, limit: 50 };
    const found = (await app.api('POST', '/api/v1/search', search, as)).body;
    assert.deepEqual(names(found.tools), ['beta.add']);
    const quality = (await app.api('GET', '/api/v1/search/quality', undefined, as)).body;
    for (const body of [found, quality]) assert.ok(!/alpha|whoami/.test(JSON.stringify(body)), JSON.stringify(body));
    await app.api('PUT', '/api/v1/profiles/other', { servers: ['alpha'] });
    assert.deepEqual(names((await app.api('GET', '/api/v1/profiles', undefined, as)).body.profiles), ['adding']);
    assert.equal((await app.api('GET', '/api/v1/profiles/other', undefined, as)).status, 404);
    const asked = await app.api('POST', '/api/v1/query', { query: 'who are you', servers: ['beta'] }, as);
    assert.ok(!JSON.stringify(asked.body).includes('whoami'), JSON.stringify(asked.body));

    const heard = await app.events(as.token);
    await app.call('alpha.whoami');
    await app.call('beta.whoami');
    await app.call('beta.add', { a: 1, b: 2 });
    await heard.waitFor('call.finished', (event) => event.server === 'beta');
    const { body: activity } = await app.api('GET', '/api/v1/aggregator/activity', undefined, as);
    assert.deepEqual(new Set(activity.recent_calls.map((call: { tool: string }) => call.tool)), new Set(['beta.add']));
    assert.ok(!/alpha|whoami/.test(JSON.stringify(heard.all)));
    await app.api('DELETE', '/api/v1/profiles/adding');
    assert.equal((await app.call('beta.add', { a: 1, b: 2 }, as)).status, 404, 'a profile that is gone has nothing');
  });

  test('SEC-005: a token that expired or was revoked is refused at once', async () => {
    const expired = await token('viewer', { expires_at: '2020-01-01T00:00:00Z' });
    const answer = await app.api('GET', servers, undefined, { token: expired.token });
    assert.equal(answer.status, 401);
    assert.match(answer.body.detail, /expired/);

    const revoked = await token('viewer', { expires_at: '2999-01-01T00:00:00+02:00' });
    assert.equal((await app.api('GET', servers, undefined, { token: revoked.token })).status, 200);
    assert.equal((await app.api('DELETE', `/api/v1/tokens/${revoked.id}`)).status, 204);
    assert.equal((await app.api('GET', servers, undefined, { token: revoked.token })).status, 401);
    assert.equal((await app.api('DELETE', `/api/v1/tokens/${revoked.id}`)).status, 404);
  });

  test('tokens are listed without their secrets', async () => {
    const { token: secret, id } = await token('viewer');
    const list = await app.api('GET', '/api/v1/tokens');
    assert.ok(list.body.tokens.some((row: { id: string }) => row.id === id));
    assert.ok(!JSON.stringify(list.body).includes(secret.split('_').slice(2).join('_')));
  });

  for (const [what, body, place] of [
    ['no name', {}, ['name']],
    ['an unknown role', { name: 'x', role: 'root' }, ['role']],
    ['an empty list of servers', { name: 'x', servers: [] }, ['servers']],
    ['a date that is none', { name: 'x', expires_at: 'tomorrow' }, ['expires_at']],
    ['an unknown field', { name: 'x', scope: 'all' }, ['scope']],
  ] as const) {
    test(`a token with ${what} is refused`, async () => {
      const answer = await app.api('POST', '/api/v1/tokens', body);
      assert.equal(answer.status, 422);
      assert.deepEqual(answer.body.detail[0].loc, ['body', ...place]);
    });
  }

  test('SEC-006, API-023: every act of an admin is in the audit, with who and from where', async () => {
    const name = 'audited';
    const id = await app.register(name, { command: 'true' }, { auto_connect: false });
    await app.api('PATCH', `${servers}/${name}`, { description: 'x' });
    await app.api('POST', `${servers}/${name}/connect`);
    await app.api('POST', `${servers}/${name}/disconnect`, { force: true });
    await app.api('DELETE', `${servers}/${name}`);
    const { audit } = (await app.api('GET', `/api/v1/aggregator/audit?server_name=${name}`)).body;
    assert.deepEqual(
      audit.map((record: { event: string }) => record.event),
      ['server.removed', 'server.disconnect', 'server.connect', 'server.updated', 'server.registered'],
    );
    for (const record of audit) {
      assert.equal(record.actor, 'admin');
      assert.equal(record.ip_address, '127.0.0.1');
      assert.equal(record.server_id, id);
      assert.ok(Date.parse(record.timestamp) > 0);
    }
    const page = (await app.api('GET', `/api/v1/aggregator/audit?server_name=${name}&limit=2&before=${audit[1].id}`))
      .body;
    assert.deepEqual(page.audit, audit.slice(2, 4));
    const nobody = await app.api('GET', '/api/v1/aggregator/audit?actor=nobody&since=2020-01-01T00:00:00Z&server_id=x');
    assert.deepEqual(nobody.body.audit, []);
  });

  test('SEC-007: a foreign Host or Origin is refused, whatever the token', async () => {
    const ask = (headers: Record<string, string>) =>
      plainGet(`${app.url}${servers}`, { authorization: `Bearer ${app.adminToken}`, ...headers });
    assert.equal((await ask({ host: 'evil.example' })).status, 403);
    assert.equal((await ask({ host: 'localhost:1' })).status, 200);
    assert.equal((await ask({ origin: 'https://evil.example' })).status, 403);
    assert.equal((await ask({ origin: 'null' })).status, 403);
    assert.equal((await ask({ origin: app.url })).status, 200);
    assert.equal((await ask({ origin: 'https://ours.example' })).status, 200);
    assert.equal(JSON.parse((await ask({ host: 'evil.example' })).body).error_code, 'HOST_NOT_ALLOWED');
    assert.equal((await plainGet(`${app.url}/api/v1/aggregator/health`, { host: 'evil.example' })).status, 403);
  });

  test('a page of an origin that may call is told so by its browser, any other is not', async () => {
    const preflight = {
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,x-a',
    };
    for (const path of ['/mcp', '/mcp/servers/alpha', servers]) {
      const ask = (method: string, headers: Record<string, string>) => fetch(`${app.url}${path}`, { method, headers });
      for (const origin of ['https://ours.example', 'http://localhost:6274']) {
        const asked = await ask('OPTIONS', { origin, ...preflight });
        assert.equal(asked.status, 204);
        assert.equal(asked.headers.get('access-control-allow-origin'), origin);
        assert.equal(asked.headers.get('access-control-allow-headers'), 'authorization,x-a');
        assert.match(asked.headers.get('access-control-allow-methods') ?? '', /POST.*DELETE/);
        assert.equal(asked.headers.get('access-control-allow-credentials'), null);
        const refused = await ask('POST', { origin });
        assert.equal(refused.headers.get('access-control-allow-origin'), origin, 'errors can be read, too');
        assert.equal(refused.headers.get('vary'), 'origin');
        assert.match(refused.headers.get('access-control-expose-headers') ?? '', /mcp-session-id/);
      }
      for (const headers of [
        { origin: 'https://evil.example', ...preflight },
        { origin: 'null', ...preflight },
      ]) {
        const asked = await ask('OPTIONS', headers);
        assert.notEqual(asked.status, 204);
        assert.equal(asked.headers.get('access-control-allow-origin'), null);
      }
      assert.equal((await ask('GET', {})).headers.get('access-control-allow-origin'), null, 'programs need none of it');
    }
  });

  test('API-002: a body that is too large, no JSON or of another type is refused', async () => {
    const large = await app.api('POST', servers, { name: 'x'.repeat(3_000) });
    assert.equal(large.status, 413);
    assert.equal(large.body.error_code, 'BODY_TOO_LARGE');
    for (const text of ['{', 'x', '{"a":1}}', '\u0000']) {
      const answer = await app.api('POST', servers, text);
      assert.equal(answer.status, 422, text);
      assert.deepEqual(answer.body.detail, [{ loc: ['body'], msg: 'is not valid JSON', type: 'json_invalid' }]);
    }
    const form = await app.api('POST', servers, 'a=b', {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    assert.equal(form.status, 422);
    assert.deepEqual(form.body.detail[0].loc, ['header', 'content-type']);
  });

  test('what is not there is 404 with the path', async () => {
    for (const path of ['/nothing', '/api/v1/aggregator/nothing', '/api/v1/aggregator/servers/alpha/nothing']) {
      const answer = await app.api('GET', path);
      assert.equal(answer.status, 404, path);
      assert.deepEqual(answer.body, { detail: `Route not found: GET ${path}`, error_code: 'NOT_FOUND' });
    }
    assert.equal((await app.api('GET', `${servers}/`)).status, 200);
    assert.equal((await app.api('GET', `${servers}/nobody`)).body.detail, 'Server not found: nobody');
  });

  for (const path of [
    `${servers}/%00`,
    `${servers}/a%00b/tools`,
    `${servers}?status=%00`,
    '/api/v1/aggregator/audit?actor=%00',
    `${servers}/%zz`,
    `${servers}/%c0%af`,
    `${servers}/..%2f..%2fetc%2fpasswd`,
    `${servers}/${'x'.repeat(600)}`,
    `${servers}/%F0%9F%99%82`,
  ]) {
    test(`the path ${path.slice(0, 60)} is refused without a fault of ours`, async () => {
      const answer = await app.api('GET', path);
      assert.ok(answer.status === 404 || answer.status === 422 || answer.status === 414, String(answer.status));
      assert.ok(answer.body.error_code);
    });
  }

  test('NUL in the id of a token is refused too', async () => {
    assert.equal((await app.api('DELETE', '/api/v1/tokens/a%00')).status, 422);
  });

  test('API-006, API-019: pages begin, end and are refused where they should', async () => {
    const list = async (query: string) => await app.api('GET', `${servers}?${query}`);
    assert.deepEqual(
      (await list('limit=1')).body.servers.map((one: { name: string }) => one.name),
      ['alpha'],
    );
    const second = (await list('limit=1&offset=1')).body;
    assert.deepEqual([second.servers[0].name, second.total, second.limit, second.offset], ['beta', 2, 1, 1]);
    assert.deepEqual((await list('offset=99')).body.servers, []);
    assert.equal((await list('status=CONNECTED')).body.total, 2);
    assert.equal((await list('status=ERROR')).body.total, 0);
    assert.equal((await list('include_tools=true&limit=1')).body.servers[0].tools.length > 0, true);
    assert.equal((await list('include_tools=false')).body.servers[0].tools, undefined);
    for (const [query, place] of [
      ['limit=0', 'limit'],
      ['limit=1001', 'limit'],
      ['limit=-1', 'limit'],
      ['limit=x', 'limit'],
      ['limit=1.5', 'limit'],
      ['limit=', 'limit'],
      ['limit=1&limit=2', 'limit'],
      ['offset=-1', 'offset'],
      ['status=connected', 'status'],
      ['include_tools=maybe', 'include_tools'],
      ['sort=name', 'sort'],
    ]) {
      const answer = await list(query ?? '');
      assert.equal(answer.status, 422, query);
      assert.deepEqual(answer.body.detail[0].loc, ['query', place]);
    }
    const history = await app.api('GET', `${servers}/alpha/history?limit=1`);
    const [newest] = history.body.history;
    const older = await app.api('GET', `${servers}/alpha/history?limit=1&before=${newest.id}`);
    assert.ok(older.body.history[0].id < newest.id);
    assert.deepEqual((await app.api('GET', `${servers}/alpha/history?before=1`)).body.history, []);
  });

  test('API-014: the state in numbers', async () => {
    const { body } = await app.api('GET', '/api/v1/aggregator/state');
    assert.equal(body.total_servers, 2);
    assert.equal(body.connected_servers, 2);
    assert.equal(body.classified_tools + body.unclassified_tools, body.total_tools);
    assert.ok(body.total_tools > 30);
    assert.ok(Date.parse(body.last_sync) > 0);
    assert.equal(body.health_check_interval_seconds, 30);
    assert.ok(body.uptime_seconds >= 0);
  });

  test('API-020: the events tell what happens, as it happens', async () => {
    const heard = await app.events();
    await app.call('alpha.add', { a: 1, b: 2 });
    const started = await heard.waitFor('call.started');
    assert.equal(started.tool, 'alpha.add');
    assert.equal(started.principal, 'admin');
    const finished = await heard.waitFor('call.finished', (event) => event.call_id === started.call_id);
    assert.equal(finished.outcome, 'ok');
    assert.ok(finished.duration_ms > 0);
    heard.close();
    assert.equal((await app.call('alpha.add', { a: 1, b: 2 })).status, 200);
  });

  test('API-021: the OpenAPI document is valid where this can be told', async () => {
    const document: Document = (await app.api('GET', '/openapi.json')).body;
    assert.equal(document.openapi, '3.1.0');
    const ids = new Set<string>();
    for (const [path, operations] of Object.entries(document.paths)) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      for (const [method, operation] of Object.entries(operations)) {
        const where = `${method} ${path}`;
        assert.ok(!ids.has(operation.operationId), `${operation.operationId} twice`);
        ids.add(operation.operationId);
        assert.ok(operation.summary, where);
        const declared = operation.parameters.filter((one) => one.in === 'path').map((one) => one.name);
        assert.deepEqual(declared, inPath, where);
        const bodies = [operation.requestBody, ...Object.values(operation.responses)];
        for (const content of bodies.flatMap((body) => Object.values(body?.content ?? {})))
          compile(document, content.schema);
        for (const { schema } of operation.parameters) compile(document, schema);
        for (const { description } of Object.values(operation.responses)) assert.ok(description, where);
      }
    }
  });
});

test('SEC-011: anonymous requests may do what was configured, and no more', async (t) => {
  const app = await startApp({ MCP_AGGREGATOR_ANONYMOUS: 'viewer' });
  t.after(app.close);
  const as = { token: null };
  assert.equal((await app.api('GET', servers, undefined, as)).status, 200);
  assert.equal((await app.call('x', {}, as)).status, 403);
  assert.equal((await app.api('GET', servers, undefined, { token: 'wrong' })).status, 401);
});

test('SEC-007: a public address is enough for its host and origin; the refusal of others names the settings', async (t) => {
  const app = await startApp({ MCP_AGGREGATOR_PUBLIC_URL: 'https://mcp.example.com' });
  t.after(app.close);
  for (const path of [servers, '/mcp']) {
    const ask = (headers: Record<string, string>) =>
      plainGet(`${app.url}${path}`, { authorization: `Bearer ${app.adminToken}`, ...headers });
    const ours = await ask({ host: 'mcp.example.com', origin: 'https://mcp.example.com' });
    assert.notEqual(ours.status, 403, `${path}: ${ours.body}`);
    const foreign = await ask({ host: 'other.example' });
    assert.equal(foreign.status, 403);
    assert.match(foreign.body, /MCP_AGGREGATOR_ALLOWED_HOSTS, or set MCP_AGGREGATOR_PUBLIC_URL/);
    const page = await ask({ host: 'mcp.example.com', origin: 'https://other.example' });
    assert.equal(page.status, 403);
    assert.match(page.body, /MCP_AGGREGATOR_ALLOWED_ORIGINS/);
  }
});

/** `fetch` does not let a test choose Host and Origin. */
function plainGet(url: string, headers: Record<string, string>): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    request(url, { headers }, (response) => {
      let body = '';
      response.on('data', (chunk) => {
        body += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
    })
      .on('error', reject)
      .end();
  });
}
