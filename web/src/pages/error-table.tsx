import { toolOf } from '../calls.ts';
import { OutcomeBadge } from '../parts/badge.tsx';
import { serverColumn } from '../parts/call-columns.tsx';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { PanelLink } from '../parts/panel.tsx';
import { clock } from '../words.ts';
import { callParameter } from './call-panel.tsx';
import type { ErrorGroup } from './error-groups.ts';

const columns: Column<ErrorGroup>[] = [
  {
    id: 'tool',
    name: 'Tool',
    sortBy: ({ tool }) => tool,
    cell: (group) => (
      <PanelLink parameter={callParameter} value={group.last.call_id}>
        {toolOf(group)}
      </PanelLink>
    ),
  },
  serverColumn(),
  { id: 'outcome', name: 'Outcome', width: '9.5rem', cell: ({ outcome }) => <OutcomeBadge outcome={outcome} /> },
  {
    id: 'code',
    name: 'Code',
    width: '14rem',
    onlyWide: true,
    sortBy: ({ code }) => code,
    cell: ({ code }) => code ?? '',
  },
  {
    id: 'calls',
    name: 'Calls',
    width: '6rem',
    isNumber: true,
    sortBy: ({ calls }) => calls,
    cell: ({ calls }) => calls,
  },
  { id: 'clients', name: 'Clients', width: '14rem', onlyWide: true, cell: ({ clients }) => clients.join(', ') },
  {
    id: 'last',
    name: 'Last',
    width: '6.5rem',
    onlyWide: true,
    sortBy: ({ last }) => last.at,
    cell: ({ last }) => clock(last.at),
  },
];

export function ErrorTable({ groups }: { groups: readonly ErrorGroup[] }) {
  return (
    <DataTable
      label="Errors"
      rows={groups}
      columns={columns}
      keyOf={({ key }) => key}
      sort="-calls"
      empty="No errors among the latest calls."
    />
  );
}
