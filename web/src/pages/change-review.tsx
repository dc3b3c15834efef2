/** A definition that a server changed after it was first seen: the risk, both versions side by side, the decision. */
import { useState } from 'react';
import { type AnswerOf, api, type Json, serverPath } from '../api.ts';
import { differenceOfLines, differenceOfWords, type Piece } from '../difference.ts';
import { useAction } from '../parts/action.ts';
import { RiskBadge } from '../parts/badge.tsx';
import { say } from '../parts/messages.tsx';
import { Empty, Failure, Loading } from '../parts/notice.tsx';
import { Panel } from '../parts/panel.tsx';
import { resources, useResource } from '../resource.ts';
import { pushParameters, usePlace } from '../route.ts';
import { useIsAdmin } from '../session.ts';
import { ago, isGrave, riskWords } from '../words.ts';
import styles from './change-review.module.css';

export type Change = AnswerOf<'getAggregatorServersIdChanges'>['changes'][number];

export const changeParameter = 'change';
export const changeAddress = (server: string, id: number) => `${server}/${id}`;

/** Open on any page whose address names a change: `?change=server/12`. */
export function ChangePanel() {
  const address = usePlace().query.get(changeParameter);
  if (address === null) return null;
  const [server = '', id = ''] = address.split('/');
  return (
    <Panel key={address} title="Changed tool" parameter={changeParameter}>
      <Loaded server={server} id={Number(id)} />
    </Panel>
  );
}

function Loaded({ server, id }: { server: string; id: number }) {
  // The list has no entry of its own for each: the one before the next is it.
  const path = `${serverPath(server)}/changes?limit=1&before=${id + 1}`;
  const { data, error, loading, reload } = useResource<{ changes: Change[] }>(path, { on: ['catalog.changed'] });
  const change = data?.changes.find((each) => each.id === id);
  if (loading) return <Loading />;
  if (error !== undefined) return <Failure error={error} retry={reload} />;
  if (change === undefined) return <Empty title="This change no longer exists" />;
  return <Review server={server} change={change} />;
}

function Review({ server, change }: { server: string; change: Change }) {
  const isAdmin = useIsAdmin();
  return (
    <>
      <p>
        <strong>
          {server}.{change.tool}
        </strong>{' '}
        <RiskBadge risk={change.risk} /> <span className="dim">{ago(change.at)}</span>
      </p>
      <ul className={styles.parts} aria-label="What changed">
        {change.parts.map(({ risk, what }) => (
          <li key={what}>
            <RiskBadge risk={risk} /> {what}
          </li>
        ))}
      </ul>
      {change.after === null && <p>The server removed the tool.</p>}
      {membersOf(change).map((name) => (
        <Member key={name} name={name} before={change.before[name]} after={change.after?.[name]} />
      ))}
      {change.state === 'pending' && isAdmin && <Decision server={server} change={change} />}
      {change.state === 'pending' && !isAdmin && (
        <p className="dim">Calls of this tool are held until an admin approves or rejects the change.</p>
      )}
      {change.state !== 'pending' && (
        <p>
          {change.state.charAt(0).toUpperCase() + change.state.slice(1)}
          {change.decided_by !== null && ` by ${change.decided_by}`}
          {change.decided_at !== null && `, ${ago(change.decided_at)}`}
          {change.reason !== null && `: ${change.reason}`}
        </p>
      )}
    </>
  );
}

/** Those that differ; the rest is no news. */
function membersOf({ before, after }: Change): string[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after ?? {})])];
  return names.filter((name) => toText(before[name]) !== toText(after?.[name]));
}

function toText(value: unknown): string {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}

function Member({ name, before, after }: { name: string; before: unknown; after: unknown }) {
  const isText = [before, after].every((value) => value === undefined || typeof value === 'string');
  const [was, is] = [toText(before), toText(after)];
  const pieces = isText ? differenceOfWords(was, is) : differenceOfLines(was, is);
  const end = isText ? '' : '\n';
  return (
    <section aria-label={name}>
      <h3>
        <code>{name}</code>
      </h3>
      <div className={styles.sides}>
        <p>Before</p>
        <p>After</p>
        <Side pieces={pieces} sign="-" end={end} name={`${name} before`} />
        <Side pieces={pieces} sign="+" end={end} name={`${name} after`} />
      </div>
    </section>
  );
}

function Side({ pieces, sign, end, name }: { pieces: readonly Piece[]; sign: '+' | '-'; end: string; name: string }) {
  const Marked = sign === '-' ? 'del' : 'ins';
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard
    <section tabIndex={0} aria-label={name}>
      {pieces.map((piece, place) => {
        if (piece.sign !== ' ' && piece.sign !== sign) return null;
        const key = `${place}`;
        return piece.sign === ' ' ? (
          <span key={key}>{piece.text + end}</span>
        ) : (
          <Marked key={key}>{piece.text + end}</Marked>
        );
      })}
    </section>
  );
}

/** Rejecting is the safe choice and comes first; approving something grave takes a second click. */
function Decision({ server, change }: { server: string; change: Change }) {
  const { running, error, run } = useAction();
  const [reason, setReason] = useState('');
  const [sure, setSure] = useState(false);
  const decide = (what: 'approve' | 'reject') =>
    run(async () => {
      const body: Json = reason.trim() === '' ? {} : { reason: reason.trim() };
      await api('POST', `${serverPath(server)}/changes/${change.id}/${what}`, body);
      await resources.invalidateQueries();
      say(
        what === 'approve'
          ? `${change.tool} is approved: its calls run again.`
          : `${change.tool} is rejected: its calls remain held.`,
      );
      pushParameters({ [changeParameter]: undefined });
    });
  const grave = isGrave(change.risk);
  return (
    <div className={styles.decision}>
      <div className="field">
        <label htmlFor="reason">Reason (kept in the history)</label>
        <input id="reason" value={reason} autoComplete="off" onChange={(event) => setReason(event.target.value)} />
      </div>
      <Failure error={error} />
      {grave && sure && (
        <p className="bad-text">
          This change can make a model act differently ({riskWords[change.risk]}). Approve it only if you trust the new
          text.
        </p>
      )}
      <div className="actions">
        <button
          type="button"
          className={grave ? 'danger' : ''}
          disabled={running}
          onClick={() => void decide('reject')}
        >
          Reject
        </button>
        <button
          type="button"
          className={grave ? 'quiet' : 'primary'}
          disabled={running}
          onClick={() => (grave && !sure ? setSure(true) : void decide('approve'))}
        >
          {grave && sure ? 'Approve anyway' : 'Approve'}
        </button>
      </div>
    </div>
  );
}
