import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { startApp, type TestApp } from '../support/app.ts';
import { dumpPostgres } from '../support/databases.ts';
import { misbehavingServer } from '../support/servers/misbehaving.ts';

const servers = '/api/v1/aggregator/servers';
const canary = 'canary-5e9c1f-secret';

test('SEC-003: a secret in headers or env appears nowhere: answers, log, events, history, audit, database', async (t) => {
  const echoing = await startEchoing();
  const app = await startApp({
    CANARY: canary,
    MCP_AGGREGATOR_HEALTH_INTERVAL: '0.1',
    MCP_AGGREGATOR_CONNECTION_TIMEOUT: '5',
  });
  t.after(async () => {
    await app.close();
    echoing.close();
  });
  const answers: unknown[] = [];
  const api: TestApp['api'] = async (...request) => {
    const answer = await app.api(...request);
    answers.push(answer.body);
    return answer;
  };
  const register = async (name: string, transport_type: string, connection_config: object) => {
    await api('POST', servers, { name, transport_type, connection_config, health_check_url: null });
  };
  const leaky = { ...misbehavingServer('stderr-secret', 'SECRET'), env: { SECRET: canary } };
  const headers = { authorization: `Bearer ${canary}`, 'x-key': '${CANARY}' };
  await register('leaky', 'STDIO', leaky);
  await register('leaky-exit', 'STDIO', {
    command: process.execPath,
    args: ['-e', 'console.error(process.env.SECRET); console.log(process.env.SECRET); process.exit(1)'],
    env: { SECRET: '${CANARY}' },
  });
  await register('echoing', 'HTTP', { base_url: `${echoing.url}/mcp`, headers });
  await register('echoing-handshake', 'HTTP', { base_url: `${echoing.url}/refuses`, headers });
  await register('echoing-sse', 'SSE', { url: `${echoing.url}/sse`, headers });
  await register('leaky', 'STDIO', leaky);
  await register('Wrong Name', 'STDIO', leaky);
  await app.untilStatus('leaky', 'CONNECTED');
  await app.untilStatus('echoing', 'CONNECTED');
  for (const name of ['leaky-exit', 'echoing-handshake', 'echoing-sse']) await app.untilStatus(name, 'ERROR');
  await api('PATCH', `${servers}/leaky-exit`, { connection_config: { command: 'true', env: { SECRET: canary } } });

  for (const tool of ['rpc', 'html', 'cut']) {
    const answer = await api('POST', '/api/v1/tools/call', { name: tool, server_id: 'echoing' });
    assert.notEqual(answer.status, 404, tool);
  }
  await app.seen.waitFor('server.status', ({ name, status }) => name === 'echoing' && status === 'DEGRADED');
  const { body } = await api('GET', servers);
  for (const { name } of body.servers) {
    const details = await api('GET', `${servers}/${name}`);
    const { env, headers: shown } = details.body.connection_config;
    for (const value of Object.values({ ...env, ...shown })) assert.equal(value, '***');
    await api('GET', `${servers}/${name}/history`);
    await api('GET', `${servers}/${name}/tools`);
  }
  assert.match((await app.server('leaky')).stderr_tail, /configured with SECRET=\*\*\*/);
  await api('GET', '/api/v1/aggregator/audit?limit=1000');
  await api('GET', '/api/v1/aggregator/state');

  assertHidden('an answer', JSON.stringify(answers));
  assertHidden('the log', app.log.join('\n'));
  assertHidden('an event', JSON.stringify(app.seen.all));
  for (const file of readdirSync(app.dataDir)) assertHidden(file, readFileSync(join(app.dataDir, file), 'latin1'));
  if (app.database.url !== undefined) assertHidden('the database', await dumpPostgres(app.database.url));
});

test('SEC-002: a variable that is not set is a clear error on the row, and nothing is sent', async (t) => {
  const app = await startApp({ PRESENT: 'yes' });
  t.after(app.close);
  const config = {
    command: 'true',
    args: ['${PRESENT}', '${ABSENT}'],
    env: { A: '${ALSO_ABSENT}', B: '${OR:-other}' },
  };
  await app.register('unset', config);
  const details = await app.untilStatus('unset', 'ERROR');
  assert.equal(
    details.error_message,
    "connection_config refers to variables that are not set in the aggregator's environment: ${ABSENT}, ${ALSO_ABSENT}",
  );
  assert.deepEqual(details.connection_config.args, ['${PRESENT}', '${ABSENT}']);
});

test('SEC-004: an address in a variable is held to the same rules as one that is written out', async (t) => {
  const app = await startApp({ PLAIN: 'http://example.com/mcp' });
  t.after(app.close);
  await app.register('plain', { base_url: '${PLAIN}' });
  assert.match((await app.untilStatus('plain', 'ERROR')).error_message, /must start with https/);
});

test('SEC-008: a child gets its own variables and the harmless ones of ours, nothing else', async (t) => {
  const app = await startApp({
    HOME: '/home/x',
    LANG: 'C',
    SECRET_OF_OURS: 'x',
    GIVEN: 'value',
    AWS_SECRET_ACCESS_KEY: 'x',
  });
  t.after(app.close);
  await app.add('env', { ...misbehavingServer('env'), env: { OWN: '${GIVEN}', PLAIN: 'text' } });
  const { structuredContent: environment } = (await app.call('env.env')).body;
  const { PATH, MCP_AGGREGATOR_CHILD: marker, ...rest } = environment;
  assert.ok(PATH.startsWith(process.env.PATH), 'with the folders of package managers at its end');
  assert.match(marker, /^[\w:.-]+$/, 'by which what the child starts is found when it ends');
  assert.deepEqual(rest, { HOME: '/home/x', LANG: 'C', OWN: 'value', PLAIN: 'text' });
});

function assertHidden(where: string, text: string): void {
  const at = text.indexOf(canary);
  assert.equal(at, -1, `${where} shows the secret: ${text.slice(Math.max(0, at - 300), at + 100)}`);
}

/** An MCP server that repeats the headers it got in whatever it says is wrong. */
async function startEchoing() {
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const heard = JSON.stringify(request.headers);
    const json = (status: number, body: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (request.url === '/refuses') return json(500, { error: { code: -32603, message: heard } });
    if (request.url !== '/mcp' || request.method !== 'POST') return response.writeHead(418).end(heard);
    const { id, method, params } = JSON.parse(text);
    if (id === undefined) return response.writeHead(202).end();
    const answer = (result: object) => json(200, { jsonrpc: '2.0', id, result });
    if (method === 'initialize') {
      return answer({
        protocolVersion: '2025-11-25',
        capabilities: { tools: {} },
        serverInfo: { name: 'e', version: '1' },
      });
    }
    if (method === 'tools/list') {
      return answer({ tools: ['rpc', 'html', 'cut'].map((name) => ({ name, inputSchema: { type: 'object' } })) });
    }
    if (params?.name === 'html' || method === 'ping') return response.writeHead(500).end(`<b>${heard}</b>`);
    if (params?.name === 'cut') return response.destroy();
    return json(200, { jsonrpc: '2.0', id, error: { code: -32000, message: heard, data: { headers: [heard] } } });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  return {
    url: `http://127.0.0.1:${port}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
