import { PostgresDialect } from 'kysely';
import pg from 'pg';
import { parseJson } from '../exact-json.ts';

const { builtins } = pg.types;

/** Kysely's PostgreSQL dialect on a bounded pool. */
export function createPostgresDialect(url: string): PostgresDialect {
  const pool = new pg.Pool({
    connectionString: url,
    max: 10,
    connectionTimeoutMillis: 10_000,
    idleTimeoutMillis: 30_000,
    statement_timeout: 30_000,
    application_name: 'mcp-aggregator',
    types: { getTypeParser },
  });
  // A connection that the server closes fails the query it runs, if any, and is replaced by the pool. The events say
  // nothing more, but without a listener, on idle connections and on those in use, they would end the process.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  return new PostgresDialect({ pool });
}

/** On our pool only: other users of `pg` in this process keep its own parsers. */
const getTypeParser: typeof pg.types.getTypeParser = (oid: number, format?: 'text' | 'binary') => {
  if (oid === builtins.TIMESTAMPTZ) return toIsoString;
  if (oid === builtins.INT8) return Number;
  if (oid === builtins.JSON || oid === builtins.JSONB) return parseJson;
  return format === 'binary' ? pg.types.getTypeParser(oid, 'binary') : pg.types.getTypeParser(oid, 'text');
};

/** `2025-01-08 10:00:00.5+00` in whatever zone the connection speaks. */
function toIsoString(text: string): string {
  return new Date(text.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00')).toISOString();
}
