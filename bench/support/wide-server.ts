import { createServer } from 'node:http';

/** A server over HTTP with many tools of usual size; `node wide-server.ts 1000` prints its address. */
const verbs = ['list', 'get', 'create', 'update', 'delete', 'export', 'archive', 'restore', 'approve', 'assign'];
const nouns = [
  'invoice',
  'customer',
  'ticket',
  'deployment',
  'document',
  'contract',
  'shipment',
  'campaign',
  'employee',
];
const count = Number(process.argv[2] ?? 1_000);
const tools = Array.from({ length: count }, (_, number) => {
  const verb = verbs[number % verbs.length];
  const noun = nouns[Math.floor(number / verbs.length) % nouns.length];
  return {
    name: `${verb}_${noun}_${number}`,
    description: `Use this to ${verb} the ${noun}s of region ${number}. Returns the identifiers and the dates of each ${noun} that changed, newest first.`,
    inputSchema: {
      type: 'object',
      properties: {
        [`${noun}_id`]: { type: 'string', description: `Identifier of the ${noun}` },
        limit: { type: 'integer', minimum: 1, maximum: 100, description: 'Maximum number of results' },
        fields: { type: 'array', items: { type: 'string' }, description: 'Names of the fields to return' },
      },
      required: [`${noun}_id`],
    },
  };
});
const results: Record<string, object> = {
  initialize: {
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'wide', version: '1.0.0' },
  },
  ping: {},
  'tools/list': { tools },
};

const server = createServer((request, response) => {
  if (request.method !== 'POST') return void response.writeHead(405).end();
  const chunks: Buffer[] = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const { id, method } = JSON.parse(Buffer.concat(chunks).toString());
    if (id === undefined) return void response.writeHead(202).end();
    const result = results[method];
    const error = { code: -32601, message: 'Method not found' };
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ jsonrpc: '2.0', id, ...(result === undefined ? { error } : { result }) }));
  });
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address !== 'string') console.log(`http://127.0.0.1:${address.port}/mcp`);
});
