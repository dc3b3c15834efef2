import { useState } from 'react';
import { type AnswerOf, api } from '../api.ts';
import { useAction } from '../parts/action.ts';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { Confirm } from '../parts/dialog.tsx';
import { say } from '../parts/messages.tsx';
import { Failure, Loading } from '../parts/notice.tsx';
import { useResource } from '../resource.ts';
import { useIsUnboundAdmin } from '../session.ts';
import { ago } from '../words.ts';
import { TokenForm, type TokenList, TokenTable } from './tokens.tsx';

/** Who may use the aggregator: users of the identity provider, and all tokens. */
export function PeopleView() {
  const isUnbound = useIsUnboundAdmin();
  const tokens = useResource<TokenList>('/api/v1/tokens');
  return (
    <>
      {isUnbound && <Accounts />}
      <h2>Tokens</h2>
      <Failure error={tokens.error} retry={tokens.reload} />
      {tokens.loading && <Loading />}
      {tokens.data !== undefined && (
        <>
          <p className="dim">
            A token created here is a user of its own, for a program or for a person without an account.
          </p>
          <TokenForm own={false} maxDays={null} onCreated={tokens.reload} />
          <TokenTable
            tokens={tokens.data.tokens}
            onRevoked={tokens.reload}
            empty="No tokens yet. Create a separate token for each client."
          />
        </>
      )}
    </>
  );
}

type Account = AnswerOf<'getAccounts'>['accounts'][number];

const stateWords: Record<Account['state'], { word: string; tone: string }> = {
  active: { word: 'active', tone: 'good' },
  unchecked: { word: 'never signed in', tone: 'off' },
  ended: { word: 'access ended', tone: 'bad' },
};

function Accounts() {
  const { data, error, reload } = useResource<{ accounts: Account[] }>('/api/v1/accounts');
  const [ending, setEnding] = useState<Account>();
  const action = useAction();
  if (data?.accounts.length === 0) return null;
  const columns: Column<Account>[] = [
    { id: 'name', name: 'User', sortBy: ({ name }) => name, cell: ({ name }) => name },
    { id: 'role', name: 'Role', width: '6rem', sortBy: ({ role }) => role, cell: ({ role }) => role },
    { id: 'profile', name: 'Profile', width: '8rem', onlyWide: true, cell: ({ profile }) => profile ?? 'none' },
    {
      id: 'state',
      name: 'State',
      width: '9rem',
      cell: ({ state }) => <span className={`badge ${stateWords[state].tone}`}>{stateWords[state].word}</span>,
    },
    {
      id: 'seen',
      name: 'Last seen',
      width: '9rem',
      onlyWide: true,
      sortBy: ({ last_seen_at: seen }) => seen,
      cell: ({ last_seen_at: seen }) => ago(seen),
    },
    { id: 'tokens', name: 'Tokens', width: '6rem', isNumber: true, onlyWide: true, cell: ({ tokens }) => tokens },
    {
      id: 'actions',
      name: 'Actions',
      width: '8rem',
      cell: (account) => (
        <button
          type="button"
          className="small"
          aria-label={`End the access of ${account.name}`}
          onClick={() => setEnding(account)}
        >
          End access
        </button>
      ),
    },
  ];
  const end = ({ id, name }: Account) =>
    action.run(async () => {
      await api('DELETE', `/api/v1/accounts/${encodeURIComponent(id)}`);
      say(`The access of ${name} ended.`);
      reload();
    });
  return (
    <section>
      <h2>People</h2>
      <Failure error={error ?? action.error} />
      {data !== undefined && (
        <DataTable label="People" rows={data.accounts} columns={columns} keyOf={({ id }) => id} sort="name" />
      )}
      {ending !== undefined && (
        <Confirm
          title={`End the access of ${ending.name}?`}
          action="End access"
          onClose={() => setEnding(undefined)}
          onConfirm={() => void end(ending)}
        >
          <p>
            Sessions close, and the tokens, keys and logins of {ending.name} are deleted. The user can sign in again;
            what was deleted is not restored.
          </p>
        </Confirm>
      )}
    </section>
  );
}
