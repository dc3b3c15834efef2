import type { Migration } from '../migrate.ts';

/**
 * No reference to the servers: a removed server's tokens have to be revoked after it is gone. `principal` is empty for
 * credentials that everybody shares.
 */
export const oauth: Migration = {
  name: '020-oauth',
  statements: (types) => [
    `create table oauth_clients (
      server_id text not null,
      issuer ${types.key} not null,
      redirect_uri text not null,
      sealed text not null,
      expires_at ${types.timestamp},
      primary key (server_id, issuer)
    )`,
    `create table oauth_logins (
      server_id text not null,
      principal ${types.key} not null,
      state text not null,
      issuer text,
      sealed text,
      scope text,
      challenge text,
      expires_at ${types.timestamp},
      lease_until ${types.timestamp},
      updated_at ${types.timestamp} not null,
      primary key (server_id, principal)
    )`,
    `create table oauth_flows (
      state_hash text primary key,
      server_id text not null,
      principal text not null,
      sealed text not null,
      expires_at ${types.timestamp} not null
    )`,
  ],
};
