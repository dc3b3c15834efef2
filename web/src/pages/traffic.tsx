import { useEffect, useRef, useState } from 'react';
import type { Activity, RecentCall } from '../api.ts';
import { onLive } from '../live.ts';
import { OutcomeBadge } from '../parts/badge.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Empty, Failure } from '../parts/notice.tsx';
import { Scroll } from '../parts/scroll.tsx';
import { useResource } from '../resource.ts';
import { linkTo } from '../route.ts';
import { clock, count, duration, outcomeWords } from '../words.ts';

const mostKept = 1_000;

export function TrafficPage() {
  const { data, error, reload } = useResource<Activity>('/api/v1/aggregator/activity');
  const [paused, setPaused] = useState(false);
  const [filter, setFilter] = useState('');
  const [outcome, setOutcome] = useState('');
  const [open, setOpen] = useState<RecentCall>();
  const { calls, missed } = useCalls(data?.recent_calls, paused);
  const words = filter.toLowerCase();
  const shown = calls.filter(
    (call) =>
      (outcome === '' || call.outcome === outcome) &&
      `${call.server} ${call.tool} ${call.principal}`.toLowerCase().includes(words),
  );
  return (
    <>
      <div className="title">
        <h1>Traffic</h1>
        <button type="button" aria-pressed={paused} onClick={() => setPaused(!paused)}>
          {paused ? `Go on${missed > 0 ? ` (${missed} new)` : ''}` : 'Pause'}
        </button>
      </div>
      <Failure error={error} retry={reload} />
      <search className="bar">
        <div className="field grow">
          <label htmlFor="filter">Filter by tool, server or principal</label>
          <input id="filter" type="search" value={filter} onChange={(event) => setFilter(event.target.value)} />
        </div>
        <div className="field">
          <label htmlFor="outcome">Outcome</label>
          <select id="outcome" value={outcome} onChange={(event) => setOutcome(event.target.value)}>
            <option value="">Any</option>
            {Object.entries(outcomeWords).map(([value, word]) => (
              <option key={value} value={value}>
                {word}
              </option>
            ))}
          </select>
        </div>
      </search>
      {calls.length === 0 ? (
        <Empty title="No calls yet">
          <p>
            Every call of every client appears here as it happens. <a href={linkTo('tools')}>Try a tool</a> or{' '}
            <a href={linkTo('connect')}>connect a client</a>.
          </p>
        </Empty>
      ) : (
        <p className="summary">{count(shown.length, 'call')}</p>
      )}
      {shown.length > 0 && (
        <Scroll label="Calls">
          <table className="traffic">
            <thead>
              <tr>
                <th scope="col">Time</th>
                <th scope="col">Tool</th>
                <th scope="col">Outcome</th>
                <th scope="col" className="number">
                  Duration
                </th>
                <th scope="col">Server</th>
                <th scope="col">Principal</th>
              </tr>
            </thead>
            <tbody>
              {shown.slice(0, 200).map((call) => (
                <tr key={call.call_id}>
                  <td>{clock(call.at)}</td>
                  <th scope="row">
                    <button type="button" className="link" onClick={() => setOpen(call)}>
                      {toolOf(call)}
                    </button>
                  </th>
                  <td>
                    <OutcomeBadge outcome={call.outcome} />
                  </td>
                  <td className="number">{call.outcome === 'running' ? '' : duration(call.duration_ms)}</td>
                  <td>{call.server}</td>
                  <td>{call.principal}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
      {open !== undefined && <CallDetail call={open} onClose={() => setOpen(undefined)} />}
    </>
  );
}

const toolOf = ({ tool, server }: RecentCall) => (tool.startsWith(`${server}.`) ? tool.slice(server.length + 1) : tool);

function CallDetail({ call, onClose }: { call: RecentCall; onClose: () => void }) {
  const canonical = `${call.server}.${toolOf(call)}`;
  const rows: [string, string][] = [
    ['Tool', canonical],
    ['Principal', call.principal],
    ['When', new Date(call.at).toLocaleString()],
    ['Duration', call.outcome === 'running' ? 'still running' : duration(call.duration_ms)],
    ['Outcome', outcomeWords[call.outcome] ?? call.outcome],
    ['Call id', call.call_id],
  ];
  return (
    <Dialog title="One call" onClose={onClose}>
      <dl className="rows">
        {rows.map(([term, text]) => (
          <div key={term}>
            <dt>{term}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      <p className="dim">Arguments and answers are not kept: they may be private.</p>
      <a className="button" href={linkTo('tools', canonical)}>
        Open the tool
      </a>
    </Dialog>
  );
}

/** The newest first. While paused, what happens is counted and shown afterwards. */
function useCalls(earlier: RecentCall[] | undefined, paused: boolean): { calls: RecentCall[]; missed: number } {
  const calls = useRef(new Map<string, RecentCall>());
  const [shown, setShown] = useState<RecentCall[]>([]);
  const [missed, setMissed] = useState(0);
  const isPaused = useRef(paused);
  isPaused.current = paused;

  useEffect(() => {
    let frame: number | undefined;
    const show = () => {
      frame = undefined;
      if (isPaused.current) return;
      setMissed(0);
      setShown([...calls.current.values()].sort((a, b) => (a.at < b.at ? 1 : -1)));
    };
    const later = () => {
      frame ??= window.requestAnimationFrame(show);
    };
    for (const call of earlier ?? []) {
      if (!calls.current.has(call.call_id)) calls.current.set(call.call_id, call);
    }
    if (!paused) later();
    const off = onLive((name, event) => {
      if (name !== 'call.started' && name !== 'call.finished') return;
      const heard = event as unknown as RecentCall;
      const known = calls.current.get(heard.call_id);
      const at = known?.at ?? new Date().toISOString();
      calls.current.set(heard.call_id, { ...known, ...heard, at, outcome: heard.outcome ?? 'running' });
      const [oldest] = calls.current.keys();
      if (calls.current.size > mostKept && oldest !== undefined) calls.current.delete(oldest);
      if (isPaused.current && name === 'call.started') setMissed((number) => number + 1);
      later();
    });
    return () => {
      off();
      if (frame !== undefined) window.cancelAnimationFrame(frame);
    };
  }, [earlier, paused]);

  return { calls: shown, missed };
}
