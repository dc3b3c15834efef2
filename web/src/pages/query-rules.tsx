import { type FormEvent, useState } from 'react';
import { type AnswerOf, api, type ServerList, serversPath } from '../api.ts';
import { useAction } from '../parts/action.ts';
import { say } from '../parts/messages.tsx';
import { Failure, Loading } from '../parts/notice.tsx';
import { useResource } from '../resource.ts';
import { useIsUnboundAdmin } from '../session.ts';
import styles from './query-rules.module.css';

type Rule = AnswerOf<'getQueryRules'>['serverRules'][number];

const rulesPath = '/api/v1/query/rules';

/** Which servers a question goes to, by its words. */
export function QueryRulesView() {
  const { data, error, loading, reload } = useResource<{ serverRules: Rule[] }>(rulesPath);
  const list = useResource<ServerList>(`${serversPath}?limit=1000`);
  return (
    <>
      <p className="lead">
        The first rule whose pattern (a regular expression) matches the question decides which servers are asked. If no
        rule matches, all servers that can be asked are asked.
      </p>
      <Failure error={error ?? list.error} retry={reload} />
      {loading && <Loading />}
      {data !== undefined && (
        <RulesForm
          key={JSON.stringify(data.serverRules)}
          rules={data.serverRules}
          servers={(list.data?.servers ?? []).map(({ name }) => name)}
          onSaved={reload}
        />
      )}
    </>
  );
}

function RulesForm({ rules, servers, onSaved }: { rules: Rule[]; servers: string[]; onSaved: () => void }) {
  const isAdmin = useIsUnboundAdmin();
  const [draft, setDraft] = useState(rules);
  const { running, error, run } = useAction();
  const isChanged = JSON.stringify(draft) !== JSON.stringify(rules);
  const set = (place: number, changed: Partial<Rule>) =>
    setDraft(draft.map((rule, at) => (at === place ? { ...rule, ...changed } : rule)));
  const moveUp = (place: number) => {
    const next = [...draft];
    const [rule] = next.splice(place, 1);
    if (rule !== undefined) next.splice(place - 1, 0, rule);
    setDraft(next);
  };
  const save = (event: FormEvent) => {
    event.preventDefault();
    void run(async () => {
      await api('PUT', rulesPath, { serverRules: draft });
      say('The query rules were saved.', { undo: () => api('PUT', rulesPath, { serverRules: rules }).then(onSaved) });
      onSaved();
    });
  };
  return (
    <form onSubmit={save} aria-label="Query rules">
      {draft.length === 0 && <p className="dim">No rules: every question goes to all servers that can be asked.</p>}
      <ol className={styles.rules}>
        {draft.map((rule, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a rule has nothing but its place
          <li key={place} className="card">
            <div className={styles.head}>
              <input
                aria-label={`Pattern of rule ${place + 1}`}
                className="code"
                required
                disabled={!isAdmin}
                spellCheck={false}
                placeholder="invoice|payment"
                value={rule.pattern}
                onChange={(event) => set(place, { pattern: event.target.value })}
              />
              {isAdmin && place > 0 && (
                <button
                  type="button"
                  className="quiet icon"
                  aria-label={`Move rule ${place + 1} up`}
                  onClick={() => moveUp(place)}
                >
                  ↑
                </button>
              )}
              {isAdmin && (
                <button
                  type="button"
                  className="quiet icon"
                  aria-label={`Remove rule ${place + 1}`}
                  onClick={() => setDraft(draft.filter((_, at) => at !== place))}
                >
                  ✕
                </button>
              )}
            </div>
            <ServerChecks
              label={`Servers of rule ${place + 1}`}
              servers={servers}
              chosen={rule.servers}
              disabled={!isAdmin}
              onChange={(chosen) => set(place, { servers: chosen })}
            />
          </li>
        ))}
      </ol>
      <Failure error={error} />
      {isAdmin && (
        <div className="actions">
          <button type="button" onClick={() => setDraft([...draft, { pattern: '', servers: [] }])}>
            Add a rule
          </button>
          <button type="submit" className="primary" disabled={running || !isChanged}>
            Save
          </button>
        </div>
      )}
    </form>
  );
}

/** Also servers that are not registered (any more), so that they can be removed. */
function ServerChecks({
  label,
  servers,
  chosen,
  disabled,
  onChange,
}: {
  label: string;
  servers: readonly string[];
  chosen: readonly string[];
  disabled: boolean;
  onChange: (servers: string[]) => void;
}) {
  const names = [...new Set([...servers, ...chosen])];
  return (
    <fieldset disabled={disabled} aria-label={label} className={styles.servers}>
      {names.map((name) => (
        <label key={name} className="check">
          <input
            type="checkbox"
            checked={chosen.includes(name)}
            onChange={(event) =>
              onChange(names.filter((each) => (each === name ? event.target.checked : chosen.includes(each))))
            }
          />{' '}
          {name}
          {!servers.includes(name) && <span className="bad-text"> (not registered)</span>}
        </label>
      ))}
    </fieldset>
  );
}
