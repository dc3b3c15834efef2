import type { Migration } from '../migrate.ts';

/** What a session id cannot carry: which replica continues the session, what it follows, that it has ended. */
export const mcpSessions: Migration = {
  name: '053-mcp-sessions',
  statements: (types) => [
    `create table mcp_sessions (
      id text primary key,
      replica text,
      details ${types.json},
      ended ${types.boolean} not null default ${types.false},
      expires_at ${types.timestamp} not null
    )`,
    'create index mcp_sessions_expiry on mcp_sessions (expires_at)',
  ],
};
