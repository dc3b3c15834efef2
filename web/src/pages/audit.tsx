import { useState } from 'react';
import { type AnswerOf, api } from '../api.ts';
import { useAction } from '../parts/action.ts';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { JsonTree } from '../parts/json-tree.tsx';
import { Failure, Loading, Notice } from '../parts/notice.tsx';
import { Panel, PanelLink } from '../parts/panel.tsx';
import { Choice, SearchBar } from '../parts/search-bar.tsx';
import { serverEvents, useResource } from '../resource.ts';
import { useParameter } from '../route.ts';
import { ago, count } from '../words.ts';

type AuditRecord = AnswerOf<'getAggregatorAudit'>['audit'][number];
type Verdict = AnswerOf<'getAggregatorAuditVerify'>;

const auditPath = '/api/v1/aggregator/audit';
const pageSize = 100;

const kinds = [
  { value: 'changes', name: 'Changes' },
  { value: 'calls', name: 'Calls' },
  { value: 'all', name: 'Changes and calls' },
];

const periods = [
  { value: '', name: 'Any time' },
  { value: '1', name: 'Last 24 hours' },
  { value: '7', name: 'Last 7 days' },
  { value: '30', name: 'Last 30 days' },
];

const columns: readonly Column<AuditRecord>[] = [
  {
    id: 'event',
    name: 'Event',
    width: '14rem',
    cell: ({ id, event }) => (
      <PanelLink parameter="record" value={String(id)}>
        {event}
      </PanelLink>
    ),
  },
  {
    id: 'when',
    name: 'When',
    width: '9rem',
    cell: ({ timestamp }) => (
      <time dateTime={timestamp} title={new Date(timestamp).toLocaleString()}>
        {ago(timestamp)}
      </time>
    ),
  },
  { id: 'actor', name: 'Actor', width: '9rem', cell: ({ actor }) => actor },
  { id: 'server', name: 'Server', width: '9rem', onlyWide: true, cell: ({ server_name: server }) => server ?? '' },
  {
    id: 'details',
    name: 'Details',
    onlyWide: true,
    cell: ({ details }) => <span className="dim">{details === null ? '' : brief(details)}</span>,
  },
];

/** Who did what. Calls are left out at first: they would bury what admins did. */
export function AuditView() {
  const [text] = useParameter('q');
  const [kind] = useParameter('kind', 'changes');
  const [period] = useParameter('period');
  const [open] = useParameter('record');
  const { records, error, loading, more } = useRecords(text, kind, period);
  const record = records.find(({ id }) => String(id) === open);
  return (
    <>
      <Verification />
      <SearchBar label="Event, actor or server">
        <Choice parameter="kind" label="Kind" options={kinds} />
        <Choice parameter="period" label="Period" options={periods} />
      </SearchBar>
      <Failure error={error} />
      {loading && <Loading />}
      {!loading && (
        <DataTable
          label="Audit records"
          rows={records}
          columns={columns}
          keyOf={({ id }) => String(id)}
          newRows="wait"
          question={`${text} ${kind} ${period}`}
          openKey={open}
          empty="No records match."
        />
      )}
      {more !== undefined && (
        <button type="button" onClick={more}>
          Show more
        </button>
      )}
      {record !== undefined && <RecordPanel record={record} />}
    </>
  );
}

/** The newest records, kept current, and the pages before them, which stay as they were read. */
function useRecords(text: string, kind: string, period: string) {
  const filter = new URLSearchParams({ limit: String(pageSize) });
  if (text !== '') filter.set('contains', text);
  if (kind !== 'all') filter.set('kind', kind);
  // By the day, so that the address of the request stays the same.
  if (period !== '') filter.set('since', startOfDay(Number(period)));
  const query = filter.toString();
  const { data, error, loading } = useResource<{ audit: AuditRecord[] }>(`${auditPath}?${query}`, {
    on: ['call.finished', ...serverEvents],
    gather: 2_000,
  });
  const [earlier, setEarlier] = useState<{ query: string; records: AuditRecord[]; complete: boolean }>();
  const action = useAction();
  const newest = data?.audit ?? [];
  const older = earlier?.query === query ? earlier : undefined;
  const first = older?.records[0]?.id ?? 0;
  const records = [...newest.filter(({ id }) => older === undefined || id > first), ...(older?.records ?? [])];
  const last = records.at(-1);
  const isComplete = older === undefined ? newest.length < pageSize : older.complete;
  const readMore = () =>
    action.run(async () => {
      const { audit } = await api<{ audit: AuditRecord[] }>('GET', `${auditPath}?${query}&before=${last?.id}`);
      setEarlier({ query, records: [...records, ...audit], complete: audit.length < pageSize });
    });
  return {
    records,
    error: error ?? action.error,
    loading,
    more: isComplete || last === undefined || action.running ? undefined : () => void readMore(),
  };
}

function startOfDay(days: number): string {
  const day = new Date();
  day.setHours(0, 0, 0, 0);
  day.setDate(day.getDate() - days + 1);
  return day.toISOString();
}

function Verification() {
  const [verdict, setVerdict] = useState<Verdict>();
  const { running, error, run } = useAction();
  const verify = () => run(async () => setVerdict(await api<Verdict>('GET', `${auditPath}/verify`)));
  return (
    <>
      <div className="actions">
        <p className="grow dim">Every record is sealed: changed, removed or inserted records are found.</p>
        <button type="button" className="small" disabled={running} onClick={() => void verify()}>
          {running ? 'Verifying…' : 'Verify'}
        </button>
        <a className="button small" href={`${auditPath}/export`} download="audit.ndjson">
          Export
        </a>
      </div>
      <Failure error={error} />
      {verdict !== undefined && (
        <Notice tone={verdict.intact ? 'good' : 'bad'}>
          {verdict.intact
            ? `Intact: ${count(verdict.records, 'record')}, none changed, removed or inserted.`
            : `Not intact: ${verdict.problem?.explanation ?? 'unknown'}`}
        </Notice>
      )}
    </>
  );
}

function RecordPanel({ record }: { record: AuditRecord }) {
  const { event, actor, timestamp, server_name: server, ip_address: address, details } = record;
  const facts = [
    ['When', new Date(timestamp).toLocaleString()],
    ['Actor', actor],
    ['Server', server],
    ['Address', address],
  ].filter(([, value]) => value !== null);
  return (
    <Panel title={event} parameter="record">
      <dl className="rows">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {details !== null && <JsonTree value={details} />}
    </Panel>
  );
}

function brief(details: Record<string, unknown>): string {
  return Object.entries(details)
    .filter(([, value]) => value !== null)
    .map(([key, value]) => `${key}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ');
}
