import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';

export interface TestDatabase {
  /** Given on PostgreSQL: pass `url` and `file` on to `openDatabase` as they are. */
  url?: string;
  /** Given on SQLite. */
  file?: string;
  dataDirectory: string;
  /** From a connection of its own. */
  execute(statement: string): Promise<void>;
  close(): Promise<void>;
}

/** An empty database of its own for one test, on PostgreSQL under `test/support/with-postgres.ts`, else on SQLite. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const dataDirectory = await mkdtemp(join(tmpdir(), 'mcp-aggregator-test-'));
  const removeDirectory = () => rm(dataDirectory, { recursive: true, force: true });
  const server = process.env.TEST_DATABASE_URL;
  if (server === undefined) {
    const file = join(dataDirectory, 'aggregator.db');
    const onFile = async (statement: string) => {
      using database = new DatabaseSync(file, { timeout: 5_000 });
      database.exec(statement);
    };
    return { file, dataDirectory, execute: onFile, close: removeDirectory };
  }

  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await execute(server, `create database ${name}`);
  const url = new URL(server);
  url.pathname = name;
  return {
    url: url.href,
    dataDirectory,
    execute: (statement) => execute(url.href, statement),
    async close() {
      await execute(server, `drop database ${name} with (force)`);
      await removeDirectory();
    },
  };
}

async function execute(url: string, statement: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query(statement);
  await client.end();
}

/** Everything that is stored in PostgreSQL, as text to search in. */
export async function dumpPostgres(url: string): Promise<string> {
  const client = new pg.Client(url);
  await client.connect();
  const { rows } = await client.query("select table_name from information_schema.tables where table_schema = 'mcp'");
  const tables = [];
  for (const { table_name } of rows) tables.push((await client.query(`select * from mcp.${table_name}`)).rows);
  await client.end();
  return JSON.stringify(tables);
}
