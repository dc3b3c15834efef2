import { type FormEvent, useState } from 'react';
import { type AnswerOf, api, type ServerDetail, serverPath, type Tool } from '../api.ts';
import { useAction } from '../parts/action.ts';
import { StatusBadge } from '../parts/badge.tsx';
import { Empty, Failure, Loading, Notice } from '../parts/notice.tsx';
import { readJson } from '../parts/schema-form.tsx';
import { serverEvents, useResource } from '../resource.ts';
import { goTo, linkTo } from '../route.ts';
import { isObject } from '../schema.ts';
import { useIsAdmin, useIsUnboundAdmin } from '../session.ts';
import { ago, clock, count, explain, statusTone, statusWords } from '../words.ts';
import { ServerActions } from './server-actions.tsx';

export function ServerPage({ name }: { name: string }) {
  const server = useResource<ServerDetail>(serverPath(name), {
    on: [...serverEvents, 'call.started', 'call.finished'],
    when: (event) => event.name === name || event.server === name,
  });
  if (server.data === undefined || server.error?.status === 404) {
    if (server.error?.status === 404) {
      return (
        <Empty page title={`Server not found: ${name}`}>
          <a href={linkTo('servers')}>All servers</a>
        </Empty>
      );
    }
    return server.error === undefined ? <Loading /> : <Failure error={server.error} retry={server.reload} />;
  }
  return <Loaded server={server.data} reload={server.reload} />;
}

function Loaded({ server, reload }: { server: ServerDetail; reload: () => void }) {
  const why = explain(server);
  const busy = server.active_calls + server.queued_calls;
  return (
    <>
      <p className="crumbs">
        <a href={linkTo('servers')}>Servers</a> /
      </p>
      <div className="title">
        <h1>{server.name}</h1>
        <StatusBadge status={server.status} />
      </div>
      {server.description !== null && <p>{server.description}</p>}
      {why !== undefined && (
        <Notice tone={statusTone[server.status] === 'bad' ? 'bad' : 'info'}>
          <p className="lines">{why.reason}</p>
          <p>{why.advice}</p>
        </Notice>
      )}
      {server.status === 'DISCONNECTING' && (
        <Notice tone="info">
          {count(server.active_calls, 'call')} still running, {server.queued_calls} waiting.
        </Notice>
      )}
      <ServerActions server={server} pending={busy} onRemoved={() => goTo('servers')} />
      <div className="columns">
        <section>
          <ToolList server={server} />
          <QueryStrategy server={server} />
          {server.stderr_tail !== null && server.stderr_tail !== '' && (
            <>
              <h2>Last output</h2>
              {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard */}
              <pre className="output" tabIndex={0}>
                {server.stderr_tail}
              </pre>
            </>
          )}
        </section>
        <section>
          <Facts server={server} />
          <Configuration server={server} reload={reload} />
          <History server={server} />
        </section>
      </div>
    </>
  );
}

type Strategy = AnswerOf<'getAggregatorServersIdQueryStrategy'>;

/** How a query asks this server. */
function QueryStrategy({ server }: { server: ServerDetail }) {
  const { data } = useResource<Strategy>(`${serverPath(server.name)}/query-strategy`, {
    on: ['server.discovered'],
    when: (event) => event.name === server.name,
  });
  if (data === undefined) return null;
  const { strategy, never_called: neverCalled } = data;
  return (
    <>
      <h2>How a query uses it</h2>
      {strategy.length === 0 && (
        <p className="dim">
          Queries skip this server: it has no read-only tools or resources. To allow a tool, add it to the option
          query_readers.
        </p>
      )}
      <ul aria-label="Query strategy">
        {strategy.map((sentence) => (
          <li key={sentence}>{sentence}</li>
        ))}
      </ul>
      {neverCalled.length > 0 && (
        <details>
          <summary>{count(neverCalled.length, 'tool')} never called by a query</summary>
          <ul>
            {neverCalled.map(({ tool, reason }) => (
              <li key={tool}>
                <code>{tool}</code> {reason}
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

function Facts({ server }: { server: ServerDetail }) {
  const info = server.server_info;
  const rows: [string, string][] = [
    ['Transport', server.transport_type],
    ['Program', info === null ? 'unknown' : `${info.title ?? info.name ?? ''} ${info.version ?? ''}`],
    ['Protocol', server.protocol_version ?? 'unknown'],
    ['Connected', server.connected_at === null ? 'never' : ago(server.connected_at)],
    ['Last check', server.last_health_check === null ? 'not yet' : ago(server.last_health_check)],
    ['Failed checks in a row', String(server.consecutive_failures)],
    ['Calls now', `${server.active_calls} running, ${server.queued_calls} waiting`],
    ['Endpoint', `/mcp/servers/${server.name}`],
  ];
  return (
    <>
      <h2>Details</h2>
      <dl className="rows">
        {rows.map(([term, text]) => (
          <div key={term}>
            <dt>{term}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      {server.instructions !== null && (
        <details>
          <summary>Instructions for models</summary>
          <pre>{server.instructions}</pre>
        </details>
      )}
    </>
  );
}

function ToolList({ server }: { server: ServerDetail }) {
  const isAdmin = useIsAdmin();
  const { running, error, run } = useAction();
  const { data } = useResource<{ tools: Tool[] }>(`${serverPath(server.id)}/tools`, {
    on: ['server.discovered', 'catalog.changed'],
    when: (event) => event.server_id === server.id,
  });
  const [all, setAll] = useState(false);
  const tools = data?.tools ?? [];
  const shown = all ? tools : tools.slice(0, 30);
  return (
    <>
      <div className="title">
        <h2>{count(tools.length, 'tool')}</h2>
        {isAdmin && (
          <button
            type="button"
            className="small"
            disabled={running}
            onClick={() => void run(() => api('POST', `${serverPath(server.id)}/tools/refresh`))}
          >
            Refresh
          </button>
        )}
      </div>
      <Failure error={error} />
      {data !== undefined && tools.length === 0 && (
        <p className="dim">{server.status === 'CONNECTED' ? 'The server has no tools.' : 'No tools are known yet.'}</p>
      )}
      <ul className="tools">
        {shown.map((tool) => (
          <li key={tool.id}>
            <a href={linkTo('tools', tool.name)}>{tool.original_name}</a>
            <span className="dim clip">{tool.description}</span>
          </li>
        ))}
      </ul>
      {shown.length < tools.length && (
        <button type="button" onClick={() => setAll(true)}>
          Show all {tools.length}
        </button>
      )}
    </>
  );
}

function Configuration({ server, reload }: { server: ServerDetail; reload: () => void }) {
  const isAdmin = useIsUnboundAdmin();
  const [editing, setEditing] = useState(false);
  return (
    <>
      <div className="title">
        <h2>Configuration</h2>
        {isAdmin && !editing && (
          <button type="button" className="small" onClick={() => setEditing(true)}>
            Edit
          </button>
        )}
      </div>
      {editing ? (
        <ConfigurationForm
          server={server}
          onDone={() => {
            setEditing(false);
            reload();
          }}
        />
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard
        <pre tabIndex={0}>{JSON.stringify(server.connection_config, null, 2)}</pre>
      )}
    </>
  );
}

const masked = '***';

function ConfigurationForm({ server, onDone }: { server: ServerDetail; onDone: () => void }) {
  const before = JSON.stringify(server.connection_config, null, 2);
  const [text, setText] = useState(before);
  const [description, setDescription] = useState(server.description ?? '');
  const [healthUrl, setHealthUrl] = useState(server.health_check_url ?? '');
  const { running, error, run } = useAction();
  const parsed = readJson(text)?.value;
  const changed = text !== before;
  const problem = !isObject(parsed)
    ? 'This is not a valid JSON object.'
    : changed && text.includes(masked)
      ? `Enter the values shown as "${masked}" again. Stored secrets cannot be read back.`
      : undefined;
  const save = (event: FormEvent) => {
    event.preventDefault();
    void run(async () => {
      await api('PATCH', serverPath(server.id), {
        description: description || null,
        health_check_url: healthUrl || null,
        ...(changed ? { connection_config: parsed } : {}),
      });
      onDone();
    });
  };
  return (
    <form onSubmit={save}>
      <div className="field">
        <label htmlFor="edit-description">Description</label>
        <input id="edit-description" value={description} onChange={(event) => setDescription(event.target.value)} />
      </div>
      <div className="field">
        <label htmlFor="edit-health">Health check URL</label>
        <input id="edit-health" type="url" value={healthUrl} onChange={(event) => setHealthUrl(event.target.value)} />
        <p className="help">Without a URL, health checks use the MCP session.</p>
      </div>
      <div className="field">
        <label htmlFor="edit-connection">Connection as JSON</label>
        <textarea
          id="edit-connection"
          className="code"
          rows={10}
          spellCheck={false}
          value={text}
          aria-invalid={problem === undefined ? undefined : true}
          aria-describedby="edit-connection-help"
          onChange={(event) => setText(event.target.value)}
        />
        <p id="edit-connection-help" className={problem === undefined ? 'help' : 'problem'}>
          {problem ?? 'The server reconnects if this changes. ${NAME} is replaced with a variable of the aggregator.'}
        </p>
      </div>
      <Failure error={error} />
      <div className="actions">
        <button type="submit" className="primary" disabled={running || problem !== undefined}>
          {changed ? 'Save and reconnect' : 'Save'}
        </button>
        <button type="button" onClick={onDone}>
          Cancel
        </button>
      </div>
    </form>
  );
}

type HistoryEntry = AnswerOf<'getAggregatorServersIdHistory'>['history'][number];

function History({ server }: { server: ServerDetail }) {
  const { data } = useResource<{ history: HistoryEntry[] }>(`${serverPath(server.id)}/history?limit=50`, {
    on: serverEvents,
    when: (event) => event.server_id === server.id,
    gather: 400,
  });
  const history = data?.history ?? [];
  return (
    <>
      <h2>History</h2>
      <ol className="timeline">
        {history.map(({ id, event_type: type, details, timestamp }) => (
          <li key={id} className={type in statusTone ? statusTone[type as keyof typeof statusTone] : 'off'}>
            <time dateTime={timestamp} title={new Date(timestamp).toLocaleString()}>
              {ago(timestamp)}, {clock(timestamp)}
            </time>
            <strong>{eventWords(type)}</strong> <span className="dim lines">{eventDetail(details)}</span>
          </li>
        ))}
      </ol>
      {data !== undefined && history.length === 0 && <p className="dim">No events yet.</p>}
    </>
  );
}

const historyWords: Record<string, string> = {
  REGISTERED: 'Registered',
  UPDATED: 'Changed',
  DISCOVERED: 'Tools discovered',
  DISCOVERY_FAILED: 'Could not list tools',
  TOOL_CHANGED: 'A tool changed',
  INTERACTIVE: 'Sends requests to clients',
};

function eventWords(type: string): string {
  return type in statusWords ? statusWords[type as keyof typeof statusWords] : (historyWords[type] ?? type);
}

function eventDetail(details: HistoryEntry['details']): string {
  if (details === null) return '';
  const { error, tools, added, removed, changed, fields, tool, transport_type: transport } = details;
  const parts = [
    error,
    tools === undefined ? undefined : count(Number(tools), 'tool'),
    ...[
      ['new', added],
      ['gone', removed],
      ['changed', changed],
    ].map(([word, list]) =>
      Array.isArray(list) && list.length > 0 ? `${word}: ${list.slice(0, 5).join(', ')}` : undefined,
    ),
    Array.isArray(fields) ? fields.join(', ') : undefined,
    tool,
    transport,
  ];
  return parts.filter((part) => part !== undefined).join('; ');
}
