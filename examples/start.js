/**
 * Three servers behind the aggregator, without Docker: two programs on STDIO and one server over HTTP, as `servers.json`
 * names them. Ctrl-C ends everything. State is kept in `examples/data`, or in MCP_AGGREGATOR_DATA_DIR.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startClock } from './clock-server.js';
import { exampleDirectory, findTarget } from './target.js';

const path = (name) => fileURLToPath(new URL(name, import.meta.url));
const connectTimeoutMs = 120_000;

const dataDirectory = process.env.MCP_AGGREGATOR_DATA_DIR ?? exampleDirectory;
const files = join(dataDirectory, 'files');
mkdirSync(files, { recursive: true });
writeFileSync(join(files, 'welcome.txt'), 'This file is served by the server "files".\n');

const clock = await startClock(Number(process.env.CLOCK_PORT ?? 0));
const aggregator = spawn(
  process.execPath,
  [path('../bin/mcp-aggregator.js'), 'serve', '--config', path('servers.json')],
  {
    // Where npx finds the servers that this package has as development dependencies.
    cwd: path('..'),
    stdio: ['ignore', 'inherit', 'pipe'],
    env: {
      MCP_AGGREGATOR_LOG_FORMAT: 'text',
      ...process.env,
      MCP_AGGREGATOR_DATA_DIR: dataDirectory,
      EXAMPLE_FILES: files,
      CLOCK_URL: `http://127.0.0.1:${clock.address().port}/mcp`,
    },
  },
);
let isEnded = false;
const ended = once(aggregator, 'exit').then(([code]) => {
  isEnded = true;
  return code ?? 0;
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => aggregator.kill(signal));
const target = () => findTarget({ ...process.env, MCP_AGGREGATOR_DATA_DIR: dataDirectory });

await Promise.race([listening(), ended]);
await untilConnected().catch((error) => {
  if (isEnded) return;
  console.error(`The servers did not connect: ${error.message}`);
  aggregator.kill();
});
if (!isEnded) {
  console.log(`Ready at ${target().url}; the token for the dashboard is in ${join(dataDirectory, 'admin-token')}.`);
  console.log('In another terminal: node examples/rest.js, or node examples/mcp-client.js');
}
process.exitCode = await ended;
clock.close();
clock.closeAllConnections();

/** Passes the log on, and resolves when it says so. */
function listening() {
  return new Promise((resolve) => {
    createInterface({ input: aggregator.stderr }).on('line', (line) => {
      console.error(line);
      if (line.includes('mcp-aggregator is listening')) resolve();
    });
  });
}

async function untilConnected() {
  const deadline = AbortSignal.timeout(connectTimeoutMs);
  while (!isEnded) {
    const { url, token } = target();
    const headers = { authorization: `Bearer ${token}` };
    const response = await fetch(`${url}/api/v1/aggregator/servers`, { headers, signal: deadline });
    const { servers } = await response.json();
    if (servers.length === 3 && servers.every(({ status }) => status === 'CONNECTED')) return;
    await delay(500, undefined, { signal: deadline });
  }
}
