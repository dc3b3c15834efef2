/** Where the aggregator is and which token to use: from the environment, else from its data directory. */
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The data directory of `start.js`. */
export const exampleDirectory = fileURLToPath(new URL('data', import.meta.url));

export function findTarget(environment = process.env) {
  const usual = existsSync(exampleDirectory) ? exampleDirectory : join(homedir(), '.mcp-aggregator');
  const directory = environment.MCP_AGGREGATOR_DATA_DIR ?? usual;
  const read = (name) => {
    const file = join(directory, name);
    if (!existsSync(file)) throw new Error(`${file} is missing. Start the aggregator first: node examples/start.js`);
    return readFileSync(file, 'utf8').trim();
  };
  return {
    url: environment.MCP_AGGREGATOR_URL ?? JSON.parse(read('address.json')).url,
    token: environment.MCP_AGGREGATOR_TOKEN ?? read('admin-token'),
  };
}
