import { type FormEvent, useDeferredValue, useMemo, useRef, useState } from 'react';
import { type AnswerOf, api, type BodyOf, type Profile } from '../api.ts';
import { useAction } from '../parts/action.ts';
import { CopyButton } from '../parts/copy-button.tsx';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { Confirm } from '../parts/dialog.tsx';
import { say } from '../parts/messages.tsx';
import { Failure, Loading } from '../parts/notice.tsx';
import { Panel, PanelLink } from '../parts/panel.tsx';
import { TextField } from '../parts/text-field.tsx';
import { allOf, isIncluded, otherPatterns, type ProfileTool, withServer, withTool } from '../profile-selection.ts';
import { useAnswer, useResource } from '../resource.ts';
import { pushParameters, useParameter } from '../route.ts';
import { useIsUnboundAdmin } from '../session.ts';
import { count } from '../words.ts';
import styles from './profiles.module.css';

type ToolsAnswer = AnswerOf<'getAggregatorTools'>;
type Draft = BodyOf<'postProfilesPreview'>;

const profilesPath = '/api/v1/profiles';
const profilePath = (name: string) => `${profilesPath}/${encodeURIComponent(name)}`;
/** No profile can have this name. */
const newProfile = '+';

/** A profile is an endpoint of its own with a selection of servers and tools. */
export function ProfilesView() {
  const isAdmin = useIsUnboundAdmin();
  const { data, error, loading, reload } = useResource<{ profiles: Profile[] }>(profilesPath);
  const [open, setOpen] = useParameter('profile');
  const profiles = data?.profiles ?? [];
  const shown = open === newProfile ? { name: '', endpoint: '' } : profiles.find(({ name }) => name === open);
  return (
    <>
      <div className="actions">
        <p className="grow dim">A profile is a separate endpoint with a selection of servers and tools.</p>
        {isAdmin && (
          <button type="button" className="primary" onClick={() => pushParameters({ profile: newProfile })}>
            New profile
          </button>
        )}
      </div>
      <Failure error={error} retry={reload} />
      {loading && <Loading />}
      {data !== undefined && (
        <DataTable
          label="Profiles"
          rows={profiles}
          columns={columns}
          keyOf={({ name }) => name}
          sort="name"
          openKey={open}
          empty="No profiles yet."
        />
      )}
      {shown !== undefined && (
        <Panel title={shown.name === '' ? 'New profile' : shown.name} parameter="profile">
          <ProfileForm
            key={shown.name}
            profile={shown}
            isAdmin={isAdmin}
            onDone={() => {
              setOpen('');
              reload();
            }}
          />
        </Panel>
      )}
    </>
  );
}

const columns: readonly Column<Profile>[] = [
  {
    id: 'name',
    name: 'Name',
    width: '12rem',
    sortBy: ({ name }) => name,
    cell: ({ name }) => (
      <PanelLink parameter="profile" value={name}>
        {name}
      </PanelLink>
    ),
  },
  {
    id: 'servers',
    name: 'Servers',
    cell: ({ servers }) => (servers === undefined ? 'all' : servers.join(', ')),
  },
  { id: 'tools', name: 'Sees', width: '16rem', onlyWide: true, cell: (profile) => <Sees profile={profile} /> },
  {
    id: 'description',
    name: 'Description',
    onlyWide: true,
    cell: ({ description }) => <span className="dim">{description}</span>,
  },
];

type PreviewAnswer = AnswerOf<'postProfilesPreview'>;

/** What MCP clients of such a profile get, as the aggregator works it out. */
function usePreview(draft: Draft) {
  const body = JSON.stringify(draft);
  const latest = useRef<PreviewAnswer>(undefined);
  const answer = useAnswer<PreviewAnswer>(
    ['profile preview', body],
    (signal) => api('POST', `${profilesPath}/preview`, JSON.parse(body), signal),
    { on: ['catalog.changed'], gather: 1_000 },
  );
  // Until the next is worked out, the one before it stays.
  latest.current = answer.data ?? latest.current;
  return { data: latest.current, error: answer.error };
}

const toDraft = ({ servers, tools, exposure }: Profile): Draft => ({ servers, tools, exposure });

function Sees({ profile }: { profile: Profile }) {
  const { data } = usePreview(toDraft(profile));
  if (data === undefined) return null;
  return `${count(data.tools.length, 'tool')}, ${tokens(data.tokens)}`;
}

const tokens = (number: number) => `about ${count(number, 'token')}`;

function ProfileForm({ profile, isAdmin, onDone }: { profile: Profile; isAdmin: boolean; onDone: () => void }) {
  const [name, setName] = useState(profile.name);
  const [description, setDescription] = useState(profile.description ?? '');
  const [selection, setSelection] = useState<Draft>(() => toDraft(profile));
  const [removing, setRemoving] = useState(false);
  const { running, error, run } = useAction();
  const isNew = profile.name === '';
  const save = (event: FormEvent) => {
    event.preventDefault();
    void run(async () => {
      await api('PUT', profilePath(name), { ...selection, description: description || undefined });
      say(`The profile ${name} was saved.`);
      onDone();
    });
  };
  const remove = () =>
    run(async () => {
      await api('DELETE', profilePath(profile.name));
      const restore = () =>
        api('PUT', profilePath(profile.name), { ...toDraft(profile), description: profile.description });
      say(`The profile ${profile.name} was removed.`, { undo: restore });
      onDone();
    });
  return (
    <form onSubmit={save} aria-label="Profile">
      {!isNew && (
        <p>
          <code>{profile.endpoint}</code> <CopyButton text={`${window.location.origin}${profile.endpoint}`} />
        </p>
      )}
      <fieldset disabled={!isAdmin} className={styles.plain}>
        {isNew && (
          <TextField
            label="Name"
            required
            pattern="[a-z][a-z0-9_\-]*"
            help="Part of the address: a-z, 0-9, - and _"
            value={name}
            onChange={setName}
          />
        )}
        <TextField label="Description" value={description} onChange={setDescription} />
        <SelectionFields selection={selection} onChange={setSelection} />
      </fieldset>
      <Preview draft={selection} />
      <Failure error={error} />
      {isAdmin && (
        <div className={`actions ${styles.foot}`}>
          <button type="submit" className="primary" disabled={running}>
            Save
          </button>
          <button type="button" onClick={() => pushParameters({ profile: undefined })}>
            Cancel
          </button>
          {!isNew && (
            <button type="button" className="quiet" onClick={() => setRemoving(true)}>
              Remove
            </button>
          )}
        </div>
      )}
      {removing && (
        <Confirm
          title={`Remove the profile ${profile.name}?`}
          action="Remove"
          onClose={() => setRemoving(false)}
          onConfirm={() => void remove()}
        >
          <p>Clients that use {profile.endpoint} are rejected. Servers and tools are not affected.</p>
        </Confirm>
      )}
    </form>
  );
}

const exposures = [
  { value: 'auto', name: 'auto: all tools, or the search tools if there are many' },
  { value: 'all', name: 'all tools' },
  { value: 'search', name: 'only the search tools' },
] as const;

function SelectionFields({ selection, onChange }: { selection: Draft; onChange: (selection: Draft) => void }) {
  const { data } = useResource<ToolsAnswer>('/api/v1/aggregator/tools');
  const known = useMemo(() => (data?.servers ?? []).toSorted((a, b) => (a.name < b.name ? -1 : 1)), [data]);
  const { servers, tools, exposure } = selection;
  const names = known.map(({ name }) => name);
  const offered = known.filter(({ name }) => servers === undefined || servers.includes(name));
  const setServer = (name: string, included: boolean) =>
    onChange({ ...selection, servers: names.filter((each) => (each === name ? included : servers?.includes(each))) });
  return (
    <>
      <div className="field">
        <label htmlFor="profile-exposure">Lists</label>
        <select
          id="profile-exposure"
          value={exposure ?? 'auto'}
          onChange={(event) =>
            onChange({ ...selection, exposure: exposures.find(({ value }) => value === event.target.value)?.value })
          }
        >
          {exposures.map(({ value, name }) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </select>
      </div>
      <fieldset>
        <legend>Servers</legend>
        <label className="check">
          <input
            type="checkbox"
            checked={servers === undefined}
            onChange={(event) => onChange({ ...selection, servers: event.target.checked ? undefined : names })}
          />{' '}
          All servers, including those that are added later
        </label>
        {servers !== undefined && (
          <div className={styles.checks}>
            {names.map((name) => (
              <label key={name} className="check">
                <input
                  type="checkbox"
                  checked={servers.includes(name)}
                  onChange={(event) => setServer(name, event.target.checked)}
                />{' '}
                {name}
              </label>
            ))}
          </div>
        )}
      </fieldset>
      <fieldset>
        <legend>Tools</legend>
        <label className="check">
          <input
            type="checkbox"
            checked={tools === undefined}
            onChange={(event) =>
              onChange({
                ...selection,
                tools: event.target.checked ? undefined : offered.map(({ name }) => ({ name: allOf(name) })),
              })
            }
          />{' '}
          All tools of these servers, including those that are added later
        </label>
        {tools !== undefined && (
          <ToolChecks tools={tools} offered={offered} onChange={(next) => onChange({ ...selection, tools: next })} />
        )}
      </fieldset>
    </>
  );
}

function ToolChecks({
  tools,
  offered,
  onChange,
}: {
  tools: ProfileTool[];
  offered: ToolsAnswer['servers'];
  onChange: (tools: ProfileTool[]) => void;
}) {
  const [filter, setFilter] = useState('');
  const words = useDeferredValue(filter.trim().toLowerCase());
  const [patterns, setPatterns] = useState(() => {
    const servers = offered.map(({ name }) => name);
    return otherPatterns(tools, servers)
      .map(({ name }) => name)
      .join('\n');
  });
  const changePatterns = (text: string) => {
    const before = toLines(patterns);
    const kept = tools.filter(({ name }) => !before.includes(name));
    const typed = toLines(text).map((name) => tools.find((tool) => tool.name === name) ?? { name });
    setPatterns(text);
    onChange([...kept, ...typed]);
  };
  return (
    <>
      <TextField label="Find a tool" value={filter} onChange={setFilter} />
      {offered.map((server) => (
        <ServerTools key={server.name} server={server} words={words} tools={tools} onChange={onChange} />
      ))}
      <TextField
        label="Patterns"
        rows={2}
        help="For example github.search_*; one per line, * matches any characters"
        value={patterns}
        onChange={changePatterns}
      />
    </>
  );
}

const toLines = (text: string) =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

/** More are not drawn at once; the filter finds them. */
const maxDrawn = 200;

function ServerTools({
  server: { name: server, tools: offered },
  words,
  tools,
  onChange,
}: {
  server: ToolsAnswer['servers'][number];
  words: string;
  tools: ProfileTool[];
  onChange: (tools: ProfileTool[]) => void;
}) {
  const [open, setOpen] = useState(false);
  const known = useMemo(() => offered.map(({ name }) => name), [offered]);
  const matching = offered.filter(({ name }) => name.toLowerCase().includes(words));
  const included = known.filter((tool) => isIncluded(tools, server, tool)).length;
  if (words !== '' && matching.length === 0) return null;
  return (
    <details
      className={styles.server}
      open={open || words !== ''}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>
        {server}{' '}
        <span className="dim">
          {included} of {count(known.length, 'tool')}
        </span>
      </summary>
      {(open || words !== '') && (
        <>
          <label className="check">
            <input
              type="checkbox"
              checked={tools.some(({ name }) => name === allOf(server))}
              onChange={(event) => onChange(withServer(tools, server, event.target.checked))}
            />{' '}
            All of {server}, including those that are added later
          </label>
          <div className={styles.checks}>
            {matching.slice(0, maxDrawn).map(({ name, original_name: title }) => (
              <label key={name} className="check">
                <input
                  type="checkbox"
                  checked={isIncluded(tools, server, name)}
                  onChange={(event) => onChange(withTool(tools, { server, tool: name, known }, event.target.checked))}
                />{' '}
                {title}
              </label>
            ))}
          </div>
          {matching.length > maxDrawn && (
            <p className="dim">and {matching.length - maxDrawn} more; find them by name above</p>
          )}
        </>
      )}
    </details>
  );
}

const maxPreviewed = 200;

/** As an MCP client with this profile would see it. */
function Preview({ draft }: { draft: Draft }) {
  const { data, error } = usePreview(useDeferredValue(draft));
  if (data === undefined) return error === undefined ? <Loading /> : <Failure error={error} />;
  const isSearch = data.exposure === 'search';
  return (
    <section aria-label="Preview" className="card">
      <h3>As an MCP client sees it</h3>
      <p>
        {count(data.tools.length, 'tool')}, {tokens(data.tokens)} in every conversation.
        {isSearch &&
          ` With the search tools, it finds ${count(data.available.length, 'tool')}; listing them all would cost ${tokens(data.available_tokens)}.`}
      </p>
      {data.available.length === 0 && <p className="bad-text">No tools match. Check the servers and the tools.</p>}
      <ToolCosts title="Listed" tools={data.tools} />
      {isSearch && <ToolCosts title="Found by searching" tools={data.available} />}
    </section>
  );
}

function ToolCosts({ title, tools }: { title: string; tools: PreviewAnswer['tools'] }) {
  return (
    <details>
      <summary>
        {title}: {count(tools.length, 'tool')}
      </summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard */}
      <ul className="seen" tabIndex={0} aria-label={title}>
        {tools.slice(0, maxPreviewed).map(({ name, tokens: cost }) => (
          <li key={name}>
            <code>{name}</code> {cost.toLocaleString('en-US')}
          </li>
        ))}
      </ul>
      {tools.length > maxPreviewed && <p>and {tools.length - maxPreviewed} more</p>}
    </details>
  );
}
