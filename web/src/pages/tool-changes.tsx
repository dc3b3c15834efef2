/** Definitions that a server changed after they were first seen: what changed, and the admin's decision. */
import { type AnswerOf, api, type Json, serverPath } from '../api.ts';
import { useHas } from '../features.ts';
import { useAction } from '../parts/action.ts';
import { Failure } from '../parts/notice.tsx';
import { useResource } from '../resource.ts';
import { useIsAdmin } from '../session.ts';
import { ago } from '../words.ts';

type Change = AnswerOf<'getAggregatorServersIdChanges'>['changes'][number];

const tones = { pending: 'warn', approved: 'good', rejected: 'bad', withdrawn: 'off', removed: 'off' };

export function ToolChanges({ serverId }: { serverId: string }) {
  const isAdmin = useIsAdmin();
  const kept = useHas('/api/v1/aggregator/servers/{id}/changes');
  const path = `${serverPath(serverId)}/changes`;
  const { data, reload } = useResource<{ changes: Change[] }>(kept === true ? `${path}?limit=20` : null, {
    on: ['server.discovered', 'catalog.changed'],
    when: (event) => event.server_id === serverId,
  });
  const { running, error, run } = useAction();
  const changes = data?.changes ?? [];
  if (changes.length === 0) return null;
  const decide = (id: number, what: 'approve' | 'reject') =>
    run(async () => {
      await api('POST', `${path}/${id}/${what}`);
      reload();
    });
  return (
    <>
      <h2>Changed tools</h2>
      <Failure error={error} />
      {changes.map((change) => (
        <details className="card" key={change.id} open={change.state === 'pending'}>
          <summary>
            <strong>{change.tool}</strong> <span className={`badge ${tones[change.state]}`}>{change.state}</span>{' '}
            <span className="dim">
              {ago(change.at)}
              {change.decided_by === null ? '' : `, by ${change.decided_by}`}
            </span>
          </summary>
          <ul>
            {change.parts.map(({ what }) => (
              <li key={what}>{what}</li>
            ))}
          </ul>
          <Difference before={change.before} after={change.after} />
          {isAdmin && change.state === 'pending' && (
            <div className="actions">
              <button type="button" disabled={running} onClick={() => decide(change.id, 'approve')}>
                Approve
              </button>
              <button type="button" disabled={running} onClick={() => decide(change.id, 'reject')}>
                Reject
              </button>
            </div>
          )}
        </details>
      ))}
    </>
  );
}

function Difference({ before, after }: { before: Json; after: Json | null }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard
    <pre className="difference" tabIndex={0}>
      {compare(JSON.stringify(before, null, 2), after === null ? '' : JSON.stringify(after, null, 2)).map(
        ({ sign, line }, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines have nothing but their place
          <span key={place} className={sign === '+' ? 'added' : sign === '-' ? 'removed' : undefined}>
            {`${sign} ${line}\n`}
          </span>
        ),
      )}
    </pre>
  );
}

/** Line by line, by the longest common subsequence; definitions are short. */
export function compare(a: string, b: string): { sign: ' ' | '+' | '-'; line: string }[] {
  const before = a === '' ? [] : a.split('\n');
  const after = b === '' ? [] : b.split('\n');
  const lengths = Array.from({ length: before.length + 1 }, () => new Array<number>(after.length + 1).fill(0));
  const at = (i: number, j: number) => lengths[i]?.[j] ?? 0;
  for (let i = before.length - 1; i >= 0; i -= 1) {
    for (let j = after.length - 1; j >= 0; j -= 1) {
      const row = lengths[i];
      if (row !== undefined)
        row[j] = before[i] === after[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const lines: { sign: ' ' | '+' | '-'; line: string }[] = [];
  for (let i = 0, j = 0; i < before.length || j < after.length; ) {
    if (i < before.length && before[i] === after[j]) {
      lines.push({ sign: ' ', line: before[i] ?? '' });
      i += 1;
      j += 1;
    } else if (j >= after.length || (i < before.length && at(i + 1, j) >= at(i, j + 1))) {
      lines.push({ sign: '-', line: before[i] ?? '' });
      i += 1;
    } else {
      lines.push({ sign: '+', line: after[j] ?? '' });
      j += 1;
    }
  }
  return lines;
}
