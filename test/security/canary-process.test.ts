import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { misbehavingServer } from '../support/servers/misbehaving.ts';

const program = fileURLToPath(new URL('../../bin/mcp-aggregator.js', import.meta.url));
const canary = (name: string) => `canary-${name}-${randomBytes(12).toString('hex')}`;
const api = '/api/v1/aggregator';

/** A server that repeats its credentials in every kind of failure, as servers do. */
async function startEchoingServer(t: TestContext): Promise<string> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { id, method } = JSON.parse(Buffer.concat(chunks).toString() || '{}');
    const { authorization } = request.headers;
    const send = (status: number, body: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (request.method !== 'POST') return void response.writeHead(405).end();
    if (id === undefined) return void response.writeHead(202).end();
    if (method === 'initialize') {
      const capabilities = { tools: {}, prompts: {} };
      const serverInfo = { name: 'echo', version: '1' };
      return send(200, { jsonrpc: '2.0', id, result: { protocolVersion: '2025-11-25', capabilities, serverInfo } });
    }
    if (method === 'tools/list') {
      const tools = ['http', 'rpc'].map((name) => ({ name, inputSchema: { type: 'object' } }));
      return send(200, { jsonrpc: '2.0', id, result: { tools } });
    }
    if (method === 'tools/call' && !Buffer.concat(chunks).includes('"rpc"')) {
      return send(500, { error: `token ${authorization} may not` });
    }
    send(200, {
      jsonrpc: '2.0',
      id,
      error: { code: -32000, message: `bad ${authorization}`, data: { authorization } },
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

/** The real program, with everything that it prints. */
async function start(t: TestContext, env: Record<string, string>) {
  const dataDir = await mkdtemp(join(tmpdir(), 'mcp-aggregator-canary-'));
  t.after(() => rm(dataDir, { recursive: true, force: true }));
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', program, 'serve'], {
    env: {
      PATH: process.env.PATH,
      MCP_AGGREGATOR_PORT: '0',
      MCP_AGGREGATOR_DATA_DIR: dataDir,
      MCP_AGGREGATOR_LOG_LEVEL: 'debug',
      ...env,
    },
  });
  const exited = once(child, 'exit');
  t.after(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  let output = '';
  const listening = new Promise<string>((resolve) => {
    const read = (chunk: Buffer) => {
      output += chunk;
      const url = /"url":"(http:[^"]+)"/.exec(output)?.[1];
      if (url !== undefined) resolve(url);
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
  });
  return { child, dataDir, listening, exited, output: () => output };
}

test('SEC-003: a secret appears nowhere: logs, answers, audit, history, metrics, crash output, database file', async (t) => {
  const secrets = {
    admin: canary('admin'),
    header: canary('header'),
    variable: canary('variable'),
    environment: canary('env'),
    model: canary('model'),
    key: randomBytes(32).toString('base64'),
  };
  // Throws something with a secret in it when it is told to, as a bug would.
  const bug = `process.on('SIGUSR2', () => setImmediate(() => { throw new Error(process.env.MCP_AGGREGATOR_ADMIN_TOKEN + process.env.UPSTREAM_TOKEN); }))`;
  const app = await start(t, {
    MCP_AGGREGATOR_ADMIN_TOKEN: secrets.admin,
    MCP_CREDENTIAL_KEY: secrets.key,
    ANTHROPIC_API_KEY: secrets.model,
    UPSTREAM_TOKEN: secrets.variable,
    NODE_OPTIONS: `--import "data:text/javascript,${encodeURIComponent(bug)}"`,
  });
  const url = await app.listening;
  const answers: string[] = [];
  const ask = async (method: string, path: string, body?: unknown, token = secrets.admin) => {
    const response = await fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await response.text();
    answers.push(text, JSON.stringify([...response.headers]));
    return { status: response.status, text };
  };

  const base_url = await startEchoingServer(t);
  const headers = { Authorization: `Bearer ${secrets.header}`, 'X-Key': '${UPSTREAM_TOKEN}' };
  await ask('POST', `${api}/servers`, {
    name: 'web',
    transport_type: 'HTTP',
    connection_config: { base_url, headers },
  });
  const connection_config = { ...misbehavingServer('stderr-secret', 'SECRET'), env: { SECRET: secrets.environment } };
  await ask('POST', `${api}/servers`, { name: 'local', transport_type: 'STDIO', connection_config });
  // The one answer that shows a token is the one that makes it.
  const made = await ask('POST', '/api/v1/tokens', { name: 'bot', role: 'admin' });
  answers.splice(-2);
  const { token } = JSON.parse(made.text);

  const tools = async () => JSON.parse((await ask('GET', `${api}/servers/web/tools`)).text).total;
  const failed = async () => (await ask('GET', `${api}/servers/web/history`)).text.includes('DISCOVERY_FAILED');
  while (!(await failed())) await tools();
  await ask('POST', `${api}/servers/web/tools/refresh`);
  for (const name of ['web.http', 'web.rpc', 'local.none']) await ask('POST', '/api/v1/tools/call', { name });
  await ask('GET', `${api}/state`, undefined, token);
  await ask('GET', `${api}/state`, undefined, `${token}x`);
  await ask('PATCH', `${api}/servers/web`, { connection_config: { base_url, headers: { Authorization: 5 } } });
  for (const path of ['web', 'local', 'web/history', 'local/history', 'web/tools'])
    await ask('GET', `${api}/servers/${path}`);
  for (const path of ['/servers', '/state', '/health', '/audit', '/audit/export', '/audit/verify'])
    await ask('GET', api + path);
  for (const path of ['/metrics', '/openapi.json', '/api/v1/tokens']) await ask('GET', path);

  app.child.kill('SIGUSR2');
  await app.exited;
  assert.match(app.output(), /crashed/);
  const files = await Promise.all(
    (await readdir(app.dataDir)).map(
      async (name) => [name, await readFile(join(app.dataDir, name), 'latin1')] as const,
    ),
  );
  assert.ok(files.some(([name]) => name === 'aggregator.db'));
  const places = { answers: answers.join('\n'), output: app.output(), ...Object.fromEntries(files) };
  for (const [name, secret] of Object.entries({ ...secrets, token })) {
    for (const spelling of [secret, encodeURIComponent(secret), Buffer.from(secret).toString('base64').slice(0, -4)]) {
      for (const [place, text] of Object.entries(places)) {
        const at = text.indexOf(spelling);
        assert.equal(at, -1, `the secret "${name}" is in ${place}: …${text.slice(Math.max(0, at - 300), at + 80)}`);
      }
    }
  }
});

test('a start that fails says why without the value', async (t) => {
  const password = canary('password');
  for (const env of [
    { MCP_CREDENTIAL_KEY: password },
    { DATABASE_URL: `postgres://user:${password}@127.0.0.1:1/x`, MCP_CREDENTIAL_KEY: randomBytes(32).toString('hex') },
    { DATABASE_URL: `not-postgres://user:${password}@host` },
  ]) {
    const { output, exited } = await start(t, env as Record<string, string>);
    const [code] = await exited;
    assert.ok(code > 0);
    assert.match(output(), /MCP_CREDENTIAL_KEY|DATABASE_URL/);
    assert.equal(output().includes(password), false);
  }
});
