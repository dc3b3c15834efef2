import type { Migration } from '../migrate.ts';

/** Ids are text on both engines: a lookup with something that is no UUID finds nothing instead of failing. */
export const initial: Migration = {
  name: '001-initial',
  statements: (types) => [
    `create table external_servers (
      id text primary key,
      name ${types.key} not null unique,
      description text,
      transport_type text not null,
      connection_config ${types.json} not null,
      health_check_url text,
      status text not null default 'DISCONNECTED',
      last_health_check ${types.timestamp},
      tool_count integer not null default 0,
      error_message text,
      registered_at ${types.timestamp} not null,
      connected_at ${types.timestamp},
      updated_at ${types.timestamp} not null,
      auto_connect ${types.boolean} not null default ${types.true},
      desired text not null default 'connected',
      options ${types.json} not null default '{}',
      origin text not null default 'api',
      era text,
      protocol_version text,
      era_checked_at ${types.timestamp},
      interactive ${types.boolean} not null default ${types.false},
      server_info ${types.json},
      capabilities ${types.json},
      instructions text,
      stderr_tail text
    )`,
    'create index idx_external_servers_status on external_servers (status)',

    `create table tools (
      id ${types.serial},
      name ${types.key} not null unique,
      original_name ${types.key} not null,
      title text,
      description text,
      input_schema ${types.json} not null,
      definition ${types.json} not null,
      definition_hash text not null,
      source_server_id text references external_servers (id) on delete cascade,
      is_external ${types.boolean} not null default ${types.false},
      is_classified ${types.boolean} not null default ${types.false},
      skill_ids ${types.json} not null default '[]',
      primary_skill_id text,
      skill_confidences ${types.json} not null default '{}',
      classification_state text not null default 'DISCOVERED',
      position integer not null default 0,
      discovered_at ${types.timestamp} not null,
      updated_at ${types.timestamp} not null
    )`,
    'create index idx_tools_source_server on tools (source_server_id) where source_server_id is not null',
    'create index idx_tools_original_name on tools (original_name)',

    `create table server_items (
      server_id text not null references external_servers (id) on delete cascade,
      kind text not null,
      key ${types.key} not null,
      definition ${types.json} not null,
      position integer not null,
      primary key (server_id, kind, key)
    )`,

    `create table server_connection_history (
      id ${types.serial},
      server_id text not null references external_servers (id) on delete cascade,
      event_type text not null,
      details ${types.json},
      timestamp ${types.timestamp} not null
    )`,
    'create index idx_history_server on server_connection_history (server_id, id)',

    `create table tokens (
      id text primary key,
      name ${types.key} not null,
      hash text not null,
      role text not null,
      servers ${types.json},
      profile text,
      created_at ${types.timestamp} not null,
      last_used_at ${types.timestamp},
      expires_at ${types.timestamp},
      created_by text not null
    )`,

    `create table audit (
      id ${types.serial},
      timestamp ${types.timestamp} not null,
      event text not null,
      actor text not null,
      ip_address text,
      server_id text,
      server_name text,
      details ${types.json}
    )`,
    'create index idx_audit_timestamp on audit (timestamp)',
    'create index idx_audit_event on audit (event, id)',
    'create index idx_audit_server_name on audit (server_name, id)',

    `create table profiles (
      name ${types.key} primary key,
      definition ${types.json} not null,
      created_at ${types.timestamp} not null,
      updated_at ${types.timestamp} not null
    )`,

    `create table skills (
      id ${types.key} primary key,
      name text not null,
      description text not null,
      examples ${types.json} not null default '[]',
      origin text not null,
      created_at ${types.timestamp} not null,
      updated_at ${types.timestamp} not null
    )`,

    `create table tool_vectors (
      tool_id bigint not null references tools (id) on delete cascade,
      model text not null,
      content_hash text not null,
      vector ${types.blob} not null,
      primary key (tool_id, model)
    )`,

    `create table settings (
      key ${types.key} primary key,
      value ${types.json} not null
    )`,
  ],
};
