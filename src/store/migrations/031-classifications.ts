import type { Migration } from '../migrate.ts';

/** What a model said about a tool, whichever servers have it and whether or not they are still registered. */
export const classifications: Migration = {
  name: '031-classifications',
  statements: (types) => [
    `create table classifications (
      content_hash ${types.key} primary key,
      skill_confidences ${types.json} not null,
      used_at ${types.timestamp} not null
    )`,
    'create index idx_classifications_used_at on classifications (used_at, content_hash)',
  ],
};
