/** Servers and tools as the REST API shows them. */
import { z } from 'zod';
import type { Catalog, CatalogTool } from '../catalog/catalog.ts';
import type { ChangeReview } from '../catalog/change-review.ts';
import type { View } from '../catalog/view.ts';
import { isObject } from '../json-rpc.ts';
import { statuses } from '../registry/lifecycle.ts';
import { overallStatus, type Server } from '../registry/registry.ts';
import { transportTypes } from '../registry/server.ts';
import { ownerships } from '../registry/server-choices.ts';
import { ownershipOf } from '../registry/session-ownership.ts';
import { toolOverride, toolOverrides } from '../registry/tool-overrides.ts';
import { holdsCredential, maskUrl } from '../security/connection-secrets.ts';
import type { Link } from '../upstream/link.ts';

const time = z.string().describe('ISO 8601');

export const toolView = z.object({
  id: z.string(),
  name: z.string().describe('canonical: server.tool'),
  original_name: z.string(),
  title: z.string().nullable(),
  description: z.string(),
  skill_ids: z.array(z.string()),
  primary_skill_id: z.string().nullable(),
  is_classified: z.boolean().describe('also true if no skill fits'),
  classification_state: z.string(),
  input_schema: z.record(z.string(), z.unknown()),
  output_schema: z.record(z.string(), z.unknown()).optional(),
  annotations: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('what the server says about the tool: readOnlyHint, destructiveHint, idempotentHint, openWorldHint'),
  wire_name: z.string().describe('the name that MCP clients see'),
  enabled: z.boolean().describe('false: an admin disabled the tool; it is neither listed nor found nor callable'),
  override: toolOverride.optional().describe('what an admin decided about the tool'),
  discovered_at: time,
  warnings: z
    .array(z.object({ kind: z.string(), at: z.string(), excerpt: z.string() }))
    .optional()
    .describe('hidden text or instructions to a model in the definition'),
  held_change: z
    .object({ id: z.int(), state: z.string(), risk: z.string() })
    .optional()
    .describe('the server changed the tool: calls are held until an admin decides'),
});

export const toolListView = z.object({
  tools: z.array(toolView),
  total: z.int(),
  classified: z.int().describe('also those that no skill fits'),
  unclassified: z.int().describe('classification failed or has not run yet'),
});

export const serverView = z.object({
  id: z.string(),
  name: z.string(),
  description: z.string().nullable(),
  transport_type: z.enum(transportTypes),
  status: z.enum(statuses),
  parked: z.boolean().describe('the server is not running: the next call starts it'),
  health_check_url: z.string().nullable(),
  tool_count: z.int(),
  error_message: z.string().nullable(),
  user_keys: z.array(z.string()).describe('keys that each user enters for the server; see /api/v1/keys'),
  login: z.enum(['required', 'expired']).nullable().describe('the server waits for a login (OAuth)'),
  last_health_check: time.nullable(),
  registered_at: time,
  connected_at: time.nullable(),
  discovered_at: time.nullable().describe('when its tools, prompts and resources were last read'),
  tools: z.array(toolView).optional(),
});

export const detailView = serverView.extend({
  connection_config: z
    .record(z.string(), z.unknown())
    .describe('values of headers, env, URL parameters and secret arguments are masked'),
  options: z.record(z.string(), z.unknown()),
  tool_overrides: toolOverrides,
  auto_connect: z.boolean(),
  origin: z.string(),
  protocol_version: z.string().nullable(),
  era: z.enum(['modern', 'legacy']).nullable(),
  sessions: z
    .object({
      ownership: z.enum(ownerships),
      source: z.enum(['setting', 'observed', 'inferred', 'default']),
      reason: z.string(),
    })
    .describe(
      'whose a session with the server is: one for all callers, one for each MCP client, one for each principal',
    ),
  server_info: z.record(z.string(), z.unknown()).nullable(),
  instructions: z.string().nullable(),
  stderr_tail: z.string().nullable(),
  consecutive_failures: z.int(),
  active_calls: z.int(),
  queued_calls: z.int(),
  client_sessions: z.int(),
  updated_at: time,
  replicas: z
    .array(z.object({ id: z.string(), status: z.enum(statuses), error: z.string().nullable() }))
    .describe('status per running replica; status and error_message above are the best of them'),
});

export function toToolView(tool: CatalogTool, changes: ChangeReview): z.infer<typeof toolView> {
  const { row, wireName, enabled, override } = tool;
  const warnings = changes.warnings(tool);
  const held = changes.heldChange(tool);
  return {
    id: String(row.id),
    name: row.name,
    original_name: row.original_name,
    title: row.title,
    description: row.description ?? '',
    skill_ids: row.skill_ids,
    primary_skill_id: row.primary_skill_id,
    is_classified: row.is_classified,
    classification_state: row.classification_state,
    input_schema: row.input_schema,
    ...(isObject(row.definition.outputSchema) ? { output_schema: row.definition.outputSchema } : {}),
    ...(isObject(row.definition.annotations) ? { annotations: row.definition.annotations } : {}),
    wire_name: wireName,
    enabled,
    ...(override === undefined ? {} : { override }),
    discovered_at: row.discovered_at,
    ...(warnings.length === 0 ? {} : { warnings: [...warnings] }),
    ...(held === undefined ? {} : { held_change: held }),
  };
}

/** The tools of a server that the view shows, in the server's order. */
export function toServerToolViews({ snapshot, changes }: Catalog, { id }: Server, view: View) {
  const tools = snapshot.everyToolByServer.get(id) ?? [];
  return tools.filter((tool) => view.tool(tool)).map((tool) => toToolView(tool, changes));
}

export function toServerView(server: Server): z.infer<typeof serverView> {
  const { status, error } = overallStatus(server);
  return {
    id: server.id,
    name: server.name,
    description: server.description,
    transport_type: server.transport_type,
    status,
    parked: server.session === 'parked' && status === 'CONNECTED',
    health_check_url: shownHealthUrl(server.health_check_url),
    tool_count: server.tool_count,
    error_message: error,
    user_keys: [...server.user_keys],
    login: server.login,
    last_health_check: server.last_health_check,
    registered_at: server.registered_at,
    connected_at: server.connected_at,
    discovered_at: server.discovered_at,
  };
}

/** New URLs with credentials are rejected; older stored ones may still have them. */
function shownHealthUrl(url: string | null): string | null {
  return url !== null && holdsCredential(url) ? maskUrl(url) : url;
}

interface DetailSource {
  maskedConfig: unknown;
  link: Link | undefined;
  /** Of this process. */
  replicaId: string;
}

export function toDetailView(
  server: Server,
  { maskedConfig, link, replicaId }: DetailSource,
): z.infer<typeof detailView> {
  const own = { id: replicaId, status: server.lifecycle.status, error: server.error_message };
  return {
    ...toServerView(server),
    connection_config: maskedConfig as Record<string, unknown>,
    options: server.options,
    tool_overrides: server.tool_overrides,
    auto_connect: server.auto_connect,
    origin: server.origin,
    protocol_version: server.protocol_version,
    era: server.era,
    sessions: ownershipOf(server),
    server_info: server.server_info,
    instructions: server.instructions,
    stderr_tail: link?.output ?? server.stderr_tail,
    consecutive_failures: server.lifecycle.failures,
    active_calls: link?.concurrency.active ?? 0,
    queued_calls: link?.concurrency.queued ?? 0,
    client_sessions: link?.ownedSessions ?? 0,
    updated_at: server.updated_at,
    replicas: [own, ...server.elsewhere].sort((a, b) => (a.id < b.id ? -1 : 1)),
  };
}
