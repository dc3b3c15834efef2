/** State of the aggregator: `/state`, `/health` and the event stream. */
import { z } from 'zod';
import type { Catalog } from '../../catalog/catalog.ts';
import type { View } from '../../catalog/view.ts';
import type { Changes, FinishedCall, TopicName, Topics } from '../../changes.ts';
import type { Config } from '../../config/config.ts';
import { streamHeaders, writeTo } from '../../event-stream.ts';
import type { Status } from '../../registry/lifecycle.ts';
import { overallStatus, type Registry } from '../../registry/registry.ts';
import type { ToolSearch } from '../../search/tool-search.ts';
import type { Principal } from '../../security/auth.ts';
import type { ThrottledRequestAuthenticator } from '../../security/authentication-throttle.ts';
import { isBound, userOf } from '../../security/policy.ts';
import type { ToolClassifier } from '../../skills/tool-classifier.ts';
import type { Database } from '../../store/database.ts';
import { toPhases } from '../activity.ts';
import type { OutputLog } from '../output-log.ts';
import { type AnyRoute, route } from '../route.ts';
import { lookUpServer, seesCall } from '../view.ts';

export interface StateRouteDependencies {
  config: Config;
  db: Database;
  registry: Registry;
  catalog: Catalog;
  changes: Changes;
  outputLog: OutputLog;
  requestAuthenticator: Pick<ThrottledRequestAuthenticator, 'attend'>;
  startedAt: number;
  /** The reason for safe mode, if it is active. */
  safeMode?: string;
  toolSearch: Pick<ToolSearch, 'backlog' | 'pingVectors'>;
  toolClassifier: Pick<ToolClassifier, 'backlog'>;
}

/** MON-002: below this share of connected servers, the aggregator is degraded. */
const connectedShareWanted = 0.8;
const pingTimeoutMs = 2_000;
const keepAliveMs = 15_000;
const unreadLimitBytes = 1_048_576;

export function stateRoutes(deps: StateRouteDependencies): AnyRoute[] {
  const { config, registry, catalog } = deps;

  /** Events of a server that no longer exists go only to principals without limits. */
  function concerns(payload: Topics[StreamedTopic], principal: Principal, view: View): boolean {
    // What only one MCP client sees is no news to anyone else.
    if ('owner_key' in payload && payload.owner_key !== undefined) return false;
    if ('call_id' in payload) return seesCall({ principal, view }, catalog)(payload);
    const named = 'name' in payload ? payload.name : undefined;
    const server = named ?? ('server_id' in payload ? registry.find(payload.server_id)?.name : undefined);
    return server === undefined ? !isBound(principal) : view.server(server);
  }

  return [
    route({
      method: 'GET',
      path: '/api/v1/aggregator/state',
      tag: 'state',
      summary: 'Get counts of servers and tools',
      role: 'viewer',
      answers: { 200: { description: 'The counts', schema: stateView } },
      handle({ view }) {
        const visible = registry.list().filter((server) => view.server(server.name));
        const count = countStatuses(visible.map((server) => overallStatus(server).status));
        const tools = visible.flatMap((server) =>
          (catalog.snapshot.toolsByServer.get(server.id) ?? []).filter((tool) => view.tool(tool)),
        );
        const classified = tools.filter(({ row }) => row.is_classified).length;
        return {
          total_servers: visible.length,
          connected_servers: count.CONNECTED + count.DEGRADED,
          degraded_servers: count.DEGRADED,
          disconnected_servers: count.DISCONNECTED + count.DISCONNECTING,
          error_servers: count.ERROR,
          connecting_servers: count.CONNECTING,
          total_tools: tools.length,
          classified_tools: classified,
          unclassified_tools: tools.length - classified,
          indexing_tools: deps.toolSearch.backlog,
          classifying_tools: deps.toolClassifier.backlog,
          last_sync: catalog.lastSync,
          health_check_interval_seconds: config.healthIntervalMs / 1_000,
          uptime_seconds: Math.floor((Date.now() - deps.startedAt) / 1_000),
        };
      },
    }),

    route({
      method: 'GET',
      path: '/api/v1/aggregator/health',
      tag: 'state',
      summary: 'Get the health of the aggregator; for probes, without a token',
      role: 'public',
      answers: {
        200: { description: 'healthy or degraded: calls are answered', schema: healthView },
      },
      async handle() {
        const { pingVectors } = deps.toolSearch;
        const [database, qdrant] = await Promise.all([
          check(() => deps.db.ping()),
          pingVectors === undefined ? 'not configured' : check(pingVectors),
        ]);
        const wanted = registry.list().filter((server) => server.desired === 'connected');
        const count = countStatuses(wanted.map((server) => server.lifecycle.status));
        const connected = count.CONNECTED + count.DEGRADED;
        const waiting = wanted.filter((server) => server.login !== null).length;
        const settled = wanted.length - count.CONNECTING;
        const sessions = connected < connectedShareWanted * settled ? 'degraded' : 'ok';
        const issues = [
          ...(deps.safeMode === undefined ? [] : [deps.safeMode]),
          ...(database === 'ok' ? [] : ['the database is unavailable; see the log for the cause and the remedy']),
          ...(qdrant === 'failed' ? ['Qdrant does not respond; using the built-in index'] : []),
          ...(count.ERROR === 0 ? [] : [`${count.ERROR} ${count.ERROR === 1 ? 'server' : 'servers'} in error state`]),
          ...(waiting === 0 ? [] : [`${waiting} ${waiting === 1 ? 'server requires' : 'servers require'} a login`]),
        ];
        // Still 200: calls need no database, so taking the process out of service would make things worse.
        const isImpaired = sessions === 'degraded' || qdrant === 'failed' || database === 'failed';
        const degraded = deps.safeMode !== undefined || isImpaired;
        return {
          status: degraded ? 'degraded' : 'healthy',
          checks: { database, qdrant, sessions },
          servers: { total: registry.list().length, connected, error: count.ERROR },
          ...(issues.length === 0 ? {} : { issues }),
          ...(deps.safeMode === undefined ? {} : { safe_mode: deps.safeMode }),
        };
      },
    }),

    route({
      method: 'GET',
      path: '/api/v1/aggregator/events',
      tag: 'state',
      summary: 'Stream live events (server-sent events)',
      role: 'viewer',
      query: z.strictObject({
        topics: z
          .string()
          .transform((text) => text.split(','))
          .pipe(z.array(z.enum(streamedTopics)))
          .optional()
          .describe('only these, separated by commas; all if not given'),
        output_of: z
          .string()
          .min(1)
          .optional()
          .describe('also the lines that this STDIO server writes to stderr, by id or name: server.output'),
      }),
      answers: { 200: { description: 'A stream of events', schema: z.string(), contentType: 'text/event-stream' } },
      handle({ query: { topics = streamedTopics, output_of }, principal, view, reply, signal, closing }) {
        const written = output_of === undefined ? undefined : lookUpServer(registry, view, output_of);
        reply.hijack();
        const { raw } = reply;
        raw.writeHead(200, streamHeaders);
        const write = (text: string) => writeTo(raw, text, unreadLimitBytes);
        write(': connected\n\n');
        let id = 0;
        const offEnded = deps.changes.subscribe('principal.ended', ({ principal_id }) => {
          if (principal_id === principal.id) raw.end();
        });
        const left = deps.requestAuthenticator.attend(principal);
        const send = (name: string, data: unknown) => {
          id += 1;
          write(`id: ${id}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
        };
        const offs = topics.map((name) =>
          deps.changes.subscribe(name, (payload: Topics[typeof name]) => {
            if (!concerns(payload, principal, view)) return;
            const only = 'principal_id' in payload ? payload.principal_id : undefined;
            if (only !== undefined && only !== userOf(principal)) return;
            send(name, 'measured' in payload ? toShownCall(payload) : payload);
          }),
        );
        if (written !== undefined)
          offs.push(
            deps.outputLog.follow(written.id, (line) => send('server.output', { server: written.name, ...line })),
          );
        const timer = setInterval(() => write(': keep-alive\n\n'), keepAliveMs).unref();
        closing.addEventListener('abort', () => raw.end(), { signal });
        signal.addEventListener('abort', () => {
          for (const off of offs) off();
          offEnded();
          left();
          clearInterval(timer);
        });
      },
    }),
  ];
}

const toShownCall = ({ measured, ...call }: FinishedCall) => ({ ...call, phases: toPhases({ ...call, measured }) });

/** Topics of the public event stream; the others are internal. */
const streamedTopics = [
  'server.registered',
  'server.updated',
  'server.removed',
  'server.status',
  'server.discovered',
  'catalog.changed',
  'resource.updated',
  'call.started',
  'call.finished',
] as const satisfies TopicName[];
type StreamedTopic = (typeof streamedTopics)[number];

async function check(ping: () => Promise<void>): Promise<'ok' | 'failed'> {
  const late = new Promise<never>((_resolve, reject) => setTimeout(reject, pingTimeoutMs, new Error('late')).unref());
  return await Promise.race([ping(), late]).then(
    () => 'ok' as const,
    () => 'failed' as const,
  );
}

function countStatuses(all: readonly Status[]): Record<Status, number> {
  const count = { DISCONNECTED: 0, CONNECTING: 0, CONNECTED: 0, DEGRADED: 0, ERROR: 0, DISCONNECTING: 0 };
  for (const status of all) count[status] += 1;
  return count;
}

const stateView = z.object({
  total_servers: z.int(),
  connected_servers: z.int().describe('CONNECTED and DEGRADED'),
  degraded_servers: z.int(),
  disconnected_servers: z.int(),
  error_servers: z.int(),
  connecting_servers: z.int(),
  total_tools: z.int(),
  classified_tools: z.int().describe('tools that were classified, also those that no skill fits'),
  unclassified_tools: z.int().describe('tools whose classification failed or has not run yet'),
  indexing_tools: z.int().describe('tools that are not indexed yet, or are waiting for a new embedding model'),
  classifying_tools: z.int().describe('tools that are waiting for classification'),
  last_sync: z.string().nullable(),
  health_check_interval_seconds: z.number(),
  uptime_seconds: z.int(),
});

const healthView = z.object({
  status: z.enum(['healthy', 'degraded']),
  checks: z.object({ database: z.string(), qdrant: z.string(), sessions: z.string() }),
  servers: z.object({ total: z.int(), connected: z.int(), error: z.int() }),
  issues: z.array(z.string()).optional(),
  safe_mode: z.string().optional().describe('why no server is connected after crashes at start, and what to do'),
});
