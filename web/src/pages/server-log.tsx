/** What the process of a server writes to stderr, as it writes it. */
import { useEffect, useRef, useState } from 'react';
import type { AnswerOf, ServerDetail } from '../api.ts';
import { serverPath } from '../api.ts';
import { Empty, Failure, Loading } from '../parts/notice.tsx';
import { SearchBar } from '../parts/search-bar.tsx';
import { useResource } from '../resource.ts';
import { useParameter } from '../route.ts';
import { clock, count } from '../words.ts';
import styles from './server-log.module.css';

type OutputLine = AnswerOf<'getAggregatorServersIdOutput'>['lines'][number];

const maxLines = 1_000;

export function ServerLog({ server }: { server: ServerDetail }) {
  const isProcess = server.transport_type === 'STDIO';
  const earlier = useResource<{ lines: OutputLine[] }>(isProcess ? `${serverPath(server.name)}/output` : null);
  const [paused, setPaused] = useState(false);
  const lines = useLines(isProcess ? server.name : undefined, earlier.data?.lines, paused);
  const [query] = useParameter('q');
  const shown = lines.filter(({ text }) => text.toLowerCase().includes(query.toLowerCase()));
  const list = useRef<HTMLOListElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: to the newest line whenever there is one
  useEffect(() => {
    const element = list.current;
    if (element !== null && !paused) element.scrollTop = element.scrollHeight;
  }, [shown.length, paused]);
  if (!isProcess) {
    return (
      <Empty title="No log">
        <p>Only servers that the aggregator starts itself (STDIO) have one here.</p>
      </Empty>
    );
  }
  return (
    <>
      <SearchBar label="Filter lines">
        <button type="button" aria-pressed={paused} onClick={() => setPaused(!paused)}>
          {paused ? 'Resume' : 'Pause'}
        </button>
      </SearchBar>
      <Failure error={earlier.error} retry={earlier.reload} />
      {earlier.loading && <Loading />}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard */}
      <ol ref={list} className={styles.log} tabIndex={0} aria-label="Log">
        {shown.map(({ seq, at, text }) => (
          <li key={seq}>
            <time dateTime={at}>{clock(at)}</time> {text}
          </li>
        ))}
      </ol>
      <p className="summary">
        {shown.length === 0 ? 'The server has written nothing to stderr.' : count(shown.length, 'line')}
      </p>
    </>
  );
}

/** The lines of before, then each as it is written; while paused they are kept back. */
function useLines(server: string | undefined, earlier: OutputLine[] | undefined, paused: boolean): OutputLine[] {
  const [lines, setLines] = useState<readonly OutputLine[]>([]);
  const [shown, setShown] = useState<readonly OutputLine[]>([]);
  useEffect(() => {
    if (server === undefined) return;
    const query = new URLSearchParams({ topics: 'server.removed', output_of: server });
    const stream = new EventSource(`/api/v1/aggregator/events?${query}`);
    stream.addEventListener('server.output', ({ data }: MessageEvent<string>) => {
      const line = JSON.parse(data) as OutputLine;
      setLines((before) => [...before.slice(1 - maxLines), line]);
    });
    return () => stream.close();
  }, [server]);
  useEffect(() => {
    if (!paused) setShown(lines);
  }, [lines, paused]);
  const last = earlier?.at(-1)?.seq ?? 0;
  return [...(earlier ?? []), ...shown.filter(({ seq }) => seq > last)];
}
