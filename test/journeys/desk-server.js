// An MCP server on stdio as people have them: `node desk-server.js <name>`. Its one tool says who and where it is.
import { createInterface } from 'node:readline';

const [name = 'desk', ...args] = process.argv.slice(2);
const tool = {
  name: `${name}_hello`,
  description: `Says hello from ${name}.`,
  inputSchema: { type: 'object' },
  annotations: { readOnlyHint: true },
};
const answers = {
  initialize: () => ({
    protocolVersion: '2025-06-18',
    capabilities: { tools: {} },
    serverInfo: { name, version: '1' },
  }),
  'tools/list': () => ({ tools: [tool] }),
  'tools/call': () => ({
    content: [
      { type: 'text', text: JSON.stringify({ name, args, cwd: process.cwd(), token: process.env.TOKEN ?? null }) },
    ],
  }),
  ping: () => ({}),
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const answer = answers[method];
  const outcome = answer === undefined ? { error: { code: -32601, message: method } } : { result: answer(params) };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...outcome })}\n`);
});
