/** One call: where its time went, and what was sent and answered. Open on any page whose address names it. */
import type { AnswerOf, Payload, PayloadPart } from '../api.ts';
import { type EndedCall, type RunningCall, toolOf } from '../calls.ts';
import { OutcomeBadge } from '../parts/badge.tsx';
import { JsonTree } from '../parts/json-tree.tsx';
import { Failure, Loading } from '../parts/notice.tsx';
import { Panel } from '../parts/panel.tsx';
import { ResultView } from '../parts/result-view.tsx';
import { useResource } from '../resource.ts';
import { linkTo, usePlace } from '../route.ts';
import { isObject } from '../schema.ts';
import { useIsAdmin } from '../session.ts';
import { bytes, clock, duration } from '../words.ts';
import styles from './call-panel.module.css';

export const callParameter = 'call';

type CallList = AnswerOf<'getAggregatorCalls'>;

export function CallPanel({ calls }: { calls: CallList | undefined }) {
  const id = usePlace().query.get(callParameter);
  if (id === null || calls === undefined) return null;
  const ended = calls.recent.find((call) => call.call_id === id);
  const running = calls.running.find((call) => call.call_id === id);
  const call = ended ?? running;
  return (
    <Panel key={id} title="Call details" parameter={callParameter}>
      {call === undefined ? (
        <p className="dim">This call is no longer among the latest.</p>
      ) : (
        <CallDetail call={call} ended={ended} showsPayloads={calls.shows_payloads} />
      )}
    </Panel>
  );
}

function CallDetail({
  call,
  ended,
  showsPayloads,
}: {
  call: EndedCall | RunningCall;
  ended: EndedCall | undefined;
  showsPayloads: boolean;
}) {
  const isAdmin = useIsAdmin();
  const canonical = `${call.server}.${toolOf(call)}`;
  const rows: [string, React.ReactNode][] = [
    [
      'Tool',
      <a key="tool" href={linkTo('tools', canonical)}>
        {canonical}
      </a>,
    ],
    ['Outcome', <OutcomeBadge key="outcome" outcome={ended?.outcome ?? 'running'} />],
    ...(ended?.error_code == null ? [] : [['Code', ended.error_code] as [string, string]]),
    ['Client', call.client ?? 'REST API'],
    ['Principal', call.principal],
    ...('at' in call
      ? [['Ended', `${new Date(call.at).toLocaleDateString()}, ${clock(call.at)}`] as [string, string]]
      : []),
    ['Call ID', <code key="id">{call.call_id}</code>],
  ];
  return (
    <>
      <dl className="rows">
        {rows.map(([term, text]) => (
          <div key={term}>
            <dt>{term}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      {ended === undefined ? <p>The call is still running.</p> : <Waterfall call={ended} />}
      {showsPayloads && isAdmin && <PayloadView id={call.call_id} />}
      {showsPayloads && !isAdmin && <p className="dim">Arguments and result are visible to admins only.</p>}
      {!showsPayloads && (
        <p className="dim">
          Arguments and result are not kept: they may be private. Started with{' '}
          <code>MCP_AGGREGATOR_SHOW_PAYLOADS=true</code>, the aggregator shows them to admins.
        </p>
      )}
      {showsPayloads && isAdmin ? (
        <a className="button" href={`${linkTo('tools', canonical)}?replay=${encodeURIComponent(call.call_id)}`}>
          Repeat with changes
        </a>
      ) : (
        <a className="button" href={linkTo('tools', canonical)}>
          Open the tool
        </a>
      )}
    </>
  );
}

const phases = [
  { id: 'queue', name: 'Queue' },
  { id: 'connect', name: 'Connect' },
  { id: 'server', name: 'Server' },
  { id: 'bridge', name: 'Gateway' },
] as const;

/** Each phase begins where the one before ended. */
function Waterfall({ call }: { call: EndedCall }) {
  const total = Math.max(
    phases.reduce((sum, { id }) => sum + call.phases[id], 0),
    0.001,
  );
  let begun = 0;
  return (
    <section aria-label="Where the time went" className={styles.waterfall}>
      <h3>{duration(call.duration_ms)}</h3>
      <ol>
        {phases.map(({ id, name }) => {
          const ms = call.phases[id];
          const [left, width] = [(begun / total) * 100, (ms / total) * 100];
          begun += ms;
          return (
            <li key={id}>
              <span>{name}</span>
              <span className={styles.lane}>
                <span className={styles[id]} style={{ left: `${left}%`, width: `max(2px, ${width}%)` }} />
              </span>
              <span className={styles.time}>{duration(ms)}</span>
            </li>
          );
        })}
      </ol>
    </section>
  );
}

function PayloadView({ id }: { id: string }) {
  const path = `/api/v1/aggregator/activity/calls/${encodeURIComponent(id)}`;
  const { data, error, loading } = useResource<Payload>(path, {
    on: ['call.finished'],
    when: (event) => event.call_id === id,
  });
  if (error?.status === 404) return <p className="dim">Arguments and result of this call are no longer kept.</p>;
  if (loading) return <Loading what="Loading arguments and result" />;
  if (data === undefined) return <Failure error={error} />;
  return (
    <>
      <Part title="Arguments" part={data.arguments} />
      {data.result !== null && <Part title="Result" part={data.result} />}
      {data.error !== null && <Part title="Error" part={data.error} />}
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
