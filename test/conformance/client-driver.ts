/**
 * The command that the client suite runs: our real app in this process, the suite's server registered in it, and the
 * scenario performed by an MCP client and a browser that do what people would do.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createApp } from '../../src/app.ts';
import { loadConfig } from '../../src/config.ts';
import { createLog } from '../../src/log.ts';
import { openBrowser } from '../oauth/browser.ts';
import { createMcpCaller, type McpCaller } from './client-caller.ts';

const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? '';
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}') as Context;
const serverUrl = process.argv.at(-1) ?? '';
const mostLogins = 5;
/** Some scenarios have no tools to wait for. */
const patienceMs = 2_000;

interface Context {
  client_id?: string;
  client_secret?: string;
  private_key_pem?: string;
  signing_algorithm?: string;
  issuer?: string;
  toolCalls?: { name: string; arguments: Record<string, unknown> }[];
}

const dataDir = await mkdtemp(join(tmpdir(), 'client-conformance-'));
const adminToken = 'conformance-admin-token';
const config = loadConfig({
  MCP_AGGREGATOR_PORT: '0',
  MCP_AGGREGATOR_DATA_DIR: dataDir,
  MCP_AGGREGATOR_ADMIN_TOKEN: adminToken,
  MCP_AGGREGATOR_SHUTDOWN_TIMEOUT: '0',
  MCP_AGGREGATOR_CONNECTION_TIMEOUT: '10',
  MCP_AGGREGATOR_CLIENT_METADATA_URL: 'https://conformance-test.local/client-metadata.json',
});
const app = await createApp(config, createLog('warn', { destination: process.stderr }));
const headers = { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' };
const api = `${app.url}/api/v1/aggregator/servers`;

interface ServerView {
  status: string;
  login: string | null;
  tool_count: number;
  error_message: string | null;
}

try {
  await request('POST', api, {
    name: 'suite',
    transport_type: 'HTTP',
    connection_config: { base_url: serverUrl, ...oauthConfig() },
  });
  await connectWithLogins();
  await perform(createMcpCaller(`${app.url}/mcp/servers/suite`, adminToken));
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  await app.close();
  await rm(dataDir, { recursive: true, force: true });
}

function oauthConfig() {
  const { client_id, client_secret, private_key_pem: private_key, signing_algorithm } = context;
  if (client_id === undefined) return {};
  if (!scenario.includes('client-credentials')) return { oauth: { client_id, client_secret } };
  return { oauth: { grant: 'client_credentials', client_id, client_secret, private_key, signing_algorithm } };
}

async function connectWithLogins(): Promise<void> {
  for (let logins = 0; ; ) {
    const server = await settled();
    if (server.status === 'CONNECTED' || server.status === 'DEGRADED') return;
    if (server.login === null || logins === mostLogins) throw new Error(`${server.status}: ${server.error_message}`);
    logins += 1;
    const { login_url } = await request<{ login_url: string }>('POST', `${api}/suite/login`);
    await openBrowser().logIn(login_url);
  }
}

/** Connected with its tools known, or failed for good. */
async function settled(): Promise<ServerView> {
  const patience = Date.now() + patienceMs;
  for (;;) {
    const server = await request<ServerView>('GET', `${api}/suite`);
    if (server.status === 'ERROR') return server;
    const isKnown = server.tool_count > 0 || server.error_message !== null || Date.now() > patience;
    if (server.status === 'CONNECTED' && isKnown) return server;
    await delay(20);
  }
}

async function perform(client: McpCaller): Promise<void> {
  const { tools } = await client.request('tools/list', {});
  const names = (tools as { name: string }[]).map(({ name }) => name);
  const call = (name: string, args: Record<string, unknown> = {}) => callWithLogins(client, { name, arguments: args });

  if (scenario === 'tools_call') await call('add_numbers', { a: 5, b: 3 });
  else if (context.toolCalls !== undefined)
    for (const { name, arguments: args } of context.toolCalls) await call(name, args);
  else if (scenario === 'http-standard-headers') await readEverything(client, names, call);
  else if (scenario === 'http-invalid-tool-headers') for (const name of names) await call(name, { region: 'us-west1' });
  else if (scenario.startsWith('sep-2322')) for (const name of names) await call(name);
  else if (scenario !== 'json-schema-ref-no-deref') for (const name of names) await call(name);
}

async function readEverything(client: McpCaller, names: string[], call: (name: string) => Promise<void>) {
  for (const name of names) await call(name);
  const { resources = [] } = await client.request('resources/list', {});
  for (const { uri } of resources as { uri: string }[]) await client.request('resources/read', { uri });
  const { prompts = [] } = await client.request('prompts/list', {});
  for (const { name } of prompts as { name: string }[]) await client.request('prompts/get', { name });
}

/** A call that needs a login is answered with the link to it; the person opens it, and the call is repeated. */
async function callWithLogins(client: McpCaller, params: Record<string, unknown>): Promise<void> {
  for (let logins = 0; ; logins += 1) {
    const login = await client.callTool(params);
    if (login === undefined) return;
    if (logins === mostLogins) throw new Error('The server asks for logins without end');
    await openBrowser().logIn(login);
    await connectWithLogins();
  }
}

async function request<Answer>(method: string, url: string, body?: unknown): Promise<Answer> {
  const response = await fetch(url, { method, headers, body: body === undefined ? null : JSON.stringify(body) });
  if (!response.ok) throw new Error(`${method} ${url}: ${response.status} ${await response.text()}`);
  return (await response.json()) as Answer;
}
