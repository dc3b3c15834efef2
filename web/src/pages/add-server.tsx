import { type FormEvent, useState } from 'react';
import { type AnswerOf, api, type Json, type Server, serverPath, serversPath } from '../api.ts';
import { splitCommandLine } from '../command-line.ts';
import { useAction } from '../parts/action.ts';
import { StatusBadge } from '../parts/badge.tsx';
import { say } from '../parts/messages.tsx';
import { Failure, Loading, Notice } from '../parts/notice.tsx';
import { Page } from '../parts/page.tsx';
import { type Pair, Pairs } from '../parts/pairs.tsx';
import { Scroll } from '../parts/scroll.tsx';
import { Tabs } from '../parts/tabs.tsx';
import { TextField } from '../parts/text-field.tsx';
import { serverEvents, useResource } from '../resource.ts';
import { linkTo, linkWith, useParameter } from '../route.ts';
import { isObject, readJson } from '../schema.ts';
import { count, explain } from '../words.ts';

export function AddServerPage() {
  const [way] = useParameter('way', 'found');
  const tabs = [
    { id: 'found', name: 'On this host', href: linkWith({ way: undefined }) },
    { id: 'paste', name: 'Paste JSON', href: linkWith({ way: 'paste' }) },
    { id: 'form', name: 'Manually', href: linkWith({ way: 'form' }) },
  ];
  return (
    <Page title="Add servers" crumbs={[{ name: 'Servers', href: linkTo('servers') }]}>
      <Tabs label="Ways to add servers" tabs={tabs} current={way}>
        {way === 'found' && <Found />}
        {way === 'paste' && <Paste />}
        {way === 'form' && <Manually />}
      </Tabs>
    </Page>
  );
}

type ImportAnswer = AnswerOf<'postAggregatorServersImport'>;
type ImportResult = ImportAnswer['results'][number];

const outcomes: Record<ImportResult['outcome'], { word: string; tone: string }> = {
  registered: { word: 'added', tone: 'good' },
  would_register: { word: 'new', tone: 'busy' },
  already_exists: { word: 'already registered', tone: 'off' },
  skipped: { word: 'skipped', tone: 'off' },
  invalid: { word: 'invalid', tone: 'bad' },
};

function Results({ results }: { results: readonly ImportResult[] }) {
  const hasNotes = results.some(({ reason, warnings }) => reason !== null || warnings.length > 0);
  return (
    <Scroll label="Servers and their result">
      <table>
        <thead>
          <tr>
            <th scope="col">Server</th>
            <th scope="col">Result</th>
            <th scope="col">Transport</th>
            {hasNotes && <th scope="col">Notes</th>}
          </tr>
        </thead>
        <tbody>
          {results.map(({ key, name, outcome, transport_type: transport, reason, warnings }) => (
            <tr key={key}>
              <th scope="row">
                {outcome === 'registered' || outcome === 'already_exists' ? (
                  <a href={linkTo('servers', name ?? key)}>{name ?? key}</a>
                ) : (
                  (name ?? key)
                )}
              </th>
              <td>
                <span className={`badge ${outcomes[outcome].tone}`}>{outcomes[outcome].word}</span>
              </td>
              <td>{transport ?? ''}</td>
              {hasNotes && <td className="dim">{[reason, ...warnings].filter((note) => note !== null).join('; ')}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

type FoundFile = AnswerOf<'getAggregatorServersImportFound'>['files'][number];

const foundPath = `${serversPath}/import/found`;

export function Found() {
  const { data, error, loading, reload } = useResource<{ files: FoundFile[] }>(foundPath, {
    on: ['server.registered', 'server.removed'],
  });
  const action = useAction();
  const [done, setDone] = useState<number>();
  if (loading) return <Loading what="Searching for servers of MCP clients" />;
  const files = (data?.files ?? []).filter(({ results, problem }) => results.length > 0 || problem !== null);
  const takeAll = (paths: string[]) =>
    action.run(async () => {
      let added = 0;
      for (const path of paths) added += (await api<ImportAnswer>('POST', foundPath, { path })).registered;
      setDone(added);
      reload();
    });
  const isNew = ({ results }: FoundFile) => results.some(({ outcome }) => outcome === 'would_register');
  const fresh = files.filter(isNew);
  return (
    <>
      <Failure error={error ?? action.error} />
      {done !== undefined && (
        <Notice tone="good">
          {count(done, 'server')} added. <a href={linkTo('servers')}>View their status</a>
        </Notice>
      )}
      {files.length === 0 && (
        <p>No MCP clients with servers were found on the host of the aggregator. Paste their JSON instead.</p>
      )}
      {fresh.length > 1 && (
        <button
          type="button"
          className="primary"
          disabled={action.running}
          onClick={() => void takeAll(fresh.map(({ path }) => path))}
        >
          Add all new servers
        </button>
      )}
      {files.map((file) => (
        <section key={file.path} className="card">
          <div className="head">
            <h2>{file.client}</h2>
            {isNew(file) && (
              <button type="button" disabled={action.running} onClick={() => void takeAll([file.path])}>
                Add new servers
              </button>
            )}
          </div>
          <p className="dim">
            <code>{file.path}</code>
          </p>
          {file.problem !== null && <Notice tone="warn">{file.problem}</Notice>}
          {file.results.length > 0 && <Results results={file.results} />}
        </section>
      ))}
    </>
  );
}

const example = `{
  "mcpServers": {
    "filesystem": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/data"] }
  }
}`;

function Paste() {
  const [text, setText] = useState('');
  const { running, error, run } = useAction();
  const [answer, setAnswer] = useState<{ text: string; dry: boolean; results: ImportResult[] }>();
  const parsed = readJson(text)?.value;
  const ready = isObject(parsed);
  const send = (dry: boolean) =>
    run(async () => {
      const { results } = await api<ImportAnswer>('POST', `${serversPath}/import?dry_run=${dry}`, parsed);
      setAnswer({ text, dry, results });
    });
  const news = answer?.results.filter(({ outcome }) => outcome === 'would_register').length ?? 0;
  const checked = answer?.text === text && answer.dry;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void send(!checked);
      }}
    >
      <div className="field">
        <label htmlFor="json">JSON of Claude, Cursor, VS Code or Windsurf</label>
        <textarea
          id="json"
          className="code"
          rows={10}
          spellCheck={false}
          placeholder={example}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        {text.trim() !== '' && !ready && <p className="problem">This is not a valid JSON object.</p>}
      </div>
      <Failure error={error} />
      {answer !== undefined && <Results results={answer.results} />}
      <div className="actions">
        <button type="submit" className="primary" disabled={!ready || running || (checked && news === 0)}>
          {checked ? `Add ${count(news, 'server')}` : 'Preview'}
        </button>
        {answer?.dry === false && <a href={linkTo('servers')}>View their status</a>}
      </div>
    </form>
  );
}

type Transport = Server['transport_type'];
const transports: { value: Transport; name: string }[] = [
  { value: 'STDIO', name: 'A program on the host of the aggregator (STDIO)' },
  { value: 'HTTP', name: 'A URL (Streamable HTTP)' },
  { value: 'SSE', name: 'A URL (SSE, older servers)' },
];

interface Draft {
  name: string;
  description: string;
  transport: Transport;
  command: string;
  /** One per line. */
  args: string;
  env: Pair[];
  cwd: string;
  url: string;
  headers: Pair[];
}

const emptyDraft: Draft = {
  name: '',
  description: '',
  transport: 'STDIO',
  command: '',
  args: '',
  env: [],
  cwd: '',
  url: '',
  headers: [],
};

/** What was entered stays while the server is tried, so that Undo returns to it. */
function Manually() {
  const [draft, setDraft] = useState(emptyDraft);
  const [added, setAdded] = useState<string>();
  if (added === undefined) return <ServerForm draft={draft} onChange={setDraft} onAdded={setAdded} />;
  return (
    <Trial
      name={added}
      onUndone={() => setAdded(undefined)}
      onAgain={() => {
        setDraft(emptyDraft);
        setAdded(undefined);
      }}
    />
  );
}

function ServerForm({
  draft,
  onChange,
  onAdded,
}: {
  draft: Draft;
  onChange: (draft: Draft) => void;
  onAdded: (name: string) => void;
}) {
  const { running, error, run } = useAction();
  const change = (changed: Partial<Draft>) => onChange({ ...draft, ...changed });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void run(async () => {
      const server = await api<Server>('POST', serversPath, {
        name: draft.name.trim(),
        description: draft.description.trim() || undefined,
        transport_type: draft.transport,
        connection_config: toConnection(draft),
      });
      onAdded(server.name);
    });
  };
  return (
    <form onSubmit={submit} className="narrow">
      <TextField
        label="Name"
        required
        pattern="[a-z][a-z0-9_\-]*"
        help="Starts with a lowercase letter; a-z, 0-9, - and _"
        value={draft.name}
        onChange={(name) => change({ name })}
      />
      <TextField label="Description" value={draft.description} onChange={(text) => change({ description: text })} />
      <div className="field">
        <label htmlFor="transport">Transport</label>
        <select
          id="transport"
          value={draft.transport}
          onChange={(event) => change({ transport: event.target.value as Transport })}
        >
          {transports.map(({ value, name }) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </select>
      </div>
      {draft.transport === 'STDIO' ? (
        <ProgramFields draft={draft} change={change} />
      ) : (
        <>
          <TextField
            label="Address"
            type="url"
            required
            help="https://…, or http:// on this host"
            value={draft.url}
            onChange={(url) => change({ url })}
          />
          <Pairs legend="Headers" one="header" pairs={draft.headers} onChange={(headers) => change({ headers })} />
        </>
      )}
      <Failure error={error} />
      <button type="submit" className="primary" disabled={running}>
        Add and connect
      </button>
    </form>
  );
}

function ProgramFields({ draft, change }: { draft: Draft; change: (changed: Partial<Draft>) => void }) {
  const [before, setBefore] = useState<Draft>();
  const split = () => {
    const line = draft.args.trim() === '' ? splitCommandLine(draft.command) : undefined;
    // A path with spaces that was joined again stays as it is.
    if (line === undefined || before?.command === draft.command) return;
    setBefore(draft);
    const env = Object.entries(line.env).map(([name, value]) => ({ name, value }));
    change({ command: line.command, args: line.args.join('\n'), env: [...draft.env, ...env] });
  };
  const isSplit = before !== undefined && draft.command !== before.command;
  return (
    <>
      <TextField
        label="Command"
        required
        help="For example npx, uvx, docker or a path. A whole command line is split into its arguments."
        value={draft.command}
        onChange={(command) => change({ command })}
        onBlur={split}
      />
      {isSplit && (
        <Notice tone="info">
          The command line was split into the command, its arguments and its environment.{' '}
          <button
            type="button"
            className="small"
            onClick={() => change({ command: before.command, args: before.args, env: before.env })}
          >
            Undo the split
          </button>
        </Notice>
      )}
      <TextField
        label="Arguments"
        rows={4}
        help="One per line"
        value={draft.args}
        onChange={(args) => change({ args })}
      />
      <Pairs legend="Environment" one="variable" pairs={draft.env} onChange={(env) => change({ env })} />
      <TextField label="Working directory" value={draft.cwd} onChange={(cwd) => change({ cwd })} />
    </>
  );
}

function toConnection({ transport, command, args, env, cwd, url, headers }: Draft): Json {
  if (transport !== 'STDIO') {
    const address = transport === 'HTTP' ? { base_url: url.trim() } : { url: url.trim() };
    return { ...address, headers: toRecord(headers) };
  }
  const lines = args.split('\n').filter((line) => line.trim() !== '');
  return { command: command.trim(), args: lines, env: toRecord(env), cwd: cwd.trim() || undefined };
}

function toRecord(pairs: readonly Pair[]): Record<string, string> | undefined {
  const named = pairs.filter(({ name }) => name.trim() !== '');
  return named.length === 0 ? undefined : Object.fromEntries(named.map(({ name, value }) => [name.trim(), value]));
}

/** Shows the first connection. */
function Trial({ name, onUndone, onAgain }: { name: string; onUndone: () => void; onAgain: () => void }) {
  const { data: server } = useResource<Server>(serverPath(name), {
    on: serverEvents,
    when: (event) => event.name === name,
  });
  const { running, error, run } = useAction();
  if (server === undefined) return <Loading />;
  const isConnected = server.status === 'CONNECTED';
  const why = explain(server);
  const undo = () =>
    run(async () => {
      await api('DELETE', serverPath(name));
      say(`${name} was removed.`);
      onUndone();
    });
  return (
    <div className="card narrow">
      <div className="head">
        <h2>{name}</h2>
        <StatusBadge status={server.status} login={server.login} />
      </div>
      {isConnected && <Notice tone="good">Connected: {count(server.tool_count, 'tool')}.</Notice>}
      {!isConnected && why !== undefined && (
        <Notice tone={server.status === 'ERROR' ? 'bad' : 'info'}>
          <p className="lines">{why.reason}</p>
          <p>{why.advice}</p>
        </Notice>
      )}
      <Failure error={error} />
      <div className="actions">
        <a className={isConnected ? 'button primary' : 'button'} href={linkTo('servers', name)}>
          Open {name}
        </a>
        {isConnected && (
          <a className="button" href={`${linkTo('tools')}?server=${encodeURIComponent(name)}`}>
            Try a tool
          </a>
        )}
        {!isConnected && (
          <button type="button" disabled={running} onClick={() => void undo()}>
            Undo and edit
          </button>
        )}
        <button type="button" className="quiet" onClick={onAgain}>
          Add another
        </button>
      </div>
    </div>
  );
}
