import type { Migration } from '../migrate.ts';

/** What shows whose a session with a server is, instead of one flag; when its lists were read last. */
export const sessionEvidence: Migration = {
  name: '052-session-evidence',
  statements: (types) => [
    `alter table external_servers add column session_evidence ${types.json} not null default '{}'`,
    `update external_servers set session_evidence = '{"asked":["roots/list"]}' where interactive = ${types.true}`,
    'alter table external_servers drop column interactive',
    `alter table external_servers add column discovered_at ${types.timestamp}`,
    `update external_servers set discovered_at = connected_at
      where exists (select 1 from tools where tools.source_server_id = external_servers.id)`,
  ],
};
