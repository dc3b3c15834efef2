/** An MCP client that uses the tools of all servers through one endpoint. Needs `@modelcontextprotocol/sdk`. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { findTarget } from './target.js';

const { url, token } = findTarget();
const client = new Client({ name: 'example', version: '1.0.0' });
await client.connect(
  new StreamableHTTPClientTransport(new URL('/mcp', url), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  }),
);

const { tools } = await client.listTools();
console.log(
  `${tools.length} tools, for example: ${tools
    .slice(0, 5)
    .map(({ name }) => name)
    .join(', ')}`,
);

const entities = [{ name: 'Ada', entityType: 'person', observations: ['likes tea'] }];
await client.callTool({ name: 'memory__create_entities', arguments: { entities } });
const found = await client.callTool({ name: 'memory__search_nodes', arguments: { query: 'tea' } });
console.log('Remembered:', found.content[0].text);

const time = await client.callTool({ name: 'clock__time_in', arguments: { zone: 'Europe/Zurich' } });
console.log('In Zurich:', time.content[0].text);

await client.close();
