import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { fillerOf } from './filler.ts';

/**
 * The smallest server there can be: one tool, `echo`, that returns its text, with a filler of `fill` characters behind it.
 * `node echo-server.ts http` prints its address, `node echo-server.ts stdio` speaks on stdin and stdout; with `legacy` it
 * knows nothing of 2026-07-28.
 */
interface Message {
  id?: number | string;
  method?: string;
  params?: {
    name?: string;
    arguments?: { text?: unknown; fill?: number };
    protocolVersion?: string;
    _meta?: Record<string, unknown>;
  };
}

const serverInfo = { name: 'echo', version: '1.0.0' };
const capabilities = { tools: {} };
const schema = { type: 'object', properties: { text: { type: 'string' } } };
const tools = [{ name: 'echo', description: 'Returns its text', inputSchema: schema }];
const cacheable = { ttlMs: 60_000, cacheScope: 'public' };

const results: Record<string, (message: Message) => object> = {
  initialize: ({ params }) => ({ protocolVersion: params?.protocolVersion, capabilities, serverInfo }),
  ping: () => ({}),
  'tools/list': () => ({ tools, ...cacheable }),
  'tools/call': ({ params }) => ({ content: [{ type: 'text', text: echo(params?.arguments) }] }),
};

const fillers = new Map<number, string>();

function echo({ text = '', fill = 0 }: { text?: unknown; fill?: number } = {}): string {
  if (!fillers.has(fill)) fillers.set(fill, fillerOf(fill));
  return `${text}${fillers.get(fill)}`;
}

if (process.argv[3] !== 'legacy') {
  results['server/discover'] = () => ({ supportedVersions: ['2026-07-28'], capabilities, ...cacheable });
}

function answer(message: Message): string {
  const result = results[message.method ?? '']?.(message);
  if (result === undefined) {
    return JSON.stringify({ jsonrpc: '2.0', id: message.id, error: { code: -32601, message: 'Method not found' } });
  }
  const modern = message.params?._meta?.['io.modelcontextprotocol/protocolVersion'] !== undefined;
  return JSON.stringify({
    jsonrpc: '2.0',
    id: message.id,
    result: modern
      ? { resultType: 'complete', ...result, _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo } }
      : result,
  });
}

function serveHttp(): void {
  const server = createServer((request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const chunks: Buffer[] = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const message: Message = JSON.parse(Buffer.concat(chunks).toString());
      if (message.id === undefined) return void response.writeHead(202).end();
      const body = answer(message);
      response
        .writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
        .end(body);
    });
  });
  server.keepAliveTimeout = 60_000;
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    if (address !== null && typeof address !== 'string') console.log(`http://127.0.0.1:${address.port}/mcp`);
  });
}

function serveStdio(): void {
  createInterface({ input: process.stdin }).on('line', (line) => {
    const message: Message = JSON.parse(line);
    if (message.id !== undefined) process.stdout.write(`${answer(message)}\n`);
  });
}

if (process.argv[2] === 'stdio') serveStdio();
else serveHttp();
