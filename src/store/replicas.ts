/**
 * The processes that share a PostgreSQL, what each says of the servers, and the leases that share work among them. All
 * times are the database's own: the clocks of the replicas may be wrong, and may jump.
 */
import { sql } from 'kysely';
import type { Database } from './database.ts';
import type { ServerStatus } from './schema.ts';

export interface ReplicaStatus {
  server_id: string;
  status: ServerStatus;
  error: string | null;
}

interface LivingReplica {
  id: string;
  address: string;
  statuses: ReplicaStatus[];
}

/** Writes the heartbeat; a replica that was removed is added again. */
export async function upsertReplica({ kysely }: Database, replica: { id: string; address: string }): Promise<void> {
  await sql`
    insert into mcp.replicas (id, address, started_at, heartbeat_at)
    values (${replica.id}, ${replica.address}, clock_timestamp(), clock_timestamp())
    on conflict (id) do update set address = excluded.address, heartbeat_at = excluded.heartbeat_at
  `.execute(kysely);
}

/** Servers that were removed meanwhile are left out. */
export async function upsertReplicaStatuses(
  { kysely }: Database,
  replicaId: string,
  statuses: readonly ReplicaStatus[],
): Promise<void> {
  const sorted = statuses.toSorted((a, b) => (a.server_id < b.server_id ? -1 : 1));
  await sql`
    insert into mcp.replica_servers (replica_id, server_id, status, error)
    select ${replicaId}, told.server_id, told.status, told.error
    from unnest(
      ${sorted.map(({ server_id }) => server_id)}::text[],
      ${sorted.map(({ status }) => status)}::text[],
      ${sorted.map(({ error }) => error)}::text[]
    ) as told (server_id, status, error)
    join mcp.external_servers on external_servers.id = told.server_id
    -- One that is being removed just now is waited for, and then left out.
    for key share of external_servers
    on conflict (replica_id, server_id) do update set status = excluded.status, error = excluded.error
    where (replica_servers.status, replica_servers.error) is distinct from (excluded.status, excluded.error)
  `.execute(kysely);
}

/** Acquires free or expired leases, renews ours, and returns the leases that we hold. */
export async function upsertLeases(
  { kysely }: Database,
  holder: string,
  names: readonly string[],
  forMs: number,
): Promise<string[]> {
  if (names.length === 0) return [];
  const { rows } = await sql<{ name: string }>`
    insert into mcp.leases (name, holder, expires_at)
    select name, ${holder}, clock_timestamp() + ${forMs} * interval '1 millisecond'
    from unnest(${names.toSorted()}::text[]) as wanted (name)
    on conflict (name) do update set holder = excluded.holder, expires_at = excluded.expires_at
    where leases.holder = excluded.holder or leases.expires_at < clock_timestamp()
    returning name
  `.execute(kysely);
  return rows.map(({ name }) => name);
}

/** Releases the other leases of the holder; returns whether there were any. */
export async function deleteLeasesBut(
  { kysely }: Database,
  holder: string,
  names: readonly string[],
): Promise<boolean> {
  const { numAffectedRows } = await sql`
    delete from mcp.leases where holder = ${holder} and name <> all (${[...names]}::text[])
  `.execute(kysely);
  return (numAffectedRows ?? 0n) > 0n;
}

/** The replicas with a recent heartbeat; the others are deleted. */
export async function findLivingReplicas({ kysely }: Database, aliveForMs: number): Promise<LivingReplica[]> {
  await sql`
    delete from mcp.replicas where heartbeat_at < clock_timestamp() - ${aliveForMs} * interval '1 millisecond'
  `.execute(kysely);
  const { rows } = await sql<{ id: string; address: string } & { [K in keyof ReplicaStatus]: ReplicaStatus[K] | null }>`
    select replicas.id, replicas.address, told.server_id, told.status, told.error
    from mcp.replicas left join mcp.replica_servers told on told.replica_id = replicas.id
    order by replicas.id
  `.execute(kysely);
  const living = new Map<string, LivingReplica>();
  for (const { id, address, server_id, status, error } of rows) {
    const replica = living.get(id) ?? { id, address, statuses: [] };
    living.set(id, replica);
    if (server_id !== null && status !== null) replica.statuses.push({ server_id, status, error });
  }
  return [...living.values()];
}

/** On shutdown, a replica releases its leases so that others need not wait. */
export async function deleteReplica({ kysely }: Database, id: string): Promise<void> {
  await sql`delete from mcp.leases where holder = ${id}`.execute(kysely);
  await sql`delete from mcp.replicas where id = ${id}`.execute(kysely);
}

export const noticeChannel = 'mcp_aggregator';

/** To every process that listens on the channel, ours included. */
export async function sendNotice({ kysely }: Database, text: string): Promise<void> {
  await sql`select pg_notify(${noticeChannel}, ${text})`.execute(kysely);
}
