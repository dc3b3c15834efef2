import type { Migration } from '../migrate.ts';

/** What may be used once, whichever replica it is shown to, and the sessions that were ended before their time. */
export const signIn: Migration = {
  name: '040-sign-in',
  statements: (types) => [
    `create table sign_in_codes (
      code_hash text primary key,
      sealed text not null,
      expires_at ${types.timestamp} not null
    )`,
    `create table spent_passes (
      id text primary key,
      expires_at ${types.timestamp} not null
    )`,
  ],
};
