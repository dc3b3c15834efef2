import { useState } from 'react';
import { type Activity, api, type Server, type ServerList, type Status, serverPath, serversPath } from '../api.ts';
import { useAction } from '../parts/action.ts';
import { StatusBadge } from '../parts/badge.tsx';
import { Confirm } from '../parts/dialog.tsx';
import { Empty, Failure, Loading } from '../parts/notice.tsx';
import { Sparkline } from '../parts/sparkline.tsx';
import { serverEvents, useResource } from '../resource.ts';
import { linkTo } from '../route.ts';
import { useIsUnboundAdmin } from '../session.ts';
import { ago, count, explain } from '../words.ts';

/** Servers that need attention come first. */
const order: Status[] = ['ERROR', 'DEGRADED', 'CONNECTING', 'DISCONNECTING', 'CONNECTED', 'DISCONNECTED'];

/** Calls come in bursts; once in a second is live enough, also to see a server drain. */
const activityOptions = { on: ['call.finished', 'server.status'] as const, gather: 1_000 };

export function ServersPage() {
  const list = useResource<ServerList>(`${serversPath}?limit=1000`, { on: serverEvents });
  const activity = useResource<Activity>('/api/v1/aggregator/activity', activityOptions);
  const [filter, setFilter] = useState('');
  const mayAdd = useIsUnboundAdmin();
  const servers = list.data?.servers ?? [];
  const shown = servers
    .filter(({ name, description }) => `${name} ${description ?? ''}`.toLowerCase().includes(filter.toLowerCase()))
    .sort((a, b) => order.indexOf(a.status) - order.indexOf(b.status) || (a.name < b.name ? -1 : 1));

  return (
    <>
      <div className="title">
        <h1>Servers</h1>
        {mayAdd && (
          <a className="button primary" href={linkTo('servers', '+')}>
            Add servers
          </a>
        )}
      </div>
      <Failure error={list.error} retry={list.reload} />
      {list.loading && <Loading />}
      {list.data !== undefined && servers.length === 0 && (
        <Empty title="No servers yet">
          <p>Import the servers of Claude, Cursor or VS Code, or add one manually.</p>
          {mayAdd && (
            <a className="button primary" href={linkTo('servers', '+')}>
              Add servers
            </a>
          )}
        </Empty>
      )}
      {servers.length > 0 && <Summary servers={servers} />}
      {servers.length > 5 && (
        <div className="field filter">
          <label htmlFor="filter">Filter by name</label>
          <input id="filter" type="search" value={filter} onChange={(event) => setFilter(event.target.value)} />
        </div>
      )}
      <ul className="cards" aria-label="Servers">
        {shown.map((server) => (
          <ServerCard
            key={server.id}
            server={server}
            activity={activity.data?.servers.find(({ id }) => id === server.id)}
            onChanged={list.reload}
          />
        ))}
      </ul>
    </>
  );
}

function Summary({ servers }: { servers: readonly Server[] }) {
  const number = (...wanted: Status[]) => servers.filter(({ status }) => wanted.includes(status)).length;
  const tools = servers.reduce((sum, server) => sum + server.tool_count, 0);
  const bad = number('ERROR');
  return (
    <p className="summary">
      {number('CONNECTED', 'DEGRADED')} of {count(servers.length, 'server')} connected, {count(tools, 'tool')}
      {bad > 0 && <strong className="bad-text">, {bad} not reachable</strong>}
    </p>
  );
}

function ServerCard({
  server,
  activity,
  onChanged,
}: {
  server: Server;
  activity: Activity['servers'][number] | undefined;
  onChanged: () => void;
}) {
  const why = explain(server);
  return (
    <li className="card server">
      <div className="head">
        <h2>
          <a href={linkTo('servers', server.name)}>{server.name}</a>
        </h2>
        <StatusBadge status={server.status} />
      </div>
      {server.description !== null && <p className="dim">{server.description}</p>}
      {why !== undefined && (
        <p className="why">
          <span className="lines">{why.reason}</span> <span className="dim">{why.advice}</span>
        </p>
      )}
      <dl className="facts">
        <div>
          <dt>Transport</dt>
          <dd>{server.transport_type}</dd>
        </div>
        <div>
          <dt>Tools</dt>
          <dd>
            <a href={`${linkTo('tools')}?server=${encodeURIComponent(server.name)}`}>{server.tool_count}</a>
          </dd>
        </div>
        <div>
          <dt>Calls</dt>
          <dd>
            <Sparkline slices={activity?.slices ?? []} />
          </dd>
        </div>
        <div>
          <dt>Checked</dt>
          <dd>{server.last_health_check === null ? 'not yet' : ago(server.last_health_check)}</dd>
        </div>
      </dl>
      <ServerActions
        server={server}
        pending={(activity?.active_calls ?? 0) + (activity?.queued_calls ?? 0)}
        onChanged={onChanged}
      />
    </li>
  );
}

export function ServerActions({
  server,
  pending,
  onChanged,
  onRemoved,
}: {
  server: Server;
  pending: number;
  onChanged: () => void;
  onRemoved?: () => void;
}) {
  const { running, error, run } = useAction();
  const [removing, setRemoving] = useState(false);
  if (!useIsUnboundAdmin()) return null;
  const post = (what: string, body?: unknown) =>
    run(async () => {
      await api('POST', `${serverPath(server.id)}/${what}`, body);
      onChanged();
    });
  const isOff = server.status === 'DISCONNECTED' || server.status === 'ERROR';
  const disconnecting = server.status === 'DISCONNECTING';
  return (
    <>
      <div className="actions">
        {server.login && (
          <button type="button" className="primary" disabled={running} onClick={() => void run(() => logIn(server))}>
            Log in
          </button>
        )}
        {isOff && (
          <button type="button" disabled={running} onClick={() => post('connect')}>
            Connect
          </button>
        )}
        {server.status !== 'DISCONNECTED' && !disconnecting && (
          <button type="button" disabled={running} onClick={() => post('disconnect', { force: false })}>
            Disconnect
          </button>
        )}
        {disconnecting && (
          <button type="button" disabled={running} onClick={() => post('disconnect', { force: true })}>
            {pending === 0 ? 'Cancel it now' : `Cancel ${count(pending, 'running call')} now`}
          </button>
        )}
        <button type="button" className="quiet" disabled={running} onClick={() => setRemoving(true)}>
          Remove
        </button>
      </div>
      <Failure error={error} />
      {removing && (
        <Confirm
          title={`Remove ${server.name}?`}
          action={`Remove ${server.name}`}
          onClose={() => setRemoving(false)}
          onConfirm={() =>
            void run(async () => {
              await api('DELETE', serverPath(server.id));
              (onRemoved ?? onChanged)();
            })
          }
        >
          <p>
            Its {count(server.tool_count, 'tool')}, its history and its stored credentials are deleted as well. Clients
            that use its tools can no longer call them. The server itself is not affected.
          </p>
        </Confirm>
      )}
    </>
  );
}

/** The login page is separate and shows the requested permissions before the user agrees. */
async function logIn({ id }: Server): Promise<void> {
  const { login_url: url } = await api<{ login_url: string }>('POST', `${serverPath(id)}/login`);
  window.open(url, '_blank', 'noopener');
}
