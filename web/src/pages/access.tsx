import { type FormEvent, useMemo, useState } from 'react';
import { type AnswerOf, api, type Profile, type ServerList, serversPath, type Tool } from '../api.ts';
import { useAction } from '../parts/action.ts';
import { CopyButton } from '../parts/copy-button.tsx';
import { Confirm } from '../parts/dialog.tsx';
import { Empty, Failure, Notice } from '../parts/notice.tsx';
import { Scroll } from '../parts/scroll.tsx';
import { serverEvents, useResource } from '../resource.ts';
import { useIsAdmin, useIsUnboundAdmin } from '../session.ts';
import { ago, count } from '../words.ts';

export function AccessPage({ tab: _tab }: { tab: string | undefined }) {
  const isAdmin = useIsAdmin();
  return (
    <>
      <h1>Access</h1>
      {!isAdmin && <Notice tone="info">Tokens and the audit are visible to admins only.</Notice>}
      {isAdmin && <Tokens />}
      <Profiles />
      {isAdmin && <Audit />}
    </>
  );
}

type Token = AnswerOf<'getTokens'>['tokens'][number];

const days: [string, string][] = [
  ['', 'Never'],
  ['7', 'In 7 days'],
  ['30', 'In 30 days'],
  ['90', 'In 90 days'],
  ['365', 'In a year'],
];

function Tokens() {
  const { data, error, reload } = useResource<{ tokens: Token[] }>('/api/v1/tokens');
  const profiles = useResource<{ profiles: Profile[] }>('/api/v1/profiles');
  const action = useAction();
  const [created, setCreated] = useState<{ name: string; token: string }>();
  const [revoking, setRevoking] = useState<Token>();
  const create = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const text = (name: string) => String(new FormData(form).get(name) ?? '').trim();
    const expires = text('expires');
    void action.run(async () => {
      const answer = await api<{ name: string; token: string }>('POST', '/api/v1/tokens', {
        name: text('name'),
        role: text('role'),
        profile: text('profile') || undefined,
        expires_at: expires === '' ? undefined : new Date(Date.now() + Number(expires) * 86_400_000).toISOString(),
      });
      setCreated(answer);
      form.reset();
      reload();
    });
  };
  const tokens = data?.tokens ?? [];
  return (
    <section>
      <h2>Tokens</h2>
      <form className="bar" onSubmit={create}>
        <div className="field grow">
          <label htmlFor="token-name">Token name</label>
          <input id="token-name" name="name" required maxLength={255} autoComplete="off" />
        </div>
        <div className="field">
          <label htmlFor="token-role">Role</label>
          <select id="token-role" name="role" defaultValue="caller">
            <option value="viewer">viewer: lists servers and tools</option>
            <option value="caller">caller: also calls tools</option>
            <option value="admin">admin: full access</option>
          </select>
        </div>
        <div className="field">
          <label htmlFor="token-profile">Profile</label>
          <select id="token-profile" name="profile" defaultValue="">
            <option value="">None: all tools</option>
            {(profiles.data?.profiles ?? []).map(({ name }) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </div>
        <div className="field">
          <label htmlFor="token-expires">Expires</label>
          <select id="token-expires" name="expires" defaultValue="">
            {days.map(([value, word]) => (
              <option key={value} value={value}>
                {word}
              </option>
            ))}
          </select>
        </div>
        <button type="submit" className="primary" disabled={action.running}>
          Create
        </button>
      </form>
      <Failure error={error ?? action.error} />
      {created !== undefined && (
        <Notice tone="good">
          <p>
            Token {created.name}, shown only once. Copy it now: <CopyButton text={created.token} />
          </p>
          <code className="secret">{created.token}</code>
        </Notice>
      )}
      {data !== undefined && tokens.length === 0 && (
        <p className="dim">No tokens yet. Create a separate token for each client.</p>
      )}
      {tokens.length > 0 && (
        <Scroll label="Tokens">
          <table>
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Role</th>
                <th scope="col">Access</th>
                <th scope="col">Last used</th>
                <th scope="col">Expires</th>
                <th scope="col">
                  <span className="hidden">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {tokens.map((token) => (
                <tr key={token.id}>
                  <th scope="row">{token.name}</th>
                  <td>{token.role}</td>
                  <td>
                    {token.profile === null ? (token.servers?.join(', ') ?? 'everything') : `profile ${token.profile}`}
                  </td>
                  <td>{token.last_used_at === null ? 'never' : ago(token.last_used_at)}</td>
                  <td>{token.expires_at === null ? 'never' : new Date(token.expires_at).toLocaleDateString()}</td>
                  <td>
                    <button
                      type="button"
                      className="small"
                      aria-label={`Revoke ${token.name}`}
                      onClick={() => setRevoking(token)}
                    >
                      Revoke
                    </button>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
      {revoking !== undefined && (
        <Confirm
          title={`Revoke the token of ${revoking.name}?`}
          action="Revoke it"
          onClose={() => setRevoking(undefined)}
          onConfirm={() =>
            void action.run(async () => {
              await api('DELETE', `/api/v1/tokens/${encodeURIComponent(revoking.id)}`);
              reload();
            })
          }
        >
          <p>
            Requests with this token are rejected immediately. This cannot be undone, but you can create a new token.
          </p>
        </Confirm>
      )}
    </section>
  );
}

/** A rough measure that all models agree on: four characters are about a token. */
const charactersPerToken = 4;

function Profiles() {
  const isAdmin = useIsUnboundAdmin();
  const { data, error, reload } = useResource<{ profiles: Profile[] }>('/api/v1/profiles');
  const list = useResource<ServerList>(`${serversPath}?limit=1000&include_tools=true`);
  const [editing, setEditing] = useState<Profile>();
  const [removing, setRemoving] = useState<Profile>();
  const action = useAction();
  const profiles = data?.profiles ?? [];
  return (
    <section>
      <div className="title">
        <h2>Profiles</h2>
        {isAdmin && (
          <button type="button" className="small" onClick={() => setEditing({ name: '', endpoint: '' })}>
            New profile
          </button>
        )}
      </div>
      <p className="dim">A profile is a separate endpoint with a selection of servers and tools.</p>
      <Failure error={error ?? action.error} />
      {editing !== undefined && (
        <ProfileForm
          key={editing.name}
          profile={editing}
          servers={list.data}
          onDone={() => {
            setEditing(undefined);
            reload();
          }}
        />
      )}
      {data !== undefined && profiles.length === 0 && editing === undefined && <p className="dim">None yet.</p>}
      <ul className="cards">
        {profiles.map((profile) => (
          <li key={profile.name} className="card">
            <div className="head">
              <h3>{profile.name}</h3>
              <code>{profile.endpoint}</code>
            </div>
            {profile.description !== undefined && <p>{profile.description}</p>}
            <p className="dim">{profile.servers === undefined ? 'All servers' : profile.servers.join(', ')}</p>
            <Preview profile={profile} list={list.data} />
            {isAdmin && (
              <div className="actions">
                <button type="button" className="small" onClick={() => setEditing(profile)}>
                  Edit
                </button>
                <button type="button" className="small quiet" onClick={() => setRemoving(profile)}>
                  Remove
                </button>
              </div>
            )}
          </li>
        ))}
      </ul>
      {removing !== undefined && (
        <Confirm
          title={`Remove the profile ${removing.name}?`}
          action="Remove it"
          onClose={() => setRemoving(undefined)}
          onConfirm={() =>
            void action.run(async () => {
              await api('DELETE', `/api/v1/profiles/${encodeURIComponent(removing.name)}`);
              reload();
            })
          }
        >
          <p>Clients that use {removing.endpoint} are rejected. Servers and tools are not affected.</p>
        </Confirm>
      )}
    </section>
  );
}

/** What a client of the profile would see, and what it costs. */
function Preview({
  profile,
  list,
}: {
  profile: Pick<Profile, 'servers' | 'tools' | 'exposure'>;
  list: ServerList | undefined;
}) {
  const { tools, tokens } = useMemo(() => weigh(profile, list), [profile, list]);
  if (list === undefined) return null;
  const number = count(tools.length, 'tool');
  const cost = `about ${tokens.toLocaleString('en-US')} tokens`;
  return (
    <details className="dim">
      <summary>
        {profile.exposure === 'search'
          ? `A client sees the search tools and finds ${number} with them. Listing all of them would cost ${cost}.`
          : `A client sees ${number}. Listing them costs ${cost}.`}
      </summary>
      {tools.length === 0 && <p>No tools match. Check the servers and the patterns.</p>}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard */}
      <ul className="seen" tabIndex={0} aria-label="Tools of the profile">
        {tools.slice(0, maxPreviewed).map((tool) => (
          <li key={tool.id}>
            <code>{shownName(profile, tool)}</code> {tokensOf(tool).toLocaleString('en-US')}
          </li>
        ))}
      </ul>
      {tools.length > maxPreviewed && <p>and {tools.length - maxPreviewed} more</p>}
    </details>
  );
}

const maxPreviewed = 200;

function shownName({ tools }: Pick<Profile, 'tools'>, tool: Tool): string {
  return tools?.find(({ name }) => name === tool.name)?.rename ?? tool.wire_name;
}

function weigh({ servers, tools }: Pick<Profile, 'servers' | 'tools'>, list: ServerList | undefined) {
  const patterns = tools?.map(({ name }) => new RegExp(`^${name.split('*').map(literal).join('.*')}$`));
  const seen: Tool[] = (list?.servers ?? [])
    .filter(({ name }) => servers === undefined || servers.includes(name))
    .flatMap((server) => server.tools ?? [])
    .filter(({ name }) => patterns === undefined || patterns.some((pattern) => pattern.test(name)));
  return { tools: seen, tokens: seen.reduce((sum, tool) => sum + tokensOf(tool), 0) };
}

function tokensOf({ wire_name: name, description, input_schema: schema }: Tool): number {
  return Math.round((name.length + description.length + JSON.stringify(schema).length) / charactersPerToken);
}

const literal = (text: string) => text.replace(/[\\^$.+?()[\]{}|]/g, '\\$&');

function ProfileForm({
  profile,
  servers: list,
  onDone,
}: {
  profile: Profile;
  servers: ServerList | undefined;
  onDone: () => void;
}) {
  const [name, setName] = useState(profile.name);
  const [description, setDescription] = useState(profile.description ?? '');
  const [servers, setServers] = useState(profile.servers);
  const [tools, setTools] = useState(profile.tools?.map((tool) => tool.name).join('\n') ?? '');
  const [exposure, setExposure] = useState(profile.exposure ?? 'auto');
  const { running, error, run } = useAction();
  const patterns = tools
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)
    .map((pattern) => profile.tools?.find((tool) => tool.name === pattern) ?? { name: pattern });
  const draft = { servers, tools: patterns.length === 0 ? undefined : patterns };
  const save = (event: FormEvent) => {
    event.preventDefault();
    void run(async () => {
      await api('PUT', `/api/v1/profiles/${encodeURIComponent(name)}`, {
        ...draft,
        description: description || undefined,
        exposure,
      });
      onDone();
    });
  };
  const names = (list?.servers ?? []).map((server) => server.name);
  return (
    <form className="card" onSubmit={save} aria-label="Profile">
      <div className="bar">
        <div className="field">
          <label htmlFor="profile-name">Name</label>
          <input
            id="profile-name"
            required
            pattern="[a-z][a-z0-9_\-]*"
            disabled={profile.name !== ''}
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        </div>
        <div className="field grow">
          <label htmlFor="profile-description">Description</label>
          <input
            id="profile-description"
            value={description}
            onChange={(event) => setDescription(event.target.value)}
          />
        </div>
        <div className="field">
          <label htmlFor="profile-exposure">Lists</label>
          <select
            id="profile-exposure"
            value={exposure}
            onChange={(event) => setExposure(event.target.value as 'auto' | 'all' | 'search')}
          >
            <option value="auto">auto: all tools, or the search tools if there are many</option>
            <option value="all">all tools</option>
            <option value="search">only the search tools</option>
          </select>
        </div>
      </div>
      <fieldset>
        <legend>Servers</legend>
        <label className="check">
          <input
            type="checkbox"
            checked={servers === undefined}
            onChange={(event) => setServers(event.target.checked ? undefined : names)}
          />{' '}
          all, including servers that are added later
        </label>
        {servers !== undefined &&
          names.map((each) => (
            <label key={each} className="check">
              <input
                type="checkbox"
                checked={servers.includes(each)}
                onChange={(event) =>
                  setServers(event.target.checked ? [...servers, each] : servers.filter((other) => other !== each))
                }
              />{' '}
              {each}
            </label>
          ))}
      </fieldset>
      <div className="field">
        <label htmlFor="profile-tools">Only these tools</label>
        <textarea
          id="profile-tools"
          rows={3}
          className="code"
          placeholder={'github.search_*\nfilesystem.read_file'}
          value={tools}
          onChange={(event) => setTools(event.target.value)}
        />
        <p className="help">One per line; * matches any characters. Leave empty to include all tools of the servers.</p>
      </div>
      <Preview profile={{ ...draft, exposure }} list={list} />
      <Failure error={error} />
      <div className="actions">
        <button type="submit" className="primary" disabled={running}>
          Save
        </button>
        <button type="button" onClick={onDone}>
          Cancel
        </button>
      </div>
    </form>
  );
}

type AuditRecord = AnswerOf<'getAggregatorAudit'>['audit'][number];

type Verdict = AnswerOf<'getAggregatorAuditVerify'>;

/** Records of calls are written a little later than the calls end. */
const auditOptions = { on: ['call.finished', ...serverEvents] as const, gather: 2_000 };

function Audit() {
  const [actor, setActor] = useState('');
  const [event, setEvent] = useState('');
  const [shown, setShown] = useState(20);
  const query = new URLSearchParams({ limit: String(shown), ...(actor && { actor }), ...(event && { event }) });
  const { data, error } = useResource<{ audit: AuditRecord[] }>(`/api/v1/aggregator/audit?${query}`, auditOptions);
  const [verdict, setVerdict] = useState<Verdict>();
  const action = useAction();
  const records = data?.audit ?? [];
  return (
    <section>
      <div className="title">
        <h2>Audit</h2>
        <div className="actions">
          <button
            type="button"
            className="small"
            disabled={action.running}
            onClick={() =>
              void action.run(async () => setVerdict(await api<Verdict>('GET', '/api/v1/aggregator/audit/verify')))
            }
          >
            {action.running ? 'Verifying…' : 'Verify'}
          </button>
          <a className="button small" href="/api/v1/aggregator/audit/export" download="audit.ndjson">
            Export
          </a>
        </div>
      </div>
      <Failure error={error ?? action.error} />
      {verdict !== undefined && (
        <Notice tone={verdict.intact ? 'good' : 'bad'}>
          {verdict.intact
            ? `Intact: ${count(verdict.records, 'record')}, none changed, removed or inserted.`
            : `Not intact: ${verdict.problem?.explanation ?? 'unknown'}`}
        </Notice>
      )}
      <search className="bar">
        <div className="field">
          <label htmlFor="audit-actor">Actor</label>
          <input id="audit-actor" type="search" value={actor} onChange={(change) => setActor(change.target.value)} />
        </div>
        <div className="field">
          <label htmlFor="audit-event">Event</label>
          <input
            id="audit-event"
            type="search"
            placeholder="server.registered"
            value={event}
            onChange={(change) => setEvent(change.target.value)}
          />
        </div>
      </search>
      {data !== undefined && records.length === 0 && <Empty title="No records" />}
      {records.length > 0 && (
        <Scroll label="Audit records">
          <table>
            <thead>
              <tr>
                <th scope="col">When</th>
                <th scope="col">Event</th>
                <th scope="col">Actor</th>
                <th scope="col">Server</th>
                <th scope="col">Details</th>
              </tr>
            </thead>
            <tbody>
              {records.map((record) => (
                <tr key={record.id}>
                  <td>
                    <time dateTime={record.timestamp} title={new Date(record.timestamp).toLocaleString()}>
                      {ago(record.timestamp)}
                    </time>
                  </td>
                  <th scope="row">{record.event}</th>
                  <td>{record.actor}</td>
                  <td>{record.server_name ?? ''}</td>
                  <td className="dim clip">{record.details === null ? '' : brief(record.details)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
      {records.length === shown && shown < 1_000 && (
        <button type="button" onClick={() => setShown(Math.min(1_000, shown * 4))}>
          Show more
        </button>
      )}
    </section>
  );
}

function brief(details: Record<string, unknown>): string {
  return Object.entries(details)
    .filter(([, value]) => value !== null)
    .map(([key, value]) => `${key}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ');
}
