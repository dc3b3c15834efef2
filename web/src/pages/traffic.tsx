import { useMemo, useState } from 'react';
import { cancelCall, type EndedCall, type RunningCall, toolOf, useCalls } from '../calls.ts';
import { useAction } from '../parts/action.ts';
import { OutcomeBadge } from '../parts/badge.tsx';
import { serverColumn } from '../parts/call-columns.tsx';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { say } from '../parts/messages.tsx';
import { Empty, Failure, Loading } from '../parts/notice.tsx';
import { Page } from '../parts/page.tsx';
import { PanelLink } from '../parts/panel.tsx';
import { Choice, SearchBar } from '../parts/search-bar.tsx';
import { Tabs } from '../parts/tabs.tsx';
import { resources } from '../resource.ts';
import { linkTo, useParameter, usePlace } from '../route.ts';
import { ranges, toRange, useStatistics } from '../statistics.ts';
import { clock, count, duration, outcomeWords } from '../words.ts';
import { CallCharts } from './call-charts.tsx';
import { CallPanel, callParameter } from './call-panel.tsx';
import { groupErrors, isError } from './error-groups.ts';
import { ErrorTable } from './error-table.tsx';

const outcomes = [
  { value: '', name: 'Any outcome' },
  { value: 'errors', name: 'All errors' },
  ...Object.entries(outcomeWords)
    .filter(([value]) => value !== 'running')
    .map(([value, name]) => ({ value, name })),
];

export function TrafficPage({ view }: { view: string | undefined }) {
  const [range] = useParameter('range', ranges[0].value);
  const [server] = useParameter('server');
  const statistics = useStatistics(toRange(range), { server: server === '' ? undefined : server });
  const calls = useCalls();
  const [paused, setPaused] = useState(false);
  const current = view === 'errors' ? 'errors' : 'calls';
  const recent = useFrozen(calls.data?.recent, paused);
  return (
    <Page
      title="Traffic"
      actions={
        <>
          <Choice parameter="range" label="Time range" options={ranges} />
          <button type="button" aria-pressed={paused} onClick={() => setPaused(!paused)}>
            {paused ? 'Resume' : 'Pause'}
          </button>
        </>
      }
    >
      <Failure error={calls.error ?? statistics.error} retry={calls.reload} />
      {calls.loading && <Loading />}
      <CallCharts statistics={statistics.data} />
      <RunningCalls calls={calls.data?.running ?? []} />
      <Tabs
        label="Views"
        current={current}
        tabs={[
          { id: 'calls', name: 'Calls', href: withFilters(linkTo('traffic')) },
          { id: 'errors', name: 'Errors', href: withFilters(linkTo('traffic', 'errors')) },
        ]}
      >
        {recent !== undefined && <Recent calls={recent} isErrors={current === 'errors'} />}
      </Tabs>
      <CallPanel calls={calls.data} />
    </Page>
  );
}

/** The filters hold in both views. */
function withFilters(href: string): string {
  const query = window.location.hash.split('?')[1];
  return query === undefined ? href : `${href}?${query}`;
}

/** As it was when it was paused. */
function useFrozen<Value>(value: Value, isFrozen: boolean): Value {
  const [kept, setKept] = useState({ value, isFrozen });
  if (kept.isFrozen !== isFrozen) setKept({ value, isFrozen });
  return isFrozen && kept.isFrozen ? kept.value : value;
}

function Recent({ calls, isErrors }: { calls: readonly EndedCall[]; isErrors: boolean }) {
  const [query] = useParameter('q');
  const [outcome] = useParameter('outcome');
  const [server] = useParameter('server');
  const servers = useMemo(() => [...new Set(calls.map((call) => call.server))].sort(), [calls]);
  const shown = useMemo(() => {
    const words = query.toLowerCase();
    return calls.filter(
      (call) =>
        (server === '' || call.server === server) &&
        (isErrors || outcome === '' || (outcome === 'errors' ? isError(call) : call.outcome === outcome)) &&
        `${call.tool} ${call.principal} ${call.client ?? ''} ${call.error_code ?? ''}`.toLowerCase().includes(words),
    );
  }, [calls, query, outcome, server, isErrors]);
  if (calls.length === 0) {
    return (
      <Empty title="No calls yet">
        <p>
          Calls of all clients appear here in real time. <a href={linkTo('tools')}>Try a tool</a> or{' '}
          <a href={linkTo('connect')}>connect a client</a>.
        </p>
      </Empty>
    );
  }
  return (
    <>
      <SearchBar label="Filter by tool, client, principal or error">
        <Choice
          parameter="server"
          label="Server"
          options={[{ value: '', name: 'All servers' }, ...servers.map((name) => ({ value: name, name }))]}
        />
        {!isErrors && <Choice parameter="outcome" label="Outcome" options={outcomes} />}
      </SearchBar>
      {isErrors ? <ErrorTable groups={groupErrors(shown)} /> : <CallTable calls={shown} />}
      <p className="summary">
        {count(shown.length, 'call')} of the latest {calls.length}
      </p>
    </>
  );
}

const columns: Column<EndedCall>[] = [
  {
    id: 'tool',
    name: 'Tool',
    sortBy: ({ tool }) => tool,
    cell: (call) => (
      <PanelLink parameter={callParameter} value={call.call_id}>
        {toolOf(call)}
      </PanelLink>
    ),
  },
  serverColumn(),
  {
    id: 'outcome',
    name: 'Outcome',
    width: '9.5rem',
    sortBy: ({ outcome }) => outcome,
    cell: ({ outcome }) => <OutcomeBadge outcome={outcome} />,
  },
  {
    id: 'duration',
    name: 'Duration',
    width: '6.5rem',
    isNumber: true,
    sortBy: ({ duration_ms: ms }) => ms,
    cell: ({ duration_ms: ms }) => duration(ms),
  },
  {
    id: 'client',
    name: 'Client',
    width: '14rem',
    onlyWide: true,
    sortBy: ({ client, principal }) => `${client ?? ''} ${principal}`,
    cell: ({ client, principal }) => `${client ?? 'REST API'} · ${principal}`,
  },
  { id: 'at', name: 'Ended', width: '6.5rem', onlyWide: true, sortBy: ({ at }) => at, cell: ({ at }) => clock(at) },
];

function CallTable({ calls }: { calls: readonly EndedCall[] }) {
  return (
    <DataTable
      label="Calls"
      rows={calls}
      columns={columns}
      keyOf={({ call_id }) => call_id}
      newRows="wait"
      openKey={usePlace().query.get(callParameter)}
    />
  );
}

const phaseWords = { queue: 'waits in the queue', connect: 'waits for a session', server: 'at the server' };

/** Calls run on when the page that started them is left: here they are found and cancelled. */
function RunningCalls({ calls }: { calls: readonly RunningCall[] }) {
  if (calls.length === 0) return null;
  return (
    <>
      <h2>{count(calls.length, 'running call')}</h2>
      <DataTable label="Running calls" rows={calls} columns={runningColumns} keyOf={({ call_id }) => call_id} />
    </>
  );
}

const runningColumns: Column<RunningCall>[] = [
  {
    id: 'running-tool',
    name: 'Tool',
    cell: (call) => (
      <PanelLink parameter={callParameter} value={call.call_id}>
        {toolOf(call)}
      </PanelLink>
    ),
  },
  { id: 'running-server', name: 'Server', width: '11rem', onlyWide: true, cell: ({ server }) => server },
  { id: 'phase', name: 'Phase', width: '11rem', onlyWide: true, cell: ({ phase }) => phaseWords[phase] },
  { id: 'for', name: 'For', width: '6rem', isNumber: true, cell: ({ running_ms: ms }) => duration(ms) },
  {
    id: 'caller',
    name: 'Client',
    width: '14rem',
    onlyWide: true,
    cell: ({ client, principal }) => `${client ?? 'REST API'} · ${principal}`,
  },
  { id: 'cancel', name: 'Action', width: '7rem', cell: (call) => <CancelButton call={call} /> },
];

function CancelButton({ call }: { call: RunningCall }) {
  const { running, run } = useAction();
  if (!call.can_cancel) return null;
  const cancel = () =>
    run(async () => {
      await cancelCall(call.call_id).then(
        () => say(`${toolOf(call)} is cancelled.`),
        () => say(`${toolOf(call)} had already ended.`),
      );
      await resources.invalidateQueries();
    });
  return (
    <button
      type="button"
      className="small"
      aria-label={`Cancel ${toolOf(call)}`}
      disabled={running}
      onClick={() => void cancel()}
    >
      Cancel
    </button>
  );
}
