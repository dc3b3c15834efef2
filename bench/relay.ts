import { createServer } from 'node:http';
import { Pool } from 'undici';

/**
 * The least that a gateway can do: parse, rename the tool, forward, hand the answer back.
 * It bounds what any gateway on this runtime can reach. `node relay.ts <upstream url>` prints its address.
 */
const upstream = new URL(process.argv[2] ?? '');
const pool = new Pool(upstream.origin, { connections: 64, pipelining: 1, keepAliveTimeout: 60_000 });
const prefix = 'up__';
const passed = ['mcp-session-id', 'mcp-protocol-version', 'mcp-method'];

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', async () => {
    const message = JSON.parse(Buffer.concat(chunks).toString());
    const headers: Record<string, string> = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    };
    for (const name of passed) {
      const value = request.headers[name];
      if (typeof value === 'string') headers[name] = value;
    }
    if (message.method === 'tools/call') {
      message.params.name = message.params.name.slice(prefix.length);
      headers['mcp-name'] = message.params.name;
    }
    const answer = await pool.request({
      method: 'POST',
      path: upstream.pathname,
      headers,
      body: JSON.stringify(message),
    });
    const body = Buffer.from(await answer.body.arrayBuffer());
    const type = String(answer.headers['content-type'] ?? 'application/json');
    response.writeHead(answer.statusCode, { 'content-type': type, 'content-length': body.length }).end(body);
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address !== 'string') console.log(`http://127.0.0.1:${address.port}/mcp`);
});
