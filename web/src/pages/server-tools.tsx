import { useMemo, useState } from 'react';
import { api, type ServerDetail, serverPath, type Tool } from '../api.ts';
import { useAction } from '../parts/action.ts';
import { RiskBadge } from '../parts/badge.tsx';
import { callsColumn } from '../parts/call-columns.tsx';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { say } from '../parts/messages.tsx';
import { Failure, Loading } from '../parts/notice.tsx';
import { PanelLink } from '../parts/panel.tsx';
import { SearchBar } from '../parts/search-bar.tsx';
import { Switch } from '../parts/switch.tsx';
import { resources, useResource } from '../resource.ts';
import { linkTo, useParameter } from '../route.ts';
import { useIsAdmin } from '../session.ts';
import { type StatisticsSeries, useStatistics } from '../statistics.ts';
import { count, duration } from '../words.ts';
import { changeAddress, changeParameter } from './change-review.tsx';

interface ServerTool {
  tool: Tool;
  server: string;
  statistics: StatisticsSeries | undefined;
  mayChange: boolean;
}

const hour = { seconds: 3_600, step: 300 };

export function ServerTools({ server }: { server: ServerDetail }) {
  const isAdmin = useIsAdmin();
  const { data, error, loading, reload } = useResource<{ tools: Tool[] }>(`${serverPath(server.name)}/tools`, {
    on: ['server.discovered', 'catalog.changed'],
    gather: 400,
  });
  const statistics = useStatistics(hour, { server: server.name, by: 'tool', limit: 100 });
  const [query] = useParameter('q');
  const rows = useMemo(() => {
    const calls = new Map(statistics.data?.series?.map((series) => [series.tool, series]));
    const words = query.toLowerCase();
    return (data?.tools ?? [])
      .filter(({ name, description }) => `${name} ${description}`.toLowerCase().includes(words))
      .map((tool) => ({ tool, server: server.name, statistics: calls.get(tool.name), mayChange: isAdmin }));
  }, [data, statistics.data, query, server.name, isAdmin]);
  const { running, error: refreshError, run } = useAction();
  const refresh = () => run(() => api('POST', `${serverPath(server.name)}/tools/refresh`));
  return (
    <>
      <SearchBar label="Filter tools">
        {isAdmin && (
          <button type="button" disabled={running} onClick={() => void refresh()}>
            Refresh
          </button>
        )}
      </SearchBar>
      <Failure error={error ?? refreshError} retry={reload} />
      {loading ? <Loading /> : <ToolTable server={server.name} rows={rows} isAdmin={isAdmin} />}
      <p className="summary">{count(rows.length, 'tool')}</p>
    </>
  );
}

const columns: Column<ServerTool>[] = [
  {
    id: 'name',
    name: 'Name',
    width: '18rem',
    sortBy: ({ tool }) => tool.original_name,
    cell: ({ tool }) => <a href={linkTo('tools', tool.name)}>{tool.original_name}</a>,
  },
  {
    id: 'state',
    name: 'State',
    width: '13rem',
    sortBy: ({ tool }) => (tool.held_change === undefined ? (tool.warnings === undefined ? 2 : 1) : 0),
    cell: ({ tool, server }) => <ToolState tool={tool} server={server} />,
  },
  {
    id: 'description',
    name: 'Description',
    onlyWide: true,
    cell: ({ tool }) => <span className="dim">{tool.description}</span>,
  },
  callsColumn(),
  {
    id: 'p95',
    name: 'p95',
    width: '5rem',
    isNumber: true,
    onlyWide: true,
    sortBy: ({ statistics }) => statistics?.p95_ms ?? null,
    cell: ({ statistics }) => (statistics?.p95_ms == null ? '–' : duration(statistics.p95_ms)),
  },
  {
    id: 'enabled',
    name: 'On',
    width: '4.5rem',
    sortBy: ({ tool }) => (tool.enabled ? 0 : 1),
    cell: ({ tool, server, mayChange }) => (
      <Switch
        label={`${tool.original_name} is enabled`}
        checked={tool.enabled}
        disabled={!mayChange}
        onChange={(enabled) => void setEnabled(server, [tool.original_name], enabled)}
      />
    ),
  },
];

function ToolState({ tool, server }: { tool: Tool; server: string }) {
  const { held_change: held, warnings } = tool;
  if (held !== undefined) {
    return (
      <PanelLink
        parameter={changeParameter}
        value={changeAddress(server, held.id)}
        aria-label={`Review ${tool.original_name}`}
      >
        <RiskBadge risk={held.risk} />
      </PanelLink>
    );
  }
  if (warnings !== undefined && warnings.length > 0) return <span className="badge warn">suspicious text</span>;
  return tool.enabled ? null : <span className="badge off">disabled</span>;
}

async function setEnabled(server: string, names: readonly string[], enabled: boolean): Promise<void> {
  const write = async (value: boolean) => {
    for (const name of names) {
      await api('PATCH', `${serverPath(server)}/tools/${encodeURIComponent(name)}`, { enabled: value ? null : false });
    }
    await resources.invalidateQueries();
  };
  try {
    await write(enabled);
    const what = names.length === 1 ? names[0] : count(names.length, 'tool');
    say(`${what} ${enabled ? 'enabled' : 'disabled'}.`, { undo: () => write(!enabled) });
  } catch (error) {
    say(error instanceof Error ? error.message : String(error), { tone: 'bad' });
  }
}

function ToolTable({ server, rows, isAdmin }: { server: string; rows: readonly ServerTool[]; isAdmin: boolean }) {
  const [keys, setKeys] = useState<ReadonlySet<string>>(new Set());
  const change = (enabled: boolean) => {
    void setEnabled(server, [...keys], enabled);
    setKeys(new Set());
  };
  const actions = [true, false].map((enabled) => (
    <button key={String(enabled)} type="button" className="small" onClick={() => change(enabled)}>
      {enabled ? 'Enable' : 'Disable'}
    </button>
  ));
  return (
    <DataTable
      label="Tools"
      rows={rows}
      columns={columns}
      keyOf={({ tool }) => tool.original_name}
      sort="name"
      selection={isAdmin ? { keys, onChange: setKeys, nameOf: (key) => key, actions } : undefined}
      empty="No tools."
    />
  );
}
