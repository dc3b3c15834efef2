import { type AnswerOf, type ServerDetail, serverPath } from '../api.ts';
import { useResource } from '../resource.ts';
import { count } from '../words.ts';

type Strategy = AnswerOf<'getAggregatorServersIdQueryStrategy'>;

/** How a query asks this server. */
export function QueryStrategy({ server }: { server: ServerDetail }) {
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
