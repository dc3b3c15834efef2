import type { Migration } from '../migrate.ts';

/** Used on PostgreSQL only: an embedded database has one process. */
export const replicas: Migration = {
  name: '030-replicas',
  statements: (types) => [
    `create table replicas (
      id text primary key,
      address text not null,
      started_at ${types.timestamp} not null,
      heartbeat_at ${types.timestamp} not null
    )`,
    `create table replica_servers (
      replica_id text not null references replicas (id) on delete cascade,
      server_id text not null references external_servers (id) on delete cascade,
      status text not null,
      error text,
      primary key (replica_id, server_id)
    )`,
    `create table leases (
      name ${types.key} primary key,
      holder text not null,
      expires_at ${types.timestamp} not null
    )`,
  ],
};
