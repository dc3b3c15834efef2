import type { AnswerOf, ServerDetail } from '../api.ts';
import { serverPath } from '../api.ts';
import { Failure, Notice } from '../parts/notice.tsx';
import { Choice } from '../parts/search-bar.tsx';
import { useResource } from '../resource.ts';
import { linkTo, useParameter } from '../route.ts';
import { percent, ranges, toRange, useStatistics } from '../statistics.ts';
import { ago, bytes, count, duration, explain, statusTone } from '../words.ts';
import { CallCharts } from './call-charts.tsx';
import { QueryStrategy } from './server-query.tsx';

export function ServerOverview({ server }: { server: ServerDetail }) {
  const [range] = useParameter('range', ranges[0].value);
  const statistics = useStatistics(toRange(range), { server: server.name, by: 'tool', limit: 8 });
  return (
    <>
      <Problem server={server} />
      <div className="title">
        <h2>Calls</h2>
        <Choice parameter="range" label="Time range" options={ranges} />
      </div>
      <Failure error={statistics.error} retry={statistics.reload} />
      <CallCharts statistics={statistics.data} />
      <div className="columns">
        <section>
          <h2>Busiest tools</h2>
          <BusiestTools series={statistics.data?.series ?? []} />
          <QueryStrategy server={server} />
          {server.instructions !== null && (
            <>
              <h2>Instructions for models</h2>
              {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard */}
              <pre tabIndex={0}>{server.instructions}</pre>
            </>
          )}
        </section>
        <section>
          <h2>Details</h2>
          <Facts server={server} />
        </section>
      </div>
    </>
  );
}

/** Why it does not work, and where that is repaired. */
function Problem({ server }: { server: ServerDetail }) {
  const why = explain(server);
  if (server.status === 'DISCONNECTING') {
    return (
      <Notice tone="info">
        {count(server.active_calls, 'call')} still running, {server.queued_calls} waiting.
      </Notice>
    );
  }
  if (why === undefined) return null;
  const isBad = server.login === null && statusTone[server.status] === 'bad';
  return (
    <Notice tone={isBad ? 'bad' : 'info'}>
      <p className="lines">{why.reason}</p>
      <p>{why.advice}</p>
      {isBad && (
        <p className="actions">
          <a className="button small" href={linkTo('servers', server.name, 'configuration')}>
            Edit the configuration
          </a>
          {server.transport_type === 'STDIO' && (
            <a className="button small" href={linkTo('servers', server.name, 'log')}>
              Show the log
            </a>
          )}
        </p>
      )}
    </Notice>
  );
}

type ToolSeries = NonNullable<AnswerOf<'getAggregatorStats'>['series']>;

function BusiestTools({ series }: { series: ToolSeries }) {
  if (series.length === 0) return <p className="dim">No calls in this time.</p>;
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Tool</th>
          <th scope="col" className="number">
            Calls
          </th>
          <th scope="col" className="number">
            Failed
          </th>
          <th scope="col" className="number">
            p95
          </th>
        </tr>
      </thead>
      <tbody>
        {series.map(({ tool = '', server = '', calls, failed, p95_ms: p95 }) => (
          <tr key={tool}>
            <th scope="row">
              <a href={linkTo('tools', tool)}>{tool.startsWith(`${server}.`) ? tool.slice(server.length + 1) : tool}</a>
            </th>
            <td className="number">{calls.toLocaleString('en-US')}</td>
            <td className="number">{percent(failed, calls)}</td>
            <td className="number">{p95 === null ? '–' : duration(p95)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const owners = { shared: 'one for all callers', client: 'one per MCP client', principal: 'one per user' };

function Facts({ server }: { server: ServerDetail }) {
  const info = server.server_info;
  const { data } = useResource<AnswerOf<'getAggregatorServersIdProcesses'>>(
    server.transport_type === 'STDIO' ? `${serverPath(server.name)}/processes` : null,
    { everyMs: 10_000, on: ['server.status'], when: ({ name }) => name === server.name },
  );
  const rows: [string, React.ReactNode][] = [
    ['Transport', server.transport_type],
    ['Program', info === null ? 'unknown' : `${info.title ?? info.name ?? ''} ${info.version ?? ''}`],
    ['Protocol', server.protocol_version ?? 'unknown'],
    ['Connected', server.connected_at === null ? 'never' : ago(server.connected_at)],
    ['Parked', server.parked ? 'yes: the next call starts it' : 'no'],
    ['Last check', server.last_health_check === null ? 'not yet' : ago(server.last_health_check)],
    ['Calls now', `${server.active_calls} running, ${server.queued_calls} waiting`],
    [
      'Sessions',
      <span key="sessions" title={server.sessions.reason}>
        {owners[server.sessions.ownership]}
        {server.client_sessions > 0 && `; ${count(server.client_sessions, 'client session')}`}
      </span>,
    ],
    ...(data?.processes ?? []).map(({ pid, memory_bytes: memory }): [string, string] => [
      `Process ${pid}`,
      memory === null ? 'memory unknown' : bytes(memory),
    ]),
    ['Endpoint', `/mcp/servers/${server.name}`],
    ...(server.replicas.length < 2 ? [] : server.replicas).map(({ id, status, error }): [string, string] => [
      `Replica ${id.slice(0, 8)}`,
      error === null ? status.toLowerCase() : `${status.toLowerCase()}: ${error}`,
    ]),
  ];
  return (
    <dl className="rows">
      {rows.map(([term, text]) => (
        <div key={term}>
          <dt>{term}</dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  );
}
