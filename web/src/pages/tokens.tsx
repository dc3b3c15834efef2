import { type FormEvent, useState } from 'react';
import { type AnswerOf, api, type Profile } from '../api.ts';
import { type Action, useAction } from '../parts/action.ts';
import { CopyButton } from '../parts/copy-button.tsx';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { Confirm } from '../parts/dialog.tsx';
import { say } from '../parts/messages.tsx';
import { Failure, Loading, Notice } from '../parts/notice.tsx';
import { useResource } from '../resource.ts';
import { linkTo } from '../route.ts';
import { useIsAdmin, useSession } from '../session.ts';
import { ago } from '../words.ts';
import { MyKeys } from './keys.tsx';

export type TokenList = AnswerOf<'getTokens'>;
export type Token = TokenList['tokens'][number];

const tokensPath = '/api/v1/tokens';

/** The tokens of the user who is signed in, for the user's own clients and scripts. */
export function MyTokens() {
  const { name, role } = useSession();
  const { data, error, loading, reload } = useResource<TokenList>(`${tokensPath}?own=true`);
  return (
    <>
      <p className="lead">
        You are signed in as {name} ({role}). Create a separate token for each client or script.{' '}
        <a href={linkTo('connect')}>Connect a client</a>
      </p>
      <Failure error={error} retry={reload} />
      {loading && <Loading />}
      {data !== undefined && (
        <>
          {data.creation.allowed ? (
            <TokenForm own maxDays={data.creation.max_days} onCreated={reload} />
          ) : (
            <Notice tone="info">{data.creation.reason ?? 'You cannot create tokens.'}</Notice>
          )}
          <TokenTable tokens={data.tokens} onRevoked={reload} empty="You have no tokens yet." />
        </>
      )}
      <MyKeys />
    </>
  );
}

const lifetimes: [number, string][] = [
  [7, 'In 7 days'],
  [30, 'In 30 days'],
  [90, 'In 90 days'],
  [365, 'In a year'],
];

const roles = [
  { role: 'viewer', text: 'viewer: lists servers and tools' },
  { role: 'caller', text: 'caller: also calls tools' },
  { role: 'admin', text: 'admin: full access' },
] as const;

/** `own`: the token belongs to the user who is signed in; otherwise it is a user of its own. */
export function TokenForm({
  own,
  maxDays,
  onCreated,
}: {
  own: boolean;
  maxDays: number | null;
  onCreated: () => void;
}) {
  const { role: ownRole } = useSession();
  const action = useAction();
  const [created, setCreated] = useState<{ name: string; token: string }>();
  const create = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const text = (name: string) => String(new FormData(form).get(name) ?? '').trim();
    const days = Number(text('expires'));
    void action.run(async () => {
      const answer = await api<{ name: string; token: string }>('POST', tokensPath, {
        name: text('name'),
        role: text('role'),
        profile: text('profile') || undefined,
        expires_at: days === 0 ? undefined : new Date(Date.now() + days * 86_400_000).toISOString(),
        own,
      });
      setCreated(answer);
      form.reset();
      onCreated();
    });
  };
  // A role includes the ones before it. Users give at most their own role.
  const possible = roles.slice(0, roles.findIndex(({ role }) => role === ownRole) + 1);
  return (
    <>
      <form className="bar" onSubmit={create} aria-label="New token">
        <div className="field grow">
          <label htmlFor="token-name">Token name</label>
          <input id="token-name" name="name" required maxLength={255} autoComplete="off" />
        </div>
        <div className="field">
          <label htmlFor="token-role">Role</label>
          <select id="token-role" name="role" defaultValue={ownRole === 'viewer' ? 'viewer' : 'caller'}>
            {possible.map(({ role, text }) => (
              <option key={role} value={role}>
                {text}
              </option>
            ))}
          </select>
        </div>
        <ProfileChoice />
        <div className="field">
          <label htmlFor="token-expires">Expires</label>
          <select id="token-expires" name="expires" defaultValue={maxDays === null ? '' : '7'}>
            {maxDays === null && <option value="">Never</option>}
            {lifetimes
              .filter(([days]) => maxDays === null || days <= maxDays || days === 7)
              .map(([days, word]) => (
                <option key={days} value={days}>
                  {word}
                </option>
              ))}
          </select>
        </div>
        <button type="submit" className="primary" disabled={action.running}>
          Create
        </button>
      </form>
      <Failure error={action.error} />
      {created !== undefined && (
        <Notice tone="good">
          <p>
            Token {created.name}, shown only once. Copy it now: <CopyButton text={created.token} />
          </p>
          <code className="secret">{created.token}</code>
        </Notice>
      )}
    </>
  );
}

function ProfileChoice() {
  const { data } = useResource<{ profiles: Profile[] }>('/api/v1/profiles');
  return (
    <div className="field">
      <label htmlFor="token-profile">Profile</label>
      <select id="token-profile" name="profile" defaultValue="">
        <option value="">None: all tools</option>
        {(data?.profiles ?? []).map(({ name }) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </div>
  );
}

export function TokenTable({
  tokens,
  onRevoked,
  empty,
}: {
  tokens: readonly Token[];
  onRevoked: () => void;
  empty: string;
}) {
  const isAdmin = useIsAdmin();
  const [revoking, setRevoking] = useState<Token>();
  const action = useAction();
  const columns: Column<Token>[] = [
    { id: 'name', name: 'Name', sortBy: ({ name }) => name, cell: ({ name }) => name },
    { id: 'role', name: 'Role', width: '5.5rem', onlyWide: true, sortBy: ({ role }) => role, cell: ({ role }) => role },
    ...(isAdmin
      ? [
          {
            id: 'owner',
            name: 'User',
            onlyWide: true,
            cell: ({ owner }: Token) => owner?.name ?? owner?.id ?? 'the token itself',
          },
        ]
      : []),
    { id: 'access', name: 'Access', onlyWide: true, cell: accessOf },
    {
      id: 'used',
      name: 'Last used',
      width: '8rem',
      onlyWide: true,
      sortBy: ({ last_used_at: used }) => used ?? '',
      cell: ({ last_used_at: used }) => (used === null ? 'never' : ago(used)),
    },
    {
      id: 'expires',
      name: 'Expires',
      width: '6.5rem',
      sortBy: ({ expires_at: at }) => at ?? '9',
      cell: ({ expires_at: at }) => (at === null ? 'never' : new Date(at).toLocaleDateString()),
    },
    {
      id: 'actions',
      name: 'Actions',
      width: '6.5rem',
      cell: (token) => (
        <button type="button" className="small" aria-label={`Revoke ${token.name}`} onClick={() => setRevoking(token)}>
          Revoke
        </button>
      ),
    },
  ];
  return (
    <>
      <Failure error={action.error} />
      <DataTable label="Tokens" rows={tokens} columns={columns} keyOf={({ id }) => id} sort="name" empty={empty} />
      {revoking !== undefined && (
        <RevokeDialog token={revoking} action={action} onClose={() => setRevoking(undefined)} onRevoked={onRevoked} />
      )}
    </>
  );
}

const accessOf = ({ profile, servers }: Token) =>
  profile === null ? (servers?.join(', ') ?? 'everything') : `profile ${profile}`;

function RevokeDialog({
  token: { id, name },
  action,
  onClose,
  onRevoked,
}: {
  token: Token;
  action: Action;
  onClose: () => void;
  onRevoked: () => void;
}) {
  const revoke = () =>
    action.run(async () => {
      await api('DELETE', `${tokensPath}/${encodeURIComponent(id)}`);
      say(`The token ${name} was revoked.`);
      onRevoked();
    });
  return (
    <Confirm title={`Revoke the token ${name}?`} action="Revoke" onClose={onClose} onConfirm={() => void revoke()}>
      <p>Requests with this token are rejected immediately. This cannot be undone, but you can create a new token.</p>
    </Confirm>
  );
}
