/** An MCP server that wants a token with every request and knows whose it is. */
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import type { IdentityProvider } from './identity-provider.ts';

export interface ProtectedServer {
  readonly url: string;
  /** The Authorization headers that came in. */
  readonly seen: string[];
  close(): Promise<void>;
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
  const server = createServer((request, response) => {
    const send = (status: number, body?: unknown, headers: Record<string, string> = {}) =>
      response
        .writeHead(status, { 'content-type': 'application/json', ...headers })
        .end(body === undefined ? undefined : JSON.stringify(body));
    void answer(request, send);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const origin = `http://127.0.0.1:${address.port}`;
  const url = `${origin}/mcp`;
  const metadataPath = '/.well-known/oauth-protected-resource/mcp';

  type Send = (status: number, body?: unknown, headers?: Record<string, string>) => void;

  async function answer(request: IncomingMessage, send: Send): Promise<void> {
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
    if (request.method !== 'POST') return send(405);
    const { id, method } = JSON.parse(await text(request)) as { id?: number; method: string };
    if (id === undefined) return send(202);
    const results: Record<string, unknown> = {
      initialize: {
        protocolVersion: '2025-11-25',
        serverInfo: { name: 'protected', version: '1.0.0' },
        capabilities: { tools: {} },
      },
      ping: {},
      'tools/list': { tools },
      'tools/call': { content: [{ type: 'text', text: account }] },
    };
    const result = results[method];
    if (result !== undefined) return send(200, { jsonrpc: '2.0', id, result });
    send(404, { jsonrpc: '2.0', id, error: { code: -32_601, message: 'Method not found' } });
  }

  return {
    url,
    seen,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
