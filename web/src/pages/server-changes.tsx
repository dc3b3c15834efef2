import type { ServerDetail } from '../api.ts';
import { serverPath } from '../api.ts';
import { RiskBadge } from '../parts/badge.tsx';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { Empty, Failure, Loading } from '../parts/notice.tsx';
import { PanelLink } from '../parts/panel.tsx';
import { useResource } from '../resource.ts';
import { usePlace } from '../route.ts';
import { ago } from '../words.ts';
import { type Change, changeAddress, changeParameter } from './change-review.tsx';

const tones: Record<Change['state'], string> = {
  pending: 'bad',
  approved: 'good',
  rejected: 'off',
  withdrawn: 'off',
  removed: 'off',
};

export function ServerChanges({ server }: { server: ServerDetail }) {
  const { data, error, loading, reload } = useResource<{ changes: Change[] }>(
    `${serverPath(server.name)}/changes?limit=200`,
    { on: ['server.discovered', 'catalog.changed'] },
  );
  const open = usePlace().query.get(changeParameter)?.split('/')[1];
  if (loading) return <Loading />;
  if (data === undefined) return <Failure error={error} retry={reload} />;
  if (data.changes.length === 0) {
    return (
      <Empty title="No changes">
        <p>If the server changes a tool after it was first seen, its calls are held here until you decide.</p>
      </Empty>
    );
  }
  const columns: Column<Change>[] = [
    {
      id: 'tool',
      name: 'Tool',
      sortBy: ({ tool }) => tool,
      cell: ({ id, tool }) => (
        <PanelLink parameter={changeParameter} value={changeAddress(server.name, id)}>
          {tool}
        </PanelLink>
      ),
    },
    { id: 'risk', name: 'Risk', width: '13rem', cell: ({ risk }) => <RiskBadge risk={risk} /> },
    {
      id: 'state',
      name: 'State',
      width: '8rem',
      sortBy: ({ state }) => state,
      cell: ({ state }) => <span className={`badge ${tones[state]}`}>{state === 'pending' ? 'held' : state}</span>,
    },
    { id: 'at', name: 'Seen', width: '9rem', onlyWide: true, sortBy: ({ at }) => at, cell: ({ at }) => ago(at) },
    {
      id: 'by',
      name: 'Decided by',
      width: '10rem',
      onlyWide: true,
      cell: ({ decided_by: by, reason }) => <span title={reason ?? undefined}>{by ?? ''}</span>,
    },
  ];
  return (
    <DataTable
      label="Changes"
      rows={data.changes}
      columns={columns}
      keyOf={({ id }) => String(id)}
      sort="-at"
      openKey={open}
    />
  );
}
