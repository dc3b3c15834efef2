import type { Activity, AnswerOf } from '../api.ts';
import { HeatMap } from '../parts/heat-map.tsx';
import { Failure, Loading } from '../parts/notice.tsx';
import { Page } from '../parts/page.tsx';
import { Choice } from '../parts/search-bar.tsx';
import { serverEvents, useResource } from '../resource.ts';
import { linkTo, useParameter } from '../route.ts';
import { percent, perSecond, ranges, type Statistics, toRange, useStatistics } from '../statistics.ts';
import { bytes, count, duration } from '../words.ts';
import { AttentionList } from './attention.tsx';
import { CallCharts } from './call-charts.tsx';
import { FirstSteps } from './first-steps.tsx';
import styles from './overview.module.css';
import { TrafficMap } from './traffic-map.tsx';

type State = AnswerOf<'getAggregatorState'>;

const slow = { on: serverEvents, everyMs: 5_000 } as const;

export function OverviewPage() {
  const state = useResource<State>('/api/v1/aggregator/state', slow);
  const [range] = useParameter('range', ranges[0].value);
  const isNew = state.data?.total_servers === 0;
  return (
    <Page
      title="Overview"
      actions={isNew ? undefined : <Choice parameter="range" label="Time range" options={ranges} />}
    >
      <Failure error={state.error} retry={state.reload} />
      {state.loading && <Loading />}
      {state.data !== undefined && <FirstSteps />}
      {state.data !== undefined && !isNew && <Running state={state.data} range={range} />}
    </Page>
  );
}

function Running({ state, range }: { state: State; range: string }) {
  const statistics = useStatistics(toRange(range));
  const activity = useResource<Activity>('/api/v1/aggregator/activity', { on: serverEvents, everyMs: 30_000 });
  return (
    <>
      <Numbers state={state} statistics={statistics.data} memory={activity.data?.memory_bytes} />
      <AttentionList />
      <Failure error={statistics.error} retry={statistics.reload} />
      <CallCharts statistics={statistics.data} />
      <TrafficMap />
      <h2>Availability</h2>
      <HeatMap servers={activity.data?.servers ?? []} />
      <p className="legend">
        <span className="swatch good" /> connected <span className="swatch good strong" /> with calls{' '}
        <span className="swatch warn" /> unstable or failures <span className="swatch bad" /> not reachable{' '}
        <span className="swatch off" /> disconnected
      </p>
    </>
  );
}

function Numbers({
  state,
  statistics,
  memory,
}: {
  state: State;
  statistics: Statistics | undefined;
  memory: number | undefined;
}) {
  const total = statistics?.total;
  const orDash = (ms: number | null | undefined) => (ms == null ? '–' : duration(ms));
  const saved = statistics?.tokens?.saved;
  const numbers: { term: string; value: string; note: string; href?: string }[] = [
    {
      term: 'Servers',
      value: `${state.connected_servers} / ${state.total_servers}`,
      note: `connected, ${count(state.total_tools, 'tool')}`,
      href: linkTo('servers'),
    },
    {
      term: 'Calls',
      value: total === undefined ? '–' : total.calls.toLocaleString('en-US'),
      note: total === undefined ? '' : perSecond(total.calls_per_second),
      href: linkTo('traffic'),
    },
    {
      term: 'Failed',
      value: total === undefined ? '–' : percent(total.failed, total.calls),
      note: total === undefined ? '' : `${count(total.failed, 'call')}, ${count(total.tool_errors, 'tool error')}`,
    },
    { term: 'p50', value: orDash(total?.p50_ms), note: 'call duration' },
    { term: 'p95', value: orDash(total?.p95_ms), note: 'call duration' },
    ...(saved === undefined
      ? []
      : [{ term: 'Tokens saved', value: saved.toLocaleString('en-US'), note: 'in tool lists and queries' }]),
    {
      term: 'Memory',
      value: memory === undefined ? '–' : bytes(memory),
      note: `running for ${uptime(state.uptime_seconds)}`,
    },
  ];
  return (
    <dl className={styles.numbers}>
      {numbers.map(({ term, value, note, href }) => (
        <div key={term}>
          <dt>{href === undefined ? term : <a href={href}>{term}</a>}</dt>
          <dd>
            <strong>{value}</strong> <span className="dim">{note}</span>
          </dd>
        </div>
      ))}
    </dl>
  );
}

function uptime(seconds: number): string {
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3_600)} h` : `${Math.floor(seconds / 86_400)} days`;
}
