import { type FormEvent, useId, useState } from 'react';
import { type AnswerOf, api, type Json, type Server, serverPath, serversPath } from '../api.ts';
import { useHas } from '../features.ts';
import { useAction } from '../parts/action.ts';
import { StatusBadge } from '../parts/badge.tsx';
import { Failure, Loading, Notice } from '../parts/notice.tsx';
import { Scroll } from '../parts/scroll.tsx';
import { serverEvents, useResource } from '../resource.ts';
import { linkTo } from '../route.ts';
import { isObject, readJson } from '../schema.ts';
import { count, explain } from '../words.ts';

const tabs = ['found', 'paste', 'form'] as const;
type Tab = (typeof tabs)[number];
const tabNames: Record<Tab, string> = { found: 'On this host', paste: 'Paste JSON', form: 'Manually' };

export function AddServerPage() {
  const [tab, setTab] = useState<Tab>('found');
  return (
    <>
      <p className="crumbs">
        <a href={linkTo('servers')}>Servers</a> /
      </p>
      <h1>Add servers</h1>
      <div className="tabs" role="tablist" aria-label="Ways to add servers">
        {tabs.map((each) => (
          <button
            key={each}
            type="button"
            role="tab"
            id={`tab-${each}`}
            aria-selected={tab === each}
            aria-controls="tab-content"
            onClick={() => setTab(each)}
          >
            {tabNames[each]}
          </button>
        ))}
      </div>
      <div id="tab-content" role="tabpanel" aria-labelledby={`tab-${tab}`}>
        {tab === 'found' && <Found />}
        {tab === 'paste' && <Paste />}
        {tab === 'form' && <ByHand />}
      </div>
    </>
  );
}

type ImportAnswer = AnswerOf<'postAggregatorServersImport'>;
type ImportResult = ImportAnswer['results'][number];

const outcomes: Record<ImportResult['outcome'], { word: string; tone: string }> = {
  registered: { word: 'added', tone: 'good' },
  would_register: { word: 'new', tone: 'busy' },
  already_exists: { word: 'here already', tone: 'off' },
  skipped: { word: 'left out', tone: 'off' },
  invalid: { word: 'not possible', tone: 'bad' },
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
  const known = useHas(foundPath);
  const { data, error, loading, reload } = useResource<{ files: FoundFile[] }>(known === true ? foundPath : null, {
    on: ['server.registered', 'server.removed'],
  });
  const action = useAction();
  const [done, setDone] = useState<number>();
  if (known === false) return <p className="dim">This aggregator cannot search for config files of clients.</p>;
  if (loading || known === undefined) return <Loading what="Searching for servers of MCP clients" />;
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

function ByHand() {
  const [transport, setTransport] = useState<Transport>('STDIO');
  const [added, setAdded] = useState<string>();
  const { running, error, run } = useAction();
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const text = (name: string) => String(new FormData(form).get(name) ?? '').trim();
    void run(async () => {
      const server = await api<Server>('POST', serversPath, {
        name: text('name'),
        description: text('description') || undefined,
        transport_type: transport,
        connection_config: toConnection(transport, text),
      });
      setAdded(server.name);
    });
  };
  if (added !== undefined) return <Trial name={added} onAgain={() => setAdded(undefined)} />;
  return (
    <form onSubmit={submit}>
      <Input
        name="name"
        label="Name"
        required
        pattern="[a-z][a-z0-9_\-]*"
        help="Starts with a lowercase letter; a-z, 0-9, - and _"
      />
      <Input name="description" label="Description" />
      <div className="field">
        <label htmlFor="transport">Transport</label>
        <select id="transport" value={transport} onChange={(event) => setTransport(event.target.value as Transport)}>
          {transports.map(({ value, name }) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </select>
      </div>
      {transport === 'STDIO' ? (
        <>
          <Input name="command" label="Command" required help="For example npx, uvx, docker or a path" />
          <Input name="args" label="Arguments" rows={3} help="One per line" />
          <Input
            name="env"
            label="Environment"
            rows={3}
            help="NAME=value, one per line; ${NAME} is replaced with a variable of the aggregator"
          />
          <Input name="cwd" label="Working directory" />
        </>
      ) : (
        <>
          <Input name="url" label="Address" type="url" required help="https://…, or http:// on this host" />
          <Input
            name="headers"
            label="Headers"
            rows={3}
            help="Name: value, one per line; ${NAME} is replaced with a variable of the aggregator"
          />
        </>
      )}
      <Failure error={error} />
      <button type="submit" className="primary" disabled={running}>
        Add and connect
      </button>
    </form>
  );
}

function Input({
  name,
  label,
  help,
  rows,
  ...more
}: {
  name: string;
  label: string;
  help?: string;
  rows?: number;
  required?: boolean;
  pattern?: string;
  type?: string;
}) {
  const id = useId();
  const common = { id, name, 'aria-describedby': help === undefined ? undefined : `${id}-help`, spellCheck: false };
  return (
    <div className="field">
      <label htmlFor={id}>
        {label}
        {more.required === true && <span className="needed"> required</span>}
      </label>
      {rows === undefined ? (
        <input {...common} {...more} autoComplete="off" />
      ) : (
        <textarea {...common} className="code" rows={rows} />
      )}
      {help !== undefined && (
        <p id={`${id}-help`} className="help">
          {help}
        </p>
      )}
    </div>
  );
}

function toConnection(transport: Transport, text: (name: string) => string): Json {
  const lines = (name: string) =>
    text(name)
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '');
  const pairs = (name: string, mark: string) => {
    const entries = lines(name).map((line) => {
      const at = line.indexOf(mark);
      return at === -1 ? [line, ''] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    });
    return entries.length === 0 ? undefined : Object.fromEntries(entries);
  };
  if (transport === 'STDIO') {
    return { command: text('command'), args: lines('args'), env: pairs('env', '='), cwd: text('cwd') || undefined };
  }
  const headers = pairs('headers', ':');
  return transport === 'HTTP' ? { base_url: text('url'), headers } : { url: text('url'), headers };
}

/** Shows the first connection; a failed server can be removed immediately. */
function Trial({ name, onAgain }: { name: string; onAgain: () => void }) {
  const { data: server } = useResource<Server>(serverPath(name), {
    on: serverEvents,
    when: (event) => event.name === name,
  });
  const { running, error, run } = useAction();
  if (server === undefined) return <Loading />;
  const why = explain(server);
  return (
    <div className="card">
      <div className="head">
        <h2>{name}</h2>
        <StatusBadge status={server.status} />
      </div>
      {server.status === 'CONNECTED' ? (
        <Notice tone="good">Connected: {count(server.tool_count, 'tool')}.</Notice>
      ) : (
        why !== undefined && (
          <Notice tone={server.status === 'ERROR' ? 'bad' : 'info'}>
            <p className="lines">{why.reason}</p>
            <p>{why.advice}</p>
          </Notice>
        )
      )}
      <Failure error={error} />
      <div className="actions">
        <a className="button" href={linkTo('servers', name)}>
          Open {name}
        </a>
        <button type="button" onClick={onAgain}>
          Add another
        </button>
        {server.status === 'ERROR' && (
          <button
            type="button"
            className="quiet"
            disabled={running}
            onClick={() =>
              void run(async () => {
                await api('DELETE', serverPath(name));
                onAgain();
              })
            }
          >
            Undo
          </button>
        )}
      </div>
    </div>
  );
}
