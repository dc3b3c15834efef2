/** `GET /api/v1/aggregator/attention`: what an admin should look at, worst first, each with what can be done. */
import { z } from 'zod';
import type { Catalog } from '../../catalog/catalog.ts';
import { classifyChange } from '../../catalog/tool-changes.ts';
import type { Config } from '../../config/config.ts';
import { overallStatus, type Registry, type Server } from '../../registry/registry.ts';
import { toKeyTarget } from '../../registry/user-key-target.ts';
import type { UserKeys } from '../../security/user-keys.ts';
import { substituteVariables } from '../../security/variables.ts';
import { toTotals } from '../../statistics/series.ts';
import type { Statistics } from '../../statistics/statistics.ts';
import { toTimeRange } from '../../statistics/time-range.ts';
import type { Database } from '../../store/database.ts';
import { findPendingChanges } from '../../store/tool-changes.ts';
import { type AnyRoute, route, type Viewer } from '../route.ts';

const kinds = [
  'held_tool',
  'server_failed',
  'missing_variable',
  'missing_key',
  'login',
  'calls_failing',
  'server_degraded',
  'suspicious_tool',
  'tools_incomplete',
  'safe_mode',
] as const;

const attentionItem = z.object({
  id: z.string().describe('the same as long as the cause is the same'),
  kind: z.enum(kinds),
  severity: z.enum(['critical', 'warning']),
  server: z.string().nullable(),
  tool: z.string().nullable().describe('canonical name'),
  title: z.string(),
  detail: z.string(),
  since: z.string().nullable(),
  change: z
    .object({ id: z.int(), risk: z.string(), parts: z.array(z.object({ risk: z.string(), what: z.string() })) })
    .optional()
    .describe('of a held tool'),
});
type AttentionItem = z.infer<typeof attentionItem>;

export interface AttentionRouteDependencies {
  config: Config;
  db: Database;
  registry: Registry;
  catalog: Catalog;
  statistics: Statistics;
  userKeys: Pick<UserKeys, 'findAdmin'>;
  safeMode?: string;
}

/** A share of few calls says nothing. */
const minCalls = 20;
const maxFailedShare = 0.2;
const failingSeconds = 900;
const maxHeld = 100;
/** Risks of a changed definition that can make a model do something else. */
const gravest = new Set(['instructions', 'required_parameter', 'changed_parameter']);

export function attentionRoutes(deps: AttentionRouteDependencies): AnyRoute[] {
  const { registry, catalog, db } = deps;

  async function heldTools({ view }: Viewer): Promise<AttentionItem[]> {
    if (catalog.changes.pending === 0) return [];
    const rows = await findPendingChanges(db, maxHeld);
    return rows.flatMap((change): AttentionItem[] => {
      const server = registry.find(change.server_id);
      const tools = server === undefined ? [] : (catalog.snapshot.toolsByServer.get(server.id) ?? []);
      const tool = tools.find(({ row }) => row.original_name === change.tool);
      if (server === undefined || tool === undefined || !view.tool(tool)) return [];
      const after = change.definition_after;
      const parts = after === null ? [] : classifyChange(change.definition_before, after).parts;
      return [
        {
          id: `held_tool ${change.id}`,
          kind: 'held_tool',
          severity: gravest.has(change.risk) ? 'critical' : 'warning',
          server: server.name,
          tool: tool.row.name,
          title: `${tool.row.name} changed its definition`,
          detail: 'Calls are held until the change is approved or rejected.',
          since: change.at,
          change: { id: change.id, risk: change.risk, parts },
        },
      ];
    });
  }

  function stateOf(server: Server): AttentionItem[] {
    const { status, error } = overallStatus(server);
    const about = (kind: AttentionItem['kind'], severity: AttentionItem['severity'], title: string, detail: string) => [
      { id: `${kind} ${server.id}`, kind, severity, server: server.name, tool: null, title, detail, since: null },
    ];
    if (server.login !== null) {
      const title = server.login === 'required' ? `${server.name} requires a login` : `Login to ${server.name} expired`;
      return about('login', 'warning', title, 'Its tools stay listed; calls fail until a user logs in.');
    }
    if (status === 'ERROR') {
      const missing = missingVariables(server);
      if (missing.length > 0) {
        const title = `${server.name} needs ${missing.join(', ')}`;
        const detail =
          'Set the variable in the environment of the aggregator, or enter the value in the configuration.';
        return about('missing_variable', 'critical', title, detail);
      }
      if (waitsForKeys(server)) {
        const title = `${server.name} needs ${server.user_keys.join(', ')} of an admin`;
        const detail = 'Its tools are read with the keys of an admin. Enter your own on the page of your keys.';
        return about('missing_key', 'warning', title, detail);
      }
      return about('server_failed', 'critical', `${server.name} is not reachable`, error ?? 'The connection failed.');
    }
    if (status === 'DEGRADED')
      return about('server_degraded', 'warning', `${server.name} is degraded`, error ?? 'Its health checks fail.');
    if (status === 'CONNECTED' && error !== null)
      return about('tools_incomplete', 'warning', `${server.name}: tools are incomplete`, error);
    return [];
  }

  function waitsForKeys({ id, user_keys }: Server): boolean {
    return user_keys.length > 0 && deps.userKeys.findAdmin(toKeyTarget(id, registry.openConnection(id))) === undefined;
  }

  function missingVariables({ id }: Server): string[] {
    const { environment } = deps.config;
    const { missing } = substituteVariables(registry.openConnection(id).connection_config, ({ source, name }) =>
      source !== 'environment' || Object.hasOwn(environment, name) ? '' : undefined,
    );
    return missing.map(({ name }) => name);
  }

  function suspiciousTools(server: Server, { view }: Viewer): AttentionItem[] {
    const tools = catalog.snapshot.toolsByServer.get(server.id) ?? [];
    const found = tools.filter((tool) => view.tool(tool) && catalog.changes.warnings(tool).length > 0);
    const [first] = found;
    if (first === undefined) return [];
    const [warning] = catalog.changes.warnings(first);
    const more = found.length === 1 ? '' : ` and ${found.length - 1} more`;
    return [
      {
        id: `suspicious_tool ${server.id} ${found.length}`,
        kind: 'suspicious_tool',
        severity: 'warning',
        server: server.name,
        tool: first.row.name,
        title: `${first.row.name}${more}: text that may instruct models`,
        detail:
          warning === undefined ? '' : `${warning.kind.replaceAll('_', ' ')} in ${warning.at}: ${warning.excerpt}`,
        since: null,
      },
    ];
  }

  async function failingCalls(servers: readonly Server[], principal: Viewer['principal']): Promise<AttentionItem[]> {
    // With a profile, the numbers of a server would include tools that are not in it.
    if (principal.profile !== null) return [];
    const now = Date.now() / 1_000;
    const range = toTimeRange({ from: now - failingSeconds, to: now }, now);
    const counts = await deps.statistics.calls('server', range);
    return servers.flatMap((server): AttentionItem[] => {
      const { calls, failed } = toTotals(counts.get(server.id) ?? [], failingSeconds);
      if (calls < minCalls || failed / calls <= maxFailedShare) return [];
      const share = Math.round((failed / calls) * 100);
      return [
        {
          id: `calls_failing ${server.id}`,
          kind: 'calls_failing',
          severity: share >= 50 ? 'critical' : 'warning',
          server: server.name,
          tool: null,
          title: `${share} % of the calls to ${server.name} fail`,
          detail: `${failed} of ${calls} calls failed in the last 15 minutes.`,
          since: null,
        },
      ];
    });
  }

  return [
    route({
      method: 'GET',
      path: '/api/v1/aggregator/attention',
      tag: 'state',
      summary: 'List what needs attention: held tools, logins, missing variables, failing servers',
      role: 'viewer',
      answers: { 200: { description: 'Worst first', schema: z.object({ items: z.array(attentionItem) }) } },
      async handle({ principal, view }) {
        const viewer = { principal, view };
        const servers = registry.list().filter(({ name, desired }) => view.server(name) && desired === 'connected');
        const items = [
          ...(deps.safeMode === undefined ? [] : [toSafeMode(deps.safeMode)]),
          ...(await heldTools(viewer)),
          ...servers.flatMap(stateOf),
          ...(await failingCalls(servers, principal)),
          ...servers.flatMap((server) => suspiciousTools(server, viewer)),
        ];
        return { items: items.sort((a, b) => rankOf(a) - rankOf(b)) };
      },
    }),
  ];
}

const rankOf = ({ severity, kind }: AttentionItem) =>
  (severity === 'critical' ? 0 : kinds.length) + kinds.indexOf(kind);

const toSafeMode = (reason: string): AttentionItem => ({
  id: 'safe_mode',
  kind: 'safe_mode',
  severity: 'critical',
  server: null,
  tool: null,
  title: 'Safe mode: no server is connected',
  detail: reason,
  since: null,
});
