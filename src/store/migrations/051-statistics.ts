import type { Migration } from '../migrate.ts';

/** One row per slot of time, what it is counted by, and replica; and the reason that an admin gave for a decision. */
export const statistics: Migration = {
  name: '051-statistics',
  statements: (types) => [
    `create table statistics (
      step integer not null,
      dimension ${types.key} not null,
      slot bigint not null,
      replica ${types.key} not null,
      counts ${types.json} not null,
      primary key (step, dimension, slot, replica)
    )`,
    'alter table tool_changes add column reason text',
  ],
};
