import type { Migration } from '../migrate.ts';

/** People of an identity provider whose accounts are checked there, and the tokens that users created for themselves. */
export const accounts: Migration = {
  name: '055-accounts',
  statements: (types) => [
    `create table accounts (
      id ${types.key} primary key,
      issuer text not null,
      name text not null,
      role text not null,
      profile text,
      rules text not null,
      sealed text,
      created_at ${types.timestamp} not null,
      seen_at ${types.timestamp} not null,
      checked_at ${types.timestamp},
      ended_at ${types.timestamp},
      lease_until ${types.timestamp},
      updated_at ${types.timestamp} not null
    )`,
    `alter table tokens add column owner ${types.key}`,
    `alter table tokens add column origin text not null default 'api'`,
  ],
};
