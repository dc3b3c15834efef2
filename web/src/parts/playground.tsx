/** Calls a tool, reads a resource or gets a prompt: the form beside the result, and the calls made before. */
import { type FormEvent, useEffect, useRef, useState } from 'react';
import type { Json } from '../api.ts';
import type { Progress } from '../mcp-call.ts';
import {
  answerCall,
  type CallTarget,
  cancelPlaygroundCall,
  isRunning,
  type PlaygroundCall,
  startCall,
  usePlaygroundCalls,
} from '../playground-calls.ts';
import { deleteSavedCall, isTooLarge, saveCall, useSavedCalls } from '../saved-calls.ts';
import type { Problems, Schema } from '../schema.ts';
import { useSession } from '../session.ts';
import { toSnippets } from '../snippets.ts';
import { clock, duration } from '../words.ts';
import { CopyButton } from './copy-button.tsx';
import { Dialog } from './dialog.tsx';
import { Failure, Notice } from './notice.tsx';
import styles from './playground.module.css';
import { Questions } from './questions.tsx';
import { ResultView } from './result-view.tsx';
import { SchemaForm } from './schema-form.tsx';
import { Scroll } from './scroll.tsx';
import { type ArgumentsForm, useArguments } from './use-arguments.ts';

export interface Playable extends Pick<CallTarget, 'kind' | 'server' | 'name'> {
  schema: Schema;
  toRequest(args: Json): CallTarget['request'];
}

const verbs = { tool: 'Call', resource: 'Read', prompt: 'Get' } as const;

/** `initial`: the arguments of a call that is repeated. */
export function Playground({ playable, initial }: { playable: Playable; initial?: Json }) {
  const own = usePlaygroundCalls().filter(({ kind, server, name }) => isSameTarget(playable, { kind, server, name }));
  const [start, setStart] = useState({ count: 0, args: initial ?? own[0]?.args });
  const [shown, setShown] = useState<number>();
  const call = own.find(({ id }) => id === shown) ?? own[0];
  const fill = (args: Json) => setStart(({ count }) => ({ count: count + 1, args }));
  return (
    <>
      <div className={styles.playground}>
        <section aria-label="Call" className="card">
          <CallForm key={start.count} playable={playable} initial={start.args} onFill={fill} onStart={setShown} />
        </section>
        <CurrentCall call={call} />
      </div>
      {own.length > 0 && (
        <History
          calls={own}
          shown={call?.id}
          onShow={setShown}
          onFill={(args) => {
            fill(args);
            window.scrollTo(0, 0);
          }}
        />
      )}
    </>
  );
}

type Named = Pick<CallTarget, 'kind' | 'server' | 'name'>;
const isSameTarget = (a: Named, b: Named) => a.kind === b.kind && a.server === b.server && a.name === b.name;

function CallForm({
  playable,
  initial,
  onFill,
  onStart,
}: {
  playable: Playable;
  initial: Json | undefined;
  onFill: (args: Json) => void;
  onStart: (id: number) => void;
}) {
  const { kind, server, name, schema, toRequest } = playable;
  const { role } = useSession();
  const form = useArguments(schema, initial);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const args = form.check();
    if (args !== undefined) onStart(startCall({ kind, server, name, args, request: toRequest(args) }));
  };
  return (
    <>
      <SavedCalls playable={playable} onFill={onFill} />
      <form onSubmit={submit} noValidate>
        {form.text === undefined ? (
          <SchemaForm schema={schema} value={form.value} problems={form.problems} onChange={form.setValue} />
        ) : (
          <div className="field">
            <label htmlFor="raw">Arguments as JSON</label>
            <textarea
              id="raw"
              className="code"
              rows={12}
              spellCheck={false}
              value={form.text}
              onChange={(event) => form.setText(event.target.value)}
            />
          </div>
        )}
        <ProblemList problems={form.problems} />
        {role === 'viewer' && (
          <Notice tone="info">Your token cannot call tools. Sign in with a token of the role caller.</Notice>
        )}
        <div className={`actions ${styles.submit}`}>
          <button type="submit" className="primary" disabled={role === 'viewer'}>
            {verbs[kind]}
          </button>
          <button type="button" className="quiet" onClick={form.toggleText}>
            {form.text === undefined ? 'Write JSON' : 'Use the form'}
          </button>
        </div>
      </form>
      <div className={`actions ${styles.copies}`}>
        <CopyAs playable={playable} args={form.current ?? {}} />
        <SaveButton playable={playable} form={form} />
      </div>
    </>
  );
}

function ProblemList({ problems }: { problems: Problems }) {
  const entries = Object.entries(problems);
  if (entries.length === 0) return null;
  const lines = entries.map(([path, problem]) => `${path === '' ? 'The text' : path} ${problem}`);
  return <Notice tone="bad">Nothing was sent: {lines.join('; ')}</Notice>;
}

function SavedCalls({ playable, onFill }: { playable: Playable; onFill: (args: Json) => void }) {
  const saved = useSavedCalls().filter((call) => isSameTarget(call, playable));
  if (saved.length === 0) return null;
  return (
    <ul className={styles.saved} aria-label="Saved calls">
      {saved.map((call) => (
        <li key={call.title}>
          <button type="button" className="small" onClick={() => onFill(call.args)}>
            {call.title}
          </button>
          <button
            type="button"
            className="small quiet icon"
            aria-label={`Delete the saved call ${call.title}`}
            onClick={() => deleteSavedCall(call)}
          >
            ✕
          </button>
        </li>
      ))}
    </ul>
  );
}

function SaveButton({ playable: { kind, server, name }, form }: { playable: Playable; form: ArgumentsForm }) {
  const [open, setOpen] = useState(false);
  const args = form.current;
  const save = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const title = String(new FormData(event.currentTarget).get('title')).trim();
    if (args !== undefined && title !== '') saveCall({ title, kind, server, name, args });
    setOpen(false);
  };
  return (
    <>
      <button
        type="button"
        className="small"
        disabled={args === undefined || isTooLarge(args)}
        onClick={() => setOpen(true)}
      >
        Save
      </button>
      {open && (
        <Dialog title="Save this call" onClose={() => setOpen(false)}>
          <form onSubmit={save}>
            <div className="field">
              <label htmlFor="saved-title">Name</label>
              <input id="saved-title" name="title" required maxLength={60} autoComplete="off" />
            </div>
            <p className="help">The arguments are stored in this browser, unencrypted. Do not save secrets.</p>
            <footer className="actions">
              <button type="submit" className="primary">
                Save call
              </button>
            </footer>
          </form>
        </Dialog>
      )}
    </>
  );
}

function CopyAs({ playable, args }: { playable: Playable; args: Json }) {
  const { kind, name, toRequest } = playable;
  const snippets = toSnippets({ kind, name, args, request: toRequest(args) }, window.location.origin);
  return (
    <>
      <span className="dim">Copy as</span>
      {snippets.map((snippet) => (
        <CopyButton key={snippet.name} text={snippet.text}>
          {snippet.name}
        </CopyButton>
      ))}
    </>
  );
}

/** It stays in view beside a long form; on a phone it comes into view when it starts. */
function CurrentCall({ call }: { call: PlaygroundCall | undefined }) {
  const section = useRef<HTMLElement>(null);
  const id = call?.id;
  const first = useRef(id);
  useEffect(() => {
    if (id === first.current) return;
    first.current = id;
    section.current?.scrollIntoView({ block: 'nearest' });
  }, [id]);
  return (
    <section ref={section} aria-label="Result" aria-live="polite" className={`card ${styles.result}`}>
      {call === undefined ? <p className="dim">The result appears here.</p> : <CallState call={call} />}
    </section>
  );
}

function CallState({ call }: { call: PlaygroundCall }) {
  const { id, state, ms, progress, questions, result, error } = call;
  return (
    <>
      <div className="head">
        <h2>
          Result <span className="dim">{ms === undefined ? '' : `after ${duration(ms)}`}</span>
        </h2>
        {isRunning(call) && (
          <button type="button" onClick={() => cancelPlaygroundCall(id)}>
            Cancel
          </button>
        )}
      </div>
      {isRunning(call) && <Running progress={progress} />}
      {state === 'asking' && questions !== undefined && (
        <Questions questions={questions} onAnswer={(answers) => answerCall(id, answers)} />
      )}
      {state === 'cancelled' && <Notice tone="info">The call was cancelled. The server was told to stop.</Notice>}
      <Failure error={error} />
      {result !== undefined && <ResultView result={result} />}
    </>
  );
}

function Running({ progress }: { progress: Progress | undefined }) {
  const { progress: done, total, message } = progress ?? {};
  return (
    <div className="running" role="status">
      <progress max={total} value={total === undefined ? undefined : done} aria-label="Progress" />
      <span className="dim">
        {done === undefined
          ? 'Waiting for the result'
          : (message ?? `${done}${total === undefined ? '' : ` of ${total}`}`)}
      </span>
    </div>
  );
}

const states: Record<PlaygroundCall['state'], { word: string; tone: string }> = {
  running: { word: 'running', tone: 'busy' },
  asking: { word: 'needs input', tone: 'warn' },
  done: { word: 'ok', tone: 'good' },
  failed: { word: 'failed', tone: 'bad' },
  cancelled: { word: 'cancelled', tone: 'off' },
};

export function CallBadge({ call: { state, result } }: { call: PlaygroundCall }) {
  const { word, tone } = result?.isError === true ? { word: 'tool error', tone: 'warn' } : states[state];
  return <span className={`badge ${tone}`}>{word}</span>;
}

function History({
  calls,
  shown,
  onShow,
  onFill,
}: {
  calls: readonly PlaygroundCall[];
  shown: number | undefined;
  onShow: (id: number) => void;
  onFill: (args: Json) => void;
}) {
  return (
    <section>
      <h2>History</h2>
      <Scroll label="Calls made in this window">
        <table>
          <thead>
            <tr>
              <th scope="col">Time</th>
              <th scope="col">State</th>
              <th scope="col">Duration</th>
              <th scope="col">Arguments</th>
              <th scope="col">
                <span className="hidden">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {calls.map((call) => (
              <tr key={call.id} aria-current={call.id === shown ? true : undefined}>
                <th scope="row">
                  <button type="button" className="link" onClick={() => onShow(call.id)}>
                    {clock(new Date(call.startedAt).toISOString())}
                  </button>
                </th>
                <td>
                  <CallBadge call={call} />
                </td>
                <td>{call.ms === undefined ? '' : duration(call.ms)}</td>
                <td className={`clip ${styles.args}`}>
                  <code>{JSON.stringify(call.args).slice(0, 200)}</code>
                </td>
                <td className="actions">
                  {isRunning(call) ? (
                    <button type="button" className="small" onClick={() => cancelPlaygroundCall(call.id)}>
                      Cancel
                    </button>
                  ) : (
                    <button type="button" className="small" onClick={() => onFill(call.args)}>
                      Use again
                    </button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}
