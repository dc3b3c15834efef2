/** A server that refuses every call. */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { z } from 'zod';
import { failure, start, writes } from './stand-in.ts';

const server = new McpServer({ name: 'erp-bridge', version: '11.2.0' });
const refuse = () => failure('403: the licence of this installation expired on 31 August. Contact your reseller.');

server.registerTool(
  'search_articles',
  { description: 'Search articles and spare parts.', inputSchema: { query: z.string() } },
  refuse,
);
server.registerTool(
  'search_customers',
  { description: 'Search customers.', inputSchema: { query: z.string() } },
  refuse,
);
server.registerTool('get_stock', { description: 'Stock of all warehouses.' }, refuse);
writes(server, 'post_booking', 'Post a booking to the ledger.', { account: z.string(), amount: z.number() });
writes(server, 'create_purchase_order', 'Order goods from a supplier.', { article: z.string(), quantity: z.number() });

await start(server);
