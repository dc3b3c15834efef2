import type { Migration } from '../migrate.ts';

/** What admins decided about single tools of a server. */
export const toolOverrides: Migration = {
  name: '050-tool-overrides',
  statements: (types) => [`alter table external_servers add column tool_overrides ${types.json} not null default '{}'`],
};
