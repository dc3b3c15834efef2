/** A STDIO server that writes to stderr: its key at the start, and whatever the tool `say` is given. */
import { createProgram, text } from './program.ts';
import { serveStdio } from './stdio-wire.ts';

const tool = {
  definition: { name: 'say', inputSchema: { type: 'object' } },
  call: (_exchange: unknown, { what }: Record<string, unknown>) => {
    console.error(`said: ${what}`);
    return text('done');
  },
};

console.error(`key ${process.env.API_KEY}`);
console.error('ready');
serveStdio(createProgram({ info: { name: 'chatty', version: '1' }, tools: [tool] }), 'legacy');
