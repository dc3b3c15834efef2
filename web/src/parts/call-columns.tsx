/** Columns that several tables share. */
import type { Column } from './data-table.tsx';

/** Of the last hour. */
export function callsColumn<Row extends { statistics?: { calls: number } | undefined }>(): Column<Row> {
  return {
    id: 'calls',
    name: 'Calls (1 h)',
    width: '6.5rem',
    isNumber: true,
    onlyWide: true,
    sortBy: ({ statistics }) => statistics?.calls ?? 0,
    cell: ({ statistics }) => (statistics?.calls ?? 0).toLocaleString('en-US'),
  };
}

export function serverColumn<Row extends { server: string }>(): Column<Row> {
  return {
    id: 'server',
    name: 'Server',
    width: '11rem',
    onlyWide: true,
    sortBy: ({ server }) => server,
    cell: ({ server }) => server,
  };
}
