import type { AnswerOf } from '../api.ts';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { Failure } from '../parts/notice.tsx';
import { useResource } from '../resource.ts';
import { useSession } from '../session.ts';
import { ago } from '../words.ts';

type KeyList = AnswerOf<'getKeys'>;
type ServerKeys = KeyList['servers'][number];

/** The keys that servers ask the user who is signed in for; nothing where no server asks. */
export function MyKeys() {
  const { role } = useSession();
  const { data, error, reload } = useResource<KeyList>('/api/v1/keys');
  if (error === undefined && (data === undefined || data.total === 0)) return null;
  const columns: Column<ServerKeys>[] = [
    { id: 'server', name: 'Server', cell: ({ server }) => server },
    { id: 'keys', name: 'Keys', cell: ({ keys }) => keys.map(stateOf).join(', ') },
    {
      id: 'sent',
      name: 'Sent to',
      onlyWide: true,
      cell: ({ sent_to: place }) => place ?? 'a program on the host of the aggregator',
    },
    ...(role === 'viewer' ? [] : [{ id: 'actions', name: 'Actions', width: '8rem', cell: entryLink }]),
  ];
  return (
    <section aria-label="My keys">
      <h2>My keys</h2>
      <p>These servers are called with your own keys. Keys are stored encrypted and never shown.</p>
      <Failure error={error} retry={reload} />
      <DataTable label="Keys" rows={data?.servers ?? []} columns={columns} keyOf={({ server_id: id }) => id} />
    </section>
  );
}

const stateOf = ({ name, entered_at: at }: ServerKeys['keys'][number]) =>
  `${name} (${at === null ? 'missing' : `entered ${ago(at)}`})`;

const entryLink = ({ server, complete }: ServerKeys) => (
  <a
    className="button small"
    href={`/keys/${encodeURIComponent(server)}`}
    aria-label={`${complete ? 'Change' : 'Enter'} keys for ${server}`}
  >
    {complete ? 'Change' : 'Enter keys'}
  </a>
);
