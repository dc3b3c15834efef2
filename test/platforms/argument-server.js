// An MCP server on stdio whose tools tell its arguments and start a child that never ends. Plain JavaScript, so that any Node runs it.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const descriptions = {
  arguments: 'Returns the arguments that the program was started with.',
  stay: 'Starts a child process that never ends.',
};
const tools = Object.entries(descriptions).map(([name, description]) => ({
  name,
  description,
  inputSchema: { type: 'object' },
}));
const calls = {
  arguments: () => process.argv.slice(2),
  // The closed stdin of the server, and the end of its parent, are nothing to the child.
  stay: () => {
    const script = 'setInterval(() => undefined, 1000)';
    const child = spawn(process.execPath, ['-e', script, ...process.argv.slice(2)], { stdio: 'ignore' });
    setInterval(() => undefined, 1_000);
    return child.pid;
  },
};
const answers = {
  initialize: () => ({
    protocolVersion: '2025-06-18',
    capabilities: { tools: {} },
    serverInfo: { name: 'arguments', version: '1' },
  }),
  'tools/list': () => ({ tools }),
  'tools/call': ({ name }) => ({ content: [{ type: 'text', text: JSON.stringify(calls[name]()) }] }),
  ping: () => ({}),
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const answer = answers[method];
  const outcome = answer === undefined ? { error: { code: -32601, message: method } } : { result: answer(params) };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...outcome })}\n`);
});
