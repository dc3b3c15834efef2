/** Answers to one request, on any wire, that no server should give. */

export interface Request {
  id: number | string;
  method: string;
  params?: { name?: string };
}

/** What a proper server would answer. */
export function properResult({ method, params }: Request): object {
  if (method === 'initialize') {
    const serverInfo = { name: 'bad', version: '1.0.0' };
    return { protocolVersion: '2025-06-18', capabilities: { tools: {}, resources: {} }, serverInfo };
  }
  if (method === 'tools/list') return { tools: [searchTool] };
  if (method === 'resources/list') return { resources: [] };
  if (method === 'resources/templates/list') return { resourceTemplates: [] };
  if (method === 'tools/call') return { content: [{ type: 'text', text: `answer of ${params?.name}` }] };
  return {};
}

const searchTool = {
  name: 'search_notes',
  description: 'Search all notes for words',
  inputSchema: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
  annotations: { readOnlyHint: true },
};

const megabyte = 2 ** 20;
const respond = (id: unknown, result: unknown): string => JSON.stringify({ jsonrpc: '2.0', id, result });
const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);

/** Complete messages; each transport sends them in its own framing. */
export const hostileMessages: Record<string, (request: Request) => string[]> = {
  'result null': ({ id }) => [respond(id, null)],
  'result a string': ({ id }) => [respond(id, 'fine')],
  'result an array': ({ id }) => [respond(id, [1, 2, 3])],
  'error without a code': ({ id }) => [JSON.stringify({ jsonrpc: '2.0', id, error: {} })],
  'error of 5 MB': ({ id }) => [
    JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32000, message: 'x'.repeat(5 * megabyte) } }),
  ],
  'wrong id': (request) => [respond('another-request', properResult(request))],
  'answers twice': (request) => Array.from({ length: 2 }, () => respond(request.id, properResult(request))),
  'nested 100,000 deep': ({ id }) => [`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${nested(100_000)}}`],
  'a result of 20 MB': ({ id }) => [
    respond(id, { tools: [], content: [{ type: 'text', text: 'x'.repeat(20 * megabyte) }] }),
  ],
  'keys of prototypes': ({ id }) => [
    `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"tools":[],"content":[]}}`,
  ],
  'fields of wrong types': ({ id }) => [
    respond(id, { tools: 5, content: 'text', protocolVersion: [], capabilities: 'all', serverInfo: 7, nextCursor: {} }),
  ],
  '10,000 tools': ({ id }) => [
    respond(id, {
      tools: Array.from({ length: 10_000 }, (_, n) => ({ ...searchTool, name: `tool_${n}` })),
      content: [],
    }),
  ],
  'a cursor without end': ({ id }) => [
    respond(id, {
      tools: [{ ...searchTool, name: `t_${Math.random()}` }],
      nextCursor: String(Math.random()),
      content: [],
    }),
  ],
  'text that is hard to read': ({ id }) => [
    respond(id, {
      tools: [{ ...searchTool, description: hardTexts.join('\n') }],
      content: hardTexts.map((text) => ({ type: 'text', text })),
    }),
  ],
  'questions without end': ({ id }) =>
    Array.from({ length: 2_000 }, (_, n) =>
      JSON.stringify({ jsonrpc: '2.0', id: `q-${String(id)}-${n}`, method: 'sampling/createMessage', params: {} }),
    ),
  '20,000 notifications': (request) => [
    ...Array.from({ length: 20_000 }, () =>
      JSON.stringify({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' }),
    ),
    respond(request.id, properResult(request)),
  ],
};

const hardTexts = [
  `# a${' '.repeat(2_500)}b`,
  '# a\n'.repeat(30_000),
  '\n'.repeat(30_000),
  '['.repeat(megabyte),
  '| a '.repeat(50_000),
  `${'{"a":'.repeat(20_000)}1`,
  '- '.repeat(50_000),
  'a@'.repeat(50_000),
];
