/** An MCP server that wants a token with every request and knows whose it is. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { IdentityProvider } from './identity-provider.ts';

export interface ProtectedServer {
  readonly url: string;
  /** The Authorization headers that came in. */
  readonly seen: string[];
  /** Whose token asked to follow what. */
  readonly subscriptions: { account: string; uri: string }[];
  /** Tells those who follow it, as whoever their token says they are. */
  update(uri: string): void;
  close(): Promise<void>;
}

interface Message {
  id?: number;
  method: string;
  params?: { uri?: string };
}

const tools = [
  {
    name: 'whoami',
    description: 'Whose token it is',
    inputSchema: { type: 'object' },
    annotations: { readOnlyHint: true },
  },
];

export async function startProtectedServer(provider: IdentityProvider): Promise<ProtectedServer> {
  const seen: string[] = [];
  const subscriptions: ProtectedServer['subscriptions'] = [];
  const listening = new Map<ServerResponse, string>();
  const server = createServer((request, response) => {
    const send = (status: number, body?: unknown, headers: Record<string, string> = {}) =>
      response
        .writeHead(status, { 'content-type': 'application/json', ...headers })
        .end(body === undefined ? undefined : JSON.stringify(body));
    void answer(request, response, send);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const origin = `http://127.0.0.1:${address.port}`;
  const url = `${origin}/mcp`;
  const metadataPath = '/.well-known/oauth-protected-resource/mcp';

  type Send = (status: number, body?: unknown, headers?: Record<string, string>) => void;

  function listen(response: ServerResponse, account: string): void {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': listening\n\n');
    listening.set(response, account);
    response.on('close', () => listening.delete(response));
  }

  async function answer(request: IncomingMessage, response: ServerResponse, send: Send): Promise<void> {
    if (request.url === metadataPath) {
      return send(200, { resource: url, authorization_servers: [provider.issuer], scopes_supported: ['mcp:use'] });
    }
    const { authorization = '' } = request.headers;
    if (authorization !== '') seen.push(authorization);
    const account = await provider.accountOf(authorization.replace(/^Bearer /, ''), url);
    if (account === undefined) {
      const challenge = `Bearer resource_metadata="${origin}${metadataPath}", scope="mcp:use"`;
      return send(401, { error: 'invalid_token' }, { 'www-authenticate': challenge });
    }
    if (request.method === 'GET') return listen(response, account);
    if (request.method !== 'POST') return send(405);
    const { id, method, params } = JSON.parse(await text(request)) as Message;
    if (method === 'resources/subscribe') subscriptions.push({ account, uri: params?.uri ?? '' });
    if (id === undefined) return send(202);
    const results: Record<string, unknown> = {
      initialize: {
        protocolVersion: '2025-11-25',
        serverInfo: { name: 'protected', version: '1.0.0' },
        capabilities: { tools: {}, resources: { subscribe: true } },
      },
      ping: {},
      'tools/list': { tools },
      'resources/subscribe': {},
      'tools/call': { content: [{ type: 'text', text: account }] },
    };
    const result = results[method];
    if (result !== undefined) return send(200, { jsonrpc: '2.0', id, result });
    send(404, { jsonrpc: '2.0', id, error: { code: -32_601, message: 'Method not found' } });
  }

  return {
    url,
    seen,
    subscriptions,
    update(uri) {
      const notice = { jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri } };
      for (const [response, account] of listening)
        if (subscriptions.some((one) => one.account === account && one.uri === uri))
          response.write(`data: ${JSON.stringify(notice)}\n\n`);
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
