/** A server that never answers a call. */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { z } from 'zod';
import { start, writes } from './stand-in.ts';

const server = new McpServer({ name: 'tape-archive', version: '0.1.7' });
const hang = () => new Promise<never>(() => undefined);

server.registerTool(
  'search_archive',
  { description: 'Search documents on tape.', inputSchema: { query: z.string() } },
  hang,
);
server.registerTool('list_tapes', { description: 'List the tapes of the archive.' }, hang);
writes(server, 'restore_tape', 'Restore a tape to disk.', { tape: z.string() });
writes(server, 'erase_tape', 'Erase a tape.', { tape: z.string() });

await start(server);
