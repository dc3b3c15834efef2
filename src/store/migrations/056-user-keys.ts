import type { Migration } from '../migrate.ts';

/** What users entered for servers whose connection asks each of them for a key (`${user:NAME}`). */
export const userKeys: Migration = {
  name: '056-user-keys',
  statements: (types) => [
    `create table user_keys (
      server_id text not null references external_servers (id) on delete cascade,
      principal ${types.key} not null,
      name ${types.key} not null,
      sealed text not null,
      updated_at ${types.timestamp} not null,
      primary key (server_id, principal, name)
    )`,
  ],
};
