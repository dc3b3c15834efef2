import { useState } from 'react';
import { type Activity, type Server, type ServerList, type Status, serversPath } from '../api.ts';
import { StatusBadge } from '../parts/badge.tsx';
import { Empty, Failure, Loading } from '../parts/notice.tsx';
import { Sparkline } from '../parts/sparkline.tsx';
import { serverEvents, useResource } from '../resource.ts';
import { linkTo } from '../route.ts';
import { useIsUnboundAdmin } from '../session.ts';
import { ago, count, explain } from '../words.ts';
import { ServerActions } from './server-actions.tsx';

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

function ServerCard({ server, activity }: { server: Server; activity: Activity['servers'][number] | undefined }) {
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
      <ServerActions server={server} pending={(activity?.active_calls ?? 0) + (activity?.queued_calls ?? 0)} />
    </li>
  );
}
