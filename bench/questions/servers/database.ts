/** A SQL server on the file given as argument, where Python's mcp-server-sqlite is not there. */
import { DatabaseSync } from 'node:sqlite';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { z } from 'zod';
import { failure, json, start, writes } from './stand-in.ts';

const [file] = process.argv.slice(2);
if (file === undefined) throw new Error('Usage: database.ts <file>');
const database = new DatabaseSync(file, { readOnly: true });

const server = new McpServer({ name: 'sqlite-reader', version: '1.0.2' });
server.registerTool('list_tables', { description: 'List all tables in the database' }, () =>
  json(database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all()),
);
server.registerTool(
  'describe_table',
  { description: 'Get the schema of a table', inputSchema: { table_name: z.string() } },
  ({ table_name }) => json(database.prepare('SELECT name, type, pk FROM pragma_table_info(?)').all(table_name)),
);
server.registerTool(
  'read_query',
  {
    description: 'Execute a SELECT query on the database',
    inputSchema: { query: z.string().describe('SELECT SQL query') },
  },
  ({ query }) => {
    if (!/^\s*(select|with)\b/i.test(query)) return failure('Only SELECT queries are allowed for read_query');
    return json(database.prepare(query).all());
  },
);
writes(server, 'write_query', 'Execute an INSERT, UPDATE or DELETE query', { query: z.string() });
writes(server, 'create_table', 'Create a table', { query: z.string() });
writes(server, 'append_insight', 'Add a business insight to the memo', { insight: z.string() });

await start(server);
