import type { Migration } from '../migrate.ts';

export const toolChanges: Migration = {
  name: '011-tool-changes',
  statements: (types) => [
    `create table tool_changes (
      id ${types.serial},
      server_id text not null references external_servers (id) on delete cascade,
      tool ${types.key} not null,
      definition_before ${types.json} not null,
      definition_after ${types.json},
      after_hash text,
      risk text not null,
      state text not null,
      at ${types.timestamp} not null,
      decided_at ${types.timestamp},
      decided_by text
    )`,
    'create index idx_tool_changes_server on tool_changes (server_id, id)',
  ],
};
