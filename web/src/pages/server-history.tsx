import { type AnswerOf, type ServerDetail, serverPath } from '../api.ts';
import { serverEvents, useResource } from '../resource.ts';
import { ago, clock, count, statusTone, statusWords } from '../words.ts';

type HistoryEntry = AnswerOf<'getAggregatorServersIdHistory'>['history'][number];

export function History({ server }: { server: ServerDetail }) {
  const { data } = useResource<{ history: HistoryEntry[] }>(`${serverPath(server.id)}/history?limit=50`, {
    on: serverEvents,
    when: (event) => event.server_id === server.id,
    gather: 400,
  });
  const history = data?.history ?? [];
  return (
    <>
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
