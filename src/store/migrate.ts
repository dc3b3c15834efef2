import { sql } from 'kysely';
import { AppError } from '../errors.ts';
import type { Database, Engine } from './database.ts';
import { initial } from './migrations/001-initial.ts';
import { auditChain } from './migrations/010-audit-chain.ts';
import { toolChanges } from './migrations/011-tool-changes.ts';
import { oauth } from './migrations/020-oauth.ts';
import { replicas } from './migrations/030-replicas.ts';
import { classifications } from './migrations/031-classifications.ts';
import { signIn } from './migrations/040-sign-in.ts';
import { toolOverrides } from './migrations/050-tool-overrides.ts';
import { statistics } from './migrations/051-statistics.ts';
import { sessionEvidence } from './migrations/052-session-evidence.ts';
import { mcpSessions } from './migrations/053-mcp-sessions.ts';
import { importedAs } from './migrations/054-imported-as.ts';
import { accounts } from './migrations/055-accounts.ts';
import { userKeys } from './migrations/056-user-keys.ts';
import { skillTaxonomy } from './migrations/060-skills.ts';
import { lockedTransaction } from './transaction.ts';

/** Column types per engine, so that both share the SQL. */
interface ColumnTypes {
  /** Text that is compared and sorted byte by byte, so that lists have one order everywhere. */
  key: string;
  timestamp: string;
  boolean: string;
  /** Not `jsonb`, which sorts keys: clients see definitions as the server wrote them. */
  json: string;
  serial: string;
  blob: string;
  true: string;
  false: string;
}

export interface Migration {
  name: string;
  statements(types: ColumnTypes): string[];
}

/** In order, never changed once released: a change to the tables is a new entry. */
const migrations: readonly Migration[] = [
  initial,
  auditChain,
  toolChanges,
  oauth,
  replicas,
  classifications,
  signIn,
  toolOverrides,
  statistics,
  sessionEvidence,
  mcpSessions,
  importedAs,
  accounts,
  userKeys,
  skillTaxonomy,
];

const columnTypes: Record<Engine, ColumnTypes> = {
  sqlite: {
    key: 'text',
    timestamp: 'text',
    boolean: 'integer',
    json: 'text',
    serial: 'integer primary key autoincrement',
    blob: 'blob',
    true: '1',
    false: '0',
  },
  postgres: {
    key: 'text collate "C"',
    timestamp: 'timestamptz',
    boolean: 'boolean',
    json: 'json',
    serial: 'bigint generated always as identity primary key',
    blob: 'bytea',
    true: 'true',
    false: 'false',
  },
};

/** Migrates the tables in one transaction; replicas that start at the same time wait for the first. */
export function migrate(database: Database): Promise<void> {
  return lockedTransaction(database, 'migrations', async (transaction) => {
    const types = columnTypes[database.engine];
    const execute = (statement: string) => sql.raw(statement).execute(transaction);

    if (database.engine === 'postgres') {
      // Asked first, because "if not exists" needs the right to create schemas even where it exists.
      const schemas = await sql`select 1 from pg_namespace where nspname = 'mcp'`.execute(transaction);
      if (schemas.rows.length === 0) await execute('create schema mcp');
      await execute('set local search_path to mcp');
      await execute('set local statement_timeout to 0');
    }
    await execute(
      `create table if not exists migrations (name text primary key, applied_at ${types.timestamp} not null)`,
    );

    const { rows } = await sql<{ name: string }>`select name from migrations`.execute(transaction);
    const applied = new Set(rows.map((row) => row.name));
    const unknown = [...applied].find((name) => !migrations.some((migration) => migration.name === name));
    if (unknown !== undefined) {
      throw new AppError(
        'CONFIGURATION_INVALID',
        `The database was written by a newer version of mcp-aggregator (it has "${unknown}"): install that version`,
      );
    }

    for (const migration of migrations) {
      if (applied.has(migration.name)) continue;
      for (const statement of migration.statements(types)) await execute(statement);
      const now = new Date().toISOString();
      await sql`insert into migrations (name, applied_at) values (${migration.name}, ${now})`.execute(transaction);
    }
  });
}

/** Connections of servers as they are sealed, of a database in any version; none where there is no table yet. */
export async function findSealed({ kysely, engine }: Database): Promise<string[]> {
  const { rows: tables } =
    engine === 'sqlite'
      ? await sql`select 1 from sqlite_master where type = 'table' and name = 'external_servers'`.execute(kysely)
      : await sql`select 1 from pg_tables where schemaname = 'mcp' and tablename = 'external_servers'`.execute(kysely);
  if (tables.length === 0) return [];
  const rows = await kysely.selectFrom('external_servers').select('connection_config').limit(1_000).execute();
  return rows.map(({ connection_config }) => connection_config.sealed);
}
