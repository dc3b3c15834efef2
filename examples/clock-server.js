/** A small MCP server over Streamable HTTP, without dependencies: one tool that tells the time in a time zone. */
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';

const tool = {
  name: 'time_in',
  description: 'The current date and time in a time zone.',
  annotations: { readOnlyHint: true },
  inputSchema: {
    type: 'object',
    properties: { zone: { type: 'string', description: 'IANA time zone, for example Europe/Zurich' } },
    required: ['zone'],
  },
};

const methods = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'clock', version: '1.0.0' },
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools: [tool] }),
  'tools/call': ({ arguments: { zone } = {} }) => {
    try {
      const text = new Date().toLocaleString('en-GB', { timeZone: zone, dateStyle: 'full', timeStyle: 'long' });
      return { content: [{ type: 'text', text }] };
    } catch {
      return { content: [{ type: 'text', text: `Unknown time zone: ${zone}` }], isError: true };
    }
  },
};

/** Listens on this machine only; resolves with the server. Port 0 takes a free one. */
export function startClock(port) {
  const server = createServer(async (request, response) => {
    if (request.method !== 'POST') return response.writeHead(405).end();
    const message = await json(request).catch(() => undefined);
    if (message === undefined) return response.writeHead(400).end();
    if (message.id === undefined) return response.writeHead(202).end();
    const method = Object.hasOwn(methods, message.method) ? methods[message.method] : undefined;
    const answer =
      method === undefined
        ? { error: { code: -32601, message: `Unknown method: ${message.method}` } }
        : { result: method(message.params ?? {}) };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...answer }));
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', () => resolve(server));
  });
}
