import { useCallback, useEffect, useState } from 'react';
import { findAlerts } from '../alerts.ts';
import { type Activity, type AnswerOf, type RecentCall, type ServerList, serversPath } from '../api.ts';
import { onLive } from '../live.ts';
import { parseMetrics, quantile, type Sample, sumOf } from '../metrics-text.ts';
import { HeatMap } from '../parts/heat-map.tsx';
import { Empty, Failure, Loading, Notice } from '../parts/notice.tsx';
import { serverEvents, useResource } from '../resource.ts';
import { linkTo } from '../route.ts';
import { bytes, count, duration } from '../words.ts';

type State = AnswerOf<'getAggregatorState'>;

/** Calls change the numbers all the time; once in two seconds is live enough. */
const calls = { on: ['call.finished', ...serverEvents] as const, gather: 2_000 };
const windowMs = 300_000;

export function HealthPage() {
  const state = useResource<State>('/api/v1/aggregator/state', calls);
  const list = useResource<ServerList>(`${serversPath}?limit=1000`, { on: serverEvents });
  const activity = useResource<Activity>('/api/v1/aggregator/activity', calls);
  const samples = useMetrics();
  if (state.data === undefined || activity.data === undefined) {
    return state.error === undefined ? <Loading /> : <Failure error={state.error} retry={state.reload} />;
  }
  const routing = quantile(samples, 'mcp_aggregator_routing_duration_seconds', 0.95);
  const alerts = findAlerts({
    servers: list.data?.servers ?? [],
    activity: activity.data,
    classified: state.data.classified_tools,
    tools: state.data.total_tools,
    routingP95Ms: routing === undefined ? undefined : routing * 1_000,
  });
  const { servers } = activity.data;
  return (
    <>
      <h1>Health</h1>
      {alerts.length === 0 ? (
        <Notice tone="good">No problems.</Notice>
      ) : (
        alerts.map(({ level, title, explanation }) => (
          <Notice key={title} tone={level}>
            <strong>{title}</strong>
            <p>{explanation}</p>
          </Notice>
        ))
      )}
      <Numbers state={state.data} activity={activity.data} samples={samples} routing={routing} />
      <h2>Recent hours</h2>
      {servers.length === 0 ? (
        <Empty title="No servers yet">
          <a href={linkTo('servers', '+')}>Add servers</a>
        </Empty>
      ) : (
        <>
          <HeatMap servers={servers} />
          <p className="legend">
            <span className="swatch good" /> connected <span className="swatch good strong" /> with calls{' '}
            <span className="swatch warn" /> unstable or failures <span className="swatch bad" /> not reachable{' '}
            <span className="swatch off" /> disconnected
          </p>
        </>
      )}
    </>
  );
}

function Numbers({
  state,
  activity,
  samples,
  routing,
}: {
  state: State;
  activity: Activity;
  samples: Sample[];
  routing: number | undefined;
}) {
  const recent = lately(activity.recent_calls);
  const failed = recent.filter(({ outcome }) => !['ok', 'tool_error', 'cancelled'].includes(outcome)).length;
  const queued = activity.servers.reduce((sum, server) => sum + server.queued_calls, 0);
  const active = activity.servers.reduce((sum, server) => sum + server.active_calls, 0);
  const sessions = samples.filter(({ name, value }) => name === 'mcp_aggregator_sessions' && value > 0);
  const numbers: [string, string, string?][] = [
    ['Servers', `${state.connected_servers} / ${state.total_servers}`, 'connected'],
    ['Calls', recent.length === 0 ? '0' : `${(recent.length / (windowMs / 1_000)).toFixed(2)}/s`, 'last 5 minutes'],
    ['p50', recent.length === 0 ? '–' : duration(percentile(recent, 0.5)), 'call duration'],
    ['p95', recent.length === 0 ? '–' : duration(percentile(recent, 0.95)), 'call duration'],
    ['Failures', recent.length === 0 ? '–' : `${((failed / recent.length) * 100).toFixed(1)} %`, `${failed} calls`],
    ['Routing', routing === undefined ? '–' : duration(routing * 1_000), 'p95'],
    ['Running', String(active), `${queued} waiting`],
    [
      'Sessions',
      String(sumOf(sessions, 'mcp_aggregator_sessions')),
      sessions.map(sessionWords).join(', ') || 'of clients',
    ],
    ['Memory', bytes(activity.memory_bytes), 'of the aggregator'],
    ['Uptime', uptime(state.uptime_seconds), count(state.total_tools, 'tool')],
  ];
  return (
    <dl className="numbers">
      {numbers.map(([term, value, note]) => (
        <div key={term}>
          <dt>{term}</dt>
          <dd>
            <strong>{value}</strong> <span className="dim">{note}</span>
          </dd>
        </div>
      ))}
    </dl>
  );
}

const sessionWords = ({ labels, value }: Sample) => `${value} ${labels.era ?? labels.kind ?? ''}`;

function lately(all: readonly RecentCall[]): RecentCall[] {
  const since = Date.now() - windowMs;
  return all.filter(({ at }) => Date.parse(at) >= since);
}

function percentile(all: readonly RecentCall[], share: number): number {
  const sorted = all.map((call) => call.duration_ms).sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? 0;
}

function uptime(seconds: number): string {
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3_600)} h` : `${Math.floor(seconds / 86_400)} days`;
}

/** Text, not JSON, so not a resource. */
function useMetrics(): Sample[] {
  const [samples, setSamples] = useState<Sample[]>([]);
  const load = useCallback(async () => {
    const response = await fetch('/metrics');
    if (response.ok) setSamples(parseMetrics(await response.text()));
  }, []);
  useEffect(() => {
    let timer: number | undefined;
    void load();
    const off = onLive((name) => {
      if (name !== 'call.finished') return;
      timer ??= window.setTimeout(() => {
        timer = undefined;
        void load();
      }, calls.gather);
    });
    return () => {
      off();
      window.clearTimeout(timer);
    };
  }, [load]);
  return samples;
}
