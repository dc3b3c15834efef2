import { useEffect, useRef, useState } from 'react';
import type { Activity, Payload, PayloadPart, RecentCall } from '../api.ts';
import { onLive } from '../live.ts';
import { OutcomeBadge } from '../parts/badge.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { JsonTree } from '../parts/json-tree.tsx';
import { Empty, Failure, Loading } from '../parts/notice.tsx';
import { ResultView } from '../parts/result-view.tsx';
import { Scroll } from '../parts/scroll.tsx';
import { useResource } from '../resource.ts';
import { linkTo } from '../route.ts';
import { isObject } from '../schema.ts';
import { useIsAdmin } from '../session.ts';
import { bytes, clock, count, duration, outcomeWords } from '../words.ts';

const maxKept = 1_000;
const maxShown = 200;

export function TrafficPage() {
  const { data, error, reload } = useResource<Activity>('/api/v1/aggregator/activity');
  const [paused, setPaused] = useState(false);
  const [filter, setFilter] = useState('');
  const [outcome, setOutcome] = useState('');
  const [openId, setOpenId] = useState<string>();
  const { calls, missed } = useCalls(data?.recent_calls, paused);
  const open = calls.find((call) => call.call_id === openId);
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
          {paused ? `Resume${missed > 0 ? ` (${missed} new)` : ''}` : 'Pause'}
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
            Calls of all clients appear here in real time. <a href={linkTo('tools')}>Try a tool</a> or{' '}
            <a href={linkTo('connect')}>connect a client</a>.
          </p>
        </Empty>
      ) : (
        <p className="summary">
          {count(shown.length, 'call')}
          {shown.length > maxShown && `, the newest ${maxShown} shown`}
        </p>
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
              {shown.slice(0, maxShown).map((call) => (
                <tr key={call.call_id}>
                  <td>{clock(call.at)}</td>
                  <th scope="row">
                    <button type="button" className="link" onClick={() => setOpenId(call.call_id)}>
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
      {open !== undefined && (
        <CallDetail call={open} showsPayloads={data?.shows_payloads} onClose={() => setOpenId(undefined)} />
      )}
    </>
  );
}

const toolOf = ({ tool, server }: RecentCall) => (tool.startsWith(`${server}.`) ? tool.slice(server.length + 1) : tool);

function CallDetail({
  call,
  showsPayloads,
  onClose,
}: {
  call: RecentCall;
  showsPayloads: boolean | undefined;
  onClose: () => void;
}) {
  const isAdmin = useIsAdmin();
  const canonical = `${call.server}.${toolOf(call)}`;
  const rows: [string, string][] = [
    ['Tool', canonical],
    ['Principal', call.principal],
    ['When', `${new Date(call.at).toLocaleDateString()}, ${clock(call.at)}`],
    ['Duration', call.outcome === 'running' ? 'still running' : duration(call.duration_ms)],
    ['Outcome', outcomeWords[call.outcome] ?? call.outcome],
    ['Call ID', call.call_id],
  ];
  return (
    <Dialog title="Call details" onClose={onClose}>
      <dl className="rows">
        {rows.map(([term, text]) => (
          <div key={term}>
            <dt>{term}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      {showsPayloads === true && isAdmin && <PayloadView call={call} />}
      {showsPayloads === true && !isAdmin && <p className="dim">Arguments and result are visible to admins only.</p>}
      {showsPayloads === false && (
        <p className="dim">
          Arguments and result are not kept: they may be private. Started with{' '}
          <code>MCP_AGGREGATOR_SHOW_PAYLOADS=true</code>, the aggregator shows them to admins.
        </p>
      )}
      <a className="button" href={linkTo('tools', canonical)}>
        Open the tool
      </a>
    </Dialog>
  );
}

function PayloadView({ call }: { call: RecentCall }) {
  const path = `/api/v1/aggregator/activity/calls/${encodeURIComponent(call.call_id)}`;
  const { data, error, loading } = useResource<Payload>(path, {
    on: ['call.finished'],
    when: (event) => event.call_id === call.call_id,
  });
  if (error?.status === 404) return <p className="dim">Arguments and result of this call are no longer kept.</p>;
  if (loading) return <Loading what="Loading arguments and result" />;
  if (data === undefined) return <Failure error={error} />;
  return (
    <>
      <Part title="Arguments" part={data.arguments} />
      {data.result !== null && <Part title="Result" part={data.result} />}
      {data.error !== null && <Part title="Error" part={data.error} />}
      {data.result === null && data.error === null && <p className="dim">The call is still running.</p>}
    </>
  );
}

function Part({ title, part: { json, bytes: size, cut } }: { title: string; part: PayloadPart }) {
  return (
    <section aria-label={title} className="payload">
      <h3>{title}</h3>
      {cut ? (
        <>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard */}
          <pre tabIndex={0}>{json}</pre>
          <p className="dim">
            Cut: the first {bytes(new Blob([json]).size)} of {bytes(size)}.
          </p>
        </>
      ) : (
        <Whole value={JSON.parse(json)} isResult={title === 'Result'} />
      )}
    </section>
  );
}

function Whole({ value, isResult }: { value: unknown; isResult: boolean }) {
  if (typeof value === 'string') return <p className="lines">{value}</p>;
  return isResult && isObject(value) ? <ResultView result={value} /> : <JsonTree value={value} />;
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
      if (calls.current.size > maxKept && oldest !== undefined) calls.current.delete(oldest);
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
