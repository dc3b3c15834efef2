/** An MCP server and an authorization server on one port that say whatever a test wants, and remember what they got. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';

export interface ScriptedServer {
  readonly origin: string;
  readonly url: string;
  /** What the server and its authorization server publish; may change at any time. */
  says: Script;
  /** The Authorization headers that came to the MCP endpoint. */
  readonly seen: string[];
  /** The forms that came to the token endpoint, with how the client proved itself. */
  readonly tokenRequests: { form: Record<string, string>; authorization: string | undefined }[];
  readonly revoked: string[];
  readonly registrations: { redirect_uris: string[] }[];
  close(): Promise<void>;
}

export interface Script {
  issuer: string;
  metadata: Record<string, unknown>;
  token: Record<string, unknown>;
  keys: unknown[];
}

export const goodToken = 'a-token-that-works';

export async function startScriptedServer(script: Partial<Script> = {}): Promise<ScriptedServer> {
  const server = createServer((request, response) => void answer(request, response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const origin = `http://127.0.0.1:${address.port}`;
  const scripted: ScriptedServer = {
    origin,
    url: `${origin}/mcp`,
    says: { issuer: origin, metadata: {}, token: {}, keys: [], ...script },
    seen: [],
    tokenRequests: [],
    revoked: [],
    registrations: [],
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const send = (status: number, body?: unknown, headers: Record<string, string> = {}) =>
      response
        .writeHead(status, { 'content-type': 'application/json', ...headers })
        .end(body === undefined ? undefined : JSON.stringify(body));
    const { says } = scripted;
    const body = await text(request);
    const { authorization } = request.headers;
    switch ((request.url ?? '').split('?')[0]) {
      case '/.well-known/oauth-protected-resource/mcp':
        return void send(200, { resource: scripted.url, authorization_servers: [says.issuer] });
      case '/.well-known/oauth-authorization-server':
        return void send(200, {
          issuer: origin,
          authorization_endpoint: `${origin}/authorize`,
          token_endpoint: `${origin}/token`,
          registration_endpoint: `${origin}/register`,
          revocation_endpoint: `${origin}/revoke`,
          jwks_uri: `${origin}/jwks`,
          code_challenge_methods_supported: ['S256'],
          ...says.metadata,
        });
      case '/register': {
        const registration = JSON.parse(body);
        scripted.registrations.push(registration);
        return void send(201, { ...registration, client_id: 'registered' });
      }
      case '/jwks':
        return void send(200, { keys: says.keys });
      case '/revoke':
        scripted.revoked.push(new URLSearchParams(body).get('token') ?? '');
        return void send(200, {});
      case '/token':
        scripted.tokenRequests.push({ form: Object.fromEntries(new URLSearchParams(body)), authorization });
        return void send(200, { access_token: goodToken, token_type: 'Bearer', expires_in: 3_600, ...says.token });
      case '/mcp':
        return void answerMcp(request, body, send);
      default:
        send(404);
    }
  }

  function answerMcp({ method: verb, headers }: IncomingMessage, body: string, send: Send): void {
    const { authorization } = headers;
    if (authorization !== undefined) scripted.seen.push(authorization);
    if (authorization !== `Bearer ${scripted.says.token.access_token ?? goodToken}`) {
      const place = `${origin}/.well-known/oauth-protected-resource/mcp`;
      return void send(401, {}, { 'www-authenticate': `Bearer resource_metadata="${place}"` });
    }
    if (verb !== 'POST') return void send(405);
    const { id, method } = JSON.parse(body) as { id?: number; method: string };
    if (id === undefined) return void send(202);
    const serverInfo = { name: 'scripted', version: '1.0.0' };
    const results: Record<string, unknown> = {
      initialize: { protocolVersion: '2025-11-25', serverInfo, capabilities: { tools: {} } },
      ping: {},
      'tools/list': { tools: [{ name: 'hello', description: 'Says hello', inputSchema: { type: 'object' } }] },
      'tools/call': { content: [{ type: 'text', text: 'hello' }] },
    };
    if (results[method] !== undefined) return void send(200, { jsonrpc: '2.0', id, result: results[method] });
    send(404, { jsonrpc: '2.0', id, error: { code: -32_601, message: 'Method not found' } });
  }

  return scripted;
}

type Send = (status: number, body?: unknown, headers?: Record<string, string>) => void;
