import { useMemo, useState } from 'react';
import { type AnswerOf, api, type Server, type ServerList, type Status, serverPath, serversPath } from '../api.ts';
import { useAction } from '../parts/action.ts';
import { StatusBadge } from '../parts/badge.tsx';
import { callsColumn } from '../parts/call-columns.tsx';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { say } from '../parts/messages.tsx';
import { Empty, Failure, Loading } from '../parts/notice.tsx';
import { Page } from '../parts/page.tsx';
import { Choice, SearchBar } from '../parts/search-bar.tsx';
import { Sparkline } from '../parts/sparkline.tsx';
import { resources, serverEvents, useResource } from '../resource.ts';
import { linkTo, useParameter } from '../route.ts';
import { useIsUnboundAdmin } from '../session.ts';
import { percent, type StatisticsSeries, useStatistics } from '../statistics.ts';
import { count, duration, explain, riskWords } from '../words.ts';
import { useAttention } from './attention.tsx';
import { ConfirmRemoval, connectServer, disconnectServer } from './server-actions.tsx';

interface ServerRow {
  server: Server;
  statistics: StatisticsSeries | undefined;
  /** The gravest risk of its held tools. */
  risk: string | undefined;
}

const hour = { seconds: 3_600, step: 150 };
const states = [
  { value: '', name: 'All states' },
  { value: 'problems', name: 'With problems' },
  { value: 'connected', name: 'Connected' },
  { value: 'disconnected', name: 'Disconnected' },
];
const connected: Status[] = ['CONNECTED', 'DEGRADED'];

export function ServersPage() {
  const list = useResource<ServerList>(`${serversPath}?limit=1000`, { on: serverEvents, gather: 500 });
  const statistics = useStatistics(hour, { by: 'server', limit: 100 });
  const attention = useAttention();
  const [query] = useParameter('q');
  const [state] = useParameter('state');
  const mayAdd = useIsUnboundAdmin();
  const rows = useMemo(
    () => toRows(list.data, statistics.data?.series, attention.data?.items),
    [list.data, statistics.data, attention.data],
  );
  const shown = useMemo(() => rows.filter((row) => fits(row, query, state)), [rows, query, state]);
  const add = mayAdd && (
    <a className="button primary" href={linkTo('servers', '+')}>
      Add servers
    </a>
  );
  return (
    <Page title="Servers" actions={add}>
      <Failure error={list.error} retry={list.reload} />
      {list.loading && <Loading />}
      {list.data !== undefined && rows.length === 0 && (
        <Empty title="No servers yet">
          <p>Import the servers of Claude, Cursor or VS Code, or add one manually.</p>
          {add}
        </Empty>
      )}
      {rows.length > 0 && (
        <>
          <SearchBar label="Filter servers">
            <Choice parameter="state" label="State" options={states} />
          </SearchBar>
          <ServerTable rows={shown} />
          <Summary rows={rows} shown={shown.length} />
        </>
      )}
    </Page>
  );
}

type Attention = AnswerOf<'getAggregatorAttention'>['items'];

function toRows(
  list: ServerList | undefined,
  series: readonly StatisticsSeries[] = [],
  attention: Attention = [],
): ServerRow[] {
  const statistics = new Map(series.map((each) => [each.server, each]));
  const held = attention.filter(({ kind }) => kind === 'held_tool').reverse();
  const risks = new Map(held.map(({ server, change }) => [server, change?.risk]));
  return (list?.servers ?? []).map((server) => ({
    server,
    statistics: statistics.get(server.name),
    risk: risks.get(server.name),
  }));
}

const hasProblem = ({ server: { status, error_message: error, login }, risk }: ServerRow) =>
  status === 'ERROR' || status === 'DEGRADED' || login !== null || risk !== undefined || error !== null;

function fits(row: ServerRow, query: string, state: string): boolean {
  const { name, description, status } = row.server;
  if (!`${name} ${description ?? ''}`.toLowerCase().includes(query.toLowerCase())) return false;
  if (state === 'problems') return hasProblem(row);
  if (state === 'connected') return connected.includes(status);
  return state !== 'disconnected' || status === 'DISCONNECTED';
}

/** A changed tool is held: where it is decided. */
function HeldBadge({ server, risk }: { server: string; risk: string }) {
  const words = riskWords[risk] ?? risk;
  return (
    <a className="badge bad" href={linkTo('servers', server, 'changes')} title={words}>
      held<span className="hidden">: {words}</span>
    </a>
  );
}

const columns: Column<ServerRow>[] = [
  {
    id: 'name',
    name: 'Name',
    width: '14rem',
    sortBy: ({ server }) => server.name,
    cell: ({ server }) => <a href={linkTo('servers', server.name)}>{server.name}</a>,
  },
  {
    id: 'status',
    name: 'Status',
    width: '12rem',
    sortBy: ({ server }) => (server.login === null ? server.status : 'LOGIN'),
    cell: ({ server, risk }) => (
      <>
        <StatusBadge {...server} /> {risk !== undefined && <HeldBadge server={server.name} risk={risk} />}
      </>
    ),
  },
  {
    id: 'problem',
    name: 'Description',
    onlyWide: true,
    cell: ({ server }) => {
      const isBroken = server.login === null && (server.status === 'ERROR' || server.status === 'DEGRADED');
      const why = isBroken ? explain(server)?.reason : undefined;
      const text = why ?? server.description ?? '';
      return (
        <span className={why === undefined ? 'dim' : 'bad-text'} title={text}>
          {text}
        </span>
      );
    },
  },
  {
    id: 'tools',
    name: 'Tools',
    width: '5rem',
    isNumber: true,
    onlyWide: true,
    sortBy: ({ server }) => server.tool_count,
    cell: ({ server }) => server.tool_count.toLocaleString('en-US'),
  },
  callsColumn(),
  {
    id: 'trend',
    name: 'Trend',
    width: '8.5rem',
    onlyWide: true,
    cell: ({ statistics }) =>
      statistics !== undefined && (
        <Sparkline values={statistics.points.calls} failed={statistics.points.failed} label="Calls of the last hour" />
      ),
  },
  {
    id: 'failed',
    name: 'Failed',
    width: '5.5rem',
    isNumber: true,
    onlyWide: true,
    sortBy: ({ statistics }) => (statistics === undefined ? null : statistics.failed / Math.max(1, statistics.calls)),
    cell: ({ statistics }) => (statistics === undefined ? '–' : percent(statistics.failed, statistics.calls)),
  },
  {
    id: 'p95',
    name: 'p95',
    width: '5rem',
    isNumber: true,
    onlyWide: true,
    sortBy: ({ statistics }) => statistics?.p95_ms ?? null,
    cell: ({ statistics }) => (statistics?.p95_ms == null ? '–' : duration(statistics.p95_ms)),
  },
];

function ServerTable({ rows }: { rows: readonly ServerRow[] }) {
  const isAdmin = useIsUnboundAdmin();
  const [keys, setKeys] = useState<ReadonlySet<string>>(new Set());
  const chosen = rows.map(({ server }) => server).filter(({ id }) => keys.has(id));
  const clear = () => setKeys(new Set());
  return (
    <DataTable
      label="Servers"
      rows={rows}
      columns={columns}
      keyOf={({ server }) => server.id}
      sort="name"
      selection={
        isAdmin
          ? {
              keys,
              onChange: setKeys,
              nameOf: (key) => rows.find(({ server }) => server.id === key)?.server.name ?? key,
              actions: <BulkActions servers={chosen} onDone={clear} />,
            }
          : undefined
      }
    />
  );
}

function BulkActions({ servers, onDone }: { servers: readonly Server[]; onDone: () => void }) {
  const { running, error, run } = useAction();
  const [removing, setRemoving] = useState(false);
  const start = (task: () => Promise<unknown>) => () =>
    void run(async () => {
      await task();
      await resources.invalidateQueries();
      onDone();
    });
  const off = servers.filter(({ status }) => status === 'DISCONNECTED' || status === 'ERROR');
  const on = servers.filter(({ status }) => connected.includes(status));
  const connectAll = (all: readonly Server[]) => Promise.all(all.map(({ id }) => connectServer(id)));
  const [only] = on;
  const disconnect = async () => {
    if (on.length === 1 && only !== undefined) return await disconnectServer(only);
    await Promise.all(on.map(({ id }) => api('POST', `${serverPath(id)}/disconnect`, { force: false })));
    say(`${count(on.length, 'server')} disconnected.`, { undo: () => connectAll(on) });
  };
  return (
    <>
      <button
        type="button"
        className="small"
        disabled={running || off.length === 0}
        onClick={start(() => connectAll(off))}
      >
        Connect
      </button>
      <button type="button" className="small" disabled={running || on.length === 0} onClick={start(disconnect)}>
        Disconnect
      </button>
      <button type="button" className="small" disabled={running} onClick={() => setRemoving(true)}>
        Remove
      </button>
      <Failure error={error} />
      {removing && (
        <ConfirmRemoval
          servers={servers}
          onClose={() => setRemoving(false)}
          onConfirm={start(async () => {
            await Promise.all(servers.map(({ id }) => api('DELETE', serverPath(id))));
            say(`${count(servers.length, 'server')} removed.`);
          })}
        />
      )}
    </>
  );
}

function Summary({ rows, shown }: { rows: readonly ServerRow[]; shown: number }) {
  const number = rows.filter(({ server }) => connected.includes(server.status)).length;
  const tools = rows.reduce((sum, { server }) => sum + server.tool_count, 0);
  return (
    <p className="summary" role="status">
      {shown < rows.length && `${shown} of `}
      {count(rows.length, 'server')}: {number} connected, {count(tools, 'tool')}
    </p>
  );
}
