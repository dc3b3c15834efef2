/** Servers that act for the account whose key they were given, in their environment or in a header. */
import { createServer } from 'node:http';
import { text as bodyOf } from 'node:stream/consumers';
import { childProgram } from '../child-program.ts';
import { createProgram, structured, text } from './program.ts';
import { serveStdio } from './stdio-wire.ts';

const inputSchema = { type: 'object' };
const definitions = [
  { name: 'account', description: 'Whose account this is', inputSchema },
  { name: 'quote', description: 'Fails, and quotes the key', inputSchema },
];

/** How to start one on stdio: it reads the variables KEY and REGION. */
export const keyedChild = (env: Record<string, string>) => ({ ...childProgram(import.meta.url), env });

export interface KeyedServer {
  url: string;
  /** The keys of all requests. */
  seen: Set<string>;
  close(): void;
}

/** Over HTTP: it reads the header `x-key`. */
export async function startKeyedServer(): Promise<KeyedServer> {
  const seen = new Set<string>();
  const server = createServer(async (request, response) => {
    const key = String(request.headers['x-key']);
    seen.add(key);
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const { id, method, params } = JSON.parse(await bodyOf(request));
    if (id === undefined) return void response.writeHead(202).end();
    const result = resultOf(method, params?.name, key);
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/mcp`,
    seen,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function resultOf(method: string, tool: string | undefined, key: string): object {
  if (method === 'initialize')
    return { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'keyed', version: '1' } };
  if (method === 'tools/list') return { tools: definitions };
  return tool === undefined ? {} : call(tool, key);
}

const call = (tool: string, key: string) =>
  tool === 'account'
    ? structured({ account: key, pid: process.pid })
    : { ...text(`the key ${key} is refused`), isError: true };

if (import.meta.main) {
  const { KEY = '', REGION = '' } = process.env;
  process.stderr.write(`started with ${KEY}\n`);
  const tools = definitions.map((definition) => ({ definition, call: () => call(definition.name, `${KEY}${REGION}`) }));
  serveStdio(createProgram({ info: { name: 'keyed', version: '1' }, instructions: undefined, tools }), 'legacy');
}
