/** All metrics. Counters follow the topics that modules publish; gauges are read at every scrape. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Changes, FinishedCall } from './changes.ts';
import { maxDescriptors, openDescriptors } from './descriptors.ts';
import { contentType, createExposition, type KeepSeries, type Sample } from './prometheus.ts';
import { version } from './version.ts';

/** Values that modules keep anyway; read at every scrape. */
interface MetricSources {
  servers(): Iterable<ServerMeasure>;
  tools(): { total: number; classified: number };
  /** Resident memory of a process and its descendants; undefined if unknown. */
  childMemory?: (pid: number) => Promise<number | undefined>;
  audit?: () => { waiting: number; dropped: number };
  pendingChanges?: () => number;
}

export interface ServerMeasure {
  name: string;
  status: string;
  consecutiveFailures: number;
  /** The server requires a login. */
  login?: 'required' | 'expired' | null;
  active: number;
  queued: number;
  sharedSessions: number;
  clientSessions: number;
  era: string;
  childPids: readonly number[];
}

export const metricsContentType = contentType;

/** Sessions of MCP clients by kind and era. */
type SessionCount = readonly [kind: string, era: string, count: number];

export interface Metrics {
  onCall(
    call: Pick<FinishedCall, 'server' | 'tool' | 'outcome'> &
      Pick<FinishedCall['measured'], 'routingMs' | 'executionMs'>,
  ): void;
  onHealthCheck(server: string, check: { ms?: number; failed: boolean }): void;
  onReconnected(server: string): void;
  onDatabaseQuery(ms: number, failed: boolean): void;
  onRequest(method: string, route: string, status: number, ms: number): void;
  onSearch(ms: number): void;
  onQuery(ms: number): void;
  /** The server whose data was being processed, if known. */
  onLoopBlocked(ms: number, by: { server: string } | undefined): void;
  /** Authentication failed; `outcome` is how the request was answered. */
  onFailedAuthentication(outcome: string): void;
  /** Spans that the tracer could not deliver. */
  onSpansDropped(count: number): void;
  forgetServer(server: string): void;
  watch(sources: MetricSources): void;
  watchSessions(counts: () => Iterable<SessionCount>): void;
  /** Tools that are waiting for their vector or their classification. */
  watchBacklog(backlog: { embedding: () => number; classification: () => number }): void;
  /** Client connections: open, allowed, and refused by reason. */
  watchConnections(connections: ConnectionMeasure): void;
  /** Bodies of requests that are not answered yet. */
  watchRequestBodies(bodies: { heldBytes: number; maxHeldBytes: number; refused: number }): void;
  /** With `keep`, only the series that it selects. */
  render(keep?: KeepSeries): Promise<string>;
  close(): void;
}

interface ConnectionMeasure {
  open: () => number;
  limits: { all: number; perAddress: number };
  refused: Readonly<Record<string, number>>;
}

const prefix = 'mcp_aggregator_';
const statuses = ['connected', 'degraded', 'connecting', 'disconnected', 'disconnecting', 'error'];
// MON-001 requires 0.05 and 0.1; the smaller buckets exist because routing should take less than a millisecond.
const routingBuckets = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 1, 5];
const executionBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
const requestBuckets = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30];
const databaseBuckets = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5];
const searchBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 1];
const queryBuckets = [0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30];
const loopResolutionMs = 20;

export function createMetrics({ toolLabels, engine }: { toolLabels: boolean; engine: string }): Metrics {
  const exposition = createExposition();
  const counter = (name: string, help: string, labels?: string[]) => exposition.counter(prefix + name, help, labels);
  const histogram = (name: string, help: string, buckets: number[], labels?: string[]) =>
    exposition.histogram(prefix + name, help, buckets, labels);
  const gauge = (name: string, help: string, labels: string[], samples: () => Iterable<Sample>) =>
    exposition.read('gauge', prefix + name, help, labels, samples);

  const routing = histogram(
    'routing_duration_seconds',
    'Time for resolving a tool and getting its session.',
    routingBuckets,
  );
  const execution = histogram(
    'execution_duration_seconds',
    'Time from sending a request to a server until its answer.',
    executionBuckets,
    ['server'],
  );
  const calls = counter('calls_total', 'Tool calls by outcome.', [
    'server',
    'outcome',
    ...(toolLabels ? ['tool'] : []),
  ]);
  const rejections = counter('queue_rejections_total', 'Calls refused because a server is overloaded.', ['server']);
  const healthFailures = counter('health_check_failures_total', 'Health checks that failed.', ['server']);
  const reconnections = counter('reconnections_total', 'Reconnections after a lost connection.', ['server']);
  const database = histogram('database_query_duration_seconds', 'Queries to the database.', databaseBuckets);
  const databaseErrors = counter('database_errors_total', 'Queries that failed in the database.');
  const requests = histogram('http_request_duration_seconds', 'Requests to the REST API.', requestBuckets, [
    'method',
    'route',
    'status',
  ]);
  const searches = histogram('search_duration_seconds', 'Searches for tools.', searchBuckets);
  const queries = histogram('query_duration_seconds', 'Queries over many servers.', queryBuckets);
  const loopBlocked = counter(
    'event_loop_blocked_seconds_total',
    'Time during which the event loop was blocked for more than 0.2 s at once.',
    ['server'],
  );
  const failedAuthentications = counter(
    'failed_authentications_total',
    'Invalid tokens and codes by outcome: expired, answered immediately, delayed, or refused because too many are waiting.',
    ['outcome'],
  );
  const spansDropped = counter('trace_spans_dropped_total', 'Spans that could not be delivered to the collector.');

  const healthDurations = new Map<string, number>();
  gauge('health_check_duration_seconds', 'Time of the latest successful health check.', ['server'], () =>
    [...healthDurations].map(([server, seconds]) => [[server], seconds]),
  );
  gauge('build_info', 'Always 1; the labels contain the version.', ['version', 'node_version', 'database'], () => [
    [[version, process.version, engine], 1],
  ]);
  const loopDelay = monitorEventLoopDelay({ resolution: loopResolutionMs });
  loopDelay.enable();
  gauge('event_loop_delay_seconds', 'Delay of the event loop since the previous scrape.', ['statistic'], () =>
    readLoopDelay(loopDelay),
  );
  describeProcess(exposition.read);

  return {
    onCall({ server, tool, outcome, routingMs, executionMs }) {
      if (toolLabels) calls.add(1, server, outcome, tool);
      else calls.add(1, server, outcome);
      if (outcome === 'overloaded') rejections.add(1, server);
      if (executionMs === undefined) return;
      routing.observe(routingMs / 1_000);
      execution.observe(executionMs / 1_000, server);
    },
    onHealthCheck(server, { ms, failed }) {
      if (ms !== undefined) healthDurations.set(server, ms / 1_000);
      healthFailures.add(failed ? 1 : 0, server);
      // An alert sees the first increase only of a series that was there before.
      for (const series of [rejections, loopBlocked]) series.add(0, server);
    },
    onReconnected: (server) => reconnections.add(1, server),
    onDatabaseQuery(ms, failed) {
      database.observe(ms / 1_000);
      if (failed) databaseErrors.add(1);
    },
    onRequest: (method, route, status, ms) => requests.observe(ms / 1_000, method, route, String(status)),
    onSearch: (ms) => searches.observe(ms / 1_000),
    onQuery: (ms) => queries.observe(ms / 1_000),
    onLoopBlocked: (ms, by) => loopBlocked.add(ms / 1_000, by?.server ?? ''),
    onFailedAuthentication: (outcome) => failedAuthentications.add(1, outcome),
    onSpansDropped: (count) => spansDropped.add(count),

    forgetServer(server) {
      healthDurations.delete(server);
      for (const series of [execution, calls, rejections, healthFailures, reconnections, loopBlocked])
        series.forget(server);
    },

    watch(sources) {
      describeServers(sources, exposition.read);
      exposition.read('untyped', `${prefix}tools_total`, 'Known tools.', [], () => [[[], sources.tools().total]]);
      gauge('tools_classified', 'Tools that were classified, also those that no skill fits.', [], () => [
        [[], sources.tools().classified],
      ]);
      const { audit, pendingChanges } = sources;
      if (audit !== undefined) {
        gauge('audit_waiting', 'Audit records not stored yet.', [], () => [[[], audit().waiting]]);
        exposition.read(
          'counter',
          `${prefix}audit_dropped_total`,
          'Audit records lost because the queue was full.',
          [],
          () => [[[], audit().dropped]],
        );
      }
      if (pendingChanges !== undefined) {
        gauge('tool_changes_pending', 'Changed tools that are waiting for approval.', [], () => [
          [[], pendingChanges()],
        ]);
      }
    },

    watchSessions(counts) {
      gauge('sessions', 'Sessions of MCP clients.', ['kind', 'era'], () =>
        [...counts()].map(([kind, era, count]) => [[kind, era], count]),
      );
    },

    watchBacklog({ embedding, classification }) {
      gauge('embedding_backlog', 'Tools that are waiting for their vector.', [], () => [[[], embedding()]]);
      gauge('classification_backlog', 'Tools that are waiting for classification.', [], () => [[[], classification()]]);
    },

    watchConnections({ open, limits, refused }) {
      gauge('connections', 'Open client connections.', [], () => [[[], open()]]);
      gauge('connections_limit', 'Maximum number of client connections, in total and per address.', ['scope'], () => [
        [['all'], limits.all],
        [['address'], limits.perAddress],
      ]);
      exposition.read(
        'counter',
        `${prefix}connections_refused_total`,
        'Connections refused (all, address), closed without an answer (dropped) or closed because the request came too late (late).',
        ['reason'],
        () => Object.entries(refused).map(([reason, count]) => [[reason], count]),
      );
    },

    watchRequestBodies(bodies) {
      gauge('request_body_bytes', 'Size of the bodies of all requests in progress, without small ones.', [], () => [
        [[], bodies.heldBytes],
      ]);
      gauge('request_body_bytes_limit', 'Maximum of request_body_bytes.', [], () => [[[], bodies.maxHeldBytes]]);
      exposition.read(
        'counter',
        `${prefix}request_bodies_refused_total`,
        'Requests rejected because the bodies of all requests in progress were too large together.',
        [],
        () => [[[], bodies.refused]],
      );
    },

    render: (keep) => exposition.render(keep),
    close: () => loopDelay.disable(),
  };
}

/** Counts the topics that modules publish; returns a function that unsubscribes. */
export function measureChanges(metrics: Metrics, changes: Changes): () => void {
  const lost = new Set<string>();
  const offs = [
    changes.subscribe('call.finished', ({ server, tool, outcome, measured }) =>
      metrics.onCall({ server, tool, outcome, ...measured }),
    ),
    changes.subscribe('server.checked', ({ name, ms, failed }) => metrics.onHealthCheck(name, { ms, failed })),
    changes.subscribe('search.finished', ({ ms }) => metrics.onSearch(ms)),
    changes.subscribe('query.finished', ({ ms }) => metrics.onQuery(ms)),
    changes.subscribe('authentication.failed', ({ outcome }) => metrics.onFailedAuthentication(outcome)),
    changes.subscribe('server.status', ({ server_id: id, name, status, previous }) => {
      const wasConnected = previous === 'CONNECTED' || previous === 'DEGRADED';
      if (wasConnected && status === 'ERROR') lost.add(id);
      if (status === 'DISCONNECTED') lost.delete(id);
      if (status === 'CONNECTED' && previous === 'CONNECTING' && lost.delete(id)) metrics.onReconnected(name);
    }),
    changes.subscribe('server.renamed', ({ previous }) => metrics.forgetServer(previous)),
    changes.subscribe('server.removed', ({ server_id: id, name }) => {
      lost.delete(id);
      metrics.forgetServer(name);
    }),
  ];
  return () => {
    for (const off of offs) off();
  };
}

type Read = ReturnType<typeof createExposition>['read'];

function describeServers({ servers, childMemory }: MetricSources, read: Read): void {
  const each = (name: string, help: string, value: (server: ServerMeasure) => number) =>
    read('gauge', prefix + name, help, ['server'], () =>
      [...servers()].map((server) => [[server.name], value(server)] as const),
    );

  read('untyped', `${prefix}servers_total`, 'Registered servers by status.', ['status'], () => {
    const count = new Map(statuses.map((status) => [status, 0]));
    for (const { status } of servers()) count.set(status.toLowerCase(), (count.get(status.toLowerCase()) ?? 0) + 1);
    return [...count].map(([status, number]) => [[status], number] as const);
  });
  each('server_up', '1 while calls to the server are executed.', ({ status }) =>
    status === 'CONNECTED' || status === 'DEGRADED' ? 1 : 0,
  );
  each(
    'health_check_consecutive_failures',
    'Failed health checks since the last successful one.',
    (server) => server.consecutiveFailures,
  );
  each('server_login_needed', '1 while the server requires a login (OAuth).', ({ login }) =>
    login === undefined || login === null ? 0 : 1,
  );
  each('active_calls', 'Requests in progress per server.', (server) => server.active);
  each('queue_length', 'Queued requests per server.', (server) => server.queued);
  each('children', 'Processes started for a server.', (server) => server.childPids.length);
  read('gauge', `${prefix}server_sessions`, 'Sessions to servers.', ['kind', 'era'], () => countSessions(servers()));
  if (childMemory === undefined) return;
  const memoryName = `${prefix}children_resident_memory_bytes`;
  read('gauge', memoryName, 'Memory of the processes started for a server.', ['server'], async () => {
    const measured = [...servers()].filter(({ childPids }) => childPids.length > 0);
    return await Promise.all(
      measured.map(async ({ name, childPids }) => {
        const sizes = await Promise.all(childPids.map(childMemory));
        return [[name], sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0)] as const;
      }),
    );
  });
}

function countSessions(servers: Iterable<ServerMeasure>): Sample[] {
  const count = new Map<string, number>();
  const add = (kind: string, era: string, number: number) => {
    if (number > 0) count.set(`${kind} ${era}`, (count.get(`${kind} ${era}`) ?? 0) + number);
  };
  for (const { sharedSessions, clientSessions, era } of servers) {
    add('shared', era, sharedSessions);
    add('client', era, clientSessions);
  }
  return [...count].map(([key, number]) => [key.split(' '), number]);
}

/** The histogram measures the time between its ticks, so the resolution is subtracted. */
function readLoopDelay(histogram: ReturnType<typeof monitorEventLoopDelay>): Sample[] {
  const seconds = (nanoseconds: number) =>
    Number.isFinite(nanoseconds) ? Math.max(0, nanoseconds / 1e9 - loopResolutionMs / 1_000) : 0;
  const empty = histogram.count === 0;
  const samples: Sample[] = [
    [['p50'], empty ? 0 : seconds(histogram.percentile(50))],
    [['p99'], empty ? 0 : seconds(histogram.percentile(99))],
    [['max'], empty ? 0 : seconds(histogram.max)],
  ];
  histogram.reset();
  return samples;
}

/** Uses the standard names of Prometheus clients, so that common dashboards work. */
function describeProcess(read: Read): void {
  const startedAt = Date.now() / 1_000 - process.uptime();
  const one = (type: 'counter' | 'gauge', name: string, help: string, value: () => number | undefined) =>
    read(type, name, help, [], () => {
      const current = value();
      return current === undefined ? [] : [[[], current]];
    });
  one('gauge', 'process_resident_memory_bytes', 'Resident memory.', () => process.memoryUsage.rss());
  one('gauge', 'process_start_time_seconds', 'Start of the process since the epoch.', () => startedAt);
  one('counter', 'process_cpu_seconds_total', 'User and system time.', () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  });
  one('gauge', 'process_open_fds', 'Open file descriptors.', openDescriptors);
  const descriptors = maxDescriptors();
  one('gauge', 'process_max_fds', 'Maximum number of open file descriptors.', () => descriptors);
  one('gauge', 'nodejs_heap_size_used_bytes', 'Used part of the heap.', () => process.memoryUsage().heapUsed);
  one('gauge', 'nodejs_heap_size_total_bytes', 'Size of the heap.', () => process.memoryUsage().heapTotal);
  one('gauge', 'nodejs_external_memory_bytes', 'Memory outside the heap.', () => process.memoryUsage().external);
}
