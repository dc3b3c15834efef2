import { PostgresDialect, type PostgresPool, type PostgresPoolClient } from 'kysely';
import pg from 'pg';
import { parseJson } from '../exact-json.ts';
import { fromPostgresError, unreachable } from './storage-fault.ts';

const { builtins } = pg.types;

/** Kysely's PostgreSQL dialect on a bounded pool. */
/** `onUnreachable` is called if no connection is available, because no query reports that failure. */
export function createPostgresDialect(
  url: string,
  onUnreachable: (error: unknown, ms: number) => void,
): PostgresDialect {
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
  return new PostgresDialect({ pool: withFaults(pool, postgresPlace(url), onUnreachable) });
}

/** Without the user and the password. */
function postgresPlace(url: string): string {
  const { hostname, port, pathname } = new URL(url);
  return `PostgreSQL at ${hostname || 'localhost'}:${port || 5432}${pathname}`;
}

/** Every failure of the pool and its connections, translated once. */
function withFaults(pool: pg.Pool, place: string, onUnreachable: (error: unknown, ms: number) => void): PostgresPool {
  const wrapped = new WeakMap<pg.PoolClient, PostgresPoolClient>();
  return {
    options: pool.options,
    end: () => pool.end(),
    async connect() {
      const beganAt = performance.now();
      const client = await pool.connect().catch((error: unknown) => {
        const known = fromPostgresError(error, place);
        const fault = known === error ? unreachable(place, error) : known;
        onUnreachable(fault, performance.now() - beganAt);
        throw fault;
      });
      const known = wrapped.get(client) ?? wrap(client, place);
      wrapped.set(client, known);
      return known;
    },
  };
}

function wrap(client: pg.PoolClient, place: string): PostgresPoolClient {
  const query = async (text: string, parameters: readonly unknown[]) => {
    try {
      return await client.query(text, [...parameters]);
    } catch (error) {
      throw fromPostgresError(error, place);
    }
  };
  // Kysely's type has a second form for cursors, which we never use.
  return { release: (destroy) => client.release(destroy), query: query as unknown as PostgresPoolClient['query'] };
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
