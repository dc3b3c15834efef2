import type { ColumnType, Generated, Selectable } from 'kysely';
import type { JsonObject } from '../json-rpc.ts';

/**
 * The tables as TypeScript reads them, the same on both engines: timestamps are ISO strings, booleans are booleans,
 * JSON columns come back parsed and are written as text (see `toColumns`).
 */
export interface DatabaseSchema {
  external_servers: ServersTable;
  tools: ToolsTable;
  server_items: ServerItemsTable;
  server_connection_history: HistoryTable;
  tokens: TokensTable;
  audit: AuditTable;
  profiles: ProfilesTable;
  skills: SkillsTable;
  tool_vectors: ToolVectorsTable;
  classifications: ClassificationsTable;
  settings: SettingsTable;
  tool_changes: ToolChangesTable;
  oauth_clients: OauthClientsTable;
  oauth_logins: OauthLoginsTable;
  oauth_flows: OauthFlowsTable;
  sign_in_codes: SignInCodesTable;
  spent_passes: SpentPassesTable;
  mcp_sessions: McpSessionsTable;
  statistics: StatisticsTable;
  accounts: AccountsTable;
  user_keys: UserKeysTable;
}

/** Read as a value, written as JSON text. A default in the table makes it optional to insert. */
type StoredJson<T> = ColumnType<T, string, string>;
type JsonOrNull<T> = ColumnType<T | null, string | null | undefined, string | null>;
type JsonWithDefault<T> = ColumnType<T, string | undefined, string>;

export type ServerStatus = 'DISCONNECTED' | 'CONNECTING' | 'CONNECTED' | 'DEGRADED' | 'DISCONNECTING' | 'ERROR';
export type TransportType = 'STDIO' | 'SSE' | 'HTTP';

interface ServersTable {
  id: string;
  name: string;
  description: string | null;
  transport_type: TransportType;
  connection_config: StoredJson<{ sealed: string }>;
  health_check_url: string | null;
  status: Generated<ServerStatus>;
  last_health_check: string | null;
  tool_count: Generated<number>;
  error_message: string | null;
  registered_at: string;
  connected_at: string | null;
  updated_at: string;
  auto_connect: Generated<boolean>;
  /** The state that the admin requested; `status` is the actual state. */
  desired: Generated<'connected' | 'disconnected'>;
  options: JsonWithDefault<JsonObject>;
  /** What admins decided about single tools, by the tool's own name. */
  tool_overrides: JsonWithDefault<JsonObject>;
  origin: Generated<'api' | 'config' | 'import'>;
  /** A keyed hash of the connection as it was imported. */
  imported_as: string | null;
  era: 'modern' | 'legacy' | null;
  protocol_version: string | null;
  era_checked_at: string | null;
  session_evidence: JsonWithDefault<SessionEvidence>;
  /** When its lists were last read completely. */
  discovered_at: string | null;
  server_info: JsonOrNull<JsonObject>;
  capabilities: JsonOrNull<JsonObject>;
  instructions: string | null;
  stderr_tail: string | null;
}
export type ServerRow = Selectable<ServersTable>;

/** What shows that a server keeps state for its client, so that clients need sessions of their own. */
export interface SessionEvidence {
  /** Requests that the server sent to its client. */
  asked?: string[];
  /** The same, sent without a call in progress. */
  asked_at_start?: string[];
  /** What its tools say about the state they keep. */
  stateful?: string;
}

export type ClassificationState = 'DISCOVERED' | 'CLASSIFYING' | 'CLASSIFIED' | 'UNCLASSIFIED';

interface ToolsTable {
  id: Generated<number>;
  name: string;
  original_name: string;
  title: string | null;
  description: string | null;
  input_schema: StoredJson<JsonObject>;
  /** The full definition as the server sent it. */
  definition: StoredJson<JsonObject>;
  definition_hash: string;
  source_server_id: string | null;
  is_external: boolean;
  is_classified: boolean;
  skill_ids: StoredJson<string[]>;
  primary_skill_id: string | null;
  skill_confidences: StoredJson<Record<string, number>>;
  classification_state: ClassificationState;
  /** The place in the server's own list. */
  position: number;
  discovered_at: string;
  updated_at: string;
}
export type ToolRow = Selectable<ToolsTable>;

export type ServerItemKind = 'prompt' | 'resource' | 'resource_template' | 'skill';

interface ServerItemsTable {
  server_id: string;
  kind: ServerItemKind;
  key: string;
  definition: StoredJson<JsonObject>;
  position: number;
}
export type ServerItemRow = Selectable<ServerItemsTable>;

interface HistoryTable {
  id: Generated<number>;
  server_id: string;
  event_type: string;
  details: JsonOrNull<JsonObject>;
  timestamp: string;
}
export type HistoryRow = Selectable<HistoryTable>;

export type Role = 'admin' | 'caller' | 'viewer';

interface TokensTable {
  id: string;
  name: string;
  hash: string;
  role: Role;
  servers: JsonOrNull<string[]>;
  profile: string | null;
  created_at: string;
  last_used_at: string | null;
  expires_at: string | null;
  created_by: string;
  /** The user whose token it is: an account, another token, or `admin`. Null: it is a user of its own. */
  owner: string | null;
  /** `sign_in`: the user's own session on the command line, which may create further tokens. */
  origin: Generated<'api' | 'sign_in'>;
}
export type TokenRow = Selectable<TokensTable>;

interface AuditTable {
  id: Generated<number>;
  timestamp: string;
  event: string;
  actor: string;
  ip_address: string | null;
  server_id: string | null;
  server_name: string | null;
  details: JsonOrNull<JsonObject>;
  /** The place in the chain and the seal; null in records from before the chain. */
  seq: number | null;
  hash: string | null;
}
export type AuditRow = Selectable<AuditTable>;

interface ProfilesTable {
  name: string;
  definition: StoredJson<JsonObject>;
  created_at: string;
  updated_at: string;
}
export type ProfileRow = Selectable<ProfilesTable>;

interface SkillsTable {
  id: string;
  name: string;
  description: string;
  examples: StoredJson<string[]>;
  origin: 'builtin' | 'custom';
  created_at: string;
  updated_at: string;
}
export type SkillRow = Selectable<SkillsTable>;

interface ToolVectorsTable {
  tool_id: number;
  model: string;
  content_hash: string;
  vector: Uint8Array;
}
export type ToolVectorRow = Selectable<ToolVectorsTable>;

interface ClassificationsTable {
  /** Of everything that the model was told. */
  content_hash: string;
  skill_confidences: StoredJson<Record<string, number>>;
  used_at: string;
}
export type ClassificationRow = Selectable<ClassificationsTable>;

/** `withdrawn`: the server went back, or changed the tool again. `removed`: the server took the tool away. */
export type ToolChangeState = 'pending' | 'approved' | 'rejected' | 'withdrawn' | 'removed';

interface ToolChangesTable {
  id: Generated<number>;
  server_id: string;
  /** The server's own name of the tool. */
  tool: string;
  definition_before: StoredJson<JsonObject>;
  definition_after: JsonOrNull<JsonObject>;
  after_hash: string | null;
  risk: string;
  state: ToolChangeState;
  at: string;
  decided_at: string | null;
  decided_by: string | null;
  /** Why an admin decided so. */
  reason: string | null;
}
export type ToolChangeRow = Selectable<ToolChangesTable>;

/** Who we are at the authorization server of a server; the client itself is sealed. */
interface OauthClientsTable {
  server_id: string;
  issuer: string;
  redirect_uri: string;
  sealed: string;
  expires_at: string | null;
}
export type OauthClientRow = Selectable<OauthClientsTable>;

type LoginState = 'active' | 'required' | 'expired';

interface OauthLoginsTable {
  server_id: string;
  /** Empty for a shared login. */
  principal: string;
  state: LoginState;
  issuer: string | null;
  sealed: string | null;
  /** The requested scopes, which a step-up requests again. */
  scope: string | null;
  /** The last authentication challenge of the server, as JSON. */
  challenge: string | null;
  expires_at: string | null;
  /** Lease of the replica that refreshes; the others wait. */
  lease_until: string | null;
  updated_at: string;
}
export type OauthLoginRow = Selectable<OauthLoginsTable>;

/** A login in progress in a browser; its state is valid once. */
interface OauthFlowsTable {
  state_hash: string;
  server_id: string;
  principal: string;
  sealed: string;
  expires_at: string;
}
export type OauthFlowRow = Selectable<OauthFlowsTable>;

/** A one-time link to the dashboard; the token behind it is sealed. */
interface SignInCodesTable {
  code_hash: string;
  sealed: string;
  expires_at: string;
}
export type SignInCodeRow = Selectable<SignInCodesTable>;

/** Sealed passes that would still open: used up, or of a session that was signed out. Kept until they would expire. */
interface SpentPassesTable {
  id: string;
  expires_at: string;
}
export type SpentPassRow = Selectable<SpentPassesTable>;

interface SettingsTable {
  key: string;
  value: StoredJson<unknown>;
}

interface McpSessionsTable {
  id: string;
  /** The replica that continues the session after its own one was lost. */
  replica: string | null;
  details: JsonOrNull<JsonObject>;
  ended: Generated<boolean>;
  expires_at: string;
}
export type McpSessionRow = Selectable<McpSessionsTable>;

interface StatisticsTable {
  /** Length of the slot in seconds. */
  step: number;
  dimension: string;
  /** Where the slot begins, in seconds since 1970. */
  slot: number;
  replica: string;
  counts: StoredJson<Record<string, unknown>>;
}
export type StatisticsRow = Selectable<StatisticsTable>;

/** A person of the identity provider. */
interface AccountsTable {
  id: string;
  issuer: string;
  name: string;
  role: Role;
  profile: string | null;
  /** Identifies the mapping that gave the role and the profile. */
  rules: string;
  /** What the account is checked with at the identity provider; null: it cannot be checked. */
  sealed: string | null;
  created_at: string;
  seen_at: string;
  /** When the identity provider last confirmed the account. */
  checked_at: string | null;
  /** The identity provider, or an admin, ended the access of the account. */
  ended_at: string | null;
  /** Lease of the replica that checks; the others wait. */
  lease_until: string | null;
  updated_at: string;
}
export type AccountRow = Selectable<AccountsTable>;

/** What a user entered for one key of a server. */
interface UserKeysTable {
  server_id: string;
  principal: string;
  name: string;
  sealed: string;
  updated_at: string;
}
export type UserKeyRow = Selectable<UserKeysTable>;
