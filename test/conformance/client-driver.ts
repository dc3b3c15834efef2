/**
 * One scenario of the client suite: our real app with the suite's server registered in it, used by an MCP client and a
 * browser that do what people would do.
 */
import { openBrowser } from '../oauth/browser.ts';
import { startApp, type TestApp } from '../support/app.ts';
import { untilSeen } from '../support/until.ts';
import { createMcpCaller, type McpCaller } from './client-caller.ts';

const maxLogins = 5;
const servers = '/api/v1/aggregator/servers';

export interface Scenario {
  name: string;
  serverUrl: string;
  context: Context;
}

interface Context {
  client_id?: string;
  client_secret?: string;
  private_key_pem?: string;
  signing_algorithm?: string;
  issuer?: string;
  toolCalls?: { name: string; arguments: Record<string, unknown> }[];
}

interface ServerView {
  status: string;
  login: string | null;
  error_message: string | null;
}

export async function performScenario(scenario: Scenario): Promise<void> {
  const app = await startApp({
    MCP_AGGREGATOR_CLIENT_METADATA_URL: 'https://conformance-test.local/client-metadata.json',
  });
  try {
    await app.register('suite', { base_url: scenario.serverUrl, ...(await oauthConfig(scenario)) });
    await connectWithLogins(app);
    await perform(app, scenario, createMcpCaller(`${app.url}/mcp/servers/suite`, app.adminToken));
  } finally {
    await app.close();
  }
}

async function oauthConfig({ name, context, serverUrl }: Scenario) {
  const { client_id, client_secret, private_key_pem: private_key, signing_algorithm } = context;
  if (client_id === undefined) return {};
  const issuer = client_secret === undefined ? undefined : await issuerOfSuite(serverUrl);
  if (!name.includes('client-credentials')) return { oauth: { client_id, client_secret, issuer } };
  return { oauth: { grant: 'client_credentials', client_id, client_secret, private_key, signing_algorithm, issuer } };
}

/** Whoever has a secret knows for which authorization server it is. */
async function issuerOfSuite(serverUrl: string): Promise<string | undefined> {
  const { origin, pathname } = new URL(serverUrl);
  const response = await fetch(`${origin}/.well-known/oauth-protected-resource${pathname}`);
  const { authorization_servers } = (await response.json()) as { authorization_servers?: string[] };
  return authorization_servers?.[0];
}

async function connectWithLogins(app: TestApp): Promise<void> {
  for (let logins = 0; ; logins += 1) {
    const server = await settled(app);
    if (server.status === 'CONNECTED') return;
    if (server.login === null || logins === maxLogins) throw new Error(`${server.status}: ${server.error_message}`);
    const { body } = await app.api('POST', `${servers}/suite/login`);
    await openBrowser().logIn(body.login_url);
  }
}

/** Connected, or failed for good. */
async function settled(app: TestApp): Promise<ServerView> {
  const isSettled = ({ status }: ServerView) => status === 'ERROR' || status === 'CONNECTED';
  return await untilSeen<ServerView>(() => app.server('suite'), isSettled, 'the server has settled');
}

async function perform(app: TestApp, { name: scenario, context }: Scenario, client: McpCaller): Promise<void> {
  const { tools } = await client.request('tools/list', {});
  const names = (tools as { name: string }[]).map(({ name }) => name);
  const call = (name: string, args: Record<string, unknown> = {}) =>
    callWithLogins(app, client, { name, arguments: args });

  const [focal] = tools as { name: string; inputSchema: unknown }[];
  if (names.includes('json_schema_echo')) return await call('json_schema_echo', { schema: focal?.inputSchema });
  if (scenario === 'tools_call') await call('add_numbers', { a: 5, b: 3 });
  else if (context.toolCalls !== undefined)
    for (const { name, arguments: args } of context.toolCalls) await call(name, args);
  else if (scenario === 'http-standard-headers') await readEverything(client, names, call);
  else if (scenario === 'http-invalid-tool-headers') for (const name of names) await call(name, { region: 'us-west1' });
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
async function callWithLogins(app: TestApp, client: McpCaller, params: Record<string, unknown>): Promise<void> {
  for (let logins = 0; ; logins += 1) {
    const login = await client.callTool(params);
    if (login === undefined) return;
    if (logins === maxLogins) throw new Error('The server asks for logins without end');
    await openBrowser().logIn(login);
    await connectWithLogins(app);
  }
}
