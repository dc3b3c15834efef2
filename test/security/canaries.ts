// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references as they stand in configs
/** Secrets in every field of a configuration, servers that print them in every way, and where they are looked for. */
import assert from 'node:assert/strict';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { identityKeyFile, proofHeader, proveRequest } from '../../src/security/identity.ts';
import { connectClient } from '../mcp/clients.ts';
import { startApp, type TestApp } from '../support/app.ts';
import { createTestDatabase, dumpPostgres } from '../support/databases.ts';
import { leakingServer, startLeakingServer } from '../support/servers/leaking.ts';

const api = '/api/v1/aggregator';
const canaries = new Map<string, string>();

/** One place that was searched, and what was found there. */
export interface Search {
  where: string;
  chars: number;
  found: { planted: string; context: string }[];
}

export interface CanaryReport {
  /** The fields that held a secret. */
  planted: string[];
  searched: Search[];
}

/** A new secret, remembered by where it is planted. */
function plant(where: string): string {
  const canary = `cn${randomBytes(12).toString('hex')}`;
  canaries.set(where, canary);
  return canary;
}

const { privateKey: pem } = generateKeyPairSync('rsa', {
  modulusLength: 2_048,
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
});

/** Runs the servers, collects everything that leaves the aggregator or stays on its disk, and searches it. */
export async function runCanaries(onEnd: (close: () => Promise<void>) => void): Promise<CanaryReport> {
  const leaking = await startLeakingServer();
  const database = await createTestDatabase();
  const directory = join(database.dataDirectory, plant('STDIO cwd, by a variable'));
  mkdirSync(directory, { recursive: true });
  const app = await startApp(
    {
      ARGUMENT: plant('STDIO args, by a variable'),
      WHOLE_ARGUMENT: plant('STDIO args, a variable alone'),
      VARIABLE: plant('STDIO env, by a variable'),
      DIRECTORY: directory,
      QUERY: plant('HTTP base_url, by a variable'),
      HEADER: plant('HTTP headers, by a variable'),
      SSE_QUERY: plant('SSE url, by a variable'),
      SSE_HEADER: plant('SSE headers, by a variable'),
      CLIENT_SECRET: plant('oauth.client_secret'),
      MCP_AGGREGATOR_HEALTH_INTERVAL: '0.3',
      MCP_AGGREGATOR_SHOW_PAYLOADS: 'true',
    },
    { database },
  );
  onEnd(async () => {
    await app.close();
    leaking.close();
    await database.close();
  });
  const roles = ['admin', 'caller', 'viewer'];
  const tokens: string[] = [];
  for (const role of roles) {
    tokens.push((await app.api('POST', '/api/v1/tokens', { name: role, role })).body.token);
  }
  const [, caller = ''] = tokens;
  const folder = await register(app, leaking.url);
  onEnd(async () => rmSync(folder, { recursive: true, force: true }));
  const [, , viewer = ''] = tokens;
  await enterKeys(app, { '': 'an admin', [caller]: 'a user' });
  const output = await app.events(viewer, '?output_of=stdio');
  for (const name of ['stdio', 'http', 'keyed-stdio', 'keyed-http']) await app.untilStatus(name, 'CONNECTED');
  for (const name of ['stdio-exit', 'sse', 'http-refuses', 'machine']) await app.untilStatus(name, 'ERROR');

  const answers: [where: string, text: string][] = [];
  for (const server of ['stdio', 'http', 'keyed-stdio', 'keyed-http']) {
    const isChild = server.endsWith('stdio');
    const names = isChild ? ['fail', 'refuse', 'tell', 'die'] : ['fail', 'refuse', 'tell', 'html', 'cut'];
    const { body } = await app.call(`${server}.succeed`, {}, { token: caller });
    assert.ok(JSON.stringify(body).match(/cn[0-9a-f]{24}/), 'what a call brought passes as it is');
    const heard: unknown[] = [];
    const client = await connectClient(app, {
      prepare(own) {
        own.setNotificationHandler('notifications/message', (notice) => void heard.push(notice));
      },
    });
    for (const name of names) {
      const answer = await app.call(`${server}.${name}`, {}, { token: caller });
      answers.push([`the answer of ${server}.${name}`, JSON.stringify(answer.body)]);
      if (isChild && name === 'die') await app.untilStatus(server, 'CONNECTED');
      const onprogress = (progress: unknown) => void heard.push(progress);
      const result = await client.callTool({ name: `${server}__${name}`, arguments: {} }, { onprogress }).catch(String);
      answers.push([`the MCP answer of ${server}.${name}`, JSON.stringify(result)]);
      if (isChild && name === 'die') await app.untilStatus(server, 'CONNECTED');
    }
    const lists = {
      'tools/list': await client.listTools(),
      'prompts/list': await client.listPrompts(),
      'resources/list': await client.listResources(),
      'resources/templates/list': await client.listResourceTemplates(),
    };
    for (const [method, list] of Object.entries(lists)) answers.push([`${method} over MCP`, JSON.stringify(list)]);
    await client.close();
    assert.ok(heard.length > 0, 'a client hears what servers say');
    answers.push([`the notifications of ${server}`, JSON.stringify(heard)]);
  }

  const parts = ['', '/history', '/tools', '/output', '/processes', '/changes', '/query-strategy'];
  const names = ['stdio', 'stdio-exit', 'http', 'sse', 'http-refuses', 'machine', 'keyed-stdio', 'keyed-http'];
  const paths = [
    ...names.flatMap((name) => parts.map((part) => `${api}/servers/${name}${part}`)),
    ...[`${api}/servers`, `${api}/state`, `${api}/activity`, `${api}/health`, '/metrics', '/openapi.json'],
    ...[`${api}/attention`, `${api}/calls`, `${api}/tools`, `${api}/stats?by=tool`, `${api}/stats?by=client`],
    ...['/api/v1/keys', '/api/v1/profiles', '/api/v1/query/rules', '/api/v1/skills', '/api/v1/search/quality'],
    ...[`${api}/audit?limit=1000`, `${api}/audit/export`, `${api}/backup`],
  ];
  for (const [at, token] of tokens.entries()) {
    for (const path of paths) {
      const response = await fetch(`${app.url}${path}`, { headers: { authorization: `Bearer ${token}` } });
      if (roles[at] === 'admin') assert.equal(response.status, 200, path);
      answers.push([`${path} for ${roles[at]}`, await response.text()]);
    }
  }
  const searched = answers.map(([where, text]) => search(where, text));
  searched.push(search('the log', app.log.join('\n')), search('the events', JSON.stringify(app.seen.all)));
  assert.ok(output.all.length > 0, 'the event stream has the output of the server');
  searched.push(search('the events with the output of a server', JSON.stringify(output.all)));
  for (const file of readdirSync(app.dataDir, { withFileTypes: true })) {
    if (file.isFile())
      searched.push(search(`the file ${file.name}`, readFileSync(join(app.dataDir, file.name), 'latin1')));
  }
  if (app.database.url !== undefined) searched.push(search('the database', await dumpPostgres(app.database.url)));

  const shown = (await app.server('stdio')).connection_config;
  assert.equal(shown.args[1], '--v=${ARGUMENT}');
  assert.match(
    (await app.server('http')).connection_config.base_url,
    /^http:[^*]+\/mcp\/\*\*\*\?api_key=\*\*\*&v=\*\*\*$/,
  );
  return { planted: [...canaries.keys(), 'STDIO env, PEM'], searched };
}

/** Of the users with these tokens. */
async function enterKeys(app: TestApp, users: Record<string, string>): Promise<void> {
  for (const [token, user] of Object.entries(users)) {
    for (const server of ['keyed-stdio', 'keyed-http']) {
      const value = plant(`the key of ${user} for ${server}`);
      const as = { token: token === '' ? app.adminToken : token };
      const { status } = await app.api('PUT', `/api/v1/keys/${server}/KEY`, { value }, as);
      assert.equal(status, 204);
    }
  }
}

/** As the command line does on the same host. */
async function registerLocally(app: TestApp, name: string, connection_config: object): Promise<void> {
  const path = `${api}/servers`;
  const body = JSON.stringify({ name, transport_type: 'STDIO', connection_config });
  const key = readFileSync(join(app.dataDir, identityKeyFile), 'utf8').trim();
  const headers = { [proofHeader]: proveRequest(key, { path, body }) };
  const { status, body: answer } = await app.api('POST', path, body, { headers });
  assert.equal(status, 201, JSON.stringify(answer));
}

/** Returns the folder of the files that connections refer to. */
async function register(app: TestApp, url: string): Promise<string> {
  const args = [
    leakingServer,
    '--v=${ARGUMENT}',
    '${WHOLE_ARGUMENT}',
    `--api-key=${plant('STDIO args, after =')}`,
    '--token',
    plant('STDIO args, after a flag'),
    plant('STDIO args, alone'),
    `Authorization: Bearer ${plant('STDIO args, a header')}`,
    `https://ann:${plant('STDIO args, user info')}@example.com/?key=${plant('STDIO args, query')}`,
  ];
  const env = {
    VALUE: plant('STDIO env'),
    FROM_VARIABLE: '${VARIABLE}',
    DATABASE_URL: `postgres://ann:${plant('STDIO env, user info')}@example.com/main`,
    PEM: pem,
  };
  const stdio = { command: process.execPath, args, env, cwd: '${DIRECTORY}' };
  const base_url = `${url}/mcp/${plant('HTTP base_url, path')}?api_key=${plant('HTTP base_url, query')}&v=\${QUERY}`;
  const headers = { authorization: `Bearer ${plant('HTTP headers')}`, 'x-key': '${HEADER}' };
  const sse = {
    url: `${url}/sse?key=${plant('SSE url, query')}&v=\${SSE_QUERY}`,
    headers: { 'x-key': plant('SSE headers'), 'x-other': '${SSE_HEADER}' },
  };
  const oauth = { grant: 'client_credentials', client_id: 'us', client_secret: '${CLIENT_SECRET}', issuer: url };
  const folder = mkdtempSync(join(tmpdir(), 'canaries-'));
  const file = (name: string, content: string): string => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  const printed = file('printed', plant('STDIO env, the output of a command'));
  const env_file = file('.env', `FROM_FILE=${plant('STDIO env_file')}\n`);
  const fromCommand = { FROM_COMMAND: `\${command:cat ${printed}}` };
  await registerLocally(app, 'stdio', { ...stdio, env: { ...env, ...fromCommand }, env_file });
  await app.register('stdio-exit', { ...stdio, args: [...args, '--exit'] });
  await app.register('http', { base_url, headers });
  await app.register('http-refuses', { base_url: `${url}/refuses?v=\${QUERY}`, headers });
  await app.register('sse', sse);
  await app.register('machine', { base_url: `${url}/guarded`, oauth });
  await app.register('keyed-stdio', { command: process.execPath, args: [leakingServer], env: { KEY: '${user:KEY}' } });
  await app.register('keyed-http', { base_url: `${url}/mcp`, headers: { authorization: 'Bearer ${user:KEY}' } });
  return folder;
}

const partChars = 12;

/** A canary or a recognisable part of one, as it is or encoded. */
function search(where: string, text: string): Search {
  const found: Search['found'] = [];
  const look = (planted: string, parts: string[]) => {
    const at = parts.map((part) => text.indexOf(part)).find((place) => place !== -1);
    if (at !== undefined) found.push({ planted, context: text.slice(Math.max(0, at - 300), at + 100) });
  };
  for (const [planted, canary] of canaries) {
    const parts = Array.from({ length: canary.length - partChars + 1 }, (_, at) => canary.slice(at, at + partChars));
    const encoded = ['', 'u', 'us'].map((before) =>
      Buffer.from(before + canary)
        .toString('base64')
        .slice(4, 20),
    );
    look(planted, [...parts, Buffer.from(canary).toString('hex').slice(0, 30), ...encoded]);
  }
  const lines = pem.split('\n').filter(({ length }) => length === 64);
  look(
    'STDIO env, PEM',
    lines.map((line) => line.slice(0, 24)),
  );
  return { where, chars: text.length, found };
}
